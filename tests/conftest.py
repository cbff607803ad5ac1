"""Owns what holds for all tests: arrays of a few thousand elements are recorded and compiled, not only large ones.

The break-even that users get (`eager_below` of `config.py`) would have tests compute on a hundred times the memory;
first evaluations (`compile_at`) would have NumPy compute what kernels are to. What the environment says comes before.
"""

import gc
import os

import hypothesis
import pytest

hypothesis.settings.register_profile("untimed", deadline=None)  # machines are shared, and first examples compile
hypothesis.settings.load_profile("untimed")
os.environ.setdefault("LAZYARRAY_EAGER_BELOW", "4096")
os.environ.setdefault("LAZYARRAY_COMPILE_AT", "1")


@pytest.fixture(autouse=True, scope="module")
def objects_count_from_here() -> None:
    """The garbage collector passes by objects of earlier modules, and so does `a.base`, which looks for arrays."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def inputs_count_from_here() -> None:
    """What earlier tests have left pending is not evaluated in one that counts kernels, because of their inputs."""
    from lazyarray.ir.node import PINNED

    PINNED.seen()


@pytest.fixture(autouse=True)
def numbers_are_lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where tests of other packages have loaded one that wants numbers computed at once."""
    from lazyarray.frontend import scalar

    monkeypatch.setattr(scalar, "PACKAGES", frozenset())
