"""A failure during evaluation names the lines that recorded what was evaluated, and loses nothing."""

from __future__ import annotations

import numpy
import pytest

import lazyarray as np
from lazyarray.runtime import execute


def test_the_note_has_file_number_and_text_of_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.asarray(numpy.ones(10_000))
    y = x * 2.0 + 1.0

    def fail(*args: object) -> None:
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(execute, "reserve", fail)
        with pytest.raises(MemoryError, match="no room") as caught:
            np.evaluate(y)
    (note,) = caught.value.__notes__
    assert f"{__file__}:" in note
    assert note.endswith("y = x * 2.0 + 1.0")
    assert float(y[3]) == 3.0
