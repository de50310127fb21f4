"""The simulator's constants, fitted to 100 real MNIST-DVS recordings of digit 0, scale 4.

Made by `python benchmarks/calibrate_simulator.py fit --real DIR`, which prints them; the comparison of simulated with
real recordings is docs/simulator.md, made by `python benchmarks/calibrate_simulator.py report --real DIR`.
"""

from gemsnn.events.simulator import DVS

MNIST_DVS_SCALE_4 = DVS(
    scale=1.2,
    stretch=1.03,
    centre_row=60.4,
    centre_column=63.4,
    row_swing=5.6,
    column_swing=2.2,
    period=1.25,
    row_turn=0.29,
    column_turn=0.29,
    start_jitter=0.02,
    frame_rate=74.94,
    animation_rate=61.4,
    animation_jitter=0.006,
    edge_level=0.5,
    edge_gain=10.0,
    blur=0.3,
    dark=0.1,
    threshold_on=0.3,
    threshold_off=0.3,
    threshold_mismatch=0.1,
    threshold_noise=0.1,
    tau_on_us=6000.0,
    tau_off_us=20000.0,
    refractory_us=1500.0,
    refractory_mismatch=0.2,
    noise_rate=0.009,
    noise_spread=1.3,
    noise_on_share=0.87,
    duration=2.25,
    duration_spread=0.125,
    duration_least=1.936,
    duration_most=2.492,
)
