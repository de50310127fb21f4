"""Torture: mutated files, odd networks and kills for as long as one likes; ``python -m torture SECONDS``.

A torture is a class in a file of this folder. It is given a folder to work in, and then one seed after the other:
each trial follows from its seed alone, so that whatever goes wrong can be made to happen again:

    python -m torture --only prepared --seed 4711

Tortures run in child processes that are watched. A trial that raises, a process that dies and a trial that takes
minutes are failures, told with their seed.
"""

from torture.checkpoints import Checkpoints
from torture.doors import Doors
from torture.encoders import Encoders
from torture.exports import Exports
from torture.kills import Kills
from torture.networks import Networks
from torture.prepared import Prepared
from torture.recordings import Recordings
from torture.settings import Settings
from torture.texts import Texts
from torture.torture import Torture

TORTURES: tuple[type[Torture], ...] = (
    Recordings, Encoders, Prepared, Checkpoints, Texts, Settings, Networks, Exports, Doors, Kills,
)  # fmt: skip
