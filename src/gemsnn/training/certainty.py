"""Calibrated probabilities and p-values of a model, measured on held-out examples at the end of training.

The temperature is for the decoder that it was fitted with and any number of compartments; p-values are for the same
number of compartments only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.inference import Temperature, Usual, as_decoder, fit_temperature, fit_usual, recording_key, spikes_left_out
from gemsnn.inference.guarantee import checkpoints_of
from gemsnn.inference.prediction import AnytimePrediction, Readout
from gemsnn.inference.usual import CHECKPOINTS
from gemsnn.model import Network, Parameters
from gemsnn.training.answered import Batch, answered, batches
from gemsnn.training.config import DecoderSettings
from gemsnn.training.data import Examples
from gemsnn.training.formats import FormatError, Tensor
from gemsnn.training.partition import groups_of
from gemsnn.training.randomness import Purpose, shuffled, stream

FEWEST = 10
"""Nothing is measured with fewer held-out examples."""
MOST = 1000  # training and held-out examples used, each
COPIES = 4  # thinned, of each held-out example


@dataclass(frozen=True, eq=False)
class Certainty:
    """Made by :func:`certainty_of`.

    Attributes
    ----------
    decoder
        Whose probabilities were measured.
    temperature
        Calibrates them.
    usual
        Computes p-values; None if they are not available.
    about
        What it was measured on, as JSON values.
    """

    decoder: DecoderSettings
    temperature: Temperature
    usual: Usual | None = None
    about: dict[str, Any] = field(default_factory=dict)

    def of(self, decoder: DecoderSettings) -> dict[str, Any]:
        """``temperature`` and ``usual`` as :func:`gemsnn.predict` takes them, for this decoder."""
        if decoder.name != self.decoder.name:
            return {}
        return {"temperature": self.temperature, "usual": self.usual if decoder == self.decoder else None}

    def after_learning(self) -> Certainty:
        """With other weights, the temperature is still better than none, but p-values are no longer valid."""
        return replace(self, usual=None)


def readouts_of(decoders: Sequence[DecoderSettings], certainty: Certainty | None = None) -> list[Readout]:
    """The decoders, calibrated as far as ``certainty`` is for them."""
    return [
        Readout(as_decoder(one.kind), one.compartments, **({} if certainty is None else certainty.of(one)))
        for one in decoders
    ]


# ---- measuring


def certainty_of(
    network: Network,
    parameters: Parameters,
    examples: Examples,
    training: NDArray[np.intp],
    held_out: NDArray[np.intp],
    decoder: DecoderSettings,
    *,
    seed: int,
    threads: int = 1,
    engine: str = "compiled",
) -> Certainty | None:
    """None if there are too few held-out examples, or if they do not have one class each.

    Parameters
    ----------
    training, held_out
        Indices of the examples that the network was trained on, and of others.
    seed
        Seed of the model's predictions, so that these are its own answers.
    """
    labels = examples.labels
    if labels is None or np.ndim(labels) != 1 or len(held_out) < FEWEST:
        return None
    training, held_out = (some(indices, seed, which) for which, indices in enumerate((training, held_out)))
    checkpoints = checkpoints_of(CHECKPOINTS, int(examples.lengths[held_out].max()))
    readouts, H = [Readout(as_decoder(decoder.kind), decoder.compartments)], network.n_hidden

    def thinned(work: Iterator[Batch], copy: int) -> Iterator[Batch]:
        for batch in work:
            for n, one in enumerate(batch.inputs):
                batch.inputs[n] = spikes_left_out(one, stream(seed, Purpose.CERTAINTY, recording_key(one), copy))
            yield batch

    def run(indices: NDArray[np.intp], copy: int = 0) -> tuple[list[AnytimePrediction], NDArray[np.int64]]:
        """Answers to examples, or to thinned copies of them, and hidden spikes (n, P, H) until checkpoints."""
        found: list[Any] = [None] * len(indices)
        counts = np.zeros((len(indices), len(checkpoints), H), dtype=np.int64)
        work = batches(examples, indices, network.n_inputs)
        work = thinned(work, copy) if copy else work
        for part in answered(network, parameters, work, readouts, seed=seed, threads=threads, engine=engine):
            for place, answer in zip(part.places, part.answers[0], strict=True):
                found[place] = answer
            counts[part.places] = part.fired[0].counts(checkpoints)
        return found, counts

    answers, spikes = run(held_out)
    copies = [run(held_out, copy)[0] for copy in range(1, COPIES + 1)]
    usual = None
    if network.n_hidden:
        at = [[min(step, len(one.classes)) - 1 for step in checkpoints] for one in answers]
        usual = fit_usual(
            checkpoints,
            run(training)[1],
            examples.lengths[training],
            labels[training],
            spikes,
            examples.lengths[held_out],
            np.stack([one.probabilities[steps] for one, steps in zip(answers, at, strict=True)]),
            decoder.compartments,
        )
    temperature = fit_temperature(answers, labels[held_out], copies)
    about, groups = {"recordings": len(held_out)}, groups_of(examples)
    if groups is not None:
        about["groups"] = len(np.unique(groups[held_out]))
    return Certainty(decoder, temperature, usual, about)


def some(indices: NDArray[np.intp], seed: int, which: int) -> NDArray[np.intp]:
    """At most :data:`MOST` of them, drawn at random."""
    if len(indices) <= MOST:
        return indices
    return np.sort(indices[shuffled(len(indices), seed, Purpose.CERTAINTY, which)[:MOST]])


# ---- in a model file


def header_of(certainty: Certainty) -> dict[str, Any]:
    """Its entry in the header of a model file."""
    usual = certainty.usual
    return {
        "decoder": certainty.decoder.model_dump(),
        "temperature": certainty.temperature.to_dict(),
        "usual": None if usual is None else {"checkpoints": usual.checkpoints, "compartments": usual.compartments},
        "about": certainty.about,
    }


_ARRAYS = ("neurons", "means", "whitening", "distances", "entropies")


def tensors_of(certainty: Certainty) -> dict[str, NDArray[Any]]:
    """Its arrays in a model file."""
    usual = certainty.usual
    return {} if usual is None else {f"usual_{name}": getattr(usual, name) for name in _ARRAYS}


def described_tensors(header: dict[str, Any], tensors: dict[str, NDArray[Any]], n_visible: int) -> dict[str, Tensor]:
    """Expected shapes and types of these arrays."""
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
    """From a model file; ``decoder`` is the one that the header names."""
    if header is None or decoder is None:
        return None
    usual, fields = None, header["usual"]
    if fields is not None:
        arrays = {name: tensors[f"usual_{name}"] for name in _ARRAYS}
        steps, neurons = fields["checkpoints"], arrays["neurons"]
        if not steps or steps != sorted({int(step) for step in steps if step > 0}) or fields["compartments"] < 1:
            raise FormatError(f"certainty.usual = {fields}: checkpoints must increase")
        if len(neurons) and not 0 <= int(neurons.min()) <= int(neurons.max()) < n_hidden:
            raise FormatError("usual_neurons has indices of neurons that do not exist")
        usual = Usual(checkpoints=tuple(steps), compartments=fields["compartments"], **arrays)
    return Certainty(decoder, Temperature(**header["temperature"]), usual, header["about"])
