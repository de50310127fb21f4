"""The paper merges polarities; a file that keeps them apart is reproduced from."""

from pathlib import Path

from rich.console import Console

from gemsnn.events import mnist_dvs_preprocessing, simulate_prepared
from gemsnn.experiments import Protocol, carry_out
from gemsnn.experiments.reproduce import conclude, plan


def test_recordings_with_polarities_apart_are_merged(tmp_path: Path, tiny_protocol: Protocol) -> None:
    apart = mnist_dvs_preprocessing(4).model_copy(update={"polarity": "separate"})
    simulate_prepared(tmp_path / "apart.h5", digits=(0, 1), per_class=(4, 2), seed=0, preprocessing=apart)
    protocol = tiny_protocol.model_copy(update={"compartments": (1, 2), "digits": (0, 1), "epochs": 1})
    what = plan(protocol, tmp_path / "out", tmp_path / "apart.h5")
    finished = conclude(what, carry_out(what.runs, Console(quiet=True), workers=1))
    assert not finished.results.failed
