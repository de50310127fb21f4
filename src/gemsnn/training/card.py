"""A model card: what a run's model is, its training data, its metrics and its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gemsnn._version import __version__
from gemsnn.metrics import network_cost
from gemsnn.training.model import Model

FIGURES = (
    ("accuracy", "accuracy", "{:.1%}"),
    ("exact_match", "examples with every label right", "{:.1%}"),
    ("ece", "expected calibration error", "{:.3f}"),
    ("nll", "negative log-likelihood", "{:.3f}"),
    ("brier", "Brier score", "{:.3f}"),
    ("van_rossum", "van Rossum distance", "{:.3f}"),
    ("log_likelihood", "log-likelihood of the desired spikes", "{:.2f}"),
    ("hidden_spikes_per_step", "hidden spikes per step", "{:.1f}"),
)


def model_card(model: Model, summary: Mapping[str, Any]) -> str:
    """Markdown, from the run's default model and the content of ``summary.json``."""
    record = summary["best"] or summary["final"]
    named = f"{_numbered(len(model.classes), 'class', 'classes')}" if model.classes else "spike patterns"
    parts = [
        "---\nlibrary_name: gemsnn\ntags: [spiking-neural-network, neuromorphic]\n---\n",
        f"# A spiking network for {named}\n",
        "\n".join(_model(model, summary)),
        "## Data\n",
        "\n".join(_data(model, summary)),
        "## Figures\n",
        "\n".join(_figures(record)),
        "## Limits\n",
        "\n".join(_limits(model, record)),
        "## Use\n",
        "```sh\ngemsnn evaluate . --data DATA.h5      # figures and costs on other recordings\n"
        "gemsnn predict . RECORDING            # labels, probabilities\n"
        "gemsnn export . --to c --out DIR      # a C program\n```\n",
    ]
    return "\n".join(parts)


def _model(model: Model, summary: Mapping[str, Any]) -> Iterator[str]:
    network, cost = model.network, network_cost(model.network, model.parameters)
    config = summary["config"]
    rule = config.get("rule")
    kind = rule.get("kind") if isinstance(rule, Mapping) else None
    sizes = f"{network.n_inputs:,} inputs, {network.n_hidden:,} hidden and {network.n_visible:,} visible neurons"
    yield f"- Network: {sizes}"
    yield f"- {cost.parameter_count:,} parameters, {cost.footprint:,} bytes"
    if kind:
        yield f"- Learned by: {kind}, {_numbered(config.get('n_compartments', 1), 'compartment')}"
    yield f"- Read out by: {model.decoder.name}, {_numbered(model.decoder.compartments, 'compartment')}"
    if model.classes:
        yield f"- Classes: {', '.join(_plain(label) for label in model.classes)}"
    yield f"- Made with gemsnn {__version__}; every setting is in `config.toml`\n"


def _data(model: Model, summary: Mapping[str, Any]) -> Iterator[str]:
    counts = summary["examples"]
    yield f"- Examples: {', '.join(f'{counts[part]:,} {part}' for part in counts)}"
    yield f"- Steps of the training examples: at most {model.n_steps:,}"
    yield f"- Fingerprint: `{summary['data']}`"
    if model.preprocessing is None:
        yield "- Given as spikes; how they were made is unknown\n"
        return
    choices = model.preprocessing.to_dict()
    yield "- Preprocessing: " + ", ".join(f"{name} {_plain(value)}" for name, value in choices.items()) + "\n"


def _figures(record: Mapping[str, Any]) -> Iterator[str]:
    splits = [split for split in ("validation", "test") if record.get(split)]
    if not splits:
        yield "No examples were held out, so its performance on others is unknown.\n"
        return
    yield f"After {record['position']:,} examples:\n"
    yield f"| | {' | '.join(splits)} |"
    yield f"|---|{'---:|' * len(splits)}"
    for key, name, form in FIGURES:
        values = [record[split].get(key) for split in splits]
        if any(value is not None for value in values):
            yield f"| {name} | {' | '.join('-' if value is None else form.format(value) for value in values)} |"
    yield ""


def _limits(model: Model, record: Mapping[str, Any]) -> Iterator[str]:
    if model.classes and not model.about.get("several_labels"):
        yield "- It answers every recording with one of its classes, even a recording of none of them."
    if record.get("test") or record.get("validation"):
        yield "- The figures hold for recordings like those of the data above: same sensor, same settings, same scenes."
    if record.get("validation") and not record.get("test"):
        yield "- The model was selected on the validation examples, so their figures are slightly optimistic."
    if model.calibration is None and model.classes:
        yield "- It has no guarantee: `gemsnn calibrate` makes sets of classes that have one."
    yield "- Consider the cost of wrong answers before relying on it.\n"


def _numbered(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def _plain(value: Any) -> str:
    """With Markdown's special characters escaped."""
    text: str = ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#|~" else letter for letter in text.replace("\n", " "))
