"""How many random examples the property tests try: HYPOTHESIS_PROFILE=quick, default or long."""

import os

from hypothesis import HealthCheck, settings

EXAMPLES = {"quick": 25, "default": 200, "long": 2500}

for name, examples in EXAMPLES.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
