"""Random variation of camera and scene between simulated recordings, as it occurs between real ones.

A network that has seen one specimen of a camera, one path and one contrast may learn these by heart. Drawn anew for
every recording, they are noise to it. What that brings on real recordings: docs/tasks.md.
"""

import math

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from gemsnn.events.dvs import DVS, Saccade


class Variation(BaseModel):
    """Standard deviations of the constants, or of the logarithms of those that are positive; 0 for no variation."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    threshold: float = Field(default=0.2, ge=0)
    """Of both thresholds together; and half of it of each separately."""
    mismatch: float = Field(default=0.2, ge=0)
    """Of the mismatch between pixels, and the noise of thresholds; every recording has a new sensor."""
    speed: float = Field(default=0.15, ge=0)
    """Of the period of the digit's path. Saccades keep their times."""
    path: float = Field(default=0.2, ge=0)
    """Of the amplitude of the path."""
    start: float = Field(default=0.03, ge=0)
    """Of the time in the path at which a recording begins, in periods."""
    place: float = Field(default=0.7, ge=0)
    """Of its position, in sensor pixels."""
    size: float = Field(default=0.06, ge=0)
    """Of its size."""
    tilt: float = Field(default=0.07, ge=0)
    """Of its rotation and its slant, in radians."""
    contrast: float = Field(default=0.3, ge=0)
    """Of the luminance of black."""
    stroke: float = Field(default=1.0, ge=0)
    """Of the thickness of strokes: of the log-odds of the brightness threshold between black and white."""
    latency: float = Field(default=0.2, ge=0)
    """Of the time constants and the refractory time."""
    noise: float = Field(default=0.8, ge=0)
    """Of the rate of the background noise."""
    hot_pixels: float = Field(default=2.0, ge=0)
    """Mean number of hot pixels."""

    def draw(self, dvs: DVS, rng: np.random.Generator) -> DVS:
        """A random variation of a camera and scene."""

        def times(value: float, spread: float) -> float:
            return value * math.exp(spread * rng.standard_normal())

        def near(value: float, spread: float) -> float:
            return value + spread * rng.standard_normal()

        threshold = times(1.0, self.threshold)
        reach = times(1.0, self.path)
        along_rows, along_columns = times(reach, self.path / 2), times(reach, self.path / 2)
        speed = times(1.0, self.speed)
        begin = self.start * dvs.period * rng.standard_normal()
        slower = times(1.0, self.latency)
        level = near(math.log(dvs.edge_level / (1 - dvs.edge_level)), self.stroke)
        return dvs.model_copy(
            update={
                "threshold_on": times(dvs.threshold_on * threshold, self.threshold / 2),
                "threshold_off": times(dvs.threshold_off * threshold, self.threshold / 2),
                "threshold_mismatch": times(dvs.threshold_mismatch, self.mismatch),
                "threshold_noise": times(dvs.threshold_noise, self.mismatch),
                "period": dvs.period * speed,
                "row_swing": dvs.row_swing * along_rows,
                "column_swing": dvs.column_swing * along_columns,
                "saccades": tuple(
                    Saccade(s.begin, s.end, s.row * along_rows, s.column * along_columns) for s in dvs.saccades
                ),
                "row_turn": dvs.row_turn * speed + begin,
                "column_turn": dvs.column_turn * speed + begin,
                "centre_row": near(dvs.centre_row, self.place),
                "centre_column": near(dvs.centre_column, self.place),
                "scale": times(dvs.scale, self.size),
                "stretch": times(dvs.stretch, self.size / 2),
                "turned": near(dvs.turned, self.tilt),
                "slanted": near(dvs.slanted, self.tilt),
                "dark": min(times(dvs.dark, self.contrast), 0.9),
                "edge_level": 1 / (1 + math.exp(-level)),
                "tau_on_us": dvs.tau_on_us * slower,
                "tau_off_us": dvs.tau_off_us * slower,
                "refractory_us": times(dvs.refractory_us, self.latency),
                "noise_rate": times(dvs.noise_rate, self.noise),
                "hot_pixels": int(rng.poisson(self.hot_pixels)),
                "sensor_seed": int(rng.integers(1 << 31)),
            }
        )

    def scaled(self, amount: float) -> "Variation":
        """All standard deviations multiplied by a factor."""
        return Variation(**{name: amount * value for name, value in self.model_dump().items()})
