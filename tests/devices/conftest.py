"""Fake devices for every test here, gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lazyarray.config import config
from tests.devices import fake


@pytest.fixture(autouse=True)
def devices() -> Iterator[list[fake.FakeDevice]]:
    before, config.device = config.device, "cpu"
    yield fake.install()
    config.device = before
    if not before.startswith("fake"):
        fake.remove()
