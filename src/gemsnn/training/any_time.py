"""How good the answers are before the end of recordings, and how usual a model finds these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn import metrics
from gemsnn.inference import UNUSUAL, AnytimePrediction

TENTHS = tuple(tenth / 10 for tenth in range(1, 11))


def figures_at_any_time(
    answers: Sequence[AnytimePrediction], labels: NDArray[np.int64], n_bins: int = 10
) -> dict[str, Any]:
    """Figures after each tenth of the recordings; JSON values.

    ``unusual`` is the share of recordings that are unlike anything that the model was trained on, as it says at the
    end; of recordings of the same kind it is :data:`gemsnn.inference.UNUSUAL` at most. Missing where it cannot be said.
    """
    after = []
    for share in TENTHS:
        seen = [max(1, round(share * len(one.classes))) for one in answers]
        each = list(zip(answers, seen, strict=True))
        probabilities = np.stack([one.probabilities[t - 1] for one, t in each])
        classes = np.array([one.classes[t - 1] for one, t in each])
        table = metrics.reliability(labels, probabilities, n_bins, predicted=classes)
        chosen = np.take_along_axis(probabilities, classes[:, None], axis=1)
        after.append(
            {
                "share": share,
                "accuracy": metrics.accuracy(labels, classes),
                "confidence": float(chosen.mean()),
                "ece": table.ece,
                "nll": metrics.negative_log_likelihood(labels, probabilities),
                "hidden_spikes": float(np.mean([one.hidden_spikes[:t].sum() for one, t in each])),
            }
        )
    usual = np.array([np.nan if one.usual is None else one.usual[-1] for one in answers])
    known = usual[~np.isnan(usual)]
    return {"after": after, **({"unusual": float((known < UNUSUAL).mean())} if len(known) else {})}
