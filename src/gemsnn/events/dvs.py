"""The constants of a simulated event camera and of the scene in front of it."""

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field


class Saccade(NamedTuple):
    """A fast movement, followed by rest until the next one."""

    begin: float
    end: float
    row: float
    column: float
    """Its end point, in sensor pixels from the centre of the path."""


class DVS(BaseModel):
    """The camera, the screen and the path of the digit; the default values are fitted to MNIST-DVS at scale 4.

    Lengths are in sensor pixels, times in seconds unless the name has another unit. Rows and columns are those of the
    upright picture: row = y and column = x for a sensor mounted upright; row = x and column = 127 - y for that of
    MNIST-DVS.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    # The digit on the screen
    scale: float = Field(default=1.1621, gt=0)
    """Sensor pixels per MNIST pixel, along the rows."""
    stretch: float = Field(default=1.0671, gt=0)
    """The same along the columns, relative to `scale`."""
    turned: float = 0.0
    slanted: float = 0.0
    """Rotation of the picture, and slant of its vertical strokes, in radians."""
    centre_row: float = 60.502
    centre_column: float = 63.299
    """Mean position of the centre of the 28 x 28 image."""
    row_swing: float = 5.6666
    column_swing: float = 2.2238
    """Amplitudes of the path: triangle waves, twice as fast for the column."""
    period: float = Field(default=1.2507, gt=0)
    """Period of the row; that of the column is half of it."""
    row_turn: float = 0.28888
    column_turn: float = 0.28827
    """Times at which the row and the column have a minimum."""
    start_jitter: float = Field(default=0.021365, ge=0)
    """Standard deviation of the time in the path at which a recording begins."""
    saccades: tuple[Saccade, ...] = ()
    """A path instead of the triangle waves; it starts at the end point of the last saccade."""
    frame_rate: float = Field(default=74.94, gt=0)
    """Refresh rate of the screen, in Hz."""
    animation_rate: float = Field(default=71.326, gt=0)
    animation_jitter: float = Field(default=0.0049671, ge=0)
    """Rate at which the digit moves by a step, in Hz, and standard deviation of a step's time; a screen frame shows
    zero, one or two new steps."""

    # The light on a pixel
    edge_level: float = Field(default=0.35302, gt=0, lt=1)
    """Brightness of the MNIST image that the screen shows as mid-grey."""
    edge_gain: float = Field(default=19.577, gt=0)
    """Slope of the screen's brightness there, relative to the image; it saturates at white and black."""
    blur: float = Field(default=0.11767, ge=0)
    """Standard deviation of the blur of lens and pixel."""
    dark: float = Field(default=0.11186, gt=0, lt=1)
    """Luminance of black relative to white."""

    # The pixel
    threshold_on: float = Field(default=0.3584, gt=0)
    threshold_off: float = Field(default=0.38699, gt=0)
    """Change of log luminance that triggers an event."""
    threshold_mismatch: float = Field(default=0.41434, ge=0)
    """Standard deviation over pixels of the sensitivity, with mean 1, that divides both thresholds; fixed over
    recordings."""
    threshold_noise: float = Field(default=0.34739, ge=0)
    """Relative standard deviation of a pixel's threshold from event to event."""
    tau_on_us: float = Field(default=5951.7, gt=0)
    tau_off_us: float = Field(default=14665.0, gt=0)
    """Time constants of screen and pixel combined, for rising and for falling light."""
    refractory_us: float = Field(default=724.48, ge=0)
    refractory_mismatch: float = Field(default=0.21013, ge=0)

    # Background noise
    noise_rate: float = Field(default=0.0093745, ge=0)
    """Median over pixels of the events per second under constant light."""
    noise_spread: float = Field(default=1.2615, ge=0)
    """Standard deviation over pixels of the logarithm of that rate."""
    noise_on_share: float = Field(default=0.87112, ge=0, le=1)
    hot_pixels: int = Field(default=0, ge=0)
    hot_rate: float = Field(default=100.0, ge=0)
    """Number of hot pixels, and their events per second."""

    # The recording
    duration: float = Field(default=2.2473, gt=0)
    duration_spread: float = Field(default=0.12316, ge=0)
    duration_least: float = Field(default=1.9583, gt=0)
    duration_most: float = Field(default=2.4763, gt=0)

    sensor: int = Field(default=128, gt=0)
    """Rows and columns of the sensor."""
    inverted: bool = False
    """Whether ON means darker, as with a dark digit on a light screen."""
    upright: bool = False
    """Whether the sensor was mounted upright, or as that of MNIST-DVS."""
    sensor_seed: int = 128
    """Seed of the mismatch between pixels."""
