"""How hard hypothesis looks: HYPOTHESIS_PROFILE=quick (the default) or full."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Machines differ in speed, so no example has a deadline. In CI the examples are the same in each run:
# a failure must be the change's own.
settings.register_profile(
    "quick", max_examples=20, deadline=None, derandomize=bool(os.environ.get("CI"))
)
settings.register_profile(
    "full", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
