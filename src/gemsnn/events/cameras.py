"""The cameras that the simulator knows: constants fitted to real recordings, and the choices usual for these."""

from __future__ import annotations

from typing import NamedTuple

from gemsnn.events.binning import Preprocessing
from gemsnn.events.calibration import MNIST_DVS_SCALE_4, N_MNIST
from gemsnn.events.datasets.mnist_dvs import mnist_dvs_preprocessing
from gemsnn.events.datasets.n_mnist import nmnist_preprocessing
from gemsnn.events.dvs import DVS


class Camera(NamedTuple):
    """A camera and scene that were fitted to real recordings, and the choices that are usual for these."""

    dvs: DVS
    preprocessing: Preprocessing


CAMERAS = {
    "mnist-dvs": Camera(MNIST_DVS_SCALE_4, mnist_dvs_preprocessing(4)),
    "n-mnist": Camera(N_MNIST, nmnist_preprocessing()),
}
