"""How long an eligibility is worth remembering."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def horizon(gamma: float, dtype: np.dtype[Any]) -> int | None:
    """Steps after which gamma^age is below a tenth of the precision; None if that is never."""
    if gamma == 1:
        return None
    return max(1, math.ceil(math.log(float(np.finfo(dtype).eps) / 10) / math.log(gamma)))
