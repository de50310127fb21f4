"""JSON with a checksum of its own content, so that changes are detected."""

from __future__ import annotations

import hashlib
import json
from typing import Any

SEAL = "sha256"


class BrokenSealError(ValueError):
    """The content differs from what was written."""


def seal(content: dict[str, Any]) -> bytes:
    """The content as JSON, with an additional field ``sha256`` over the rest."""
    return (json.dumps({**content, SEAL: _checksum(content)}, indent=1, allow_nan=False) + "\n").encode()


def unseal(text: bytes) -> dict[str, Any]:
    """The sealed content; a :class:`BrokenSealError` if it is not JSON, was changed, or has no checksum."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenSealError(f"not JSON ({error})") from None
    if not isinstance(content, dict) or SEAL not in content:
        raise BrokenSealError("it has no checksum: changed, or written by gemsnn 0.1")
    found = content.pop(SEAL)
    if found != _checksum(content):
        raise BrokenSealError("it was changed since it was written")
    return content


def _checksum(content: dict[str, Any]) -> str:
    """Of the values, independent of the formatting of the file."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
