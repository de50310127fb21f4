"""What a simulated event camera and the scene before it are: their constants."""

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field


class Saccade(NamedTuple):
    """A quick movement, to rest until the next one begins."""

    begin: float
    end: float
    row: float
    column: float
    """Where it leads, in sensor pixels from the middle of the path."""


class DVS(BaseModel):
    """The camera, the screen and the digit's path. Lengths are in sensor pixels, times in seconds unless named.

    Rows and columns are those of the upright picture. In an event of a sensor that stood upright, row = y and column =
    x; of one that stood as that of MNIST-DVS did, row = x and column = 127 - y.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    # The digit on the screen
    scale: float = Field(gt=0)
    """Sensor pixels an MNIST pixel, along the rows."""
    stretch: float = Field(gt=0)
    """The same along the columns, relative to `scale`."""
    turned: float = 0.0
    slanted: float = 0.0
    """By how much the picture is turned, and its upright strokes lean, in radians."""
    centre_row: float
    centre_column: float
    """Where the middle of the 28 x 28 image is, on average over the path."""
    row_swing: float
    column_swing: float
    """Amplitudes of the path: a triangle wave each, the column's twice as fast."""
    period: float = Field(gt=0)
    """Of the rows; that of the columns is half of it."""
    row_turn: float
    column_turn: float
    """A time at which the row is least, and one at which the column is least."""
    start_jitter: float = Field(ge=0)
    """Standard deviation of the moment in the path at which a recording begins."""
    saccades: tuple[Saccade, ...] = ()
    """Another path, in place of the triangle waves: from where the last saccade of a recording leads."""
    frame_rate: float = Field(gt=0)
    """Of the screen, in Hz."""
    animation_rate: float = Field(gt=0)
    animation_jitter: float = Field(ge=0)
    """How often the digit moves a step, in Hz, and how unevenly: the standard deviation of a step's time. So a screen
    frame shows none, one or two new steps."""

    # What reaches a pixel
    edge_level: float = Field(gt=0, lt=1)
    """Brightness of the MNIST image that the screen shows as half white."""
    edge_gain: float = Field(gt=0)
    """How much steeper than in the image the screen's brightness rises there, up to full white and black."""
    blur: float = Field(ge=0)
    """Standard deviation of the lens's and the pixel's own blur."""
    dark: float = Field(gt=0, lt=1)
    """Light of black relative to white."""

    # The pixel
    threshold_on: float = Field(gt=0)
    threshold_off: float = Field(gt=0)
    """Change of log light that makes an event."""
    threshold_mismatch: float = Field(ge=0)
    """How much pixels differ: standard deviation of a pixel's sensitivity around 1, by which both of its thresholds are
    divided; the same in all recordings."""
    threshold_noise: float = Field(ge=0)
    """Relative standard deviation of a pixel's threshold from event to event."""
    tau_on_us: float = Field(gt=0)
    tau_off_us: float = Field(gt=0)
    """Time constants of screen and pixel together, to lighter and to darker."""
    refractory_us: float = Field(ge=0)
    refractory_mismatch: float = Field(ge=0)

    # Background noise
    noise_rate: float = Field(ge=0)
    """Median over the pixels of events per second without any change of light."""
    noise_spread: float = Field(ge=0)
    """Standard deviation over the pixels of the logarithm of that rate: a few pixels are hot."""
    noise_on_share: float = Field(ge=0, le=1)
    hot_pixels: int = Field(default=0, ge=0)
    hot_rate: float = Field(default=100.0, ge=0)
    """Pixels that send events all the time, and how many per second."""

    # The recording
    duration: float = Field(gt=0)
    duration_spread: float = Field(ge=0)
    duration_least: float = Field(gt=0)
    duration_most: float = Field(gt=0)

    sensor: int = Field(default=128, gt=0)
    """Rows and columns of the sensor."""
    inverted: bool = False
    """Whether ON means darker; a dark digit on a light screen looks the same."""
    upright: bool = False
    """Whether it stood upright, or as that of MNIST-DVS did."""
    sensor_seed: int = 128
    """Which specimen of the sensor: draws its pixels' mismatch."""
