"""`gemsnn data simulate --images`."""

import numpy as np
import pytest
from PIL import Image

from gemsnn.events import open_prepared


@pytest.fixture
def pictures(tmp_path):
    rng = np.random.default_rng(0)
    for name, angle in (("flat", 0), ("steep", 90)):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for n in range(3):
            picture = Image.new("L", (50, 50))
            picture.paste(255, (5, 20 + n, 45, 28 + int(rng.integers(3))))
            picture.rotate(angle).save(tmp_path / "pictures" / name / f"{n}.jpg")
    return tmp_path / "pictures"


def test_a_folder_of_pictures_becomes_a_prepared_file(gemsnn, pictures, tmp_path):
    (pictures / "flat" / "notes.txt").write_text("")
    out = tmp_path / "out.h5"
    code, told, err = gemsnn("data", "simulate", "--images", pictures, "--out", out, "--takes", 2, "--vary")
    assert code == 0, err
    told = " ".join(told.split())
    assert "not read: 1 .txt: not a PNG or JPEG picture (flat/notes.txt)" in told
    assert "20 % of each class's pictures were drawn to test on, seed 0." in told
    assert f"wrote {out}: SIMULATED recordings of flat, steep; no camera saw them" in told
    with open_prepared(out) as data:
        assert (len(data.train), len(data.test), data.n_steps) == (8, 2, 80)
    code, _, err = gemsnn("data", "simulate", "--images", pictures, "--out", out)
    assert code == 2
    assert "use --force to replace it" in err


def test_scenes_are_as_long_as_they_are(gemsnn, pictures, tmp_path):
    for name in ("flat", "steep"):
        for n in range(2):
            (pictures / name / f"scene{n}").mkdir()
            for k in range(5):
                picture = Image.new("L", (50, 50))
                picture.paste(255, (5, 20 + k, 45, 30 + k))
                picture.save(pictures / name / f"scene{n}" / f"{k}.png")
        for file in pictures.glob(f"{name}/*.jpg"):
            file.unlink()
    code, _, err = gemsnn("data", "simulate", "--images", pictures, "--out", tmp_path / "o.h5", "--fps", 10)
    assert code == 0, err
    with open_prepared(tmp_path / "o.h5") as data:
        assert data.train.lengths.max() <= 20
    steps = ["--steps", 7]
    assert gemsnn("data", "simulate", "--images", pictures, "--out", tmp_path / "7.h5", *steps)[0] == 0
    with open_prepared(tmp_path / "7.h5") as data:
        assert data.train.lengths.tolist() == [7, 7]


def test_a_damaged_picture_stops_or_is_left_out(gemsnn, pictures, tmp_path):
    (pictures / "steep" / "1.jpg").write_bytes(b"nothing")
    code, _, err = gemsnn("data", "simulate", "--images", pictures, "--out", tmp_path / "out.h5")
    assert code == 2
    assert "1.jpg: cannot be read: not a PNG or JPEG picture, or damaged" in " ".join(err.split())
    code, told, _ = gemsnn("data", "simulate", "--images", pictures, "--out", tmp_path / "out.h5", "--skip-damaged")
    assert code == 0
    assert "left out:" in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--takes", 2], "--takes needs --images"),
        (["--shades"], "--shades needs --images"),
        (["--images", ".", "--digits", "0,1"], "--digits does not go with --images"),
        (["--images", ".", "--per-class", 3, 2], "--per-class does not go with --images"),
        (["--images", "nowhere"], "there is no such directory"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(gemsnn, tmp_path, options, message):
    code, _, err = gemsnn("data", "simulate", "--out", tmp_path / "out.h5", *options)
    assert code == 2
    assert message in err
