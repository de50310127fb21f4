"""Learning: the GEM rule, one sequence at a time or an endless stream."""

from gemsnn.engine.gem import GEM
from gemsnn.learning.learn import LearnResult, learn, learn_unchecked
from gemsnn.learning.stream import Stream, StreamInfo

__all__ = ["GEM", "LearnResult", "Stream", "StreamInfo", "learn", "learn_unchecked"]
