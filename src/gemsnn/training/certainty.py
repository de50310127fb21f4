"""What a model knows of its own answers: how far to believe them, and whether a recording is of a kind that it knows.

Both are measured at the end of training on held-out examples, which the network did not learn from. The temperature is
for the decoder that they were measured with, with any number of compartments; how usual a recording is can only be said
with the same number.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference import Temperature, Usual
from gemsnn.training.config import DecoderSettings
from gemsnn.training.formats import FormatError, Tensor


@dataclass(frozen=True, eq=False)
class Certainty:
    """Made by :func:`gemsnn.training.certainty_fit.certainty_of`.

    Attributes
    ----------
    decoder
        Whose probabilities were measured.
    temperature
        What makes them calibrated.
    usual
        What says how usual a recording is; None where it cannot be said.
    about
        What it was measured on, as JSON values.
    """

    decoder: DecoderSettings
    temperature: Temperature
    usual: Usual | None = None
    about: dict[str, Any] = field(default_factory=dict)

    def of(self, decoder: DecoderSettings) -> dict[str, Any]:
        """``temperature`` and ``usual`` as :func:`gemsnn.predict` takes them, for a way to read out."""
        if decoder.name != self.decoder.name:
            return {}
        return {"temperature": self.temperature, "usual": self.usual if decoder == self.decoder else None}

    def after_learning(self) -> Certainty:
        """With other weights the temperature is still better than none, but ranks among held-out examples are not."""
        return replace(self, usual=None)


def header_of(certainty: Certainty) -> dict[str, Any]:
    """What a model's file says of it, besides its arrays."""
    usual = certainty.usual
    return {
        "decoder": certainty.decoder.model_dump(),
        "temperature": certainty.temperature.to_dict(),
        "usual": None if usual is None else {"checkpoints": usual.checkpoints, "compartments": usual.compartments},
        "about": certainty.about,
    }


_ARRAYS = ("neurons", "means", "whitening", "distances", "entropies")


def tensors_of(certainty: Certainty) -> dict[str, NDArray[Any]]:
    """Its arrays in a model's file."""
    usual = certainty.usual
    return {} if usual is None else {f"usual_{name}": getattr(usual, name) for name in _ARRAYS}


def described_tensors(header: dict[str, Any], tensors: dict[str, NDArray[Any]], n_visible: int) -> dict[str, Tensor]:
    """What the arrays must be like."""
    if header.get("usual") is None:
        return {}
    P = len(header["usual"]["checkpoints"])
    H = tensors["usual_neurons"].size if "usual_neurons" in tensors else 0
    n = tensors["usual_distances"].shape[-1] if "usual_distances" in tensors else 0
    return {
        "usual_neurons": Tensor((H,), (np.int32,)),
        "usual_means": Tensor((P, n_visible, H), (np.float16,)),
        "usual_whitening": Tensor((H, H), (np.float16,)),
        "usual_distances": Tensor((P, n), (np.float32,)),
        "usual_entropies": Tensor((P, n), (np.float32,)),
    }


def certainty_from(
    header: dict[str, Any] | None, tensors: dict[str, NDArray[Any]], decoder: DecoderSettings | None, n_hidden: int
) -> Certainty | None:
    """As it was written; ``decoder`` is the one that the header names."""
    if header is None or decoder is None:
        return None
    usual, told = None, header["usual"]
    if told is not None:
        arrays = {name: tensors[f"usual_{name}"] for name in _ARRAYS}
        steps, neurons = told["checkpoints"], arrays["neurons"]
        if not steps or steps != sorted({int(step) for step in steps if step > 0}) or told["compartments"] < 1:
            raise FormatError(f"certainty.usual = {told}: checkpoints must increase")
        if len(neurons) and not 0 <= int(neurons.min()) <= int(neurons.max()) < n_hidden:
            raise FormatError("usual_neurons names neurons that are not there")
        usual = Usual(checkpoints=tuple(steps), compartments=told["compartments"], **arrays)
    return Certainty(decoder, Temperature(**header["temperature"]), usual, header["about"])
