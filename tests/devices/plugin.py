"""Runs any part of the suite on a device: `LAZYARRAY_TEST_DEVICE=fake pytest -p tests.devices.plugin ...` (or cuda)."""

from __future__ import annotations

import os

from lazyarray.config import config

NAME = os.environ.get("LAZYARRAY_TEST_DEVICE", "fake")

if NAME.startswith("fake"):
    from tests.devices import fake

    fake.install()

config.device = NAME
