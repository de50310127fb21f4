"""Event-camera data: readers, binning, data sets, the DVS simulator, and the prepared file that training reads."""

from gemsnn.events import sources
from gemsnn.events.aedat import read_aedat, write_aedat
from gemsnn.events.binning import Preprocessing, bin_events
from gemsnn.events.columns import GuessWarning
from gemsnn.events.completion import complete_prepared
from gemsnn.events.datasets import (
    find_dataset,
    find_folder,
    find_mnist_dvs,
    find_nmnist,
    find_tonic,
    mnist_dvs_preprocessing,
    nmnist_preprocessing,
)
from gemsnn.events.hdf5 import read_hdf5
from gemsnn.events.importing import import_recordings
from gemsnn.events.nmnist import read_nmnist
from gemsnn.events.numpy_files import read_numpy
from gemsnn.events.online import OnlineBinner
from gemsnn.events.own_data import write_prepared
from gemsnn.events.picture_sets import simulate_pictures
from gemsnn.events.prepared import PreparedData, Split, open_prepared
from gemsnn.events.prophesee import read_dat
from gemsnn.events.recordings import read_recording
from gemsnn.events.records import EVENT_DTYPE, DamageWarning, as_events
from gemsnn.events.simulated import simulate_digits, simulate_prepared
from gemsnn.events.simulator import DVS, simulate, simulate_recording
from gemsnn.events.text import read_text
from gemsnn.events.variation import Variation

__all__ = [
    "DVS",
    "EVENT_DTYPE",
    "DamageWarning",
    "GuessWarning",
    "OnlineBinner",
    "PreparedData",
    "Preprocessing",
    "Split",
    "Variation",
    "as_events",
    "bin_events",
    "complete_prepared",
    "find_dataset",
    "find_folder",
    "find_mnist_dvs",
    "find_nmnist",
    "find_tonic",
    "import_recordings",
    "mnist_dvs_preprocessing",
    "nmnist_preprocessing",
    "open_prepared",
    "read_aedat",
    "read_dat",
    "read_hdf5",
    "read_nmnist",
    "read_numpy",
    "read_recording",
    "read_text",
    "simulate",
    "simulate_digits",
    "simulate_pictures",
    "simulate_prepared",
    "simulate_recording",
    "sources",
    "write_aedat",
    "write_prepared",
]
