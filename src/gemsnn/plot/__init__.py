"""Pictures of what goes in, what is learned and what comes out.

Every function draws on the ``axes`` it is given, or on new ones, and returns them. Its legend stands above the axes,
never on what is drawn. Colours are middle tones that can be read on white and on near-black; everything else follows
the axes' own colours. Names from outside are drawn as they are written, never as formulas.
"""

from gemsnn.plot.calibration import probabilities, reliability
from gemsnn.plot.curves import Curve, anytime, curves, learning_curves
from gemsnn.plot.images import picture, weights
from gemsnn.plot.matrices import confusion
from gemsnn.plot.signals import encoding, receptive_fields
from gemsnn.plot.spikes import raster
from gemsnn.plot.taps import filters

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
