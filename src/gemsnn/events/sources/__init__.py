"""Where events come from while they happen.

A source is anything that can be iterated over and yields arrays of events, of any size; None among them says that a
recording ends. These are the ones that come with gemsnn; a list, a generator, or a stream of another package will do.
"""

from gemsnn.events.sources.bytes import from_bytes
from gemsnn.events.sources.playback import play
from gemsnn.events.sources.text import from_text
from gemsnn.events.sources.udp import UdpSender, UdpSource
from gemsnn.events.wire import RECORD_DTYPE, to_bytes

__all__ = ["RECORD_DTYPE", "UdpSender", "UdpSource", "from_bytes", "from_text", "play", "to_bytes"]
