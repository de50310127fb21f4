"""Pictures of any size and colour, as shown on the screen in front of the simulated camera."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import DataError, ShapeError

ENDINGS = (".png", ".jpg", ".jpeg")
SMALL, LARGE = 28, 168
"""Sides of a picture on the screen: that of MNIST's, and six times as many pixels for larger pictures."""
BOX = 20 / 28
"""Fraction of the side that the longer side of a picture takes, as for MNIST's digits; not for 28 x 28 pictures."""
LEAST_CONTRAST = 0.02


class Shown(NamedTuple):
    """The frames on the screen."""

    frames: NDArray[np.float64]  #: (n, side, side), brightness 0..1; n = 1 for a picture
    negative: bool  #: whether the pictures are dark on light, and are shown inverted


def shown(pictures: Any, name: str = "the picture") -> Shown:
    """Convert a picture, or the frames of a scene, for the screen.

    A picture is the path of a PNG or JPEG file, a Pillow image, or an array (rows, columns) or (rows, columns, 3 or 4)
    of brightness 0..1 or 0..255. A scene is a folder of such files, in the order of their names, or a list of pictures.

    Colours become brightness, 0.299 red + 0.587 green + 0.114 blue; transparent pixels become white. A picture of
    28 x 28 is unchanged. Any other is scaled, keeping its aspect ratio, to the central 20/28 of the screen, like the
    digits of MNIST; larger ones are reduced to 120 pixels. Where the mean of the border is above one half, the picture
    is taken to be dark on light: it is inverted, and ON and OFF events are exchanged.
    """
    each = _frames(pictures, name)
    sizes = sorted({picture.shape for picture in each})
    if len(sizes) > 1:
        a, b = sizes[0], sizes[-1]
        raise DataError(f"{name}: frames of {a[1]} x {a[0]} and of {b[1]} x {b[0]} pixels; all must have one size")
    if max(float(np.ptp(picture)) for picture in each) < LEAST_CONTRAST:
        raise DataError(f"{name}: has no contrast, so a camera would see nothing")
    negative = bool(_border(each[0]).mean() > 0.5)
    return Shown(np.stack([_fitted(1.0 - picture if negative else picture) for picture in each]), negative)


def frames_in(folder: Path) -> list[Path]:
    """The pictures in a folder, in natural order: 10 comes after 9."""
    files = [path for path in folder.iterdir() if path.suffix.lower() in ENDINGS and not path.name.startswith(".")]
    return sorted(files, key=lambda path: _natural(path.name))


def _natural(name: str) -> list[tuple[int, str]]:
    parts = re.findall(r"[0-9]+|[^0-9]", name)
    return [*((int(part), "") if part[0] in "0123456789" else (-1, part) for part in parts), (-2, ""), (-1, name)]


def _frames(pictures: Any, name: str) -> list[NDArray[np.float64]]:
    """(rows, columns) of each, brightness 0..1."""
    if isinstance(pictures, str | PathLike) and Path(pictures).is_dir():
        files = frames_in(Path(pictures))
        if not files:
            raise DataError(f"{pictures}: no pictures in this folder; they end in {', '.join(ENDINGS)}")
        return [_read(path) for path in files]
    if isinstance(pictures, Sequence) and not isinstance(pictures, str) and len(pictures) and _is_picture(pictures[0]):
        return [_one(picture, f"{name}, frame {n}") for n, picture in enumerate(pictures)]
    return [_one(pictures, name)]


def _is_picture(value: Any) -> bool:
    return isinstance(value, str | PathLike) or hasattr(value, "getbands") or np.ndim(value) >= 2


def _one(picture: Any, name: str) -> NDArray[np.float64]:
    if isinstance(picture, str | PathLike):
        return _read(Path(picture))
    return _brightness(picture, name) if hasattr(picture, "getbands") else _array(picture, name)


def _read(path: Path) -> NDArray[np.float64]:
    from PIL import Image

    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path}: pictures must end in {', '.join(ENDINGS)}")
    try:
        with Image.open(path, formats=("PNG", "JPEG")) as image:
            return _brightness(image, str(path))
    except Image.DecompressionBombError:
        raise DataError(f"{path}: has more pixels than Pillow accepts; reduce its size") from None
    except (OSError, ValueError, SyntaxError) as error:  # for damaged files
        reason = isinstance(error, OSError) and error.strerror
        raise DataError(f"{path}: cannot be read: {reason or 'not a PNG or JPEG picture, or damaged'}") from None


def _brightness(image: Any, name: str) -> NDArray[np.float64]:
    """(rows, columns) of a Pillow image, 0..1."""
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    if min(image.size) < 2:
        raise DataError(f"{name}: has {image.width} x {image.height} pixels; at least 2 x 2 are needed")
    if image.mode.startswith("I"):  # 16 bits
        return np.asarray(image, dtype=np.float64) / 65535
    if "A" in image.getbands() or "transparency" in image.info:
        above = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", above.size, "white"), above).convert("RGB")
    return np.asarray(image.convert("L"), dtype=np.float64) / 255


def _array(values: ArrayLike, name: str) -> NDArray[np.float64]:
    found = np.asarray(values)
    if found.dtype.kind not in "buif" or found.ndim not in (2, 3) or min(found.shape[:2], default=0) < 2:
        raise ShapeError(
            f"{name}: a picture is an array (rows, columns) or (rows, columns, 3 or 4) of numbers, at least 2 x 2, got "
            f"{found.dtype} of shape {found.shape}"
        )
    if found.ndim == 3 and found.shape[2] not in (3, 4):
        raise ShapeError(f"{name}: has {found.shape[2]} channels, but 3 (RGB) or 4 (RGBA) are needed")
    pixels = found.astype(np.float64)
    if not np.isfinite(pixels).all() or pixels.min() < 0 or pixels.max() > 255:
        raise DataError(f"{name}: brightness must lie in 0..1 or 0..255")
    if found.dtype == np.uint8 or pixels.max() > 1:
        pixels = pixels / 255
    if pixels.ndim == 3:
        cover = pixels[:, :, 3:] if pixels.shape[2] == 4 else 1.0
        pixels = (pixels[:, :, :3] * cover + 1.0 - cover) @ np.array([0.299, 0.587, 0.114])
    return pixels


def _border(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([picture[0], picture[-1], picture[1:-1, 0], picture[1:-1, -1]])


def _fitted(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    """(side, side): the picture in the centre of the screen."""
    from PIL import Image

    if picture.shape == (SMALL, SMALL):
        return picture
    side = SMALL if max(picture.shape) <= SMALL else LARGE
    box = round(BOX * side)
    height, width = (max(1, round(box * length / max(picture.shape))) for length in picture.shape)
    resized = Image.fromarray(picture.astype(np.float32)).resize((width, height), Image.Resampling.BILINEAR)
    screen = np.zeros((side, side))
    top, left = (side - height) // 2, (side - width) // 2
    screen[top : top + height, left : left + width] = np.clip(np.asarray(resized, dtype=np.float64), 0.0, 1.0)
    return screen
