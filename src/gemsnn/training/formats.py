"""The formats of models, checkpoints, metrics and summaries, field by field.

A checksum detects damage, but anyone can compute one. So every field is validated against this description before it is
used, and every array against the network before an engine uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gemsnn.common.words import shown
from gemsnn.model.parameters import LARGEST

Count = Annotated[int, Field(ge=0, le=10**18)]
Size = Annotated[int, Field(ge=0, lt=1 << 31)]
Label = bool | Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | float | str
Checksum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Table = dict[str, Any]


class _Described(BaseModel):
    """Types are strict (1.0 is no whole number), and numbers are finite."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _Open(_Described):
    """Allows further fields, which are not used."""

    model_config = ConfigDict(extra="allow")


# ---- evaluations: lines of metrics.jsonl, and what summaries and checkpoints keep of them ----------------------------


class Reliability(_Described):
    counts: list[Count]
    confidence: list[float | None]
    accuracy: list[float | None]


class DecoderFigures(_Open):
    """Metrics that depend on the decoder."""

    decoder: str | None = None
    compartments: Count | None = None
    accuracy: float | None = None
    exact_match: float | None = None
    ece: float | None = None
    n_bins: Count | None = None
    nll: float | None = None
    brier: float | None = None
    van_rossum: float | None = None
    tau: float | None = None
    hidden_spikes_per_step: float
    reliability: Reliability | None = None


class Figures(DecoderFigures):
    """Metrics of a network on some examples."""

    examples: Count
    log_likelihood: float
    extra_decoders: Sequence[DecoderFigures] | None = None


class Learning(_Open):
    examples: Count
    log_likelihood: float
    hidden_spikes_per_step: float


class Evaluation(_Open):
    position: Count
    epoch: float
    time_samples: Count
    train: Learning
    validation: Figures | None
    test: Figures | None


class Summary(_Open):
    """``summary.json``."""

    format: str
    version: Count
    status: str
    position: Count
    time_samples: Count
    examples: dict[str, Count]
    communication: dict[str, Count]
    best: Evaluation | None
    best_on_test: Evaluation | None
    final: Evaluation
    config: Table
    data: str
    metrics_sha256: Checksum


# ---- checkpoints -----------------------------------------------------------------------------------------------------


class Progress(_Described):
    """See ``trainer.Progress``."""

    position: Count
    time_samples: Count
    evaluated: Count
    averaged: Count
    log_likelihood_sum: float
    hidden_spikes_sum: float
    report_sum: float = 0.0
    likelihood_trained: Evaluation | None = None
    best: Evaluation | None
    best_on_test: Evaluation | None
    last: Evaluation | None
    stale: Count


class CheckpointHeader(_Described):
    format: str
    version: Count
    state: Progress
    config: Table
    data: str
    metrics_bytes: Count
    metrics_sha256: Checksum
    examples_of_means: Count | None = None


# ---- models ----------------------------------------------------------------------------------------------------------


class CircuitFields(_Described):
    neurons: list[Size]
    silent: bool


class Origin(_Open):
    """The model that training started from."""

    path: str | None = None
    examples: Count = 0


class About(_Open):
    """Information on a model's training."""

    position: Count | None = None
    config: Table | None = None
    communication: dict[str, Count] | None = None
    data: str | None = None
    several_labels: bool = False
    origin: Origin | None = None


class TemperatureFields(_Described):
    n_steps: Size
    median_spikes: list[float]
    log_power: list[list[float]]
    n_recordings: Count


class UsualFields(_Described):
    checkpoints: list[Size]
    compartments: Size


class CertaintyFields(_Described):
    decoder: Table
    temperature: TemperatureFields
    usual: UsualFields | None
    about: Table


class SightFields(_Described):
    window: Size
    least: Size


class ModelHeader(_Open):
    format: str
    version: Count
    gemsnn: str
    n_inputs: Size
    n_hidden: Size
    n_visible: Size
    visible_memory: bool
    circuits: list[CircuitFields]
    classes: list[Label]
    decoder: Table
    n_steps: Size
    seed: Annotated[int, Field(ge=0, lt=1 << 63)]
    preprocessing: Table | None
    about: About
    examples_of_means: Count | None = None
    certainty: CertaintyFields | None = None
    sight: SightFields | None = None


# ---- validation ------------------------------------------------------------------------------------------------------


class FormatError(ValueError):
    """Something is not as described."""


def check_fields(value: Any, described: type[BaseModel]) -> None:
    """Raise a :class:`FormatError` that names the field if a value is not as described."""
    try:
        described.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise FormatError(f"{where} = {shown(first['input'])}: {first['msg']}") from None
    except RecursionError:
        raise FormatError("its tables are nested too deeply") from None


class Tensor(NamedTuple):
    """Expected shape and types of an array."""

    shape: tuple[int, ...]
    dtypes: tuple[type[np.generic], ...]


def check_tensors(tensors: Mapping[str, NDArray[Any]], described: Mapping[str, Tensor]) -> None:
    """Refuse arrays that are missing, unexpected, of another shape or type, or with values out of range."""
    for name in described.keys() - tensors.keys():
        raise FormatError(f"{name} is missing")
    for name in tensors.keys() - described.keys():
        raise FormatError(f"{shown(name)} does not belong here")
    for name, (shape, dtypes) in described.items():
        array = tensors[name]
        if array.shape != shape:
            raise FormatError(f"{name} has shape {array.shape}, but {shape} is needed")
        if array.dtype not in dtypes:
            raise FormatError(f"{name} is {array.dtype}, but {' or '.join(kind.__name__ for kind in dtypes)} is needed")
        if (
            array.dtype.kind == "f"
            and array.size
            and not (float(array.min()) >= -LARGEST and float(array.max()) <= LARGEST)
        ):
            raise FormatError(f"{name} holds NaN or values beyond {LARGEST:g}")
