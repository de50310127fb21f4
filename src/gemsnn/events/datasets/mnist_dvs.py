"""MNIST-DVS, in the layout of its archives."""

from collections.abc import Sequence
from os import PathLike

from gemsnn.errors import ConfigError
from gemsnn.events.aedat import read_aedat
from gemsnn.events.binning import Preprocessing
from gemsnn.events.datasets.inventory import ALL_DIGITS, Inventory, digit_inventory

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
    return digit_inventory(
        "mnist-dvs",
        folder,
        classes,
        mnist_dvs_preprocessing(scale),
        folders=lambda digit: (f"grabbed_data{digit}/scale{scale}",),
        file_name=lambda digit: rf"mnist_{digit}_scale{scale:02d}_(\d+)\.aedat",
        example=lambda digit: f"grabbed_data{digit}/scale{scale}/mnist_{digit}_scale{scale:02d}_0001.aedat",
        split=lambda subfolder, number: "train" if number <= _LAST_TRAINING_NUMBER else "test",
        read=read_aedat,
        last_number=_LAST_NUMBER,
        details={"scale": scale},
    )
