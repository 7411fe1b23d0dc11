"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How fast the machine is, and what else it does, is no test's matter.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
