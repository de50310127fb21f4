"""N-MNIST, in the layout of its archives."""

from collections.abc import Sequence
from os import PathLike

from gemsnn.events.binning import Preprocessing
from gemsnn.events.datasets.inventory import ALL_DIGITS, Inventory, digit_inventory
from gemsnn.events.nmnist import read_nmnist


def nmnist_preprocessing() -> Preprocessing:
    """Preprocessing for N-MNIST: 34 x 34 pixels, separate polarities, three 100 ms saccades in 60 bins of 5 ms.

    In 5 ms an edge moves by less than a pixel, and about 5 % of the cells contain a spike. Of a recording's 291 to 314
    ms the first 300 are kept, from its time zero, the start of the first saccade.
    """
    return Preprocessing(sensor_size=(34, 34), bin_us=5_000, n_steps=60, polarity="separate", start_us=0)


def find_nmnist(folder: str | PathLike[str], classes: Sequence[int] = ALL_DIGITS) -> Inventory:
    """Find the recordings `Train/D/*.bin` and `Test/D/*.bin`."""
    return digit_inventory(
        "n-mnist",
        folder,
        classes,
        nmnist_preprocessing(),
        folders=lambda digit: (f"Train/{digit}", f"Test/{digit}"),
        file_name=lambda digit: r"(\d+)\.bin",
        example=lambda digit: f"Train/{digit}/00001.bin",
        split=lambda subfolder, number: "train" if subfolder.startswith("Train") else "test",
        read=read_nmnist,
    )
