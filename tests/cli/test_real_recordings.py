"""From real N-MNIST recordings to predictions, with the default settings but for the size of the network."""

import json
import os
from pathlib import Path

import pytest

REAL = os.environ.get("GEMSNN_REAL_DATA")
pytestmark = pytest.mark.skipif(not REAL, reason="GEMSNN_REAL_DATA does not name a folder of real recordings")


def test_the_defaults_learn_real_digits(gemsnn, tmp_path):
    folder, data, run = Path(REAL or "") / "n-mnist", tmp_path / "digits.h5", tmp_path / "run"
    assert (
        gemsnn("data", "import", "n-mnist", folder, "--out", data, "--digits", "0,1,2", "--test-fraction", 0.2)[0] == 0
    )
    small = ["--hidden", 10, "--compartments", 2, "--epochs", 4, "--set", "likelihood_samples=2"]
    assert gemsnn("train", "--data", data, "--out", run, *small)[0] == 0
    code, out, err = gemsnn("evaluate", run, "--data", data, "--decoder", "likelihood", "--compartments", 5, "--json")
    assert code == 0, err
    assert json.loads(out)["accuracy"] > 0.85  # the largest class has 37 %
    files = sorted((folder / "Train" / "1").glob("*.bin"))[:3]
    code, out, err = gemsnn("predict", run, *files, "--json", "--decoder", "likelihood")
    assert code == 0, err
    assert [json.loads(line)["class"] for line in out.splitlines()].count(1) >= 2
