"""Exported C, really compiled: it gives what Python's stream gives."""

import subprocess
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from c_programs import STRICT, answers, build, needs_gcc
from problems import random_parameters

import gemsnn
from gemsnn.engine import running
from gemsnn.export import FixedPoint, export_c, predict_fixed
from gemsnn.inference import Temperature
from gemsnn.training import DecoderSettings, Model

LONG, SHORT = gemsnn.Exponential((2.0, 10.0, 80.0), 80), gemsnn.Exponential((3.0, 40.0), 6)
FILTERS = {
    "raised cosines": (gemsnn.RaisedCosine(3, 10), gemsnn.RaisedCosine(3, 10)),
    "exponentials that outlast most of the recording": (LONG, gemsnn.RaisedCosine(2, 5)),
    "exponentials that forget soon": (SHORT, SHORT),
    "a longer self-memory": (SHORT, gemsnn.Exponential((5.0,), 30)),
    "an exponential self-memory only": (gemsnn.RaisedCosine(2, 12), gemsnn.Exponential((20.0,), 8)),
    "a single tap": (gemsnn.Filter([[0.7]]), gemsnn.Filter([[0.7]])),
    "taps of one's own": (gemsnn.Filter([[0.5, -0.3, 0.2], [0.0, 0.9, 0.4]]), gemsnn.Filter([[0.1, 0.2, -0.3, 0.4]])),
}
N_INPUTS, N_HIDDEN, N_VISIBLE = 13, 11, 4
T = 90
CIRCUITS = {
    "alone": [],
    "winner-take-all": [tuple(range(N_HIDDEN, N_HIDDEN + N_VISIBLE))],
    "hidden circuits, silent states": [
        (0, 3, 5), gemsnn.Circuit((1, 9), silent=True), gemsnn.Circuit((N_HIDDEN, N_HIDDEN + 2), silent=True),
    ],
}  # fmt: skip


def graph(kind: str) -> gemsnn.Topology:
    """Nothing reaches the hidden neurons from the visible ones, unless it says so."""
    if kind == "full":
        return gemsnn.Topology.fully_connected(N_INPUTS, N_HIDDEN, N_VISIBLE)
    if kind == "lateral":
        return gemsnn.Topology.fully_connected(N_INPUTS, N_HIDDEN, N_VISIBLE, lateral=True)
    if kind == "layers":
        return gemsnn.Topology.layered(N_INPUTS, (6, 5), N_VISIBLE)
    density = {"random": 0.5, "sparse": 0.07, "with visible sources": 0.5}[kind]
    mask = gemsnn.Topology.random(N_INPUTS, N_HIDDEN, N_VISIBLE, density, seed=3).mask.copy()
    if kind != "with visible sources":
        mask[:N_HIDDEN, N_INPUTS + N_HIDDEN :] = False
    return gemsnn.Topology(N_INPUTS, N_HIDDEN, N_VISIBLE, mask)


def model_of(network: gemsnn.Network, decoder: str, K: int = 3, scale: float = 0.8, classes=None) -> Model:
    parameters = random_parameters(network, np.random.default_rng(5), scale).astype(np.float32)
    labels = tuple(range(network.n_visible)) if classes is None else classes
    return Model(network, parameters, labels, DecoderSettings(kind=decoder, compartments=K), T, seed=2**62 + 7)


def recordings(n: int, n_inputs: int = N_INPUTS) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [(rng.random((T, n_inputs)) < rate).astype(np.uint8) for rate in rng.uniform(0, 0.6, n)]


def check(model: Model, folder, n: int = 3, flags=None) -> None:
    export_c(model, folder)
    given = recordings(n, model.network.n_inputs)
    found = answers(build(folder, **({} if flags is None else {"flags": flags})), given, range(n))
    expected = model.predict_anytime(np.array(given), keys=range(n))
    for place, (labels, probabilities) in enumerate(found):
        # A spike more or less, or the last bit of a visible potential, would be a thousand times as much.
        np.testing.assert_allclose(probabilities, expected.probabilities[place], rtol=1e-11, atol=1e-13)
        assert labels == [str(model.classes[c]) for c in expected.classes[place]]


@needs_gcc
@pytest.mark.parametrize(("filters", "decoder"), list(zip(FILTERS, cycle(["per-step", "likelihood", "vote"]))))
def test_filters_and_decoders(filters, decoder, tmp_path):
    network = gemsnn.Network(graph("full"), *FILTERS[filters], circuits=CIRCUITS["winner-take-all"])
    check(model_of(network, decoder), tmp_path)


@needs_gcc
@pytest.mark.parametrize(
    ("kind", "decoder", "filters", "circuits"),
    [
        ("lateral", "per-step", "raised cosines", "winner-take-all"),
        ("lateral", "vote", "a longer self-memory", "alone"),
        ("lateral", "likelihood", "a longer self-memory", "hidden circuits, silent states"),
        ("layers", "per-step", "a longer self-memory", "hidden circuits, silent states"),
        ("layers", "vote", "raised cosines", "alone"),
        ("random", "per-step", "exponentials that outlast most of the recording", "alone"),
        ("random", "vote", "raised cosines", "hidden circuits, silent states"),
        ("sparse", "per-step", "raised cosines", "hidden circuits, silent states"),
        ("sparse", "likelihood", "exponentials that forget soon", "winner-take-all"),
        ("sparse", "vote", "exponentials that outlast most of the recording", "alone"),
        ("with visible sources", "vote", "exponentials that forget soon", "hidden circuits, silent states"),
    ],
)
def test_graphs_and_circuits(kind, decoder, filters, circuits, tmp_path):
    network = gemsnn.Network(graph(kind), *FILTERS[filters], circuits=CIRCUITS[circuits])
    check(model_of(network, decoder), tmp_path)


@needs_gcc
@pytest.mark.parametrize("visible_memory", [False, True])
def test_a_network_without_hidden_neurons_and_one_of_two_neurons(visible_memory, tmp_path):
    none = gemsnn.Network.fully_connected(3, 0, 2, SHORT, LONG, visible_memory=visible_memory)
    check(model_of(none, "per-step", K=1), tmp_path / "none")
    circuit = gemsnn.Network.fully_connected(
        3, 0, 2, SHORT, LONG, visible_memory=visible_memory, readout="winner-take-all"
    )
    check(model_of(circuit, "likelihood", K=1), tmp_path / "circuit")
    one = gemsnn.Network.fully_connected(1, 1, 1, visible_memory=visible_memory)
    check(model_of(one, "vote", K=2), tmp_path / "one")


@needs_gcc
def test_hundreds_of_recordings_on_a_network_of_usual_size_with_any_optimisation(tmp_path):
    """And whatever the compiler would fuse or vectorise, if it were allowed to."""
    network = gemsnn.Network.fully_connected(120, 60, 5, LONG, LONG, visible_memory=False, readout="winner-take-all")
    flags = (*STRICT, "-O3", "-march=native", "-ffp-contract=fast")
    check(model_of(network, "per-step", K=5, scale=0.2), tmp_path, n=300, flags=flags)


@needs_gcc
def test_it_is_the_live_stream_too_whatever_the_labels(tmp_path):
    labels = ('say_"yes"', "n\\o??/", "\u00e4")
    network = gemsnn.Network.fully_connected(N_INPUTS, 6, 3, visible_memory=False)
    model = model_of(network, "vote", scale=0.1, classes=labels)
    export_c(model, tmp_path)
    given, keys = recordings(12), range(2**62, 2**62 + 12)
    stream, all_said = model.stream(), set()
    for inputs, key, (said, probabilities) in zip(given, keys, answers(build(tmp_path), given, keys), strict=True):
        stream.reset(key)
        expected = [stream.step(step) for step in inputs]
        assert said == [answer.label for answer in expected]
        np.testing.assert_allclose(probabilities, [answer.probabilities for answer in expected], rtol=1e-11)
        all_said |= set(said)
    assert all_said == set(labels)


@needs_gcc
@pytest.mark.parametrize("weights", ["int8", "int16"])
@pytest.mark.parametrize(
    ("filters", "kind", "circuits", "decoder"),
    [
        ("raised cosines", "full", "winner-take-all", "per-step"),
        ("exponentials that outlast most of the recording", "full", "hidden circuits, silent states", "likelihood"),
        ("a longer self-memory", "sparse", "winner-take-all", "vote"),
        ("an exponential self-memory only", "random", "alone", "per-step"),
        ("an exponential self-memory only", "with visible sources", "hidden circuits, silent states", "vote"),
    ],
)
def test_whole_numbers_are_what_numpy_computes_with_them(weights, filters, kind, circuits, decoder, tmp_path):
    network = gemsnn.Network(graph(kind), *FILTERS[filters], circuits=CIRCUITS[circuits])
    model = model_of(network, decoder)
    program, given = export_c(model, tmp_path, weights=weights), recordings(3)
    found = answers(build(tmp_path), given, range(3))
    expected = predict_fixed(model, program.fixed, np.array(given), program.decoder, range(3))
    for place, (_, probabilities) in enumerate(found):
        np.testing.assert_allclose(probabilities, expected.probabilities[place], rtol=1e-11, atol=1e-13)
    floats = model.predict_anytime(np.array(given), keys=range(3))
    if decoder == "per-step":
        assert np.abs(expected.probabilities - floats.probabilities).mean() < {"int8": 0.05, "int16": 0.005}[weights]


@needs_gcc
@pytest.mark.parametrize("decoder", ["per-step", "vote"])
@pytest.mark.parametrize("weights", ["float32", "int8"])
def test_calibrated_probabilities_are_those_of_python_after_every_step(decoder, weights, tmp_path, monkeypatch):
    """Also of recordings that begin in silence, or go on for longer than those that it was fitted on."""
    rng, model = np.random.default_rng(3), model_of(gemsnn.Network(graph("full")), decoder, scale=0.2)
    medians = tuple(np.sort(rng.uniform(0, 400, 20)))
    temperature = Temperature(60, medians, tuple(map(tuple, rng.uniform(-2, 2, (6, 6)))), 50)
    monkeypatch.setattr(Model, "knows", lambda self, how: {"temperature": temperature})
    given = recordings(4)
    given[0][:30] = 0
    program = export_c(model, tmp_path, weights=weights)
    how, inputs = {"n_compartments": 3, "decoder": decoder, "seed": model.prediction_seed}, np.array(given)
    expected = (
        predict_fixed(model, program.fixed, inputs, model.decoder, range(4))
        if program.fixed
        else gemsnn.predict_anytime(
            model.network, model.parameters, inputs, keys=range(4), temperature=temperature, **how
        )
    )
    for place, (labels, probabilities) in enumerate(answers(build(tmp_path), given, range(4))):
        np.testing.assert_allclose(probabilities, expected.probabilities[place], rtol=1e-10, atol=1e-13)
        assert labels == [str(c) for c in expected.classes[place]]


# ---- what cannot be written, and what users can get wrong


def refused(model: Model, folder, **options) -> str:
    with pytest.raises(gemsnn.GemsnnError) as error:
        export_c(model, folder, **options)
    assert not folder.exists()
    return str(error.value)


def test_what_cannot_be_exported_is_refused_before_anything_is_written(tmp_path):
    folder, full = tmp_path / "out", gemsnn.Network(graph("full"))
    seen = gemsnn.Network(graph("with visible sources"))
    assert "--decoder vote" in refused(model_of(seen, "per-step"), folder)
    assert "several labels" in refused(replace(model_of(full, "vote"), about={"several_labels": True}), folder)
    assert "no classes" in refused(model_of(full, "vote", classes=()), folder)
    assert "no inputs" in refused(model_of(gemsnn.Network.fully_connected(0, 2, 2), "vote"), folder)
    assert "int4" in refused(model_of(full, "vote"), folder, weights="int4")
    loud = gemsnn.Network(graph("full"), gemsnn.Filter([[3.0, 1.0]]))
    assert "float32" in refused(model_of(loud, "vote"), folder, weights="int8")


@needs_gcc
@pytest.mark.parametrize(
    ("given", "said"),
    [("0 13\n", "index out of range"), ("3 1\n2 1\n", "in order"), ("a b\n", "expected"), ("0 1\n" * 14, "too many")],
)
def test_the_program_refuses_lines_that_are_no_spikes(given, said, tmp_path):
    export_c(model_of(gemsnn.Network(graph("full")), "vote"), tmp_path)
    done = subprocess.run([build(tmp_path)], input=given, capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr


@needs_gcc
def test_the_order_of_spikes_does_not_matter_and_a_wrong_index_changes_nothing(tmp_path):
    model, (inputs,) = model_of(gemsnn.Network(graph("full")), "per-step"), recordings(1)
    export_c(model, tmp_path)
    ((_, expected),) = answers(build(tmp_path), [inputs], [3])
    program = tmp_path / "main.c"
    rows = ",".join("{" + ",".join(map(str, row)) + "}" for row in inputs)
    program.write_text(
        f"""#include <stdio.h>
        #include "gemsnn.h"
        static const int given[{T}][{N_INPUTS}] = {{{rows}}};
        int main(void) {{
            const uint32_t wrong[2] = {{0, {N_INPUTS}}};
            gemsnn_reset(3);
            for (int t = 0; t < {T}; t++) {{
                uint32_t spikes[2 * {N_INPUTS}];
                size_t n = 0;
                for (int i = {N_INPUTS} - 1; i >= 0; i--)
                    if (given[t][i]) {{ spikes[n++] = (uint32_t)i; spikes[n++] = (uint32_t)i; }}
                if (gemsnn_step(wrong, 2) != -1 || gemsnn_step(spikes, n) != gemsnn_class()) return 1;
                if (gemsnn_confidence() != gemsnn_probabilities()[gemsnn_class()]) return 1;
            }}
            for (int c = 0; c < GEMSNN_CLASSES; c++) printf("%.17g ", gemsnn_probabilities()[c]);
            return 0;
        }}"""
    )
    done = subprocess.run([build(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.array(done.stdout.split(), float), expected[-1])


@needs_gcc
@pytest.mark.parametrize("weights", ["float32", "int8"])
def test_sizes_are_what_the_compiler_finds(weights, tmp_path):
    """Of constants and of state; less than a tenth more is code, labels and the odd number."""
    network = gemsnn.Network.fully_connected(200, 50, 5, LONG, LONG, readout="winner-take-all")
    written = export_c(model_of(network, "per-step"), tmp_path, weights=weights)
    command = ["gcc", "-std=c99", "-Os", "-c", str(tmp_path / "gemsnn.c"), "-o", str(tmp_path / "gemsnn.o")]
    subprocess.run(command, check=True)
    sections = subprocess.run(["size", "-A", str(tmp_path / "gemsnn.o")], capture_output=True, text=True).stdout
    size = {line.split()[0]: int(line.split()[1]) for line in sections.splitlines() if line.startswith(".")}
    assert written.constant_bytes <= size[".rodata"] <= 1.1 * written.constant_bytes
    assert 0.9 * written.state_bytes <= size[".bss"] <= 1.1 * written.state_bytes
    assert size[".text"] < 12_000


def test_whole_weights_are_the_weights_to_half_a_step_of_their_scale():
    model = model_of(gemsnn.Network(graph("full"), SHORT, SHORT), "vote")
    fixed = FixedPoint.of(running.arrange(model.network, model.parameters), "int16")
    assert np.abs(fixed.rows).max() == 2**15 - 1
    restored = fixed.rows.reshape(-1, 2, 15) * fixed.scale * 2.0 ** (fixed.fraction - 16 - fixed.scale_bits)
    expected = running.arrange(model.network, model.parameters).rows.reshape(-1, 2, 15)
    np.testing.assert_allclose(restored, expected, atol=np.abs(expected).max() / 2**15)
