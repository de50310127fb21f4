"""Which evaluation of a run is the best, and so which weights are kept as such."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FEWEST_TO_CHOOSE = 50
"""Validation examples: with fewer, the accuracies of epochs differ by chance, and the last weights are better."""


def criterion(select_by: str | None, patience: int | None) -> str | None:
    """What a run's settings ask to choose by; None where they ask for nothing."""
    return select_by or (None if patience is None else "accuracy")


def better(figures: Mapping[str, Any], than: Mapping[str, Any], by: str | None) -> bool:
    """Whether a later evaluation is better than an earlier one; ``by`` None: by accuracy if there are examples enough.

    Spike patterns, which have no accuracy, are judged by their log-likelihood.
    """
    return is_the_last(figures, by) or _worth(figures, by) > _worth(than, by)


def is_the_last(figures: Mapping[str, Any] | None, by: str | None) -> bool:
    """Whether there are figures, but of too few examples to choose by, and nobody asked to: each is then the best."""
    return by is None and figures is not None and "accuracy" in figures and figures["examples"] < FEWEST_TO_CHOOSE


def _worth(figures: Mapping[str, Any], by: str | None) -> tuple[float, ...]:
    if by == "van_rossum" and by in figures:
        return (-figures[by],)
    if by == "log_likelihood" or "accuracy" not in figures:
        return (figures["log_likelihood"],)
    return (-figures["nll"],) if by == "nll" else (figures["accuracy"], -figures["nll"])
