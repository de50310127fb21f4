"""Mutated settings, in files and on the command line: a network that fits, or a `GemsnnError`."""

from __future__ import annotations

import json
import random
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import toy

from gemsnn import GemsnnError
from gemsnn.events import Preprocessing, open_prepared
from gemsnn.experiments import Protocol
from gemsnn.training import PRESETS, TrainingConfig, read_config, trainer_of, write_config
from gemsnn.training.config import parse_assignment
from torture.mutations import ODD_VALUES, mutated, mutated_json
from torture.torture import Torture


class Settings(Torture):
    name, share = "settings", 0.1

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.data = open_prepared(toy.prepared(folder / "toy.h5"))
        self.file = folder / "settings.toml"
        self.bases = [write_config(TrainingConfig.make(preset), "toy.h5") for preset in (None, *PRESETS)]
        self.bases.append(write_config(toy.config(topology={"kind": "layers", "sizes": [3, 2]})))

    def close(self) -> None:
        self.data.close()

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        counts["mutated settings"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rng.choice((self._file, self._values, self._assignment, self._protocol, self._preprocessing))(rng)
            counts["taken"] += 1
        except GemsnnError as error:
            if len(str(error)) > 5000:
                raise AssertionError("the message is a novel") from error
            counts["refused"] += 1

    def _file(self, rng: random.Random) -> None:
        self.file.write_bytes(mutated(rng, rng.choice(self.bases).encode()))
        self._try(read_config(self.file)[0], rng)

    def _values(self, rng: random.Random) -> None:
        values = tomllib.loads(rng.choice(self.bases))
        values.pop("data", None)
        changed = mutated_json(rng, values)
        self._try(TrainingConfig.of(None, changed if isinstance(changed, dict) else {}), rng)

    def _assignment(self, rng: random.Random) -> None:
        name = rng.choice((*TrainingConfig.model_fields, "rule.gain", "rule.kind", "topology.sizes", "cls", "preset"))
        value = rng.choice(ODD_VALUES)
        text = rng.choice((str(value), json.dumps(value, default=str), "9" * rng.choice((1, 400, 5000))))
        self._try(TrainingConfig.of(None, dict([parse_assignment(f"{name}={text}")])), rng)

    def _protocol(self, rng: random.Random) -> None:
        name = rng.choice((*Protocol.model_fields, "cls", "preset"))
        Protocol.make("quick", **{name: rng.choice(ODD_VALUES)})

    def _preprocessing(self, rng: random.Random) -> None:
        choices = Preprocessing(sensor_size=(6, 4), bin_us=1000, x_range=(1, 3)).to_dict()
        changed = mutated_json(rng, choices)
        Preprocessing.from_dict(changed if isinstance(changed, dict) else {})

    def _try(self, config: TrainingConfig, rng: random.Random) -> None:
        """What was taken comes back from a file, and something can be learned with it, if it is not too large."""
        self.file.write_text(write_config(config))
        assert read_config(self.file)[0] == config
        if config.n_hidden * config.n_compartments < 2000 and config.topology.count_hidden(config.n_hidden) < 500:
            trainer_of(config, self.data).learn_next()
