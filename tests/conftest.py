"""What holds for all tests."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# How fast the machine is, and what else it does, is no test's matter.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

# A shell starts what runs in the background deaf to Ctrl-C, and programs under test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
