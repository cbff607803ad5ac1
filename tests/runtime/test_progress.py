"""Evaluations that take long have a progress bar where that is wanted; short ones and others have none."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.errors import ConfigError
from lazyarray.ir.node import Library
from lazyarray.runtime import progress


class Bar:
    """A bar that remembers what it showed."""

    def __init__(self, total: int) -> None:
        self.total, self.n, self.shown = total, 0, [0]

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *args: object) -> None:
        self.shown.append(-1)

    def update(self, more: int) -> None:
        self.n += more
        self.shown.append(self.n)


def wait_for(x: Any) -> Any:
    time.sleep(0.5)
    return x + 1.0


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Bar]:
    made: list[Bar] = []

    def make(total: int) -> Bar:
        made.append(Bar(total))
        return made[-1]

    monkeypatch.setattr(progress.shown.__wrapped__, "__defaults__", (make,))  # type: ignore[attr-defined]
    monkeypatch.setattr(progress, "DELAY", 0.1)
    return made


def slow() -> np.ndarray:
    """Two kernels with a slow library call between them."""
    from lazyarray.frontend.array import from_node, value
    from lazyarray.ir.node import Key, record

    x = np.asarray(numpy.ones((100, 100))) * 2.0
    node = value(x)
    call = record(Key("call", Library("wait_for", wait_for), node.key.spec), (node,))
    return from_node(call) * 3.0


def test_a_long_evaluation_has_a_bar_that_reaches_its_end(bars: list[Bar]) -> None:
    y = slow()
    with np.config.set(progress=True):
        np.evaluate(y)
    (bar,) = bars
    assert bar.shown[-1] == -1
    steps = sorted(set(bar.shown[:-1]))
    assert steps[0] == 0
    assert steps[-1] == bar.total >= 3 * 160_000
    assert len(steps) >= 3  # it stood between the ends while the library call ran
    assert numpy.array_equal(numpy.asarray(y), numpy.full((100, 100), 9.0))


def test_a_bar_that_catches_warnings_does_not_wait_for_what_it_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """As tqdm does when it is imported; a block of `catch_warnings` evaluates what may warn."""

    def make(total: int) -> Bar:
        with warnings.catch_warnings():
            return Bar(total)

    monkeypatch.setattr(progress.shown.__wrapped__, "__defaults__", (make,))  # type: ignore[attr-defined]
    monkeypatch.setattr(progress, "DELAY", 0.1)
    y = slow()
    may_warn = 1.0 / np.asarray(numpy.zeros((100, 100)))
    with np.config.set(progress=True):
        thread = threading.Thread(target=np.evaluate, args=(y,), daemon=True)
        thread.start()
        thread.join(20)
    assert not thread.is_alive()
    with numpy.errstate(divide="ignore"):
        assert may_warn.shape == (100, 100)


def test_a_short_evaluation_has_none(bars: list[Bar]) -> None:
    with np.config.set(progress=True):
        np.evaluate(np.asarray(numpy.ones((100, 100))) * 2.0)
    assert bars == []


def test_nothing_is_drawn_unasked(bars: list[Bar]) -> None:
    np.evaluate(slow())
    assert bars == []
    assert not any(thread.name == "lazyarray-progress" for thread in threading.enumerate())


def test_an_error_ends_the_bar(bars: list[Bar]) -> None:
    def fail(x: Any) -> Any:
        time.sleep(0.3)
        raise FloatingPointError("stop")

    from lazyarray.frontend.array import from_node, value
    from lazyarray.ir.node import Key, record

    node = value(np.asarray(numpy.ones((100, 100))) * 2.0)
    failing = from_node(record(Key("call", Library("fail", fail), node.key.spec), (node,)))
    with np.config.set(progress=True), pytest.raises(FloatingPointError, match="stop"):
        np.evaluate(failing)
    assert bars[0].shown[-1] == -1


def test_the_bar_is_tqdms() -> None:
    tqdm = pytest.importorskip("tqdm")
    bar = progress.make_bar(10)
    assert isinstance(bar, tqdm.tqdm)
    bar.close()


def test_the_setting_is_a_switch() -> None:
    with pytest.raises(ConfigError, match="'progress': 'yes' is not True or False"), np.config.set(progress="yes"):
        pass
    with np.config.set(progress="1"):
        assert np.config.progress is True


def test_only_the_thread_that_evaluates_is_running() -> None:
    from lazyarray.frontend.array import from_node, value
    from lazyarray.ir.node import Key, record
    from lazyarray.runtime.running import running

    here: dict[str, bool] = {}

    def look(name: str) -> None:
        here[name] = running.here()

    def meanwhile(x: Any) -> Any:
        look("the same thread")
        other = threading.Thread(target=look, args=("another",))
        other.start()
        other.join()
        return x + 1.0

    node = value(np.asarray(numpy.ones((100, 100))) * 2.0)
    call = record(Key("call", Library("meanwhile", meanwhile), node.key.spec), (node,))
    look("before")
    np.evaluate(from_node(call))
    look("after")
    assert here == {"before": False, "the same thread": True, "another": False, "after": False}
