"""N-MNIST, in the layout of its archives."""

import re
from collections.abc import Sequence
from functools import partial
from os import PathLike

from gemsnn.errors import DataError
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
from gemsnn.events.nmnist import read_nmnist
from gemsnn.events.prepared import SPLITS, Label


def nmnist_preprocessing() -> Preprocessing:
    """Preprocessing for N-MNIST: 34 x 34 pixels, separate polarities, three 100 ms saccades in 60 bins of 5 ms.

    In 5 ms an edge moves by less than a pixel, and about 5 % of the cells contain a spike. Of a recording's 291 to 314
    ms the first 300 are kept, from its time zero, the start of the first saccade.
    """
    return Preprocessing(sensor_size=(34, 34), bin_us=5_000, n_steps=60, polarity="separate", start_us=0)


def find_nmnist(folder: str | PathLike[str], classes: Sequence[int] = ALL_DIGITS) -> Inventory:
    """Find the recordings `Train/D/*.bin` and `Test/D/*.bin`."""
    root, wanted = check_folder(folder), check_digits(classes)
    recordings: list[Recording] = []
    missing: dict[Label, str] = {}
    unread: list[Unread] = []
    pattern = re.compile(r"(\d+)\.bin")
    for digit in wanted:
        gaps = []
        for split in SPLITS:
            place = f"{split.capitalize()}/{digit}"
            found = numbered(root / place, pattern, unread)
            recordings += [
                Recording(f"{place}/{path.name}", digit, split, partial(read_nmnist, path), path) for _, path in found
            ]
            if not found:
                gaps.append(f"no {place}/*.bin")
        if gaps:
            missing[digit] = "; ".join(gaps)
    if not recordings:
        raise DataError(
            f"{root}: no N-MNIST recordings of digits {ranges(wanted)}; they should be at Train/{wanted[0]}/*.bin "
            f"and so on. {contents(root)}"
        )
    return Inventory("n-mnist", root, wanted, tuple(recordings), nmnist_preprocessing(), missing, {}, tuple(unread))
