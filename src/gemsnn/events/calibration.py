"""The simulator's constants, fitted to 100 real MNIST-DVS recordings of digit 0, scale 4.

Made by `python benchmarks/fit_simulator.py --real DIR`, which prints them; the comparison of simulated with
real recordings is docs/simulator.md, made by `python benchmarks/report_simulator.py --real DIR`.
"""

from gemsnn.events.simulator import DVS

MNIST_DVS_SCALE_4 = DVS(
    scale=1.1726,
    stretch=1.0606,
    centre_row=60.494,
    centre_column=63.323,
    row_swing=5.7139,
    column_swing=2.2013,
    period=1.2507,
    row_turn=0.28938,
    column_turn=0.28713,
    start_jitter=0.021098,
    frame_rate=74.94,
    animation_rate=70.551,
    animation_jitter=0.0047953,
    edge_level=0.34323,
    edge_gain=19.052,
    blur=0.11573,
    dark=0.12401,
    threshold_on=0.40232,
    threshold_off=0.46275,
    threshold_mismatch=0.45339,
    threshold_noise=0.31889,
    tau_on_us=5983.3,
    tau_off_us=13888.0,
    refractory_us=760.84,
    refractory_mismatch=0.1998,
    noise_rate=0.0075442,
    noise_spread=1.2616,
    noise_on_share=0.87112,
    duration=2.2473,
    duration_spread=0.12316,
    duration_least=1.9583,
    duration_most=2.4763,
)
