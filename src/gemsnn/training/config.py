"""All settings of a training run: defaults, allowed ranges, presets, and the TOML file.

The names are the same in Python, in the file and in ``SpikingClassifier``.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    ValidationError,
    model_validator,
)

from gemsnn.common import memory
from gemsnn.common.files import read_regular
from gemsnn.common.kinds import from_table, merged
from gemsnn.common.validation import complaint
from gemsnn.common.words import shown
from gemsnn.errors import ConfigError
from gemsnn.inference.decoders import Decoder, as_decoder
from gemsnn.model import Exponential, Filter, Network, Parameters, RaisedCosine
from gemsnn.model.filters import FILTERS
from gemsnn.model.network import Readout, readout_circuits
from gemsnn.model.parameters import LARGEST_INITIAL
from gemsnn.model.topologies import TOPOLOGIES, FullyConnected, Graph
from gemsnn.objectives import OBJECTIVES, Likelihood, Objective
from gemsnn.rules import GEM, RULES, Feedback, Rule
from gemsnn.training.schedule import Decay, Schedule


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _truth_values_are_no_numbers(cls, values: Any) -> Any:
        for name, value in values.items() if isinstance(values, Mapping) else ():
            field = cls.model_fields.get(name)
            if isinstance(value, bool) and field and bool not in (field.annotation, *get_args(field.annotation)):
                raise ValueError(f"{name} = {str(value).lower()}: true or false is not a value for it")
        return values


def _reader(name: str, part: type[Any], kinds: Mapping[str, type[Any]], default: str) -> BeforeValidator:
    """Validates a setting that is an object, or a table with a kind that describes one."""
    return BeforeValidator(lambda value: value if isinstance(value, part) else from_table(name, value, kinds, default))


def rule_table(part: Rule | Objective) -> dict[str, Any]:
    """A rule or an objective as a table with a kind; an unregistered one has the name of its class."""
    kinds = {kind: name for name, kind in (*RULES.items(), *OBJECTIVES.items())}
    return {"kind": kinds.get(type(part), type(part).__name__), **asdict(part)}


_as_table = PlainSerializer(lambda part: part.settings())
SynapticFilter = Annotated[InstanceOf[Filter], _reader("synaptic_filter", Filter, FILTERS, "raised-cosine"), _as_table]
SomaticFilter = Annotated[InstanceOf[Filter], _reader("somatic_filter", Filter, FILTERS, "raised-cosine"), _as_table]
GraphSetting = Annotated[InstanceOf[Graph], _reader("topology", Graph, TOPOLOGIES, "fully-connected"), _as_table]
RuleSetting = Annotated[InstanceOf[Rule], _reader("rule", Rule, RULES, "feedback"), PlainSerializer(rule_table)]
ObjectiveSetting = Annotated[
    InstanceOf[Objective], _reader("objective", Objective, OBJECTIVES, "likelihood"), PlainSerializer(rule_table)
]


def _decoder(value: Any) -> Any:
    """The name of a registered decoder, or a decoder object."""
    return value if as_decoder(value) is value else str(value)


def decoder_name(decoder: str | Decoder) -> str:
    return decoder if isinstance(decoder, str) else decoder.name


DecoderSetting = Annotated[Any, AfterValidator(_decoder), PlainSerializer(decoder_name)]
Criterion = Literal["accuracy", "nll", "log_likelihood", "van_rossum"]
Compartments = Annotated[int, Field(ge=1, le=1024)]
Count = Annotated[int, Field(ge=1, le=10**15)]
Initial = Annotated[float, Field(ge=-LARGEST_INITIAL, le=LARGEST_INITIAL)]
Side = Annotated[int, Field(ge=1, le=1 << 15)]
ClassWeight = dict[str, float] | str | None
"""``"balanced"``, or factors by class name."""


def _class_weight(value: Any) -> ClassWeight:
    if isinstance(value, Mapping):
        for label, weight in value.items():
            if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
                raise ConfigError(f"class_weight.{label} = {shown(weight)}: must be a number, >= 0")
        return {str(label): float(weight) for label, weight in value.items()}
    if value is not None and value != "balanced":
        raise ConfigError(f"class_weight = {shown(value)}: must be 'balanced', or a table of weights by class")
    return None if value is None else "balanced"


class DecoderSettings(_Settings):
    """How a class is read out of the network."""

    kind: DecoderSetting = "vote"
    """vote: majority over compartments; likelihood: the model's own posterior; per-step: averaged over time."""
    compartments: Compartments = 1
    """Compartments that run at inference."""

    @property
    def name(self) -> str:
        """The decoder's name."""
        return decoder_name(self.kind)


class SettingsGroup(_Settings):
    """A group of settings that is one argument of :class:`gemsnn.SpikingClassifier`.

    Calling an instance returns a changed copy: ``ScheduleSettings()(epochs=5)``.
    """

    @classmethod
    def of_preset(cls, preset: str) -> Self:
        """The values of a preset."""
        values = preset_values(preset)
        return cls(**{name: values[name] for name in cls.model_fields if name in values})

    def __call__(self, **changes: Any) -> Self:
        whole = TrainingConfig.make(**{name: getattr(self, name) for name in type(self).model_fields})
        changed = whole.changed(**changes)
        return type(self)(**{name: getattr(changed, name) for name in type(self).model_fields})


class NetworkSettings(SettingsGroup):
    """How the network is built, and where it starts."""

    topology: GraphSetting = FullyConnected()
    """How neurons are connected: fully-connected, layers (with sizes), random (with density), or a graph file."""
    grid: tuple[Side, Side] | None = None
    """Rows and columns of the inputs, for shift; default: those of the prepared file, none for arrays."""
    readout: Readout | None = None
    """bernoulli, or winner-take-all (one visible neuron spikes per step); default: the latter for classes only."""
    synaptic_filter: SynapticFilter = Exponential(time_constants=(2.0, 10.0, 80.0), duration=80)
    """Filter of the synapses."""
    somatic_filter: SomaticFilter = RaisedCosine()
    """Filter of the neurons' self-memory."""
    visible_memory: bool = False
    """Whether readout neurons have self-memory; otherwise their somatic weights stay 0."""
    hidden_bias: Initial = -2.0
    """Initial bias of the hidden neurons; with -2 they spike in about one step of eight."""
    visible_bias: Initial = 0.0
    """Initial bias of the readout neurons."""
    weight_scale: float = Field(default=0.1, ge=0, le=LARGEST_INITIAL)
    """Standard deviation of the initial potentials due to synapses."""
    initial_uniform: float | None = Field(default=None, ge=0)
    """Draw all initial weights and biases uniformly from - to + this instead, as public code of the paper's author."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision of the weights."""


class ScheduleSettings(SettingsGroup):
    """How long and in which steps a network learns, and which model is kept."""

    epochs: int | None = Field(default=None, ge=1, le=10**9)
    """Passes over the training examples; default: 500 / sqrt(examples), at least 16: 50 for 100, 22 for 500."""
    batch_size: int = Field(default=1, ge=1, le=1024)
    """Examples learned from the same weights, with their changes added; 1: online learning, as in the paper."""
    max_time_samples: Count | None = None
    """Stop after the example that reaches this number of time steps, if that is before the end of the last epoch."""
    learning_rate_schedule: Decay = "cosine"
    """How the learning rate decreases over the run, from the rule's to learning_rate_floor times the rule's."""
    learning_rate_floor: float = Field(default=0.0, ge=0, le=1)
    """Fraction of the rule's learning rate at the end of a linear or cosine schedule."""
    average_last: float = Field(default=0.2, ge=0, le=1)
    """Final fraction of the run over which weights are averaged for the model; 0: the last weights."""
    mean_free: bool = True
    """Whether the means of input traces are subtracted while learning (gemsnn.TraceMeans)."""
    shift: int | None = Field(default=None, ge=0, le=1 << 15)
    """Maximum random shift of examples in pixels while learning; default: 2 on grids of 16 x 16 or more."""
    nothing_share: float | None = Field(default=None, ge=0, le=1)
    """Fraction of examples followed by a lesson about nothing (noise, silence); default: a quarter for classes."""
    validation_fraction: float = Field(default=0.1, ge=0, lt=1)
    """Fraction of the training examples of each class held out for validation; 0: none."""
    eval_every: Count | None = None
    """Time steps between evaluations; default: once per epoch, at most 20 times. The last is always at the end."""
    select_by: Criterion | None = None
    """Metric that selects the best model; default: accuracy; the last model if fewer than 50 examples are held out."""
    patience: Annotated[int, Field(ge=0, le=10**18)] | None = None
    """Evaluations without improvement before stopping, 0: never; default: a third, if 50 examples are held out."""
    calibrate: bool = True
    """Whether to calibrate probabilities and p-values on held-out examples at the end of training."""


class TrainingConfig(ScheduleSettings, NetworkSettings):
    """Settings of a training run. Impossible values are a ``ConfigError`` that names the field and what is allowed.

    Examples
    --------
    >>> TrainingConfig.make(n_hidden=50, rule={"gain": 5}).rule
    Feedback(learning_rate=None, kappa=0.9, gamma=0.9, gain=5.0, target_rate=0.2, pressure=3.0)
    >>> TrainingConfig.make(preset="paper").rule
    GEM(learning_rate=0.001, kappa=0.9, gamma=0.9, centred=False, beta=1.0)
    >>> TrainingConfig.make(epochs=0)
    Traceback (most recent call last):
    ...
    gemsnn.errors.ConfigError: epochs = 0: must be a whole number (or left out), >= 1 and <= 1000000000
    """

    merge_polarities: bool = False
    """Whether ON and OFF events of a pixel are one input, as in the paper, if the data are recordings."""
    n_hidden: int = Field(default=200, ge=0, le=100_000)
    """Number of hidden neurons."""
    n_compartments: Compartments = 1
    """Compartments K while learning."""
    rule: RuleSetting = Feedback()
    """Learning rule: one of gemsnn.rules.RULES by its kind, and its settings; learning_rate none: from the data."""
    objective: ObjectiveSetting = Likelihood()
    """Objective of learning, after a first part for likelihood: one of gemsnn.objectives.OBJECTIVES by its kind."""
    likelihood_first: float = Field(default=0.33, ge=0, le=1)
    """Fraction of the run that is learned for likelihood before another objective."""
    objective_rule: RuleSetting | None = None
    """Learning rule for an objective other than likelihood; default: as rule."""
    class_weight: Annotated[ClassWeight, BeforeValidator(_class_weight)] = None
    """Factors on the step size by class name; or balanced, so that all classes have the same total weight."""
    eval_at: tuple[Count, ...] = ()
    """Time steps after which to evaluate, in place of eval_every. The last is always at the end."""
    validation_limit: Count | None = None
    """Maximum number of validation examples."""
    background: str | None = None
    """Folder of recordings of the background: half of the lessons about nothing are pieces of them."""
    test_limit: int | None = Field(default=None, ge=0, le=10**15)
    """Maximum number of test examples that are evaluated on while training; 0: none."""
    decoder: DecoderSetting = "per-step"
    """vote: majority over compartments, as in the paper; likelihood: the model's own posterior; per-step: averaged."""
    inference_compartments: Compartments | None = None
    """Compartments at inference; default: the same as while learning."""
    likelihood_samples: Compartments = 20
    """Number of realisations per log-likelihood estimate."""
    likelihood_mean: Literal["probability", "log-probability"] = "probability"
    """What is averaged over them: the probability, which estimates the log-likelihood, or its log, a lower bound."""
    n_bins: int = Field(default=10, ge=1, le=1000)
    """Bins of the calibration error."""
    extra_decoders: tuple[DecoderSettings, ...] = ()
    """Further decoders to evaluate."""
    seed: int = Field(default=0, ge=0, lt=1 << 63)
    """Determines initial weights, held-out examples, order of the examples, and every spike."""
    threads: int | None = Field(default=None, ge=1, le=1024)
    """Threads for the examples of a batch; default: one per processor. The results do not depend on it."""
    checkpoint_seconds: float = Field(default=30.0, ge=0, le=1e9)
    """Seconds of learning between checkpoints; 0: after every example. The results do not depend on it."""

    @model_validator(mode="after")
    def _check(self) -> TrainingConfig:
        if self.eval_every is not None and self.eval_at:
            raise ValueError("eval_every and eval_at cannot both be given")
        problem = self.rule.refuse(self.n_compartments)
        if problem and self.n_hidden > 0:
            raise ValueError(f"n_compartments = {self.n_compartments}, rule.{problem}")
        if self.objective.rewarded:
            raise ValueError("objective: rewards from outside come step by step, which only gemsnn.Stream learns from")
        if self.patience and self.validation_fraction == 0:
            raise ValueError("patience needs validation examples: set validation_fraction above 0")
        return self

    @classmethod
    def make(cls, /, preset: str | None = None, **settings: Any) -> TrainingConfig:
        """A preset (the defaults, if None) with changes.

        A table with a kind may contain only what changes: ``rule={"learning_rate": 1e-3}``. A name with a dot has the
        same effect: ``**{"rule.learning_rate": 1e-3}``.
        """
        return cls.of(preset, settings)

    @classmethod
    def of(cls, preset: str | None, settings: Mapping[str, Any]) -> TrainingConfig:
        """The same as :meth:`make`, from a mapping with any names."""
        values = preset_values(preset)
        for name, change in _tables(settings).items():
            base = values.get(name, _default_table(name))
            values[name] = merged(base, change)
        for name in values.keys() & MOVED.keys():
            raise ConfigError(f"{name}: {MOVED[name]}")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(complaint(error, cls)) from None

    def changed(self, **settings: Any) -> TrainingConfig:
        """A copy with other values for some fields."""
        before = {name: getattr(self, name) for name in TrainingConfig.model_fields}
        for name, change in _tables(settings).items():
            table = self.model_dump().get(name) if isinstance(change, Mapping) else None
            before[name] = merged(table, change)
        return TrainingConfig.make(**before)

    # ---- what the settings mean

    @property
    def main_decoder(self) -> DecoderSettings:
        """The main way to read out."""
        return DecoderSettings(kind=self.decoder, compartments=self.inference_compartments or self.n_compartments)

    def network(self, n_inputs: int, n_visible: int, of_classes: bool = True) -> Network:
        """The network for data of this size; ``of_classes`` if each example has exactly one class."""
        n_hidden = self.topology.count_hidden(self.n_hidden)
        weights = (n_hidden + n_visible) * (n_inputs + n_hidden + n_visible) * self.synaptic_filter.n_basis
        # Initial, learned, averaged and saved weights, some of them in double precision.
        memory.require(
            BYTES_PER_WEIGHT[self.dtype] * weights, f"n_hidden = {n_hidden}: a network of {weights:,} weights"
        )
        topology = self.topology.topology(n_inputs, self.n_hidden, n_visible)
        circuits = readout_circuits(topology, self.readout or ("winner-take-all" if of_classes else "bernoulli"))
        return Network(topology, self.synaptic_filter, self.somatic_filter, self.visible_memory, circuits)

    def initial_parameters(self, network: Network) -> Parameters:
        return network.init(
            self.seed,
            weight_scale=self.weight_scale,
            hidden_bias=self.hidden_bias,
            visible_bias=self.visible_bias,
            uniform=self.initial_uniform,
            dtype=np.dtype(self.dtype),
        )

    @property
    def schedule(self) -> Schedule:
        """The schedule of the run."""
        return Schedule(
            self.epochs,
            self.batch_size,
            self.max_time_samples,
            self.learning_rate_schedule,
            self.learning_rate_floor,
            self.average_last,
        )

    # ---- identity

    def identity(self) -> dict[str, Any]:
        """The settings that determine the results, as JSON values: all but those of the machine and paths."""
        return self.model_dump(mode="json", exclude={"threads", "checkpoint_seconds", "background"})


BYTES_PER_WEIGHT = {"float32": 40, "float64": 64}
"""Peak memory of a training run."""


def checked_decoder(decoder: str | Decoder, compartments: int) -> DecoderSettings:
    """Validated decoder settings; invalid values are a ``ConfigError``."""
    try:
        return DecoderSettings.model_validate({"kind": decoder, "compartments": compartments})
    except ValidationError as error:
        raise ConfigError(complaint(error, DecoderSettings)) from None


PRESETS: dict[str, dict[str, Any]] = {
    # Section 4 of the paper; what it does not specify (initial weights, when to stop) is as in the defaults above.
    "paper": {
        "merge_polarities": True,
        "n_hidden": 200,
        "n_compartments": 20,
        "rule": rule_table(GEM(learning_rate=1e-3, kappa=0.9, gamma=0.9, centred=False)),
        "topology": FullyConnected().settings(),
        "readout": "bernoulli",
        "mean_free": False,
        "synaptic_filter": RaisedCosine(n_basis=3, duration=10).settings(),
        "somatic_filter": RaisedCosine(n_basis=3, duration=10).settings(),
        "visible_memory": True,
        "hidden_bias": -2.0,
        "weight_scale": 1.0,
        "learning_rate_schedule": "constant",
        "average_last": 0.0,
        "shift": 0,
        "nothing_share": 0.0,
        "decoder": "vote",
        "inference_compartments": None,
        "calibrate": False,
        "likelihood_samples": 20,
        "epochs": 10,
        "batch_size": 1,
        "patience": 0,
    },
}

MOVED = {
    "learning_rate": "is a setting of the rule since version 0.2: rule.learning_rate",
    "kappa": "is a setting of the rule since version 0.2: rule.kappa",
    "gamma": "is a setting of the rule since version 0.2: rule.gamma",
    "centred": 'is a setting of a rule since version 0.2: rule.kind = "gem", rule.centred',
    "feedback": 'is a rule since version 0.2: rule.kind = "feedback" with rule.gain, or another kind for none',
    "extra_readouts": "is called extra_decoders since version 0.2",
}
"""Settings of version 0.1 that have been moved."""


def _tables(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings named ``table.field``, gathered into tables."""
    gathered: dict[str, Any] = {}
    for name, value in settings.items():
        table, dot, field = name.partition(".")
        gathered[table] = merged(gathered.get(table), {field: value} if dot else value)
    return gathered


def _default_table(name: str) -> Any:
    """The default of a setting that is a table with a kind; None for other settings."""
    default = TrainingConfig.model_fields[name].default if name in TrainingConfig.model_fields else None
    if isinstance(default, Rule | Objective):
        return rule_table(default)
    return default.settings() if isinstance(default, Filter | Graph) else None


def preset_values(name: str | None) -> dict[str, Any]:
    """The settings of a preset; none for None."""
    if name is None:
        return {}
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(f"preset = {shown(name)}: there is only {', '.join(map(repr, PRESETS))}")
    return dict(PRESETS[name])


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The differences between two :meth:`~TrainingConfig.identity`, one text per field.

    A learning rate that is not given now counts as unchanged: it was measured on the data.
    """
    missing, old, new = "(not set)", fields_of(before), fields_of(now)
    if new.get("rule.learning_rate", missing) is None:
        new["rule.learning_rate"] = old.get("rule.learning_rate", missing)
    return [
        f"{name} was {json.dumps(old.get(name, missing))} and is now {json.dumps(new.get(name, missing))}"
        for name in sorted({*old, *new})
        if old.get(name, missing) != new.get(name, missing)
    ]


def fields_of(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Every field by name, fields of tables as ``table.field``."""
    fields: dict[str, Any] = {}
    for name, value in identity.items():
        fields |= (
            {f"{name}.{field}": part for field, part in value.items()} if isinstance(value, dict) else {name: value}
        )
    return fields


# ---- the TOML file ---------------------------------------------------------------------------------------------------


def read_config(path: str | Path, preset: str | None = None, /, **settings: Any) -> tuple[TrainingConfig, Path | None]:
    """Settings from a TOML file, and the path of the data file in it, if any.

    ``preset`` and ``settings`` take precedence over the file's.
    """
    file = Path(path)
    try:
        values = tomllib.loads(read_regular(file).decode())
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not a TOML file: {error}") from None
    own_preset = values.pop("preset", None)
    data = values.pop("data", None)
    values.pop(FROM_MODEL, None)
    if data is not None and (not isinstance(data, str) or "\0" in data):
        raise ConfigError(f"{file}: data = {shown(data)}: must be the path of a prepared file")
    together = _tables(values)
    for name, change in _tables(settings).items():
        together[name] = merged(together.get(name), change)
    try:
        config = TrainingConfig.of(own_preset if preset is None else preset, together)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    return config, None if data is None else Path(data)


def read_from_model(path: str | Path) -> dict[str, Any]:
    """The table of a TOML file that names the model to start from; empty if there is none."""
    file = Path(path)
    try:
        table = tomllib.loads(read_regular(file).decode()).get(FROM_MODEL)
    except (OSError, ValueError, RecursionError):
        return {}  # read_config reports the error
    if table is None:
        return {}
    kinds: dict[str, type | tuple[type, ...]] = {
        "model": str, "replay": str, "replay_share": (int, float), "rename": list, "drop": list
    }  # fmt: skip
    if not isinstance(table, dict) or "model" not in table:
        raise ConfigError(f"{file}: {FROM_MODEL} must be a table with the path of a model, model")
    for name, value in table.items():
        if name not in kinds or not isinstance(value, kinds[name]) or isinstance(value, bool):
            raise ConfigError(f"{file}: {FROM_MODEL}.{name} = {shown(value)}: must be among {', '.join(kinds)}")
    return table


FROM_MODEL = "from_model"


def write_config(config: TrainingConfig, data: str | None = None, from_model: Mapping[str, Any] | None = None) -> str:
    """The settings as TOML, each with its meaning, for :func:`read_config`.

    ``from_model`` is the table for :func:`read_from_model`.
    """
    lines = ["# Settings of a gemsnn training run; run again with: gemsnn train --config THIS_FILE --out NEW_RUN"]
    if data is not None:
        lines += [f"data = {_toml_value(data)}" if _is_text(data) else "# the path of the data is not valid UTF-8"]
    tables: list[str] = []
    for name, value in config.model_dump().items():
        about = f"  # {TrainingConfig.model_fields[name].description}"
        if isinstance(value, dict):
            tables += ["", f"[{name}]{about}", *_toml_lines(value)]
        elif name == "extra_decoders":
            for item in value:
                tables += ["", f"[[{name}]]", *_toml_lines(item)]
        elif value is None:
            lines.append(f"# {name} is not given{about}")
        else:
            lines.append(f"{name} = {_toml_value(value)}{about}")
    if from_model and all(_is_text(value) for value in from_model.values() if isinstance(value, str)):
        tables += ["", f"[{FROM_MODEL}]  # the model that the run started from", *_toml_lines(dict(from_model))]
    return "\n".join(lines + tables) + "\n"


def _toml_lines(table: dict[str, Any]) -> list[str]:
    return [f"{_toml_key(name)} = {_toml_value('none' if value is None else value)}" for name, value in table.items()]


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _toml_value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    # For strings, booleans and finite numbers JSON is TOML, except for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_text(path: str) -> bool:
    """Whether a path is valid UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_assignment(text: str) -> tuple[str, Any]:
    """``field=value`` from the command line; the value is parsed as TOML if possible, otherwise it is a string."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set {text}: write it as FIELD=VALUE")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        parsed = None if value.strip().lower() == "none" else value.strip()
    return name.strip(), parsed
