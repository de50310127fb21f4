"""Mutated prepared files: what is read is what was written, or a `DataError`; what differs has another fingerprint."""

from __future__ import annotations

import hashlib
import json
import random
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import toy

from gemsnn import GemsnnError
from gemsnn.events import Preprocessing, open_prepared, write_prepared
from gemsnn.events.container import FORMAT, USER_BLOCK
from gemsnn.events.records import make_events
from gemsnn.training import trainer_of
from torture.mutations import mutated, mutated_json
from torture.torture import Torture


class Prepared(Torture):
    name, share = "prepared", 0.2

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.bases = [file.read_bytes() for file in _files(folder)]
        self.file = folder / "mutated.h5"
        self.known = []
        for base in self.bases:
            self.file.write_bytes(base)
            self.known.append(content_of(self.file))

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        which = rng.randrange(len(self.bases))
        base = self.bases[which]
        structural = rng.random() < 0.4
        self.file.write_bytes(rewritten(rng, base) if structural else mutated(rng, base))
        counts["mutated files"] += 1
        counts["with valid checksums"] += structural
        try:
            fingerprint, digest = content_of(self.file)
        except GemsnnError:
            counts["refused"] += 1
            return
        known, unchanged = self.known[which]
        assert digest == unchanged or fingerprint != known, "other content under the same fingerprint"
        assert digest == unchanged or structural, "a changed byte went unnoticed"
        counts["read as written" if digest == unchanged else "valid otherwise"] += 1
        if rng.random() < 0.1:
            learn_a_little(self.file, counts)


def _files(folder: Path) -> list[Path]:
    """One of each kind: labels, several labels, spike patterns, recordings, examples of different lengths."""
    rng = np.random.default_rng(0)
    spikes = rng.random((6, 5, 8)) < 0.3
    made = [folder / f"{kind}.h5" for kind in ("label", "labels", "pattern", "events", "ragged")]
    write_prepared(made[0], spikes, [0, 1] * 3, grid=(2, 4))
    write_prepared(made[1], spikes, rng.integers(0, 2, (6, 3)), classes=["a", "b", "c"])
    write_prepared(made[2], spikes, targets=rng.random((6, 5, 3)) < 0.3, split=["train"] * 4 + ["test"] * 2)
    events = [
        make_events(rng.integers(0, 6, 30), rng.integers(0, 4, 30), np.sort(rng.integers(0, 9000, 30)), [0, 1] * 15)
        for _ in range(4)
    ]
    choices = Preprocessing(sensor_size=(6, 4), bin_us=1000)
    write_prepared(made[3], events, ["left", "right"] * 2, preprocessing=choices, names=["\u00fc", "b", "c", "d"])
    write_prepared(made[4], [rng.random((3 + i, 8)) < 0.3 for i in range(6)], ["x", "y", "z"] * 2)
    return made


def content_of(file: Path) -> tuple[str, str]:
    """The fingerprint, and a digest of everything that can be read."""
    digest = hashlib.sha256()
    with open_prepared(file) as data:
        told = (data.n_inputs, data.n_visible, data.classes, data.grid, data.n_steps, str(data.preprocessing))
        digest.update(repr(told).encode())
        digest.update(json.dumps({**data.attributes, "version": ""}, sort_keys=True).encode())
        for part in data.splits:
            digest.update(repr((part.name, part.names, part.lengths.tolist())).encode())
            digest.update(b"" if part.labels is None else part.labels.tobytes())
            if part.n_events is not None:
                digest.update(part.n_events.tobytes() + part.duration_us.tobytes())
            for i in range(len(part)):
                target, planes = part.target(i), part.planes(i)
                digest.update(part[i].tobytes())
                digest.update(b"" if target is None else target.tobytes())
                digest.update(b"" if planes is None else planes.tobytes())
                part.density(i)
                data.label_of(part, i)
        return data.fingerprint, digest.hexdigest()


def rewritten(rng: random.Random, base: bytes) -> bytes:
    """The same file with another header, or other tables or spikes, under checksums that fit."""
    content = bytearray(base)
    place = json.loads(base[len(FORMAT) : USER_BLOCK])
    header = json.loads(base[place["at"] : place["at"] + place["size"]])
    if rng.random() < 0.5:
        header = mutated_json(rng, header)
    else:
        name = rng.choice(sorted(header["tables"]))
        table = header["tables"][name]
        size = int(np.prod(table["shape"])) * np.dtype(table["dtype"]).itemsize
        begin = table["at"]
        if size:
            at = begin + rng.randrange(size)
            content[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        table["sha256"] = hashlib.sha256(content[begin : begin + size]).hexdigest()
    try:
        text = json.dumps(header).encode()
    except UnicodeEncodeError:
        text = b"{}"
    place = {"at": len(content), "size": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    content += text
    if rng.random() < 0.1:
        place = mutated_json(rng, place)
    content[:USER_BLOCK] = (FORMAT + json.dumps(place).encode()).ljust(USER_BLOCK)[:USER_BLOCK]
    return bytes(content)


def learn_a_little(file: Path, counts: Counter[str]) -> None:
    """What can be read can be learned from."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with open_prepared(file) as data:
                trainer = trainer_of(toy.config(epochs=1, validation_fraction=0), data)
                trainer.learn_next()
                counts["learned from"] += 1
        except GemsnnError:
            counts["refused to learn from"] += 1
