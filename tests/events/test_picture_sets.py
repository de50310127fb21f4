"""Pictures of one's own before the simulated camera."""

import numpy as np
import pytest
from PIL import Image

from gemsnn import ConfigError, DataError, GemsnnError
from gemsnn.events import Variation, open_prepared, simulate, simulate_pictures, simulate_prepared, simulate_recording
from gemsnn.events.calibration import MNIST_DVS_SCALE_4
from gemsnn.events.picture_sets import find_pictures
from gemsnn.events.screen import frames_in, shown
from gemsnn.events.simulated import mnist_images, plan

QUIET = MNIST_DVS_SCALE_4.model_copy(update={"noise_rate": 0.0})


def square(size=(60, 40), place=(10, 10), side=20, ground="black", colour="white", mode="RGB"):
    picture = Image.new(mode, size, ground)
    picture.paste(colour, (*place, place[0] + side, place[1] + side))
    return picture


@pytest.fixture
def folder(tmp_path):
    """Two classes of five pictures."""
    for name, side in (("large", 30), ("small", 12)):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for n in range(5):
            square(side=side, place=(3 + n, 4)).save(tmp_path / "pictures" / name / f"{n}.png")
    return tmp_path / "pictures"


def same_recordings(one, other, names=False):
    with open_prepared(one) as a, open_prepared(other) as b:
        for x, y in zip(a.splits, b.splits, strict=True):
            assert x.labels.tolist() == y.labels.tolist()
            assert len(x) > 0
            for n in range(len(x)):
                np.testing.assert_array_equal(x.example(n).spikes.spikes, y.example(n).spikes.spikes)
            assert not names or x.names == y.names


# ---- the same as MNIST


@pytest.mark.parametrize("camera", ["mnist-dvs", "n-mnist"])
@pytest.mark.parametrize("vary", [None, Variation()])
def test_pictures_of_mnist_as_files_give_exactly_what_the_digits_give(tmp_path, camera, vary):
    options = {"camera": camera, "vary": vary, "seed": 5}
    simulate_prepared(tmp_path / "digits.h5", digits=(0, 1), per_class=(3, 2), **options)
    for job in plan((0, 1), (3, 2), 5):
        place = tmp_path / "png" / job.split / str(job.digit)
        place.mkdir(parents=True, exist_ok=True)
        image = mnist_images()[job.digit][job.image].astype(np.uint8)
        Image.fromarray(image).save(place / f"{job.number:04d}.png")
    simulate_pictures(tmp_path / "png", tmp_path / "pictures.h5", **options)
    same_recordings(tmp_path / "digits.h5", tmp_path / "pictures.h5")


def test_an_array_of_mnist_gives_what_simulate_recording_gives():
    image = mnist_images()[3][7]
    np.testing.assert_array_equal(simulate(image, 4), simulate_recording(image, 4))
    np.testing.assert_array_equal(simulate(image.astype(np.uint8), 4), simulate_recording(image, 4))


# ---- what the screen shows


def test_pictures_of_any_size_lie_where_digits_lie_with_their_proportions_kept():
    for size in ((14, 7), (28, 14), (200, 100), (1000, 500)):
        (frame,), _ = shown(square(size, (2, 2), 3))
        assert frame.shape == ((28, 28) if max(size) <= 28 else (168, 168))


@pytest.mark.parametrize("size", [(14, 7), (200, 100)])
def test_the_content_fills_the_box_of_mnist_s_digits(size):
    pixels = np.zeros((size[1], size[0]))
    pixels[2:-2, 2:-2] = 1.0
    (frame,), negative = shown(pixels)
    side = len(frame)
    rows, columns = np.flatnonzero(frame.any(axis=1)), np.flatnonzero(frame.any(axis=0))
    assert not negative
    assert np.ptp(columns) + 1 <= 20 * side / 28
    assert abs(rows.mean() - (side - 1) / 2) <= 1
    assert (np.ptp(columns) + 1) / (np.ptp(rows) + 1) == pytest.approx((size[0] - 4) / (size[1] - 4), rel=0.35)


def test_colours_become_brightness_and_transparent_is_white():
    red = np.asarray(square(colour="red"))
    assert shown(red).frames.max() == pytest.approx(0.299, abs=0.01)
    np.testing.assert_allclose(shown(red).frames, shown(square(colour="red")).frames, atol=0.003)
    clear = square(ground=(0, 0, 0, 0), colour=(0, 0, 0, 255), mode="RGBA")
    assert shown(clear).negative
    np.testing.assert_allclose(shown(np.asarray(clear)).frames, shown(clear).frames, atol=0.01)


def test_sixteen_bits_and_palettes_are_read(tmp_path):
    deep = np.zeros((20, 20), np.uint16)
    deep[5:15, 5:15] = 65535
    Image.fromarray(deep).save(tmp_path / "deep.png")
    square((20, 20), (5, 5), 10).convert("P").save(tmp_path / "palette.png")
    for name in ("deep", "palette"):
        np.testing.assert_allclose(shown(tmp_path / f"{name}.png").frames, shown(deep / 65535).frames, atol=0.01)


def test_dark_on_light_is_shown_as_a_negative_with_on_and_off_exchanged():
    light, dark = square(ground="white", colour="black"), square()
    one, other = simulate(light, 3), simulate(dark, 3)
    np.testing.assert_array_equal(one["x"], other["x"])
    np.testing.assert_array_equal(one["t"], other["t"])
    np.testing.assert_array_equal(one["p"], 1 - other["p"])


def test_shades_of_grey_reach_the_camera_only_if_asked_for():
    grey = square(colour=(150, 150, 150))
    white = square(colour=(255, 255, 255))
    assert len(simulate(grey, 1)) == pytest.approx(len(simulate(white, 1)), rel=0.1)
    assert len(simulate(grey, 1, shades=True)) < 0.9 * len(simulate(white, 1, shades=True))


# ---- scenes


def test_a_scene_is_as_long_as_its_frames_and_moves_as_they_do():
    frames = [square((60, 60), (2 + n, 20), 18) for n in range(20)]
    events = simulate(frames, 0, dvs=QUIET, frames_per_second=20)
    assert 900_000 < events["t"][-1] < 1_000_000
    column = 127 - events["y"]  # as that camera stood
    early, late = column[events["t"] < 300_000], column[events["t"] > 650_000]
    assert np.median(late) > np.median(early) + 2


def test_a_camera_without_noise_sees_nothing_of_a_scene_that_stands_still():
    still = [square()] * 10
    moving = [square(place=(n, 10)) for n in range(10)]
    assert not len(simulate(still, 0, dvs=QUIET, frames_per_second=10))
    assert len(simulate(moving, 0, dvs=QUIET, frames_per_second=10)) > 100


def test_frames_are_in_the_order_of_their_numbers(tmp_path):
    for name in ("frame10.png", "frame9.png", "frame1.png"):
        square().save(tmp_path / name)
    assert [path.name for path in frames_in(tmp_path)] == ["frame1.png", "frame9.png", "frame10.png"]


def test_folders_of_frames_are_recordings_of_their_class(folder, tmp_path):
    for n in range(2):
        (folder / "large" / f"scene{n}").mkdir()
        for k in range(6):
            square(side=25, place=(2 * k, 3)).save(folder / "large" / f"scene{n}" / f"{k}.jpg")
    found = find_pictures(folder)
    assert found.scenes
    simulate_pictures(folder, tmp_path / "out.h5")
    with open_prepared(tmp_path / "out.h5") as data:
        assert sum(np.bincount(split.labels)[0] for split in data.splits) == 7


# ---- a data set


def test_the_same_folder_and_seed_give_the_same_file_on_any_number_of_workers(folder, tmp_path):
    for workers in (1, 3):
        simulate_pictures(folder, tmp_path / f"{workers}.h5", workers=workers, vary=Variation(), takes=2)
    assert (tmp_path / "1.h5").read_bytes() == (tmp_path / "3.h5").read_bytes()
    simulate_pictures(folder, tmp_path / "other.h5", seed=1, vary=Variation(), takes=2)
    with open_prepared(tmp_path / "1.h5") as data:
        assert (len(data.train), len(data.test), data.classes) == (16, 2, ("large", "small"))
        assert data.attributes["simulated"] is True
        assert len({data.train[n].tobytes() for n in range(16)}) == 16


def test_a_folder_s_own_split_is_kept(folder, tmp_path):
    for split in ("train", "test"):
        for name in ("large", "small"):
            (tmp_path / "own" / split / name).mkdir(parents=True)
            square().save(tmp_path / "own" / split / name / "a.png")
    found = find_pictures(tmp_path / "own")
    assert found.official
    assert [picture.split for picture in found.pictures] == ["train", "test"] * 2


def test_what_is_no_picture_is_listed(folder):
    (folder / "large" / "notes.txt").write_text("hello")
    (folder / "small" / "empty").mkdir()
    lines = find_pictures(folder).unread
    assert any("notes.txt" in line for line in lines)
    assert any("a folder without pictures" in line for line in lines)


# ---- what is refused


def test_impossible_pictures_are_refused_by_name_or_left_out(folder, tmp_path):
    (folder / "large" / "1.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"1\.png: cannot be read: not a PNG or JPEG picture, or damaged"):
        simulate_pictures(folder, tmp_path / "out.h5")
    assert not (tmp_path / "out.h5").exists()
    Image.new("L", (30, 30), 99).save(folder / "small" / "2.png")
    whole = (folder / "small" / "3.png").read_bytes()
    (folder / "small" / "3.png").write_bytes(whole[: len(whole) // 2])
    skipped = simulate_pictures(folder, tmp_path / "out.h5", skip_damaged=True)
    assert [part in line for part, line in zip(("1.png", "one brightness", "3.png"), sorted(skipped), strict=True)]
    with open_prepared(tmp_path / "out.h5") as data:
        assert len(data.train) + len(data.test) == 7


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (np.zeros((1, 9)), "at least 2 x 2"),
        (np.zeros((9, 9)), "has no contrast"),
        (np.full((9, 9), np.nan), "0..1 or 0..255"),
        (np.full((9, 9), 300), "0..1 or 0..255"),
        (np.zeros((9, 9, 2)), "2 channels"),
        ("nowhere.png", "nowhere.png: cannot be read: No such file"),
        ("picture.gif", "pictures must end in .png"),
        ([np.eye(9), np.eye(8)], "all must have one size"),
        (Image.new("L", (1, 5)), "has 1 x 5 pixels"),
    ],
)
def test_what_is_no_picture_is_refused(picture, message):
    with pytest.raises(GemsnnError, match=message):
        simulate(picture)


def test_impossible_wishes_are_refused(folder, tmp_path):
    with pytest.raises(ConfigError, match="frames_per_second = 0"):
        simulate(np.eye(9), frames_per_second=0)
    with pytest.raises(ConfigError, match="camera"):
        simulate(np.eye(9), camera="mine")
    with pytest.raises(ConfigError, match="takes"):
        find_pictures(folder, takes=0)
    with pytest.raises(DataError, match="classes with pictures: pictures; at least two are needed"):
        find_pictures(folder.parent)
    with pytest.raises(DataError, match="there is no such directory"):
        find_pictures(tmp_path / "nowhere")
