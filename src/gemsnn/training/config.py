"""Every setting of a training run, in one place: defaults, allowed ranges, presets, and the TOML file they live in.

The same names are used in Python, in the file and by ``GEMClassifier``. To change a default, change it here.
"""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo

from gemsnn.errors import ConfigError
from gemsnn.learning import GEM
from gemsnn.model import Exponential, Filter, Network, Parameters, RaisedCosine, Topology


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class RaisedCosineSettings(_Settings):
    """Raised cosines, evenly spaced in log time (see ``gemsnn.RaisedCosine``)."""

    kind: Literal["raised-cosine"] = "raised-cosine"
    n_basis: int = Field(default=3, ge=1, le=64)
    duration: int = Field(default=10, ge=1, le=1024)
    offset: float = Field(default=1.0, gt=0)

    def build(self) -> Filter:
        return RaisedCosine(self.n_basis, self.duration, self.offset)


class ExponentialSettings(_Settings):
    """Decaying exponentials (see ``gemsnn.Exponential``)."""

    kind: Literal["exponential"] = "exponential"
    time_constants: tuple[Annotated[float, Field(gt=0)], ...] = Field(default=(1.0, 3.0, 9.0), min_length=1)
    duration: int = Field(default=10, ge=1, le=1024)

    def build(self) -> Filter:
        return Exponential(self.time_constants, self.duration)


FilterSettings = Annotated[RaisedCosineSettings | ExponentialSettings, Field(discriminator="kind")]
Decoder = Literal["vote", "likelihood", "per-step"]
Criterion = Literal["accuracy", "nll", "log_likelihood"]
Compartments = Annotated[int, Field(ge=1, le=1024)]


class DecoderSettings(_Settings):
    """A way to read a class out of the network."""

    kind: Decoder = "vote"
    """vote: majority over compartments; likelihood: the model's own posterior; per-step: averaged over time."""
    compartments: Compartments = 1
    """Compartments that run at inference."""


class TrainingConfig(_Settings):
    """Settings of a training run. Impossible values are a ``ConfigError`` that names the field and what is allowed.

    Examples
    --------
    >>> TrainingConfig.make(n_hidden=50, epochs=2).learning_rate
    0.0003
    >>> TrainingConfig.make(preset="paper").learning_rate
    0.001
    >>> TrainingConfig.make(kappa=2)
    Traceback (most recent call last):
    ...
    gemsnn.errors.ConfigError: kappa = 2: must be a number, > 0 and <= 1
    """

    # ---- the network and where it starts
    n_hidden: int = Field(default=200, ge=0, le=100_000)
    """Hidden neurons, all connected to each other, to all inputs and to the read-out."""
    synaptic_filter: FilterSettings = ExponentialSettings(time_constants=(2.0, 10.0, 80.0), duration=80)
    """How synapses remember spikes."""
    somatic_filter: FilterSettings = RaisedCosineSettings()
    """How neurons remember their own spikes."""
    visible_memory: bool = False
    """Whether the read-out neurons remember their own spikes; without, their somatic weights stay 0."""
    hidden_bias: float = -2.0
    """Initial bias of the hidden neurons: -2 makes them fire in about one step of eight."""
    visible_bias: float = 0.0
    """Initial bias of the read-out neurons."""
    weight_scale: float = Field(default=0.1, ge=0)
    """Spread of the initial potentials that the synapses cause."""

    # ---- the rule
    n_compartments: Compartments = 1
    """Compartments K while learning."""
    learning_rate: float = Field(default=3e-4, ge=0)
    """Step size eta."""
    kappa: float = Field(default=0.9, gt=0, le=1)
    """Memory of the log-weights."""
    gamma: float = Field(default=0.9, gt=0, le=1)
    """Memory of the eligibility."""
    centred: bool = True
    """Without feedback: hidden neurons learn from importance weights less their mean, the same but with less noise."""
    feedback: float = Field(default=10.0, ge=0)
    """0: hidden neurons learn from importance weights; above: from the read-out's errors, so many times as fast."""

    # ---- how long, and how the step size changes
    epochs: int = Field(default=10, ge=1)
    """Passes over the training examples, each in an order of its own."""
    max_time_samples: int | None = Field(default=None, ge=1)
    """Stop after the example that reaches so many time steps, if that comes before the last epoch's end."""
    learning_rate_schedule: Literal["constant", "linear", "cosine"] = "cosine"
    """How the step size falls from learning_rate to learning_rate_floor over the run."""
    learning_rate_floor: float = Field(default=0.0, ge=0, le=1)
    """Share of learning_rate that is left at the end of a linear or cosine schedule."""
    average_last: float = Field(default=0.2, ge=0, le=1)
    """Share of the run, at its end, whose weights are averaged to give the model; 0 takes the last weights."""
    shift: int | None = Field(default=None, ge=0)
    """Pixels by which examples move at most, each time they are learned; not given: 2 on grids of 16 x 16 or more."""
    grid: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] | None = None
    """Rows and columns that the inputs lie on, for shift; not given: those of the prepared file, none for arrays."""

    # ---- evaluation and the choice of the model
    validation_fraction: float = Field(default=0.1, ge=0, lt=1)
    """Share of each class's training examples held out for validation; 0 holds out none."""
    eval_every: int | None = Field(default=None, ge=1)
    """Time steps between evaluations; not given: once an epoch. There is always one at the end."""
    eval_at: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Time steps after which to evaluate, in place of eval_every. There is always one at the end."""
    validation_limit: int | None = Field(default=None, ge=1)
    """Evaluate on at most so many validation examples."""
    test_limit: int | None = Field(default=None, ge=0)
    """Evaluate on at most so many test examples while training; 0 for none."""
    select_by: Criterion = "accuracy"
    """What makes a model the best; equal accuracies are told apart by nll."""
    patience: int | None = Field(default=None, ge=1)
    """Stop when so many evaluations in a row brought no better validation; not given: never."""

    # ---- reading out
    decoder: Decoder = "per-step"
    """vote: majority over compartments, as in the paper; likelihood: the model's own posterior; per-step: averaged."""
    inference_compartments: Compartments | None = None
    """Compartments at inference; not given: as while learning."""
    likelihood_samples: int = Field(default=20, ge=1, le=10_000)
    """Realisations behind every log-likelihood."""
    n_bins: int = Field(default=10, ge=1, le=1000)
    """Bins of the calibration error."""
    extra_decoders: tuple[DecoderSettings, ...] = ()
    """Further ways to read out, evaluated beside the main one."""

    # ---- the machine
    seed: int = Field(default=0, ge=0, lt=1 << 63)
    """Decides initial weights, hold-out, order of the examples, and every spike."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision of the weights."""
    threads: int = Field(default=1, ge=1, le=1024)
    """Threads of the engine; the results do not depend on it."""
    checkpoint_seconds: float = Field(default=30.0, ge=0)
    """Seconds of learning between checkpoints; 0: after every example. The results do not depend on it."""

    @field_validator("synaptic_filter", "somatic_filter", mode="before")
    @classmethod
    def _accept_filters(cls, value: Any) -> Any:
        """A ``gemsnn`` filter, or settings that leave out the default kind, will do as well."""
        if isinstance(value, RaisedCosine):
            return RaisedCosineSettings(n_basis=value.n_basis, duration=value.duration, offset=value.offset)
        if isinstance(value, Exponential):
            return ExponentialSettings(time_constants=value.time_constants, duration=value.duration)
        return {"kind": "raised-cosine", **value} if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _check(self) -> TrainingConfig:
        if self.eval_every is not None and self.eval_at:
            raise ValueError("eval_every and eval_at cannot both be given")
        if self.n_compartments == 1 and self.centred and self.feedback == 0 and self.n_hidden > 0:
            raise ValueError(
                "n_compartments = 1: without feedback, hidden neurons learn by comparing compartments; use 2 or more, "
                "or a feedback above 0"
            )
        if self.patience is not None and self.validation_fraction == 0:
            raise ValueError("patience needs validation examples: set validation_fraction above 0")
        for name in ("synaptic_filter", "somatic_filter"):
            try:
                getattr(self, name).build()
            except ConfigError as error:
                raise ValueError(f"{name}: {error}") from None
        return self

    @classmethod
    def make(cls, preset: str | None = None, **settings: Any) -> TrainingConfig:
        """From a preset's values (the defaults, if None) and changes to them."""
        try:
            return cls.model_validate({**preset_values(preset), **settings})
        except ValidationError as error:
            raise ConfigError(_complaint(error, cls)) from None

    def changed(self, **settings: Any) -> TrainingConfig:
        """A copy with other values for some fields."""
        return TrainingConfig.make(**{**self.model_dump(), **settings})

    # ---- what the settings mean

    @property
    def main_decoder(self) -> DecoderSettings:
        """The main way to read out."""
        return DecoderSettings(kind=self.decoder, compartments=self.inference_compartments or self.n_compartments)

    def network(self, n_inputs: int, n_visible: int) -> Network:
        topology = Topology.fully_connected(n_inputs, self.n_hidden, n_visible)
        return Network(
            topology, self.synaptic_filter.build(), self.somatic_filter.build(), visible_memory=self.visible_memory
        )

    def initial_parameters(self, network: Network) -> Parameters:
        return network.init(
            self.seed,
            weight_scale=self.weight_scale,
            hidden_bias=self.hidden_bias,
            visible_bias=self.visible_bias,
            dtype=np.dtype(self.dtype),
        )

    def total_examples(self, n_train: int, n_steps: int) -> int:
        """Presentations in a run that is not stopped early."""
        total = self.epochs * n_train
        if self.max_time_samples is not None:
            total = min(total, math.ceil(self.max_time_samples / n_steps))
        return total

    def rule(self, position: int, total: int) -> GEM:
        """The rule for example ``position`` of ``total``."""
        share, floor = position / total, self.learning_rate_floor
        factor = {
            "constant": 1.0,
            "linear": floor + (1 - floor) * (1 - share),
            "cosine": floor + (1 - floor) * (1 + math.cos(math.pi * share)) / 2,
        }[self.learning_rate_schedule]
        return GEM(self.learning_rate * factor, self.kappa, self.gamma, self.centred, self.feedback)

    # ---- identity

    def identity(self) -> dict[str, Any]:
        """The settings that decide the results, as JSON values: all but those of the machine."""
        return self.model_dump(mode="json", exclude={"threads", "checkpoint_seconds"})


def checked_decoder(values: Mapping[str, Any]) -> DecoderSettings:
    """A decoder from a user's values; impossible ones are a ``ConfigError``."""
    try:
        return DecoderSettings.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError(_complaint(error, DecoderSettings)) from None


PRESETS: dict[str, dict[str, Any]] = {
    # Section 4 of the paper; where it is silent (initial weights, when to stop), the defaults above.
    "paper": {
        "n_hidden": 200,
        "n_compartments": 20,
        "learning_rate": 1e-3,
        "kappa": 0.9,
        "gamma": 0.9,
        "centred": False,
        "feedback": 0.0,
        "synaptic_filter": RaisedCosineSettings().model_dump(),
        "somatic_filter": RaisedCosineSettings().model_dump(),
        "visible_memory": True,
        "hidden_bias": -2.0,
        "weight_scale": 1.0,
        "learning_rate_schedule": "constant",
        "average_last": 0.0,
        "shift": 0,
        "decoder": "vote",
        "inference_compartments": None,
        "likelihood_samples": 20,
        "patience": None,
    },
}


def preset_values(name: str | None) -> dict[str, Any]:
    """What a preset sets; nothing for None."""
    if name is None:
        return {}
    if name not in PRESETS:
        raise ConfigError(f"preset = {name!r}: there is only {', '.join(map(repr, PRESETS))}")
    return dict(PRESETS[name])


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two configurations' :meth:`~TrainingConfig.identity`, one text a field."""
    missing = "(not set)"
    return [
        f"{name} was {json.dumps(before.get(name, missing))} and is now {json.dumps(now.get(name, missing))}"
        for name in sorted({*before, *now})
        if before.get(name, missing) != now.get(name, missing)
    ]


# ---- the TOML file ---------------------------------------------------------------------------------------------------


def read_config(path: str | Path, preset: str | None = None, **settings: Any) -> tuple[TrainingConfig, Path | None]:
    """Settings from a TOML file, and the data file that it names, if it does.

    ``preset`` takes the place of the file's own ``preset``; ``settings`` take the place of the file's values.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            values = tomllib.load(stream)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: not a TOML file: {error}") from None
    own_preset = values.pop("preset", None)
    data = values.pop("data", None)
    if data is not None and not isinstance(data, str):
        raise ConfigError(f"{file}: data = {data!r}: must be the path of a prepared file")
    try:
        config = TrainingConfig.make(own_preset if preset is None else preset, **{**values, **settings})
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    return config, None if data is None else Path(data)


def write_config(config: TrainingConfig, data: str | None = None) -> str:
    """The settings as TOML, each with its meaning; :func:`read_config` gives them back."""
    lines = ["# Settings of a gemsnn training run; run again with: gemsnn train --config THIS_FILE --out NEW_RUN"]
    if data is not None:
        lines += [f"data = {json.dumps(data, ensure_ascii=False)}"]
    tables: list[str] = []
    for name, field in TrainingConfig.model_fields.items():
        value = getattr(config, name)
        about = f"  # {field.description}"
        if isinstance(value, BaseModel):
            tables += ["", f"[{name}]{about}", *_toml_lines(value)]
        elif name == "extra_decoders":
            for item in value:
                tables += ["", f"[[{name}]]", *_toml_lines(item)]
        elif value is None:
            lines.append(f"# {name} is not given{about}")
        else:
            lines.append(f"{name} = {_toml_value(value)}{about}")
    return "\n".join(lines + tables) + "\n"


def _toml_lines(settings: BaseModel) -> list[str]:
    return [f"{name} = {_toml_value(getattr(settings, name))}" for name in type(settings).model_fields]


def _toml_value(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)  # for strings, booleans and finite numbers JSON is TOML


def parse_assignment(text: str) -> tuple[str, Any]:
    """``field=value`` from the command line; the value as TOML would read it, or else as a string."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set {text}: write it as FIELD=VALUE")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = None if value.strip().lower() == "none" else value.strip()
    return name.strip(), parsed


# ---- telling what is wrong -------------------------------------------------------------------------------------------


def _complaint(error: ValidationError, model: type[BaseModel]) -> str:
    texts = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            owner = _owner(model, item["loc"])
            close = difflib.get_close_matches(str(item["loc"][-1]), owner.model_fields, 1)
            hint = f"did you mean {close[0]}?" if close else f"the settings are {', '.join(owner.model_fields)}"
            texts.append(f"{where}: there is no such setting; {hint}")
        elif not where:
            texts.append(str(item["msg"]).removeprefix("Value error, "))
        else:
            field = _owner(model, item["loc"]).model_fields.get(str(item["loc"][-1]))
            allowed = str(item["msg"]) if field is None else f"must be {allowed_values(field)}"
            texts.append(f"{where} = {item['input']!r}: {allowed}")
    return "; ".join(texts)


def _owner(model: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel]:
    """The settings class whose field an error is about; ``loc`` holds field names, indices and union tags."""
    for part in loc[:-1]:
        field = model.model_fields.get(str(part))
        inner = [] if field is None else _models(field.annotation)
        if len(inner) == 1:
            model = inner[0]
        elif inner:
            tags = {settings.model_fields["kind"].default: settings for settings in inner}
            model = tags.get(loc[loc.index(part) + 1], inner[0])
    return model


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def allowed_values(field: FieldInfo) -> str:
    """What a field takes, in words: ``a whole number, >= 1``."""
    words, bounds = _words(field.annotation)
    bounds += _bounds(field.metadata)
    return ", ".join([words, " and ".join(bounds)] if bounds else [words])


def _words(annotation: Any) -> tuple[str, list[str]]:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        words, bounds = _words(parts[0])
        extra = [meta for part in parts[1:] for meta in (part.metadata if isinstance(part, FieldInfo) else [part])]
        return words, bounds + _bounds(extra)
    if origin is Literal:
        return "one of " + ", ".join(repr(part) for part in parts), []
    if origin is tuple:
        words, bounds = _words(parts[0])
        return f"a list of values, each {words}", bounds
    models = _models(annotation)
    if models:
        kinds = [m.model_fields["kind"].default if "kind" in m.model_fields else m.__name__ for m in models]
        return "settings of " + " or ".join(kinds), []
    if origin is Union or (parts and type(None) in parts):
        words, bounds = _words(next(part for part in parts if part is not type(None)))
        return f"{words} (or left out)", bounds
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(annotation, str(annotation)), []


def _bounds(metadata: list[Any]) -> list[str]:
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    return [f"{sign} {getattr(meta, name)}" for meta in metadata for name, sign in signs.items() if hasattr(meta, name)]
