"""Export as C: the fixed program ``c/gemsnn.c``, and a generated header with the model's sizes, switches and arrays.

``gemsnn.c`` mirrors ``engine/running.py`` line by line and reads the same arrays, from
:func:`gemsnn.engine.running.arrange`. Switches select the parts of it that a model needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from gemsnn._version import __version__
from gemsnn.common.files import write_whole, writing
from gemsnn.engine import running
from gemsnn.errors import ConfigError
from gemsnn.export.fixed_point import SIGMOID, FixedPoint, temperature_of
from gemsnn.inference import Decoder, Temperature, as_decoder
from gemsnn.inference.evidence import VisibleDrive, hidden_see_visible
from gemsnn.model.checks import one_of
from gemsnn.training import DecoderSettings, Model

WeightKind = Literal["float32", "int16", "int8"]
FILES = ("gemsnn.c", "gemsnn.h", "main.c")
MODEL = "gemsnn_model.h"
BYTES = {"float": 4, "gemsnn_tap": 4, "double": 8, "int32_t": 4, "uint32_t": 4, "uint16_t": 2, "uint8_t": 1}


class CProgram(NamedTuple):
    """The exported files and their sizes."""

    files: tuple[Path, ...]
    weights: WeightKind
    decoder: DecoderSettings
    constant_bytes: int  #: of constant arrays
    state_bytes: int  #: of mutable arrays
    fixed: FixedPoint | None  #: the fixed-point weights, if not float32


def export_c(
    model: Model,
    directory: str | PathLike[str],
    *,
    decoder: str | Decoder | None = None,
    compartments: int | None = None,
    weights: WeightKind = "float32",
) -> CProgram:
    """Write a model as a C99 program that gives class probabilities after every time step.

    Parameters
    ----------
    directory
        Created if missing; files of an earlier export are replaced.
    decoder, compartments
        Readout, as in :meth:`gemsnn.training.Model.predict`.
    weights
        ``"float32"``: the spikes are bit-for-bit those of :meth:`gemsnn.training.Model.stream` for the same key.
        ``"int16"`` and ``"int8"``: fixed point, with a table for the sigmoid; :func:`gemsnn.export.predict_fixed`
        computes the same answers in Python.

    Examples
    --------
    >>> import tempfile, numpy as np, gemsnn
    >>> X, y = np.random.default_rng(0).random((12, 20, 5)) < 0.3, [0, 1] * 6
    >>> model = gemsnn.SpikingClassifier(n_hidden=4, schedule={"epochs": 1}).fit(X, y).model_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in export_c(model, folder).files]
    ['gemsnn.c', 'gemsnn.h', 'main.c', 'gemsnn_model.h']
    """
    readout = model.readout(decoder, compartments)
    one_of("weights", weights, get_args(WeightKind))
    reader = as_decoder(readout.kind)
    _check(model, reader)
    arranged = running.arrange(model.network, model.parameters.astype(np.float32))
    fixed = None if weights == "float32" else FixedPoint.of(arranged, weights)
    numbers = _Numbers(model, reader, readout.compartments, arranged, fixed, temperature_of(model, readout))
    folder = Path(directory)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        write_whole(folder / name, _source(name).encode())
    write_whole(folder / MODEL, numbers.header().encode())
    written = tuple(folder / name for name in (*FILES, MODEL))
    return CProgram(written, weights, readout, numbers.constant_bytes, numbers.state_bytes, fixed)


def _source(name: str) -> str:
    return files("gemsnn.export").joinpath("c", name).read_text()


def _switch(decoder: Decoder) -> str:
    return f"GEMSNN_DECODER_{decoder.name.upper().replace('-', '_')}"


def _check(model: Model, decoder: Decoder) -> None:
    """Refuse models that the C program does not support."""
    network = model.network
    if not model.classes:
        raise ConfigError("this model was trained on spike patterns: it has no classes, so it cannot be exported to C")
    if model.about.get("several_labels"):
        raise ConfigError("this model predicts several labels; only models with one class per example can be exported")
    if network.n_inputs == 0:
        raise ConfigError("this network has no inputs, so it cannot be exported to C")
    if f"defined({_switch(decoder)})" not in _source("gemsnn.c"):
        raise ConfigError(f"the {decoder.name} decoder is not available in C: choose another one with --decoder")
    if not decoder.free and hidden_see_visible(network):
        raise ConfigError(
            f"the {decoder.name} decoder would need a run per class, since hidden neurons receive visible spikes: "
            "export with a decoder that counts spikes (--decoder vote)"
        )


class _Numbers:
    """``gemsnn_model.h``: sizes, switches and arrays."""

    def __init__(
        self,
        model: Model,
        decoder: Decoder,
        K: int,
        arranged: running.Weights,
        fixed: FixedPoint | None,
        temperature: Temperature | None,
    ) -> None:
        self.temperature = temperature
        self.model, self.decoder, self.K, self.w, self.fixed = model, decoder, K, arranged, fixed
        network = model.network
        self.drawn = network.n_neurons if decoder.free else network.n_hidden
        self.feeding = min(arranged.n_feeding, self.drawn)
        self.n_basis, self.duration = arranged.synapses.taps.shape
        soma = arranged.soma
        self.somatic, self.lags = len(arranged.somatic), len(arranged.somatic_lags)
        # Number of bases from the first one that subtracts spikes at the end of its memory.
        leaving = np.flatnonzero(arranged.synapses.recursion.leaving)
        recursive = arranged.synapses.recursive
        self.leaving = self.n_basis - int(leaving[0]) if recursive and leaving.size else 0
        self.soma_leaving = bool(self.somatic and soma.recursion.leaving.any())
        self.soma_duration = soma.taps.shape[1]
        self.history = max(
            self.duration if self.leaving else 0, self.lags, self.soma_duration if self.soma_leaving else 0
        )
        self.desired = None if decoder.free else _desired_drive(model)
        self.constant_bytes = 0
        self.arrays = "\n".join(self._arrays())
        self.state_bytes = self._state_bytes()

    def header(self) -> str:
        sizes = "\n".join(f"#define {name}{'' if value is None else f' {value}'}" for name, value in self._defines())
        return (
            f"/* Written by gemsnn {__version__}. Documented in gemsnn.c. */\n"
            f"#ifndef GEMSNN_MODEL_H\n#define GEMSNN_MODEL_H\n\n{sizes}\n\n#endif\n\n"
            f"#ifdef GEMSNN_WEIGHTS\n\n{self.arrays}\n#endif\n"
        )

    def _defines(self) -> Iterator[tuple[str, Any]]:
        network, w = self.model.network, self.w
        yield from (
            ("GEMSNN_INPUTS", network.n_inputs),
            ("GEMSNN_HIDDEN", network.n_hidden),
            ("GEMSNN_NEURONS", network.n_neurons),
            ("GEMSNN_CLASSES", network.n_visible),
            ("GEMSNN_COMPARTMENTS", self.K),
            ("GEMSNN_STEPS", f"{self.model.n_steps}  /* of the training recordings */"),
            ("GEMSNN_SEED", f"UINT64_C({self.model.prediction_seed})"),
            (_switch(self.decoder), None),
            ("GEMSNN_BASES", self.n_basis),
            ("GEMSNN_DURATION", self.duration),
            ("GEMSNN_FEEDING", self.feeding),
            ("GEMSNN_HISTORY", self.history),
            ("GEMSNN_LEAVING", self.leaving),
            ("GEMSNN_CIRCUITS", len(w.circuits.silent)),
        )
        if w.synapses.recursive:
            yield "GEMSNN_RECURSIVE", None
        if not w.rows.shape[0]:
            yield "GEMSNN_LISTED", None
        if self.somatic:
            yield from (("GEMSNN_SOMA_RECURSIVE", None), ("GEMSNN_SOMA_BASES", self.somatic))
        if self.soma_leaving:
            yield from (("GEMSNN_SOMA_LEAVING", None), ("GEMSNN_SOMA_DURATION", self.soma_duration))
        if self.lags:
            yield "GEMSNN_SOMA_LAGS", self.lags
        if self.desired is not None:
            yield "GEMSNN_DESIRED_DRIVE", len(self.desired)
        if self.temperature is not None:
            yield "GEMSNN_TEMPERATURE_STEPS", self.temperature.n_steps
        if self.fixed is not None:
            yield from (
                ("GEMSNN_FIXED", None),
                ("GEMSNN_FRACTION", self.fixed.fraction),
                ("GEMSNN_SCALE_BITS", self.fixed.scale_bits),
            )

    def _arrays(self) -> Iterator[str]:
        """The arrays that the switches need, since unused ones would cause compiler warnings."""
        w, fixed = self.w, self.fixed
        n_sources = w.n_inputs + self.feeding
        kind = "float" if fixed is None else f"{fixed.kind}_t"
        real = "float" if fixed is None else "int32_t"
        numbers: Any = w if fixed is None else fixed
        labels = ", ".join(_quoted(str(label)) for label in self.model.classes)
        yield f"const char *const gemsnn_classes[GEMSNN_CLASSES] = {{{labels}}};\n"
        yield f"typedef {kind} gemsnn_weight;\ntypedef {real} gemsnn_tap;\n"
        yield self._array(real, "bias", numbers.bias)
        if fixed is not None:
            yield self._array("int32_t", "scale", fixed.scale)
            yield self._array("uint32_t", "sigmoid", SIGMOID)
        if w.synapses.recursive:
            for name in ("decay", "gain", "leaving"):
                yield self._array("gemsnn_tap", name, getattr(numbers.synapses.recursion, name))
        else:
            yield self._array("gemsnn_tap", "taps", numbers.synapses.taps)
        if self.somatic:
            yield self._array("gemsnn_weight", "somatic", numbers.somatic[:, : max(1, self.drawn)])
            for name in ("decay", "gain", "leaving"):
                yield self._array("gemsnn_tap", f"soma_{name}", getattr(numbers.soma.recursion, name))
        if self.lags:
            yield self._array(real, "somatic_lags", numbers.somatic_lags[:, : max(1, self.drawn)])
        if w.rows.shape[0]:
            yield self._array("gemsnn_weight", "row", numbers.rows[:n_sources])
        else:
            start = w.listed.start[: n_sources + 1]
            n = max(1, int(start[-1]))
            index = "uint16_t" if len(w.bias) < 1 << 16 else "uint32_t"
            yield self._array("uint32_t", "start", start)
            yield self._array(index, "neuron", _some(w.listed.neuron[:n]))
            yield self._array("gemsnn_weight", "weight_of", _some(numbers.listed.weight[:n]))
        if not self.decoder.free:
            yield self._array("uint8_t", "alone", w.circuits.alone[self.model.network.n_hidden :])
        if len(w.circuits.silent):
            yield self._array("uint16_t", "circuit", w.circuits.start)
            yield self._array("uint16_t", "member", w.circuits.member)
            yield self._array("uint8_t", "silent", w.circuits.silent)
        if self.desired is not None:
            yield self._array("double", "desired_drive", self.desired)

        if self.temperature is not None:
            yield self._array("double", "median_spikes", np.array(self.temperature.median_spikes))
            yield self._array("double", "log_power", np.array(self.temperature.log_power))

    def _array(self, kind: str, name: str, values: NDArray[Any]) -> str:
        weight = 4 if self.fixed is None else self.fixed.bytes
        self.constant_bytes += values.size * {"gemsnn_weight": weight, **BYTES}[kind]
        shape = "".join(f"[{n}]" for n in values.shape)
        is_float = kind == "double" or (self.fixed is None and kind in ("float", "gemsnn_weight", "gemsnn_tap"))
        as_kind = np.float64 if kind == "double" else np.float32 if is_float else np.int64
        suffix = "f" if is_float and kind != "double" else ""
        return f"static const {kind} gemsnn_{name}{shape} = {_initial(values.astype(as_kind), suffix)};\n"

    def _state_bytes(self) -> int:
        """Size of the mutable arrays of ``gemsnn.c``."""
        w, network = self.w, self.model.network
        K, n, V, drawn = self.K, network.n_neurons, network.n_visible, self.drawn
        lagged = 1 if w.synapses.recursive else self.duration
        held = 4 * self.n_basis * n * lagged * (1 + K)
        bits = self.history * (-(-network.n_inputs // 8) + 1 + K * (-(-drawn // 8) + 1))
        own = 4 * K * self.somatic * (drawn + 1)
        read = 4 * K * V if self.decoder.free else 16 * K * V + (0 if self.desired is None else 8 * V * V)
        scratch = 4 * (max(network.n_inputs, n) + 1) + 4 * self.n_basis * n * (2 if self.leaving else 1) + 25 * n
        return int(held + bits + own + read + scratch)


def _desired_drive(model: Model) -> NDArray[np.float64] | None:
    """(memory, C, V): contribution of a class's desired spikes at each lag to the visible potentials, if any."""
    network, n_classes = model.network, len(model.classes)
    drive, desired = VisibleDrive(network, model.parameters, n_classes), np.eye(n_classes, dtype=np.uint8)
    steps = [drive.step(desired) for _ in range(network.memory + 1)]
    return np.diff(steps, axis=0) if len(steps[0]) else None


def _some(values: NDArray[Any]) -> NDArray[Any]:
    """The array, or one zero, since C has no empty arrays."""
    return values if len(values) else np.zeros((1, *values.shape[1:]), values.dtype)


def _initial(values: NDArray[Any], suffix: str) -> str:
    """An array as C, one row per line; numbers have enough digits to be exact."""
    if values.ndim > 1:
        return "{\n" + ",\n".join(_initial(row, suffix) for row in values) + "}"
    return "{" + ", ".join(f"{text}{suffix}" for text in values.astype(str).tolist()) + "}"


def _quoted(text: str) -> str:
    """A C string; bytes other than printable ASCII are octal escapes."""
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return f'"{"".join(plain)}"'
