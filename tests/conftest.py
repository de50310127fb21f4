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
