"""`gemsnn train`: train on a prepared file, in a run directory that can be resumed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemsnn.cli.output import outlast_output, print_table, say, warnings_as_lines
from gemsnn.cli.settings import complete_setting
from gemsnn.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from gemsnn.training import RunDirectory, Trainer, TrainingConfig

_NETWORK, _LENGTH, _MACHINE = "Network and rule", "How long, and the choice of the model", "Machine"


def decoder_names() -> list[str]:
    from gemsnn.inference.decoders import DECODERS

    return list(DECODERS)


DECODER_HELP = (
    "How to read out: by the compartments' vote, by the model's likelihood of each class, or by that averaged per step."
)


def _rule_names() -> list[str]:
    from gemsnn.rules import RULES

    return list(RULES)


def train(
    out: Annotated[Path, typer.Option("--out", help="Run directory; made if it is not there.", file_okay=False)],
    data: Annotated[
        Path | None, typer.Option("--data", help="Prepared file, from `gemsnn data`. A resumed run knows its own.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the run in --out stopped (or begin, if there is none).")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", help="TOML file of settings; flags outweigh it.", dir_okay=False)
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Settings to start from: paper.", show_default="the defaults", autocompletion=lambda: ["paper"]
        ),
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
            autocompletion=_rule_names,
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Step size of the rule.",
            show_default="0.001",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(
            help=DECODER_HELP,
            show_default="per-step, whose probabilities mean most",
            autocompletion=decoder_names,
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
            show_default="1",
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
            autocompletion=complete_setting,
        ),
    ] = None,
    tensorboard: Annotated[
        bool | None,
        typer.Option(
            help="Write TensorBoard scalars.",
            show_default="where it is installed",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
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
        "decoder": decoder,
        "inference_compartments": inference_compartments,
        "epochs": epochs,
        "eval_every": eval_every,
        "patience": patience,
        "seed": seed,
        "threads": threads,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    given |= dict(parse_assignment(text) for text in settings or [])
    run = RunDirectory(out)
    if resume and config is None and preset is None and run.config.exists():
        config = run.config
    chosen, known_data = _configuration(config, preset, given)
    path = data or known_data
    if path is None:
        raise ConfigError("--data is needed: a prepared file, from `gemsnn data simulate` or `gemsnn data import`")

    console = Console(emoji=False)
    with StopSignals() as stop, warnings_as_lines(), open_prepared(path) as prepared, _Watchers(console) as watchers:
        outcome = train_in_directory(
            chosen,
            prepared,
            out,
            resume=resume,
            observers=lambda run, trainer: watchers.make(run, trainer, tensorboard),
            stop=stop,
        )
    if outcome.status == "interrupted":
        position, total = outcome.trainer.position, outcome.trainer.total
        say(f"Stopped at {position} of {total} examples; all is saved. Go on with: gemsnn train --out {out} --resume")
        raise typer.Exit(stop.exit_code)
    _print_results(run, outcome.trainer, outcome.status)


def _configuration(
    config: Path | None, preset: str | None, given: dict[str, Any]
) -> "tuple[TrainingConfig, Path | None]":
    from gemsnn.training import TrainingConfig, read_config

    if config is None:
        return TrainingConfig.of(preset, given), None
    return read_config(config, preset, **given)


class _Watchers:
    """The observers of a run, closed at its end."""

    def __init__(self, console: "Console") -> None:
        from contextlib import ExitStack

        self._console, self._open = console, ExitStack()

    def __enter__(self) -> "_Watchers":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def make(self, run: "RunDirectory", trainer: "Trainer", tensorboard: bool | None) -> list[Any]:
        from gemsnn.training.config import rule_table
        from gemsnn.training.display import display
        from gemsnn.training.tensorboard import TensorBoard, available

        network, data, rule = trainer.network, trainer.data, rule_table(trainer.config.rule)
        say(
            f"{run.path}: {network.n_inputs} inputs, {network.n_hidden} hidden and {network.n_visible} visible "
            f"neurons, {trainer.config.n_compartments} compartments, rule {rule['kind']} "
            f"with learning rate {rule['learning_rate']:g}; {len(trainer.training)} training, "
            f"{len(trainer.validation)} validation and {len(trainer.test)} test examples of {data.n_steps} steps"
        )
        if trainer.position:
            say(f"going on from example {trainer.position} of {trainer.total}")
        observers: list[Any] = [self._open.enter_context(display(self._console, trainer))]
        if tensorboard or (tensorboard is None and available()):
            board = TensorBoard(run)
            self._open.callback(board.close)
            observers.append(board)
        return observers


def _print_results(run: "RunDirectory", trainer: "Trainer", status: str) -> None:
    from rich.table import Column, Table

    from gemsnn.common.words import counted
    from gemsnn.training.choice import is_the_last

    progress = trainer.state.progress
    models = {"best by validation": progress.best, "final": progress.last, "best on test": progress.best_on_test}
    records = {name: record for name, record in models.items() if record is not None}
    table = Table("", *(Column(name, justify="right") for name in records))
    table.add_row("examples learned", *(str(record["position"]) for record in records.values()))
    rows = (
        ("accuracy", "accuracy", "{:.1%}"),
        ("log_likelihood", "log-likelihood", "{:.2f}"),
        ("ece", f"ECE ({trainer.config.n_bins} bins)", "{:.3f}"),
        ("nll", "NLL of the class", "{:.3f}"),
        ("brier", "Brier score", "{:.3f}"),
        ("van_rossum", "van Rossum distance", "{:.3f}"),
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
            figures = (form.format(record[split][key]) if record[split] else "" for record in records.values())
            table.add_row(f"{split}: {name}", *figures)
    print_table(table, f"{run.path}: {status} after {trainer.position} examples")
    if is_the_last(progress.best and progress.best["validation"], trainer.config.criterion):
        held_out = counted(len(trainer.validation), "validation example")
        say(f"Too few to choose a model by, {held_out}: the best is the last (or --set select_by=accuracy).")
    if "best on test" in records:
        say("The paper reports the best on test; an honest figure is the test figure of the best by validation.")
    say(f"Models: {', '.join(p.name for p in sorted(run.path.glob('*.safetensors')))} in {run.path}")
