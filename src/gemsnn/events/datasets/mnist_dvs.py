"""MNIST-DVS, in the layout of its archives."""

import re
from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.aedat import read_aedat
from gemsnn.events.binning import Preprocessing
from gemsnn.events.datasets.inventory import (
    ALL_DIGITS,
    Inventory,
    Recording,
    Unread,
    check_digits,
    check_folder,
    contents,
    numbered,
    ranges,
)
from gemsnn.events.prepared import Label, SplitName

# First and last pixel of the crop, and downsampling: the same field of view at each scale, always as 26 x 26 cells.
_MNIST_DVS_CROP = {4: (48, 73, 1), 8: (35, 86, 2), 16: (9, 112, 4)}
_LAST_TRAINING_NUMBER, _LAST_NUMBER = 900, 1000


def mnist_dvs_preprocessing(scale: int = 4) -> Preprocessing:
    """Preprocessing for MNIST-DVS: 26 x 26 cells around the digit, separate polarities, 80 bins of 25 ms (2 s)."""
    if scale not in _MNIST_DVS_CROP:
        raise ConfigError(f"scale {scale}: MNIST-DVS has the scales {', '.join(map(str, _MNIST_DVS_CROP))}")
    first, last, downsample = _MNIST_DVS_CROP[scale]
    return Preprocessing(
        sensor_size=(128, 128),
        x_range=(first, last),
        y_range=(first, last),
        downsample=downsample,
        bin_us=25_000,
        n_steps=80,
        polarity="separate",
        orientation="mnist-dvs",
    )


def find_mnist_dvs(folder: str | PathLike[str], classes: Sequence[int] = ALL_DIGITS, scale: int = 4) -> Inventory:
    """Find the recordings `grabbed_dataD/scaleS/mnist_D_scaleSS_NNNN.aedat`: 1-900 for training, 901-1000 for tests."""
    root, wanted = check_folder(folder), check_digits(classes)
    preprocessing = mnist_dvs_preprocessing(scale)
    recordings: list[Recording] = []
    missing: dict[Label, str] = {}
    unread: list[Unread] = []
    for digit in wanted:
        place = Path(f"grabbed_data{digit}") / f"scale{scale}"
        pattern = re.compile(rf"mnist_{digit}_scale{scale:02d}_(\d+)\.aedat")
        found = numbered(root / place, pattern, unread)
        for number, path in found:
            split: SplitName = "train" if number <= _LAST_TRAINING_NUMBER else "test"
            recordings.append(Recording(str(place / path.name), digit, split, partial(read_aedat, path), path))
        absent = set(range(1, _LAST_NUMBER + 1)) - {number for number, _ in found}
        if absent:
            missing[digit] = f"recordings {ranges(absent)}" if found else f"all recordings: no {place}/*.aedat"
    if not recordings:
        raise DataError(
            f"{root}: no MNIST-DVS recordings of scale {scale} and digits {ranges(wanted)}; they should be at "
            f"grabbed_data{wanted[0]}/scale{scale}/mnist_{wanted[0]}_scale{scale:02d}_0001.aedat and so on. "
            f"{contents(root)}"
        )
    return Inventory(
        "mnist-dvs", root, wanted, tuple(recordings), preprocessing, missing, {"scale": scale}, tuple(unread)
    )
