"""Odd graphs, filters, circuits, rules, means, compartments, streams, completion: both engines compute the same."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
from problems import Problem, assert_close, assert_parameters_close, assert_results_close, make_problem

import gemsnn
from gemsnn.engine import compiled
from gemsnn.training import TrainingConfig, trainer_of
from torture.torture import Torture

TOLERANCE = 1e-8
WEIGHTS = ("synaptic", "somatic", "bias")


class Networks(Torture):
    name, share = "networks", 0.15

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        compiled.FORM = rng.choice((None, "event", "sparse"))
        try:
            problem = some_problem(rng)
            if compiled.FORM == "event" and not _has_event_form(problem):
                compiled.FORM = None
            kinds = (self.learn, self.in_pieces, self.stream, self.sample, self.complete)
            rng.choices(kinds, (4, 4, 4, 3, 1))[0](problem, rng, counts)
        finally:
            compiled.FORM = None
        counts["networks"] += 1

    def learn(self, problem: Problem, rng: random.Random, counts: Counter[str]) -> None:
        uniforms = problem.uniforms(problem.network.n_hidden)
        means = some_means(rng, problem.network)
        fast = problem.learn("compiled", uniforms=uniforms, means=means)
        slow = problem.learn("reference", uniforms=uniforms, means=means)
        counts["with means taken off"] += means is not None
        if not np.array_equal(fast.hidden, slow.hidden):
            moves = (problem.learn("reference", parameters=p, uniforms=uniforms, means=means) for p in moved(problem))
            assert any(not np.array_equal(slow.hidden, other.hidden) for other in moves), "other spikes"
            counts["parted where rounding decides"] += 1
            return
        try:
            assert_results_close(fast, slow, TOLERANCE)
        except AssertionError:
            assert_results_close(fast, slow, 10 * sensitivity(problem, slow, uniforms=uniforms, means=means))
            counts["as exact as the problem allows"] += 1

    def in_pieces(self, problem: Problem, rng: random.Random, counts: Counter[str]) -> None:
        """Going on from a state is as if there had been no break."""
        if problem.T < 2:
            return self.learn(problem, rng, counts)
        cut, means = rng.randrange(1, problem.T), some_means(rng, problem.network)
        whole = problem.learn("reference", seed=problem.seed, means=means)
        counts["with means taken off"] += means is not None
        parameters, state = problem.parameters, None
        for part in (slice(0, cut), slice(cut, None)):
            found = gemsnn.learn(
                problem.network, parameters, problem.rule, problem.inputs[part], problem.targets[part], problem.K,
                seed=problem.seed, state=state, means=means if state is None else None,
            )  # fmt: skip
            parameters, state = found.parameters, found.state
        try:
            assert_parameters_close(parameters, whole.parameters, TOLERANCE)
        except AssertionError:
            limit = 10 * sensitivity(problem, whole, seed=problem.seed, means=means)
            assert_parameters_close(parameters, whole.parameters, limit)
            counts["as exact as the problem allows"] += 1

    def stream(self, problem: Problem, rng: random.Random, counts: Counter[str]) -> None:
        """Step by step, some steps without a target; looking at the weights changes nothing."""
        means = some_means(rng, problem.network)
        counts["with means taken off"] += means is not None
        plan = [(rng.random() < 0.7, rng.random() < 0.2, rng.random() < 0.05) for _ in range(problem.T)]

        def follow(engine: str, parameters: gemsnn.Parameters) -> tuple[list[Any], list[Any], gemsnn.Parameters]:
            stream = gemsnn.Stream(
                problem.network, parameters, problem.rule, problem.K, problem.seed, engine, means=means
            )
            spikes, numbers = [], []
            for t, (taught, looked_at, over) in enumerate(plan):
                info = stream.step(problem.inputs[t], problem.targets[t] if taught else None)
                spikes.append(info.spikes)
                numbers.append(info.log_weights)
                if looked_at:
                    numbers += [getattr(stream.parameters, name) for name in WEIGHTS]
                if over:
                    stream.reset()
            return spikes, numbers, stream.parameters

        fast, slow = (follow(engine, problem.parameters) for engine in ("compiled", "reference"))
        if not np.array_equal(fast[0], slow[0]):
            moves = (follow("reference", parameters) for parameters in moved(problem))
            assert any(not np.array_equal(slow[0], other[0]) for other in moves), "other spikes"
            counts["parted where rounding decides"] += 1
            return
        try:
            for found, expected in zip(fast[1], slow[1], strict=True):
                assert_close(found, expected, TOLERANCE)
            assert_parameters_close(fast[2], slow[2], TOLERANCE)
        except AssertionError:
            limit = 10 * max(distance(slow[2], follow("reference", p)[2]) for p in moved(problem)[:2])
            assert_parameters_close(fast[2], slow[2], limit)
            counts["as exact as the problem allows"] += 1
        counts["steps of streams"] += problem.T

    def sample(self, problem: Problem, rng: random.Random, counts: Counter[str]) -> None:
        uniforms = problem.uniforms(problem.network.n_neurons)
        fast, slow = (
            gemsnn.sample(
                problem.network, problem.parameters, problem.inputs, problem.K, uniforms=uniforms, engine=engine
            )
            for engine in ("compiled", "reference")
        )
        np.testing.assert_array_equal(fast, slow)

    def complete(self, problem: Problem, rng: random.Random, counts: Counter[str]) -> None:
        """A part of each example becomes what is desired of the rest, and can be learned and completed."""
        height, width, T = rng.randint(1, 4), rng.randint(2, 5), rng.choice((1, 3, 20))
        whole, part = self.folder / "whole.h5", self.folder / "part.h5"
        draws = np.random.default_rng(problem.seed)
        spikes = draws.random((4, T, height * width)) < rng.choice((0.0, 0.3, 1.0))
        gemsnn.events.write_prepared(whole, spikes, [0, 1, 0, 1], grid=(height, width), split=0.5)
        first = rng.randrange(height * width)
        how = {"half": rng.choice(("left", "right", "top", "bottom"))} if rng.random() < 0.5 else {"inputs": (0, first)}
        try:
            gemsnn.events.complete_prepared(whole, part, **how)  # type: ignore[arg-type]
        except gemsnn.GemsnnError:  # nothing, or everything, would be desired
            counts["completions refused"] += 1
            return
        with gemsnn.events.open_prepared(part) as data:
            rule = {"kind": rng.choice(("gem", "mb", "iw", "feedback")), "learning_rate": 1e-3}
            K = rng.choice((2, 3)) if rule["kind"] == "iw" else rng.choice((1, 2))
            config = TrainingConfig.make(
                rule=rule, n_hidden=rng.choice((0, 3)), n_compartments=K, epochs=1, validation_fraction=0.0
            )
            trainer = trainer_of(config, data)
            trainer.learn_next()
            assert np.isfinite(trainer.parameters().bias).all()
        counts["completions"] += 1


def sensitivity(problem: Problem, result: gemsnn.LearnResult, **draws: Any) -> float:
    """How far the reference engine's own weights move, relative to them, if it begins with the last bits changed.

    Learning can be chaotic: where a change of 1e-15 grows to 1e-7, no two ways to compute it agree any better.
    """
    moves = (problem.learn("reference", parameters=parameters, **draws) for parameters in moved(problem)[:2])
    return max(distance(result.parameters, other.parameters) for other in moves)


def moved(problem: Problem) -> list[gemsnn.Parameters]:
    """The weights with their last bits changed, then a little more.

    Where that changes the reference's own spikes, a draw lies within rounding of a probability, or chaos has made much
    of little. Where it does not, both engines have to agree on every spike.
    """
    arrays = [getattr(problem.parameters, name) for name in WEIGHTS]
    changes = (1e-15, -1e-15, 1e-14, -1e-14, 1e-13, -1e-13)
    return [gemsnn.Parameters(*(array * (1 + change) for array in arrays)) for change in changes]


def distance(before: gemsnn.Parameters, after: gemsnn.Parameters) -> float:
    """The largest difference, relative to the largest weight of its kind."""
    pairs = [(getattr(before, name), getattr(after, name)) for name in WEIGHTS]
    return max(float(np.abs(b - a).max() / max(1.0, np.abs(b).max())) if b.size else 0.0 for b, a in pairs)


def _has_event_form(problem: Problem) -> bool:
    from gemsnn.engine.event_plan import event_plan

    plans = [event_plan(problem.network, free, problem.parameters.dtype) for free in (False, True)]
    return all(plan is not None for plan in plans)


def some_problem(rng: random.Random) -> Problem:
    n_inputs, n_hidden, n_visible = rng.randrange(7), rng.randrange(8), rng.randrange(1, 5)
    topology = rng.choice(
        (
            lambda: gemsnn.Topology.fully_connected(n_inputs, n_hidden, n_visible),
            lambda: gemsnn.Topology.random(
                n_inputs, n_hidden, n_visible, rng.choice((0.0, 0.2, 0.5, 0.9, 1.0)), rng.randrange(10**6)
            ),
            lambda: (
                gemsnn.Topology.layered(n_inputs, [n_hidden // 2, n_hidden - n_hidden // 2], n_visible)
                if n_hidden > 1
                else gemsnn.Topology.layered(n_inputs, [], n_visible)
            ),
        )
    )()
    synaptic = some_filter(rng)
    somatic = synaptic if rng.random() < 0.3 else some_filter(rng)
    circuits = some_circuits(rng, topology)
    network = gemsnn.Network(topology, synaptic, somatic, rng.random() < 0.5, circuits)
    problem = make_problem(
        network, some_rule(rng), rng.choice((1, 2, 7, 20, 60, 200)), rng.choice((1, 1, 2, 3, 7, 9)),
        rng.randrange(2**32), rng.choice((0.3, 1.0, 5.0)), rng.choice((0.0, 0.05, 0.5, 1.0)),
    )  # fmt: skip
    if problem.rule.refuse(problem.K) and network.n_hidden:
        return some_problem(rng)
    for circuit in network.circuits.visible.competing:  # exactly one of its neurons spikes, or at most one
        members = list(circuit.neurons)
        problem.targets[:, members] = 0
        for t in range(problem.T):
            if not circuit.silent or rng.random() < 0.6:
                problem.targets[t, rng.choice(members)] = 1
    return problem


def some_means(rng: random.Random, network: gemsnn.Network) -> gemsnn.TraceMeans | None:
    """Of an example, or none; with few inputs they are what the traces are, so that little is left to learn."""
    if rng.random() < 0.5 or not network.n_inputs:
        return None
    spikes = np.random.default_rng(rng.randrange(10**6)).random((20, network.n_inputs)) < rng.choice((0.05, 0.5, 1.0))
    return gemsnn.TraceMeans.zero(network).after(network, spikes)


def some_filter(rng: random.Random) -> gemsnn.Filter:
    duration = rng.choice((1, 2, 3, 7, 8, 12, 13, 24, 25, 40))
    match rng.randrange(3):
        case 0:
            return gemsnn.RaisedCosine(rng.randint(1, min(3, duration)), duration, 1.0 + duration)
        case 1:
            return gemsnn.Exponential([rng.choice((0.5, 2.0, 7.0)) for _ in range(rng.randint(1, 3))], duration)
        case _:
            taps = np.random.default_rng(rng.randrange(10**6)).normal(0, 0.5, (rng.randint(1, 3), duration))
            return gemsnn.Filter(taps)


def some_circuits(rng: random.Random, topology: gemsnn.Topology) -> list[gemsnn.Circuit]:
    circuits = []
    for first, last in ((0, topology.n_hidden), (topology.n_hidden, topology.n_neurons)):
        members = list(range(first, last))
        rng.shuffle(members)
        while len(members) > 1 and rng.random() < 0.4:
            size = rng.randint(2, len(members))
            circuits.append(gemsnn.Circuit(tuple(members[:size]), rng.random() < 0.5))
            members = members[size:]
    return circuits


def some_rule(rng: random.Random) -> gemsnn.rules.Rule:
    memories = {"kappa": rng.choice((1e-3, 0.5, 0.9, 1.0)), "gamma": rng.choice((1e-3, 0.5, 0.9, 0.99, 1.0))}
    usual = {"learning_rate": rng.choice((0.0, 1e-3, 0.05)), **memories}
    small = {"learning_rate": rng.choice((0.0, 1e-5, 5e-4)), **memories}
    return rng.choice(
        (
            lambda: gemsnn.GEM(centred=rng.random() < 0.5, **usual),
            lambda: gemsnn.Feedback(gain=rng.choice((0.0, 0.5, 4.0)), **usual),
            lambda: gemsnn.MB(baseline=rng.choice((None, 0.0, 0.95)), **small),
            lambda: gemsnn.IW(baseline=rng.choice((None, 0.0, 0.95, "leave-one-out")), **small),
        )
    )()
