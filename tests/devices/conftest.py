"""Fake devices for every test here, gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lazyarray.config import config
from lazyarray.runtime import device_graphs
from tests.devices import fake


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are recorded when their memory comes for the second time."""
    monkeypatch.setattr(device_graphs, "AWAITED", 1)
    monkeypatch.setattr(device_graphs, "SHORT", 0)


@pytest.fixture(autouse=True)
def devices() -> Iterator[list[fake.FakeDevice]]:
    before, config.device = config.device, "cpu"
    yield fake.install()
    config.device = before
    if not before.startswith("fake"):
        fake.remove()
