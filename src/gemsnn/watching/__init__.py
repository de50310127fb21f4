"""Pages that play recordings with hidden spikes and answers, from files or live in a browser."""

from gemsnn.watching.gallery import Item, examples, least_certain, recordings, scenes_of
from gemsnn.watching.live import LiveServer, show
from gemsnn.watching.page import watch_page
from gemsnn.watching.scene import Picture, Scene, make_scene

__all__ = [
    "Item",
    "LiveServer",
    "Picture",
    "Scene",
    "examples",
    "least_certain",
    "make_scene",
    "recordings",
    "scenes_of",
    "show",
    "watch_page",
]
