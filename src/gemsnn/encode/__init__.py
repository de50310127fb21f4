"""Encoding of signals and measurements as spikes: time series, sensors, tables.

| encoder | input | code |
|---|---|---|
| `delta_modulation` | time series (..., T, n) | a spike when a channel rises or falls by a threshold |
| `rate` | values in [0, 1], (..., n) | the number of spikes |
| `latency` | values in [0, 1], (..., n) | the time of the spike |
| `ReceptiveFields` | any values (..., n) | several values in [0, 1] for each value, for `rate` or `latency` |

Inputs and outputs are arrays; `gemsnn.SpikingClassifier` and `gemsnn.events.write_prepared` take (N, T, n_inputs).
`gemsnn.plot.encoding` and `gemsnn.plot.receptive_fields` draw them.
"""

from gemsnn.encode.delta import delta_demodulation, delta_modulation
from gemsnn.encode.latency import latency, latency_inverse
from gemsnn.encode.rate import rate
from gemsnn.encode.receptive_fields import ReceptiveFields

__all__ = ["ReceptiveFields", "delta_demodulation", "delta_modulation", "latency", "latency_inverse", "rate"]
