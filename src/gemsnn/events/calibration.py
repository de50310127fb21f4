"""The simulator's constants, fitted to 100 real MNIST-DVS recordings of digit 0, scale 4.

Made by `python benchmarks/fit_simulator.py --real DIR`, which prints them; the comparison of simulated with
real recordings is docs/simulator.md, made by `python benchmarks/report_simulator.py --real DIR`.
"""

from gemsnn.events.dvs import DVS

MNIST_DVS_SCALE_4 = DVS(
    scale=1.1621,
    stretch=1.0671,
    centre_row=60.502,
    centre_column=63.299,
    row_swing=5.6666,
    column_swing=2.2238,
    period=1.2507,
    row_turn=0.28888,
    column_turn=0.28827,
    start_jitter=0.021365,
    frame_rate=74.94,
    animation_rate=71.326,
    animation_jitter=0.0049671,
    edge_level=0.35302,
    edge_gain=19.577,
    blur=0.11767,
    dark=0.11186,
    threshold_on=0.3584,
    threshold_off=0.38699,
    threshold_mismatch=0.41434,
    threshold_noise=0.34739,
    tau_on_us=5951.7,
    tau_off_us=14665.0,
    refractory_us=724.48,
    refractory_mismatch=0.21013,
    noise_rate=0.0093745,
    noise_spread=1.2615,
    noise_on_share=0.87112,
    duration=2.2473,
    duration_spread=0.12316,
    duration_least=1.9583,
    duration_most=2.4763,
    sensor_seed=128,
)
