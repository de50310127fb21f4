"""Sources of live events.

A source is any iterable of arrays of events, of any size; None among them marks the end of a recording. Besides the
sources here, a list, a generator or a stream of another package will do.
"""

from gemsnn.events.records import RECORD_DTYPE, to_bytes
from gemsnn.events.sources.playback import play
from gemsnn.events.sources.streams import from_bytes, from_text
from gemsnn.events.sources.udp import UdpSender, UdpSource

__all__ = ["RECORD_DTYPE", "UdpSender", "UdpSource", "from_bytes", "from_text", "play", "to_bytes"]
