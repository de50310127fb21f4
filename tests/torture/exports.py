"""Exported C of odd networks, under sanitizers: Python's answers, also for odd input; and NIR that comes back whole."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
from c_programs import answers, build

import gemsnn
from gemsnn.export import export_c, predict_fixed, read_nir, write_nir
from gemsnn.training import DecoderSettings, Model
from torture.mutations import mutated
from torture.networks import some_problem
from torture.torture import Torture

LABELS = ('say_"yes"', "n\\o??/", "ä", "%d%s", "*/", "x" * 200, "9", "\\u0041")
READOUTS = ("vote", "per-step", "likelihood")


class Exports(Torture):
    name, share = "exports", 0.1
    memory = None  # the sanitizers map terabytes that they do not use

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        problem = some_problem(rng)
        network, K = problem.network, rng.choice((1, 2, 5))
        labels = rng.sample(LABELS, network.n_visible) if rng.random() < 0.5 else range(network.n_visible)
        how = DecoderSettings(kind=rng.choice(READOUTS), compartments=K)
        model = Model(
            network, problem.parameters.astype(np.float32), tuple(labels), how, problem.T, seed=rng.randrange(2**63)
        )
        self.nir(model, counts)
        weights, folder = rng.choice(("float32", "int16", "int8")), self.folder / "c"
        try:
            written = export_c(model, folder, weights=weights)
        except gemsnn.GemsnnError:
            counts["refused"] += 1
            return
        program = build(folder)
        counts["programs"] += 1
        draws = np.random.default_rng(problem.seed)
        given = np.array([draws.random(problem.inputs.shape) < share for share in (0.0, 0.1, 0.5, 1.0)])
        keys = [rng.randrange(2**63) for _ in given]
        found = answers(program, given, keys)
        if written.fixed is None:
            expected = model.predict_anytime(given, keys=keys)
        else:
            expected = predict_fixed(model, written.fixed, given, written.decoder, keys)
        for place, (_, probabilities) in enumerate(found):
            np.testing.assert_allclose(probabilities, expected.probabilities[place], rtol=1e-9, atol=1e-12)
        counts["recordings"] += len(given)
        self.odd_input(program, rng, counts)

    def nir(self, model: Model, counts: Counter[str]) -> None:
        file = self.folder / "model.nir"
        try:
            write_nir(model, file)
        except gemsnn.GemsnnError:  # its filters are no exponentials
            return
        back = read_nir(file)
        assert (back.network, back.parameters, back.classes) == (model.network, model.parameters, model.classes)
        counts["graphs of NIR"] += 1

    def odd_input(self, program: Path, rng: random.Random, counts: Counter[str]) -> None:
        """Whatever comes in, the sanitizers find nothing: the program answers, or refuses a line with exit code 2."""
        lines = [f"{step} {rng.randrange(3)}" for step in sorted(rng.randrange(20) for _ in range(30))]
        base = "\n".join(["reset 7", *lines, "25", "reset 8", *lines]).encode()
        for _ in range(20):
            text = mutated(rng, base)
            done = subprocess.run(["timeout", "20", program], input=text, capture_output=True)
            assert done.returncode in (0, 2, 124), (text, done.stderr[-2000:])
            counts["mutated inputs"] += 1
