"""Learning: one sequence at a time, or an endless stream."""

from gemsnn.learning.learn import Learned, LearnResult, Lesson, Lessons, learn, learn_unchecked
from gemsnn.learning.means import TraceMeans
from gemsnn.learning.stream import Stream, StreamInfo

__all__ = [
    "LearnResult", "Learned", "Lesson", "Lessons", "Stream", "StreamInfo", "TraceMeans", "learn", "learn_unchecked",
]  # fmt: skip
