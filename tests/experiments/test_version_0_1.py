"""The same seed gives the network that version 0.1 trained: simulated recordings, weights, spikes while learning.

The numbers were written down by version 0.1 (commit 83a48f6) for the protocol below. Evaluations draw other random
numbers since (the draws follow from the recording, not from its place), so that their figures agree up to chance only.
"""

import numpy as np
import pytest

from gemsnn.events import open_prepared
from gemsnn.experiments import Protocol, planned
from gemsnn.experiments.data import simulated_file
from gemsnn.experiments.sweep import work

PROTOCOL = Protocol.make(
    "quick", n_hidden=6, epochs=1, compartments=(1, 3), seeds=(2,), per_class=(5, 3), digits=(0, 1),
    evaluation_points=(0.5, 1.0),
)  # fmt: skip
INPUT_SPIKES = [6565, 5723, 6535, 6355, 6320, 2703, 3612, 3826, 2986, 2997]
SAID = {
    1: {
        "learned": [-43.19695658763166, -15.53945585695194],
        "hidden_spikes": [0.640625, 1.0125],
        "test": [-29.18148057403182, -17.746956536161125],
        "bias": [-1.9412961, -2.0557284, -2.0382438, -1.9958279, -2.0402846, -2.0304382, -0.1231169, 0.0432835],
        "somatic": [-0.0032704, -0.0149585, -0.0350318, -0.0728880, 0.0090510, -0.0040243, 0.9763778, 1.1017231],
        "synaptic": 393.4974365,
    },
    3: {
        "learned": [-43.23669971833882, -15.549855737616834],
        "hidden_spikes": [2.371875, 2.64375],
        "test": [-29.238515740024145, -17.737654345120344],
        "bias": [-1.9925919, -2.0430026, -2.0034893, -1.9587194, -2.0304894, -2.0169210, -0.1206296, 0.0424636],
        "somatic": [0.0248123, -0.0343596, -0.0095502, 0.0484958, -0.0054217, -0.0338748, 0.9806412, 1.0993389],
        "synaptic": 367.1854858,
    },
}


def test_a_tiny_reproduction_gives_the_numbers_of_version_0_1(tmp_path):
    data = simulated_file(tmp_path / "data", PROTOCOL)
    with open_prepared(data) as prepared:
        assert [int(spikes.sum()) for spikes in prepared.train] == INPUT_SPIKES
    for run in planned(PROTOCOL, tmp_path, {2: data}):
        assert work(run).status == "done"
        said, records = SAID[run.labels["K"]], run.directory.read_metrics()
        learned = run.directory.load_model("final").parameters
        assert [record["train"]["log_likelihood"] for record in records] == pytest.approx(said["learned"], rel=1e-5)
        assert [record["train"]["hidden_spikes_per_step"] for record in records] == pytest.approx(
            said["hidden_spikes"], rel=1e-12
        )
        # float32: products are not fused any more, and sums stand in another order
        np.testing.assert_allclose(learned.bias, said["bias"], atol=5e-6)
        np.testing.assert_allclose(learned.somatic.sum(axis=1), said["somatic"], atol=5e-6)
        assert float(np.abs(learned.synaptic).sum()) == pytest.approx(said["synaptic"], rel=1e-5)
        # 20 realisations of 6 hidden neurons that hardly matter: a few hundredths of a nat.
        assert [record["test"]["log_likelihood"] for record in records] == pytest.approx(said["test"], abs=0.15)
