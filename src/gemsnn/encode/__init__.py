"""From signals and measurements to spikes: time series, sensors, tables.

| encoder | takes | spikes say |
|---|---|---|
| `delta_modulation` | time series (..., T, n) | that a channel rose or fell by a threshold |
| `rate` | values in [0, 1], (..., n) | how large a value is, by how many there are |
| `latency` | values in [0, 1], (..., n) | how large a value is, by when they come |
| `ReceptiveFields` | any values (..., n) | nothing yet: turns each into several in [0, 1], for `rate` or `latency` |

All of them are arrays in, arrays out: (N, T, n_inputs) is what `gemsnn.SpikingClassifier` and
`gemsnn.events.write_prepared` take. `gemsnn.plot.encoding` and `gemsnn.plot.receptive_fields` draw them.
"""

from gemsnn.encode.delta import delta_demodulation, delta_modulation
from gemsnn.encode.latency import latency, latency_inverse
from gemsnn.encode.rate import rate
from gemsnn.encode.receptive_fields import ReceptiveFields

__all__ = ["ReceptiveFields", "delta_demodulation", "delta_modulation", "latency", "latency_inverse", "rate"]
