"""What tests of every kind share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A shared machine is no place for deadlines, and a build must not fail by the luck of the draw.
settings.register_profile("nicperf", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("nicperf")

# Tests run what they claim to, and leave nothing in the user's folders; those of the cache name one of their own.
os.environ["NICPERF_CACHE"] = "off"


@pytest.fixture(scope="session")
def root() -> Path:
    """Top of the source checkout."""
    return Path(__file__).parents[1]
