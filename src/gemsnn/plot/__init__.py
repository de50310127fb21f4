"""Plots of inputs, networks and predictions.

Every function draws on the given ``axes``, or on new ones, and returns them. The legend is above the axes, never on the
plot. Colours are legible on light and on dark backgrounds; text and lines use the colours of the axes. Names are drawn
literally, never as formulas.
"""

from gemsnn.plot.answers import confusion, probabilities, reliability
from gemsnn.plot.curves import Curve, anytime, curves, learning_curves
from gemsnn.plot.images import picture, weights
from gemsnn.plot.signals import encoding, filters, receptive_fields
from gemsnn.plot.spikes import raster

__all__ = [
    "Curve",
    "anytime",
    "confusion",
    "curves",
    "encoding",
    "filters",
    "learning_curves",
    "picture",
    "probabilities",
    "raster",
    "receptive_fields",
    "reliability",
    "weights",
]
