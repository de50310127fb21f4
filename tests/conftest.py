"""What all tests share: reproducible hypothesis runs, and figures that need no screen.

``HYPOTHESIS_PROFILE=explore`` draws new cases, ten times as many as the fixed ones that run by default.
"""

import os
import signal

import hypothesis
import matplotlib

matplotlib.use("Agg")

# A shell's background jobs ignore Ctrl-C, and would pass that on to the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_COMMON = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("fixed", derandomize=True, database=None, **_COMMON)
hypothesis.settings.register_profile("explore", print_blob=True, **_COMMON)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_sessionstart(session):
    """Two workers compile different kernels first and find each other's on disk: not both the same at the same time."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker not in ("gw0", "gw1"):
        return
    import numpy as np

    import gemsnn
    from gemsnn.engine import compiled

    network = gemsnn.Network.fully_connected(3, 4, 2)
    inputs, targets = np.ones((5, 3), np.uint8), np.ones((5, 2), np.uint8)
    for dtype in ("float32", "float64") if worker == "gw0" else ("float64", "float32"):
        parameters = network.init().astype(dtype)
        for form in ("event", "sparse"):
            compiled.FORM = form
            gemsnn.learn(network, parameters, gemsnn.GEM(), inputs, targets, 2)
    compiled.FORM = None
