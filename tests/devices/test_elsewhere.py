"""The tests that a GPU skips are there by those names: what is renamed would run, and fail, where nobody looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.devices.elsewhere import ELSEWHERE

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("beginning", ELSEWHERE)
def test_what_is_skipped_there_is_here(beginning: str) -> None:
    file, _, name = beginning.partition("[")[0].partition("::")
    assert f"\ndef {name}" in (ROOT / file).read_text()
