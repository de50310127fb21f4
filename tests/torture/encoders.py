"""Encoders on odd values, shapes and settings: what their docstrings promise, or a `GemsnnError`."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from typing import Any

import numpy as np

from gemsnn import GemsnnError
from gemsnn.encode import ReceptiveFields, delta_demodulation, delta_modulation, latency, latency_inverse, rate
from torture.mutations import ODD_VALUES
from torture.torture import Torture

ODD_NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, -1e-320, 1e-9, 1e9, 1e154, 1e200, 1.7e308, -1.7e308)
BATCH = 50  # arrays per trial


class Encoders(Torture):
    name, share = "encoders", 0.05

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        for _ in range(BATCH):
            counts["arrays"] += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    rng.choice((_delta, _rate, _latency, _fields))(rng)
                counts["encoded as promised"] += 1
            except GemsnnError:
                counts["refused"] += 1


def some_array(rng: random.Random, *, most_dimensions: int = 3) -> Any:
    """Numbers of any size and type, rarely with one that is not a number, rarely no array at all."""
    if rng.random() < 0.05:
        return rng.choice(ODD_VALUES)
    draws = np.random.default_rng(rng.randrange(10**6))
    shape = tuple(rng.choice((1, 1, 2, 3, 20)) for _ in range(rng.randint(1, most_dimensions)))
    scale, offset = rng.choice(ODD_NUMBERS), rng.choice((0.0, 0.0, rng.choice(ODD_NUMBERS)))
    with np.errstate(all="ignore"):
        array = draws.random(shape) * scale + offset
    if rng.random() < 0.1:
        array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -np.inf, *ODD_NUMBERS))
    if rng.random() < 0.1:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = array.astype(rng.choice(("float32", "float16", "int8", "uint64", "bool", "complex64", "U8")))
    if rng.random() < 0.05:
        array = array[..., :0]
    return array


def some_setting(rng: random.Random, usual: Any) -> Any:
    return rng.choice((usual, usual, usual, rng.choice(ODD_VALUES)))


def _delta(rng: random.Random) -> None:
    signals = some_array(rng)
    threshold = some_setting(rng, rng.choice((0.01, 0.1, 1.0, 1e9, 1e300)))
    spikes = delta_modulation(signals, threshold)
    x = np.asarray(signals, np.float64)
    n = x.shape[-1]
    assert spikes.shape == (*x.shape[:-1], 2 * n)
    assert not (spikes[..., :n] & spikes[..., n:]).any()
    assert not spikes[..., 0, :].any()  # the reference begins at the first sample
    back = delta_demodulation(spikes, threshold, x[..., 0, :])
    assert back.shape == x.shape
    step = np.asarray(threshold, np.float64)
    slow = bool((abs(np.diff(x / 2, axis=-2)) <= step / 2).all())  # halves, which do not overflow
    if slow and np.abs(x).max() < 1e6 * step.min():  # beyond that, rounding is larger than a threshold
        assert (abs(back - x) <= step * (1 + 1e-6)).all()


def _rate(rng: random.Random) -> None:
    values = some_array(rng)
    n_steps, seed, highest = some_setting(rng, 50), some_setting(rng, 3), some_setting(rng, 0.5)
    if _too_many(n_steps):
        n_steps = 50
    spikes = rate(values, n_steps, seed=seed, highest=highest)
    x = np.asarray(values, np.float64)
    assert spikes.shape == (*x.shape[:-1], n_steps, x.shape[-1])
    assert not spikes[np.broadcast_to(x[..., None, :] == 0, spikes.shape)].any()
    if highest == 1:
        assert spikes[np.broadcast_to(x[..., None, :] == 1, spikes.shape)].all()
    np.testing.assert_array_equal(spikes, rate(values, n_steps, seed=seed, highest=highest))


def _latency(rng: random.Random) -> None:
    values = some_array(rng)
    n_steps, least = some_setting(rng, rng.choice((2, 3, 50))), some_setting(rng, 0.1)
    if _too_many(n_steps):
        n_steps = 50
    spikes = latency(values, n_steps, least=least)
    x = np.asarray(values, np.float64)
    np.testing.assert_array_equal(spikes.sum(axis=-2), x > least)
    found = latency_inverse(spikes)
    assert (abs(found - x)[x > least] <= 1 / (2 * (n_steps - 1)) + 1e-9).all()
    assert (found[x <= least] == 0).all()


def _fields(rng: random.Random) -> None:
    low, high = sorted((rng.choice(ODD_NUMBERS), rng.choice(ODD_NUMBERS)))
    fields = ReceptiveFields(
        some_setting(rng, low), some_setting(rng, high), _few(some_setting(rng, rng.choice((2, 3, 8)))),
        some_setting(rng, rng.choice((0.3, 2 / 3, 2.0))),
    )  # fmt: skip
    values = some_array(rng)
    activity = fields.encode(values)
    x = np.clip(np.asarray(values, np.float64), fields.low, fields.high)
    assert activity.shape == (*x.shape[:-1], x.shape[-1] * fields.n_fields)
    assert ((activity >= 0) & (activity <= 1)).all()
    back = fields.decode(activity)
    assert back.shape == x.shape
    assert ((back >= fields.low) & (back <= fields.high)).all()
    if 0.2 <= fields.width <= 3:  # neighbours are told apart, and neither underflows
        spacing = fields.high / (fields.n_fields - 1) - fields.low / (fields.n_fields - 1)
        rounding = 1e-9 * max(abs(fields.low), abs(fields.high))
        assert (abs(back / 2 - x / 2) <= 1e-6 * spacing + rounding).all()


def _few(n: Any) -> Any:
    return 8 if _too_many(n) else n


def _too_many(n: Any) -> bool:
    """More than this process may need the memory for; what that says is NumPy's."""
    return isinstance(n, int) and n > 2000
