"""Runs any part of the suite on a device: `LAZYARRAY_TEST_DEVICE=fake pytest -p tests.devices.plugin ...` (or cuda)."""

from __future__ import annotations

import os
from typing import Any

import numpy

import tests.conftest  # noqa: F401  (settings of the suite, which are read when the configuration is imported)
from lazyarray.config import config

NAME = os.environ.get("LAZYARRAY_TEST_DEVICE", "fake")

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
