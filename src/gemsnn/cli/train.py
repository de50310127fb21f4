"""`gemsnn train`: train on a prepared file, in a run directory that can be resumed."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gemsnn.cli.output import outlast_output, print_table, say, warnings_as_lines
from gemsnn.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from gemsnn.training import FromModel, Model, RunDirectory, Trainer, TrainingConfig

_FROM, _NETWORK, _LENGTH, _MACHINE = (
    "Going on from a model",
    "Network and rule",
    "How long, and the choice of the model",
    "Machine",
)


DECODER_HELP = (
    "How to read out: by the compartments' vote, by the model's likelihood of each class, or by that averaged per step."
)


def train(
    out: Annotated[Path, typer.Option("--out", help="Run directory; made if it is not there.", file_okay=False)],
    data: Annotated[
        Path | None, typer.Option("--data", help="Prepared file, from `gemsnn data`. A resumed run knows its own.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the run in --out stopped (or begin, if there is none).")
    ] = False,
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Go on from a trained model, a run directory or a .safetensors file, on new data, or the run's own if "
            "--data is not given. Settings are the model's unless given.",
            rich_help_panel=_FROM,
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="F.h5",
            help="With --from: show training recordings of this file in between, so that they are not forgotten.",
            rich_help_panel=_FROM,
        ),
    ] = None,
    replay_share: Annotated[
        float | None,
        typer.Option(help="Share of replayed recordings.", show_default="0.5", rich_help_panel=_FROM),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW",
            help="With --from: call one of the model's classes otherwise. May be repeated.",
            rich_help_panel=_FROM,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS",
            help="With --from: remove one of the model's classes. May be repeated.",
            rich_help_panel=_FROM,
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="TOML file of settings; flags outweigh it.", dir_okay=False)
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="Settings to start from: paper.", show_default="the defaults"),
    ] = None,
    hidden: Annotated[
        int | None,
        typer.Option(
            help="Hidden neurons.",
            show_default="200",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    compartments: Annotated[
        int | None,
        typer.Option(
            help="Compartments K while learning.",
            show_default="1",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How it learns: feedback, gem (the paper's rule), mb or iw.",
            show_default="feedback: the read-out's errors, sent back",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Step size of the rule.",
            show_default="from the data; 0.001 for other rules than feedback",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What it learns for: likelihood, or van-rossum, the distance from the desired spikes, after a "
            "third of the run for likelihood.",
            show_default="log-likelihood of the desired spikes",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(
            help=DECODER_HELP,
            show_default="per-step, whose probabilities mean most",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    inference_compartments: Annotated[
        int | None,
        typer.Option(
            help="Compartments at inference.",
            show_default="as while learning",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="Passes over the training examples: few examples are shown more often. If not given, training stops "
            "early where validation no longer improves.",
            show_default="500 / sqrt(examples), at least 16",
            rich_help_panel=_LENGTH,
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            help="Examples that are learned from the same weights, shared out among threads.",
            show_default="1",
            rich_help_panel=_LENGTH,
        ),
    ] = None,
    eval_every: Annotated[
        int | None,
        typer.Option(
            help="Time steps between evaluations.",
            show_default="once an epoch, 20 times at most",
            rich_help_panel=_LENGTH,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            help="Stop after so many evaluations that were not better.", show_default="never", rich_help_panel=_LENGTH
        ),
    ] = None,
    background: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Recordings of nothing in particular, such as an empty scene: it learns that they are of no class.",
            file_okay=False,
            rich_help_panel=_LENGTH,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Decides everything random.",
            show_default="0",
            rich_help_panel=_LENGTH,
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads; the result does not depend on it.",
            show_default="all processors",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Any other setting of the configuration, e.g. --set hidden_bias=-3 or --set rule.gain=5. May be "
            "repeated; the run's config.toml lists all fields.",
        ),
    ] = None,
    tensorboard: Annotated[
        bool,
        typer.Option("--tensorboard", help="Also write scalars for TensorBoard.", rich_help_panel=_MACHINE),
    ] = False,
) -> None:
    """Train a network online, with a live display. Ctrl-C saves; --resume goes on, to the same bits.

    It learns by feedback unless told otherwise; --rule gem takes the paper's rule, --preset paper all its settings.

    Example: gemsnn train --data digits.h5 --out runs/first --compartments 5
    """
    outlast_output()
    from rich.console import Console

    from gemsnn.events import open_prepared
    from gemsnn.training import RunDirectory
    from gemsnn.training.config import parse_assignment
    from gemsnn.training.run import train as train_in_directory
    from gemsnn.training.signals import StopSignals

    flags = {
        "n_hidden": hidden,
        "n_compartments": compartments,
        "rule": rule,
        "rule.learning_rate": learning_rate,
        "objective": objective,
        "decoder": decoder,
        "inference_compartments": inference_compartments,
        "epochs": epochs,
        "batch_size": batch_size,
        "eval_every": eval_every,
        "patience": patience,
        "background": None if background is None else str(background),
        "seed": seed,
        "threads": threads,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    given |= dict(parse_assignment(text) for text in settings or [])
    run = RunDirectory(out)
    if resume and config is None and preset is None and run.config.exists():
        config = run.config
    start_with = _start(config, start, replay, replay_share, rename, drop)
    chosen, known_data = _configuration(config, preset, given, start_with)
    path = data or known_data
    if path is None:
        raise ConfigError("--data is needed: a prepared file, from `gemsnn data simulate` or `gemsnn data import`")

    console = Console(emoji=False)
    with (
        StopSignals() as stop,
        warnings_as_lines(),
        open_prepared(path) as prepared,
        _opened(start_with) as from_model,
        _Watchers(console, measured=chosen.rule.learning_rate is None) as watchers,
    ):
        outcome = train_in_directory(
            chosen,
            prepared,
            out,
            resume=resume,
            from_model=from_model,
            observers=lambda run, trainer: watchers.make(run, trainer, tensorboard, from_model),
            stop=stop,
        )
    if outcome.status == "interrupted":
        position, total = outcome.trainer.position, outcome.trainer.total
        say(f"Stopped at {position} of {total} examples; all is saved. Go on with: gemsnn train --out {out} --resume")
        raise typer.Exit(stop.exit_code)
    _print_results(run, outcome.trainer, outcome.status)


def _configuration(
    config: Path | None, preset: str | None, given: dict[str, Any], start: "_Start | None"
) -> "tuple[TrainingConfig, Path | None]":
    """Settings, and the data that are used if none are given."""
    from gemsnn.training import FromModel, TrainingConfig, read_config

    if config is not None:
        return read_config(config, preset, **given)
    if start is None or preset is not None:
        return TrainingConfig.of(preset, given), None
    own = start.path.parent / "config.toml"  # of the run that the model is from
    return FromModel(start.model).config(**given), read_config(own)[1] if own.exists() else None


class _Start(NamedTuple):
    """What the options say of the model to go on from."""

    path: Path
    model: "Model"
    rename: dict[str, str]
    drop: list[str]
    replay: Path | None
    replay_share: float | None


def _start(
    config: Path | None,
    model: Path | None,
    replay: Path | None,
    replay_share: float | None,
    rename: list[str] | None,
    drop: list[str] | None,
) -> _Start | None:
    """From options; where a model is not named, from the file of settings."""
    from gemsnn.training import RunDirectory, load_model
    from gemsnn.training.config import read_from_model

    options = {"--replay": replay, "--replay-share": replay_share, "--rename": rename, "--drop": drop}
    given = [name for name, value in options.items() if value not in (None, [])]
    pairs = [text.partition("=") for text in rename or []]
    if wrong := [text for text, (old, _, new) in zip(rename or [], pairs, strict=True) if not old or not new]:
        raise ConfigError(f"--rename {wrong[0]}: write it as OLD=NEW, for example --rename 0=zero")
    if model is not None:
        file = model if model.is_file() else RunDirectory(model).find_model()
        names = {old: new for old, _, new in pairs}
        return _Start(file, load_model(file), names, drop or [], replay, replay_share)
    if given:
        raise ConfigError(f"{given[0]} needs --from: the trained model to go on from")
    table = {} if config is None else read_from_model(config)
    if not table:
        return None
    file, old = Path(table["model"]), table.get("replay")
    return _Start(
        file,
        load_model(file),
        dict(table.get("rename", [])),
        table.get("drop", []),
        None if old is None else Path(old),
        table.get("replay_share"),
    )


@contextmanager
def _opened(start: _Start | None) -> "Iterator[FromModel | None]":
    """The model to go on from, with the data to replay, if any."""
    from gemsnn.events import open_prepared
    from gemsnn.training import FromModel

    if start is None:
        yield None
        return
    with nullcontext() if start.replay is None else open_prepared(start.replay) as replay:
        yield FromModel(start.model, start.rename, start.drop, replay, start.replay_share)


class _Watchers:
    """The observers of a run, closed at its end."""

    def __init__(self, console: "Console", measured: bool) -> None:
        from contextlib import ExitStack

        self._console, self._measured, self._open = console, measured, ExitStack()

    def __enter__(self) -> "_Watchers":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def make(
        self, run: "RunDirectory", trainer: "Trainer", tensorboard: bool, from_model: "FromModel | None"
    ) -> list[Any]:
        from gemsnn.common.words import counted
        from gemsnn.training.config import rule_table
        from gemsnn.training.display import display
        from gemsnn.training.partition import groups_of
        from gemsnn.training.tensorboard import TensorBoard

        network, data, rule = trainer.network, trainer.data, rule_table(trainer.rule)
        parts, measured = trainer.partition, " from the data" if self._measured else ""
        say(
            f"{run.path}: {network.n_inputs} inputs, {network.n_hidden} hidden and {network.n_visible} visible "
            f"neurons, {trainer.n_compartments} compartments, rule {rule['kind']} "
            f"with learning rate {rule['learning_rate']:g}{measured}; {len(parts.training)} training, "
            f"{len(parts.validation)} validation and {len(parts.test)} test examples of {data.n_steps} steps"
        )
        groups = groups_of(data.train)
        if groups is not None:
            others = counted(len(set(groups[parts.validation])), "group")
            say(f"the validation examples are those of {others} that it does not learn from")
        if from_model is not None:
            say(_begins(from_model, trainer))
        if trainer.position:
            say(f"going on from example {trainer.position} of {trainer.total}")
        observers: list[Any] = [self._open.enter_context(display(self._console, trainer))]
        if tensorboard:
            board = TensorBoard(run)
            self._open.callback(board.close)
            observers.append(board)
        return observers


def _begins(start: "FromModel", trainer: "Trainer") -> str:
    """Where a run begins that goes on from a model."""
    from gemsnn.training.replay import Replay

    before, now = [str(label) for label in start.model.classes], [str(label) for label in trainer.data.classes]
    renamed = {str(old): str(new) for old, new in start.rename.items()}
    kept = [renamed.get(name, name) for name in before if name not in set(map(str, start.drop))]
    parts = [f"begins with the weights of {start.model.path}"]
    if new := [name for name in now if name not in kept]:
        parts.append(f"new classes: {', '.join(new)}")
    if start.drop:
        parts.append(f"dropped: {', '.join(map(str, start.drop))}")
    for part in trainer.augmentation:
        if isinstance(part, Replay):
            parts.append(f"{part.share:.0%} of what is learned is replayed from {len(part.indices)} old examples")
    if start.model.calibration is not None:
        parts.append("its guarantee does not hold for the new model: run `gemsnn calibrate` anew")
    return "; ".join(parts)


def _print_results(run: "RunDirectory", trainer: "Trainer", status: str) -> None:
    from rich.table import Column, Table

    from gemsnn.common.words import counted
    from gemsnn.training.choice import is_the_last

    progress = trainer.state.progress
    models = {
        "best by validation": progress.best,
        "final": progress.last,
        "best on test": progress.best_on_test,
        "by likelihood only": progress.likelihood_trained,
    }
    records = {name: record for name, record in models.items() if record is not None}
    table = Table("", *(Column(name, justify="right") for name in records))
    table.add_row("examples learned", *(str(record["position"]) for record in records.values()))
    rows = (
        ("accuracy", "accuracy", "{:.1%}"),
        ("log_likelihood", "log-likelihood", "{:.2f}"),
        ("ece", f"ECE ({trainer.evaluations.n_bins} bins)", "{:.3f}"),
        ("nll", "NLL of the class", "{:.3f}"),
        ("brier", "Brier score", "{:.3f}"),
        ("van_rossum", "van Rossum distance", "{:.3f}"),
        ("over_silence", "squared, over silence's", "{}"),
        ("visible_spikes_per_step", "visible spikes per step", "{:.2f}"),
        ("target_spikes_per_step", "desired spikes per step", "{:.2f}"),
        ("hidden_spikes_per_step", "hidden spikes a step", "{:.1f}"),
    )
    for split in ("validation", "test"):
        if not any(record[split] for record in records.values()):
            continue
        table.add_section()
        measured = [
            row for row in rows if any(record[split] and row[0] in record[split] for record in records.values())
        ]
        for key, name, form in measured[: 2 if split == "validation" else None]:
            figures = (form.format(_shown(record[split][key])) if record[split] else "" for record in records.values())
            table.add_row(f"{split}: {name}", *figures)
    print_table(table, f"{run.path}: {status} after {trainer.position} examples")
    if is_the_last(progress.best and progress.best["validation"], trainer.evaluations.select_by):
        held_out = counted(len(trainer.partition.validation), "validation example")
        say(f"Too few to choose a model by, {held_out}: the best is the last (or --set select_by=accuracy).")
    if "best on test" in records:
        say("The paper reports the best on test; an honest figure is the test figure of the best by validation.")
    calibrated = run.load_model().certainty
    if calibrated is not None:
        examples = counted(calibrated.about["recordings"], "held-out example")
        say(f"Probabilities were then calibrated on {examples}: gemsnn evaluate gives figures of these.")
    say(f"Models: {', '.join(p.name for p in sorted(run.path.glob('*.safetensors')))} in {run.path}")


def _shown(figure: Any) -> Any:
    """A figure, or several by their time constants."""
    if not isinstance(figure, dict):
        return figure
    return ", ".join("-" if value is None else f"{value:.2f} (tau {name})" for name, value in figure.items())
