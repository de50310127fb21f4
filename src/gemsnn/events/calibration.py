"""The simulator's constants, fitted to real recordings: of MNIST-DVS (100 of digit 0, scale 4) and of N-MNIST.

The first are made by `python benchmarks/fit_simulator.py --real DIR`, which prints them; simulated and real recordings
are compared in docs/results/simulator.md, made by `python benchmarks/report_simulator.py --real DIR`. The second are
made by `python benchmarks/fit_saccades.py --real DIR`.
"""

from typing import NamedTuple

from gemsnn.events.binning import Preprocessing
from gemsnn.events.datasets.mnist_dvs import mnist_dvs_preprocessing
from gemsnn.events.datasets.n_mnist import nmnist_preprocessing
from gemsnn.events.dvs import DVS, Saccade


class Camera(NamedTuple):
    """A camera and scene that were fitted to real recordings, and the preprocessing of these."""

    dvs: DVS
    preprocessing: Preprocessing


MNIST_DVS_SCALE_4 = DVS()

N_MNIST = DVS(
    scale=0.89848,
    stretch=1.0,
    centre_row=17.2,
    centre_column=17.0,
    row_swing=0.0,
    column_swing=0.0,
    period=0.3,
    row_turn=0.0,
    column_turn=0.0,
    start_jitter=0.0,
    saccades=(Saccade(0.005, 0.085, 3.3, -0.5), Saccade(0.105, 0.19, -1.7, 2.8), Saccade(0.22, 0.295, -1.7, -2.4)),
    frame_rate=500.0,
    animation_rate=500.0,
    animation_jitter=0.0,
    edge_level=0.5,
    edge_gain=6.4884,
    blur=0.43006,
    dark=0.13027,
    threshold_on=0.22856,
    threshold_off=0.24101,
    threshold_mismatch=0.13131,
    threshold_noise=0.2,
    tau_on_us=4114.7,
    tau_off_us=3269.2,
    refractory_us=1611.0,
    refractory_mismatch=0.2,
    noise_rate=0.63091,
    noise_spread=1.0,
    noise_on_share=0.5,
    duration=0.306,
    duration_spread=0.005,
    duration_least=0.29,
    duration_most=0.315,
    sensor=34,
    inverted=True,
    upright=True,
)

CAMERAS = {
    "mnist-dvs": Camera(MNIST_DVS_SCALE_4, mnist_dvs_preprocessing(4)),
    "n-mnist": Camera(N_MNIST, nmnist_preprocessing()),
}
