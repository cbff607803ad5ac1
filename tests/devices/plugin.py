"""Runs any part of the suite on a device: `LAZYARRAY_TEST_DEVICE=fake pytest -p tests.devices.plugin ...` (or cuda).

On a GPU the tests that state something else about the CPU backend than results are skipped, each with its reason.
"""

from __future__ import annotations

import os
from typing import Any

import numpy
import pytest

import tests.conftest  # noqa: F401  (settings of the suite, which are read when the configuration is imported)
from lazyarray.config import config
from tests.devices.elsewhere import ELSEWHERE

NAME = os.environ.get("LAZYARRAY_TEST_DEVICE", "fake")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what is not of a GPU."""
    for item in items if NAME.startswith("cuda") else ():
        reason = next((why for name, why in ELSEWHERE.items() if item.nodeid.startswith(name)), None)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason))


if NAME.startswith("fake"):
    from tests.devices import fake

    fake.install()

else:
    # Sums on a GPU have an order of their own, and elementary functions other roundings than the host's.
    exact = numpy.testing.assert_array_equal

    def assert_array_equal(actual: Any, desired: Any, *args: Any, **options: Any) -> None:
        have, want = numpy.asarray(actual), numpy.asarray(desired)
        if want.dtype.kind not in "fc" or have.dtype != want.dtype or not want.size:
            exact(actual, desired, *args, **options)
            return
        unit = 512 * float(numpy.finfo(want.dtype).eps)
        finite = numpy.abs(want[numpy.isfinite(want)])
        largest = float(finite.max()) if finite.size else 0.0
        numpy.testing.assert_allclose(have, want, unit, unit * largest)

    numpy.testing.assert_array_equal = assert_array_equal

config.device = NAME
