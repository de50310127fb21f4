"""Looking at a model at work: a recording, the network's spikes and its answers as they come; as a page or as bars."""

from gemsnn.watching.gallery import Item, examples, least_certain, recordings, scenes_of
from gemsnn.watching.page import watch_page
from gemsnn.watching.scene import Picture, Scene, make_scene
from gemsnn.watching.terminal import play

__all__ = [
    "Item",
    "Picture",
    "Scene",
    "examples",
    "least_certain",
    "make_scene",
    "play",
    "recordings",
    "scenes_of",
    "watch_page",
]
