"""Mutated checkpoints and models under checksums that fit: refused, or numbers that are numbers."""

from __future__ import annotations

import random
import shutil
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import toy

from gemsnn import GemsnnError
from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, load_model, train
from gemsnn.training import checkpoints as checkpoint_format
from gemsnn.training import model as model_format
from gemsnn.training.tensors import read_tensors, write_tensors
from torture.mutations import mutated, mutated_json
from torture.torture import Torture

CONFIG = toy.config(average_last=0.9, n_hidden=3, likelihood_samples=2, test_limit=3, validation_limit=3)


class Checkpoints(Torture):
    name, share = "checkpoints", 0.15

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.data = open_prepared(toy.prepared(folder / "toy.h5"))
        self.run = folder / "base"
        stop = iter([False] * 27 + [True])
        train(CONFIG, self.data, self.run, stop=lambda: next(stop))
        newest = RunDirectory(self.run).checkpoints.paths()[0]
        self.checkpoint = newest.name
        self.bytes = newest.read_bytes()
        self.model = (self.run / "best.safetensors").read_bytes()
        self.inputs = self.data.train.read([0, 1])

    def close(self) -> None:
        self.data.close()

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        counts["mutated files"] += 1
        if rng.random() < 0.5:
            self.resume(rng, counts)
        else:
            self.predict(rng, counts)

    def resume(self, rng: random.Random, counts: Counter[str]) -> None:
        run = self.folder / "run"
        shutil.copytree(self.run, run)
        for path in RunDirectory(run).checkpoints.paths():
            path.unlink()
        file = run / "checkpoints" / self.checkpoint
        signed = change(rng, self.bytes, file, checkpoint_format)
        counts["with valid checksums"] += signed
        position = int(rng.choice((0, 1, 3)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seen = iter([False] * position)
                outcome = train(CONFIG, self.data, run, resume=True, stop=lambda: next(seen, True))
            parameters = outcome.trainer.parameters()
            assert all(np.isfinite(getattr(parameters, name)).all() for name in ("synaptic", "somatic", "bias"))
            counts["gone on with"] += 1
            counts["unsigned and gone on with"] += not signed
        except GemsnnError:
            counts["refused"] += 1
        finally:
            shutil.rmtree(run)

    def predict(self, rng: random.Random, counts: Counter[str]) -> None:
        file = self.folder / "model.safetensors"
        counts["with valid checksums"] += change(rng, self.model, file, model_format)
        try:
            model = load_model(file)
            found = model.predict(self.inputs)
        except GemsnnError:
            counts["refused"] += 1
            return
        assert np.allclose(found.probabilities.sum(axis=-1), 1)
        assert np.isin(found.label, model.classes or range(model.network.n_visible)).all()
        counts["predicted with"] += 1


def change(rng: random.Random, base: bytes, file: Path, kind: Any) -> bool:
    """Write a changed file; whether its checksum fits."""
    if rng.random() < 0.2:
        file.write_bytes(mutated(rng, base))
        return False
    file.write_bytes(base)
    header, arrays = read_tensors(file, kind.FORMAT, kind.VERSION)
    del header["format"], header["version"]
    if rng.random() < 0.5:
        header = mutated_json(rng, header)
    for _ in range(rng.choice((0, 1, 1, 2))):
        name = rng.choice(sorted(arrays))
        arrays[name] = odd(rng, arrays[name])
        if rng.random() < 0.1:
            arrays[rng.choice((name + "x", rng.choice(sorted(arrays))))] = arrays.pop(name)
    try:
        write_tensors(file, kind.FORMAT, kind.VERSION, header, arrays)
    except (ValueError, TypeError, UnicodeError):  # cannot be said in JSON
        file.write_bytes(mutated(rng, base))
        return False
    return True


def odd(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """The array in another shape, type or with other values."""
    value = rng.choice((np.nan, np.inf, -np.inf, 3e38, 1e20, -1e20, 1e19, 1e6, 1e-40, 0.0, -1.0, 1.0))
    match rng.randrange(10):
        case 0:
            return array[: rng.randrange(len(array) + 1)] if array.ndim else array
        case 1:
            return array[..., : rng.randrange(array.shape[-1] + 1)] if array.ndim else array
        case 2:
            return np.concatenate([array, array]) if array.ndim else array
        case 3:
            return np.ascontiguousarray(array.T)
        case 4:
            return array.astype(rng.choice((np.float32, np.float64, np.float16, np.int64, np.uint8, np.bool_)))
        case 5:
            return array.reshape(rng.choice(((-1,), (1, *array.shape), (*array.shape, 1))))
        case 6:
            return np.full_like(array, value, subok=False) if array.dtype.kind == "f" else ~array
        case _:
            changed = array.copy()
            if changed.size:
                flat = changed.reshape(-1)
                flat[rng.randrange(flat.size)] = value if array.dtype.kind == "f" else 1
            return changed
