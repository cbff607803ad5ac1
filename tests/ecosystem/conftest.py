"""Owns what holds for tests with other packages: numbers are those that programs with these packages get."""

import pytest


@pytest.fixture
def numbers_are_lazy() -> None:
    """As `scalar.PACKAGES` says."""
