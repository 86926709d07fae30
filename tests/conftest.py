"""Settings of all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A slow machine makes a slow test, not a red one. There are many properties: half of the usual examples are for each.
settings.register_profile("patient", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
