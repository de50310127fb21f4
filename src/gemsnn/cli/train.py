"""`gemsnn train`: train on a prepared file, in a run directory that can be resumed."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemsnn.cli.commands import Setting, with_settings
from gemsnn.cli.output import outlast_output, print_table, say, warnings_as_lines
from gemsnn.common.words import counted
from gemsnn.errors import ConfigError

if TYPE_CHECKING:
    from gemsnn.training import FromModel, RunDirectory, Trainer

DECODER_HELP = "Decoder: vote, likelihood, or per-step (the likelihood averaged over steps)."
_FROM = "Start from a trained model"
_SETTINGS = {
    "Network and rule": (
        Setting("--hidden", "n_hidden", int),
        Setting("--compartments", "n_compartments", int),
        Setting("--rule", "rule", str, "Learning rule: feedback, gem (the paper's rule), mb or iw. Default: feedback."),
        Setting(
            "--learning-rate",
            "rule.learning_rate",
            float,
            "Learning rate of the rule. Default: measured on the data for feedback, 0.001 for the other rules.",
        ),
        Setting(
            "--objective",
            "objective",
            str,
            "Training objective: likelihood, or van-rossum, the distance from the target spikes (after a third of the "
            "run with likelihood). Default: likelihood.",
        ),
        Setting("--decoder", "decoder", str, f"{DECODER_HELP} Default: per-step."),
        Setting("--inference-compartments", "inference_compartments", int),
    ),
    "Schedule and model selection": (
        Setting("--epochs", "epochs", int),
        Setting("--batch-size", "batch_size", int),
        Setting("--eval-every", "eval_every", int),
        Setting("--patience", "patience", int),
        Setting("--background", "background", str),
        Setting("--seed", "seed", int),
    ),
    "Machine": (Setting("--threads", "threads", int),),
}


@with_settings("gemsnn.training:TrainingConfig", _SETTINGS)
def train(
    out: Annotated[Path, typer.Option("--out", help="Run directory, created if missing.", file_okay=False)],
    data: Annotated[Path | None, typer.Option("--data", help="Prepared file. Not needed with --resume.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out, or start one.")] = False,
    config: Annotated[
        Path | None, typer.Option("--config", help="TOML file of settings; options take precedence.", dir_okay=False)
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Settings to start from: paper. Default: the defaults.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Any other setting, e.g. --set hidden_bias=-3 or --set rule.gain=5. May be repeated; the run's "
            "config.toml lists all fields.",
        ),
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write scalars for TensorBoard.")] = False,
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Start from this run or model file, with its settings; without --data, with its data, too. The "
            "options below need it.",
            rich_help_panel=_FROM,
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="F.h5", help="Replay recordings of this file against forgetting.", rich_help_panel=_FROM),
    ] = None,
    replay_share: Annotated[
        float | None, typer.Option(help="Fraction of such recordings. Default: 0.5.", rich_help_panel=_FROM)
    ] = None,
    rename: Annotated[
        list[str] | None, typer.Option(metavar="OLD=NEW", help="Rename a class (repeatable).", rich_help_panel=_FROM)
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="CLASS", help="Remove a class (repeatable).", rich_help_panel=_FROM)
    ] = None,
    **chosen: Any,
) -> None:
    """Train a network online, with a live display. Ctrl-C saves; --resume continues bit-for-bit identically.

    The default rule is feedback; --rule gem selects the paper's rule, --preset paper all its settings.

    Example: gemsnn train --data digits.h5 --out runs/first
    """
    outlast_output()
    from rich.console import Console

    from gemsnn.events import open_prepared
    from gemsnn.training import RunDirectory, TrainingConfig, read_config
    from gemsnn.training.config import parse_assignment
    from gemsnn.training.run import train as train_in_directory
    from gemsnn.training.signals import StopSignals

    given = {name.replace("__", "."): value for name, value in chosen.items() if value is not None}
    given |= dict(parse_assignment(text) for text in settings or [])
    run = RunDirectory(out)
    if resume and config is None and preset is None and run.config.exists():
        config = run.config
    with ExitStack() as opened:
        from_model = _start(opened, config, start, replay, replay_share, rename or [], drop or [])
        known: Path | None = None
        if config is not None:
            chosen_config, known = read_config(config, preset, **given)
        elif from_model is None or preset is not None:
            chosen_config = TrainingConfig.of(preset, given)
        else:
            chosen_config = from_model.config(**given)
            own = Path(from_model.model.path or "").parent / "config.toml"  # of the run that the model is from
            known = read_config(own)[1] if own.exists() else None
        if (path := data or known) is None:
            raise ConfigError("--data is needed: a prepared file, from `gemsnn data simulate` or `gemsnn data import`")

        def observers(run: "RunDirectory", trainer: "Trainer") -> list[Any]:
            from gemsnn.training.display import display
            from gemsnn.training.tensorboard import TensorBoard

            _print_start(run, trainer, from_model, measured=chosen_config.rule.learning_rate is None)
            observing: list[Any] = [opened.enter_context(display(Console(emoji=False), trainer))]
            if tensorboard:
                observing.append(TensorBoard(run))
                opened.callback(observing[-1].close)
            return observing

        stop = opened.enter_context(StopSignals())
        opened.enter_context(warnings_as_lines())
        prepared = opened.enter_context(open_prepared(path))
        outcome = train_in_directory(
            chosen_config, prepared, out, resume=resume, from_model=from_model, observers=observers, stop=stop
        )
    if outcome.status == "interrupted":
        position, total = outcome.trainer.position, outcome.trainer.total
        say(f"Stopped at {position} of {total} examples; state saved. Resume with: gemsnn train --out {out} --resume")
        raise typer.Exit(stop.exit_code)
    _print_results(run, outcome.trainer, outcome.status)
    if preset == "paper":
        say("The paper reports the best on test; compare models by the test figures of the best by validation.")


def _start(
    opened: ExitStack,
    config: Path | None,
    start: Path | None,
    replay: Path | None,
    replay_share: float | None,
    rename: list[str],
    drop: list[str],
) -> "FromModel | None":
    """The model to start from, given by the options or else by the file of settings."""
    from gemsnn.events import open_prepared
    from gemsnn.training import FromModel, RunDirectory, load_model
    from gemsnn.training.config import read_from_model

    names = dict(text.split("=", 1) for text in rename if "=" in text)
    if wrong := [text for text in rename if "=" not in text or text.startswith("=") or text.endswith("=")]:
        raise ConfigError(f"--rename {wrong[0]}: write it as OLD=NEW, for example --rename 0=zero")
    if start is not None:
        file = start if start.is_file() else RunDirectory(start).find_model()
    else:
        options = {"--replay": replay, "--replay-share": replay_share, "--rename": rename, "--drop": drop}
        if missing := [name for name, value in options.items() if value not in (None, [])]:
            raise ConfigError(f"{missing[0]} needs --from: the trained model to start from")
        table = {} if config is None else read_from_model(config)
        if not table:
            return None
        file, names, drop = Path(table["model"]), dict(table.get("rename", [])), table.get("drop", [])
        replay, replay_share = table.get("replay"), table.get("replay_share")
    old = None if replay is None else opened.enter_context(open_prepared(replay))
    return FromModel(load_model(file), names, drop, old, replay_share)


def _print_start(run: "RunDirectory", trainer: "Trainer", start: "FromModel | None", measured: bool) -> None:
    from gemsnn.training.config import rule_table
    from gemsnn.training.partition import groups_of

    network, data, rule, parts = trainer.network, trainer.data, rule_table(trainer.rule), trainer.partition
    say(
        f"{run.path}: {network.n_inputs} inputs, {network.n_hidden} hidden and {network.n_visible} visible "
        f"neurons, {counted(trainer.n_compartments, 'compartment')}, rule {rule['kind']} "
        f"with learning rate {rule['learning_rate']:g}{' from the data' if measured else ''}; {len(parts.training)} "
        f"training, {len(parts.validation)} validation and {len(parts.test)} test examples of {data.n_steps} steps"
    )
    groups = groups_of(data.train)
    if groups is not None:
        say(f"validation: {counted(len(set(groups[parts.validation])), 'held-out group')}")
    if start is not None:
        say(_described(start, trainer))
    if trainer.position:
        say(f"resuming at example {trainer.position} of {trainer.total}")


def _described(start: "FromModel", trainer: "Trainer") -> str:
    """What a run takes over from the model that it starts from."""
    from gemsnn.training.augmentation import Replay

    before, now = [str(label) for label in start.model.classes], [str(label) for label in trainer.data.classes]
    renamed = {str(old): str(new) for old, new in start.rename.items()}
    kept = [renamed.get(name, name) for name in before if name not in set(map(str, start.drop))]
    parts = [f"starts from the weights of {start.model.path}"]
    if new := [name for name in now if name not in kept]:
        parts.append(f"new classes: {', '.join(new)}")
    if start.drop:
        parts.append(f"dropped: {', '.join(map(str, start.drop))}")
    for part in trainer.augmentation:
        if isinstance(part, Replay):
            parts.append(f"{part.share:.0%} of the training examples are replayed from {len(part.indices)} old ones")
    if start.model.calibration is not None:
        parts.append("its guarantee does not hold for the new model: run `gemsnn calibrate` again")
    return "; ".join(parts)


def _print_results(run: "RunDirectory", trainer: "Trainer", status: str) -> None:
    from gemsnn.training.evaluations import is_the_last

    progress = trainer.state.progress
    models = {
        "best by validation": progress.best,
        "final": progress.last,
        "best on test": progress.best_on_test,
        "by likelihood only": progress.likelihood_trained,
    }
    records = {name: record for name, record in models.items() if record is not None}
    figures = (
        ("accuracy", "accuracy", "{:.1%}"),
        ("log_likelihood", "log-likelihood", "{:.2f}"),
        ("ece", f"ECE ({trainer.evaluations.n_bins} bins)", "{:.3f}"),
        ("nll", "NLL of the class", "{:.3f}"),
        ("brier", "Brier score", "{:.3f}"),
        ("van_rossum", "van Rossum distance", "{:.3f}"),
        ("over_silence", "van Rossum distance / silence's, squared", "{}"),
        ("visible_spikes_per_step", "visible spikes per step", "{:.2f}"),
        ("target_spikes_per_step", "target spikes per step", "{:.2f}"),
        ("hidden_spikes_per_step", "hidden spikes per step", "{:.1f}"),
    )
    rows = [["examples learned", *(str(record["position"]) for record in records.values())]]
    for split in ("validation", "test"):
        parts = [record[split] or {} for record in records.values()]
        measured = [figure for figure in figures if any(figure[0] in part for part in parts)]
        rows += [[]] if measured else []
        for key, name, form in measured[: 2 if split == "validation" else None]:
            cells = (form.format(_text(part[key])) if part else "" for part in parts)
            rows.append([f"{split}: {name}", *cells])
    print_table(["", *records], rows, f"{run.path}: {status} after {trainer.position} examples", left=("",))
    if is_the_last(progress.best and progress.best["validation"], trainer.evaluations.select_by):
        held_out = counted(len(trainer.partition.validation), "validation example")
        say(f"Only {held_out}: the last model is kept (--set select_by=accuracy selects by accuracy).")
    calibrated = run.load_model().certainty
    if calibrated is not None:
        examples = counted(calibrated.about["recordings"], "held-out example")
        say(f"Probabilities were calibrated on {examples}; `gemsnn evaluate` reports calibrated metrics.")
    say(f"Models: {', '.join(p.name for p in sorted(run.path.glob('*.safetensors')))} in {run.path}")


def _text(figure: Any) -> Any:
    """A figure; a table of figures by time constant as text."""
    if not isinstance(figure, dict):
        return figure
    return ", ".join("-" if value is None else f"{value:.2f} (tau {name})" for name, value in figure.items())
