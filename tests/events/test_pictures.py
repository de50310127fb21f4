from pathlib import Path

import numpy as np
import pytest

from gemsnn import ConfigError, WriteError
from gemsnn.events import mnist_dvs_preprocessing, nmnist_preprocessing
from gemsnn.events.pictures import save_picture
from gemsnn.events.records import Events, make_events


def test_mnist_dvs_is_turned_so_that_x_runs_down_and_y_to_the_left() -> None:
    choices = mnist_dvs_preprocessing()
    picture = choices.upright(choices.planes(make_events([50], [70], [0], [1])))
    assert np.argwhere(picture[0, 1]).tolist() == [[50 - 48, 73 - 70]]


def test_nmnist_is_drawn_as_it_is() -> None:
    choices = nmnist_preprocessing()
    picture = choices.upright(choices.planes(make_events([5], [30], [0], [0])))
    assert np.argwhere(picture[0, 0]).tolist() == [[30, 5]]


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_a_picture_is_written(tmp_path: Path, name: str, dvs_events: Events) -> None:
    choices = mnist_dvs_preprocessing()
    save_picture(choices.planes(dvs_events), choices, tmp_path / name, title="a title")
    assert (tmp_path / name).stat().st_size > 1000


def test_an_empty_recording_can_be_drawn_too(tmp_path: Path, dvs_events: Events) -> None:
    choices = mnist_dvs_preprocessing()
    save_picture(choices.planes(dvs_events[:0]), choices, tmp_path / "a.png")


def test_unknown_endings_and_places_are_errors(tmp_path: Path, dvs_events: Events) -> None:
    choices = mnist_dvs_preprocessing()
    with pytest.raises(ConfigError, match="pictures must end in"):
        save_picture(choices.planes(dvs_events), choices, tmp_path / "a.doc")
    with pytest.raises(WriteError, match="cannot be written"):
        save_picture(choices.planes(dvs_events), choices, tmp_path / "none" / "a.png")
