"""Mutated texts, from summaries to locks: what is read is what was written, or a `GemsnnError`."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import made_up_results
import toy

from gemsnn import GemsnnError
from gemsnn.common.sealed import SEAL, seal
from gemsnn.events import open_prepared
from gemsnn.experiments import Measurement, Protocol, judge
from gemsnn.experiments.claims import as_records
from gemsnn.experiments.results import read_results, to_json, write_results
from gemsnn.experiments.runs import answers
from gemsnn.model import Topology
from gemsnn.training import RunDirectory, train
from gemsnn.training.lock import locked
from torture.mutations import mutated, mutated_json
from torture.torture import Torture

CONFIG = toy.config(n_hidden=2, likelihood_samples=2, test_limit=3, validation_limit=3)


class Texts(Torture):
    name, share = "texts", 0.1

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with open_prepared(toy.prepared(folder / "toy.h5")) as data:
            train(CONFIG, data, folder / "run")
        self.run = RunDirectory(folder / "run")
        self.summary, self.metrics = self.run.summary.read_bytes(), self.run.metrics.read_bytes()
        self.known = self.run.read_summary(), self.run.read_metrics()
        protocol = Protocol.make("full", compartments=(1, 2), seeds=(0, 1))
        self.known_results = results = made_up_results.made_up(protocol=protocol, n_evaluations=1)
        self.results = folder / "results.json"
        write_results(self.results, to_json(results, as_records(judge(results))))
        self.results_bytes = self.results.read_bytes()
        self.graph = folder / "graph.json"
        Topology.random(3, 4, 2, 0.5).save(self.graph)
        self.graph_bytes = self.graph.read_bytes()
        self.work = Measurement("one", measure, {"a": 1, "b": [1.5, "x"]}, {"one": 1}, folder)
        self.work.do(lambda: False)
        self.measured = self.work.file.read_bytes()
        self.lock = folder / "lock"

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        counts["mutated files"] += 1
        try:
            kinds = (self._summary, self._metrics, self._open_metrics, self._results, self._graph)
            rng.choice((*kinds, self._measurement, self._lock))(rng)
            counts["read"] += 1
        except GemsnnError:
            counts["refused"] += 1

    def _resealed(self, rng: random.Random, content: bytes) -> tuple[bytes, bool]:
        """Changed bytes, or changed values under a seal that fits; and whether it is so."""
        if rng.random() < 0.5:
            return mutated(rng, content), False
        values = json.loads(content)
        values.pop(SEAL)
        try:
            changed = mutated_json(rng, values)
            return seal(changed if isinstance(changed, dict) else {"x": changed}), True
        except (ValueError, TypeError):  # not to be said in JSON
            return mutated(rng, content), False

    def _summary(self, rng: random.Random) -> None:
        content, sealed = self._resealed(rng, self.summary)
        self.run.summary.write_bytes(content)
        try:
            found = self.run.read_summary()
            assert sealed or found == self.known[0]
            self.run.load_model()
        finally:
            self.run.summary.write_bytes(self.summary)

    def _metrics(self, rng: random.Random) -> None:
        self.run.metrics.write_bytes(mutated(rng, self.metrics))
        try:
            assert self.run.read_metrics() == self.known[1]
        finally:
            self.run.metrics.write_bytes(self.metrics)

    def _open_metrics(self, rng: random.Random) -> None:
        """Of a run that is not finished, which nothing vouches for yet."""
        self.run.summary.unlink()
        self.run.metrics.write_bytes(mutated(rng, self.metrics))
        try:
            for record in self.run.read_metrics():
                assert record["position"] >= 0
        finally:
            self.run.summary.write_bytes(self.summary)
            self.run.metrics.write_bytes(self.metrics)

    def _results(self, rng: random.Random) -> None:
        self.results.write_bytes(mutated(rng, self.results_bytes))
        results, _ = read_results(self.results)
        assert results == self.known_results

    def _graph(self, rng: random.Random) -> None:
        values = json.loads(self.graph_bytes)
        content = self.graph_bytes if rng.random() < 0.5 else json.dumps(mutated_json(rng, values)).encode()
        self.graph.write_bytes(mutated(rng, content) if content is self.graph_bytes else content)
        Topology.load(self.graph)

    def _measurement(self, rng: random.Random) -> None:
        content, _ = self._resealed(rng, self.measured)
        self.work.file.write_bytes(content)
        try:
            if self.work.done():
                assert isinstance(answers(self.folder), list)
                self.work.found()
        finally:
            self.work.file.write_bytes(self.measured)

    def _lock(self, rng: random.Random) -> None:
        """A text that is not ours is left alone; one of a process that was killed is taken over."""
        text = b'{"pid": 123, "host": "here", "since": "2026-01-01 00:00:00"}'
        content = mutated(rng, text)
        self.lock.write_bytes(content)
        try:
            with locked(self.folder):
                assert content[:8] == text[: min(8, len(content))]
        except GemsnnError:
            assert self.lock.read_bytes() == content
            raise


def measure(folder: Path, a: int, b: list[object]) -> dict[str, object]:
    return {"accuracy": 0.5, "more": {"x": [1, 2.5, None]}}
