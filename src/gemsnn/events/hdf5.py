"""Events in HDF5 files of other programs: data sets t, x, y, p side by side, or one with these as fields.

These files are read by libhdf5, which can hang or crash on damaged ones. Links to other files, and data sets that store
their data outside the file, are refused.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from gemsnn.errors import DataError
from gemsnn.events.columns import events_from_columns
from gemsnn.events.files import opened, require_memory
from gemsnn.events.numpy_files import COPIES
from gemsnn.events.records import Events

if TYPE_CHECKING:
    import h5py  # slow to import, and rarely needed

_PLACES = ("", "events", "CD", "CD/events")


def read_hdf5(path: str | PathLike[str]) -> Events:
    """Read events from an HDF5 file: data sets t, x, y, p at its root or in a group `events`, or one with these fields.

    Other names are guessed and reported by a `gemsnn.events.GuessWarning`.
    """
    import h5py

    name = str(path)
    with opened(path) as stream:
        try:
            with h5py.File(stream, "r") as file:
                columns = _columns(file, name)
                if columns:
                    return events_from_columns(columns, lambda key: _read(columns[key], name), name)
                content = ", ".join(file) or "nothing"
        except DataError:
            raise
        except (OSError, RuntimeError, ValueError, KeyError, TypeError, MemoryError) as error:
            raise DataError(f"{name}: cannot be read as HDF5: {getattr(error, 'strerror', None) or error}") from None
    raise DataError(
        f"{name}: contains {content}, and no events: t, x, y, p must be at the root or in a group events. "
        "If gemsnn 0.1 prepared the file, prepare it again"
    )


def _columns(file: h5py.File, name: str) -> dict[str, Any]:
    """The columns of events, by name: data sets, or fields of one."""
    import h5py

    for place in _PLACES:
        found = _own(file, place, name)
        if isinstance(found, h5py.Dataset) and found.dtype.names:
            return {field: (found, field) for field in found.dtype.names}
        if isinstance(found, h5py.Group):
            columns = {key: (item, None) for key in found if isinstance(item := _own(found, key, name), h5py.Dataset)}
            if len(columns) >= 4:
                return columns
    return {}


def _own(group: h5py.Group, place: str, name: str) -> Any:
    """The item at a path within this file; None if there is none."""
    import h5py

    for part in place.split("/") if place else ():
        if not isinstance(group, h5py.Group) or part not in list(group):
            return None
        if not isinstance(group.get(part, getlink=True), h5py.HardLink):
            raise DataError(f"{name}: {part} is a link, and links are not followed")
        group = group[part]
    return group


def _read(column: tuple[h5py.Dataset, str | None], name: str) -> NDArray[Any]:
    """A column, which must be stored in this file."""
    dataset, field = column
    if dataset.is_virtual or dataset.external:
        raise DataError(f"{name}: {dataset.name} is stored in another file, which is not read")
    dtype = dataset.dtype if field is None else dataset.dtype[field]
    require_memory(COPIES * dataset.size * dtype.itemsize, f"{name}: {dataset.name}")
    array: NDArray[Any] = dataset[()] if field is None else dataset[field]
    return array
