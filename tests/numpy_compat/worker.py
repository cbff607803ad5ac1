"""Owns one process of the suite: runs one test file and writes what became of each test, a line of JSON each.

python -m tests.numpy_compat.worker numpy|lazyarray FILE EVENTS [NAMES]
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, ClassVar, Final

import pytest

from tests.numpy_compat import suite

SECONDS_OF_A_TEST: Final = 60

# What runs in lazyarray when a name is looked up, an assertion takes its arguments, or a block of warnings begins or
# ends: no use of it, nor what is called from there.
_NO_USE: Final = frozenset({"modules.py", "namespace.py", "rebase.py", "naming.py", "warned.py"})
_TAKING: Final = frozenset({"export", "to_numpy", "__getattr__"})


class Watched(ModuleType):
    """lazyarray, which says when one of its functions or ufuncs is asked for: compiled, they have no frames."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        touch = Touch.now
        if touch is not None and touch.passing_over is None and type(found) in touch.kinds:
            touch.seen = True
        return found


class Touch:
    """Whether a test has run any code of lazyarray's, by the interpreter's profiling hook until the first call.

    In the compiled form: or asked for a function or ufunc of lazyarray's.
    """

    now: ClassVar[Touch | None] = None  # while a test runs

    def __init__(self) -> None:
        import lazyarray
        from lazyarray.native import COMPILED

        self.kinds: frozenset[type] = frozenset()
        if COMPILED:
            self.kinds = frozenset({type(lazyarray.add), type(lazyarray.sum), type(lazyarray.array)})
            lazyarray.__class__ = Watched
        self.package = str(Path(lazyarray.__file__).parent) + os.sep
        self.seen = False
        self.passing_over: FrameType | None = None

    def start(self) -> None:
        self.seen = False
        self.passing_over = None
        Touch.now = self
        sys.setprofile(self.look)

    def look(self, frame: FrameType, event: str, arg: object) -> None:
        if self.passing_over is not None:
            if event == "return" and frame is self.passing_over:
                self.passing_over = None
        elif event == "call" and frame.f_code.co_filename.startswith(self.package):
            code = frame.f_code
            if os.path.basename(code.co_filename) in _NO_USE or code.co_name in _TAKING:
                self.passing_over = frame
            else:
                self.seen = True
                sys.setprofile(None)

    def stop(self) -> bool:
        Touch.now = None
        sys.setprofile(None)
        return self.seen


class Recorder:
    """A pytest plugin: chooses the tests and writes down their outcomes."""

    def __init__(self, target: str, events: str, names: str) -> None:
        self.names = names
        self.stream = open(events, "a", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        self.touch = Touch() if target == "lazyarray" else None

    def write(self, **event: object) -> None:
        self.stream.write(json.dumps(event) + "\n")
        self.stream.flush()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self.is_run(item)]

    def is_run(self, item: pytest.Item) -> bool:
        if item.get_closest_marker("slow") is not None or suite.held_back(item.nodeid):
            return False
        return suite.is_chosen(item.nodeid, self.names)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.write(collected=[item.nodeid for item in session.items])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
            self.write(uncollected=lines[-1].removeprefix("E").strip() if lines else "")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.outcome, self.cause = "passed", ""
        self.write(start=item.nodeid)
        if self.touch is not None:
            self.touch.start()
        try:
            return (yield)
        finally:
            touched = self.touch is not None and self.touch.stop()
            self.write(test=item.nodeid, outcome=self.outcome, cause=self.cause, touched=touched)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report = yield
        if self.outcome == "passed" and report.outcome != "passed":
            self.outcome = "skipped" if report.skipped else "failed"
            if call.excinfo is not None:
                self.cause = describe(call.excinfo.value)
        if hasattr(report, "wasxfail"):
            self.outcome = "skipped"
        return report


def describe(error: BaseException) -> str:
    """An error in one line."""
    try:
        message = " ".join(str(error).split())
    except Exception as second:
        message = f"(its text: {second!r})"
    return f"{type(error).__name__}: {message[:300]}"


def swap_when_rewritten() -> None:
    """Puts the swap before pytest's rewriting of assertions, in NumPy's own test modules."""
    from _pytest.assertion import rewrite

    from tests.numpy_compat import swap

    swap.install()
    rewrite_asserts = rewrite.rewrite_asserts

    def swap_and_rewrite(mod: ast.Module, source: bytes, module_path: Any = None, config: Any = None) -> None:
        path = Path(module_path) if module_path else Path()
        if path.is_relative_to(suite.wheel() / "numpy") and path.name.startswith("test_"):
            ast.fix_missing_locations(swap.TestRewriter().visit(mod))
        rewrite_asserts(mod, source, module_path, config)

    rewrite.rewrite_asserts = swap_and_rewrite


def one_line_failures() -> None:
    """Failures are written as one line: long tracebacks cost more than the tests."""
    import _pytest.python

    def repr_failure(self: object, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        return describe(excinfo.value)

    _pytest.python.Function.repr_failure = repr_failure  # type: ignore[method-assign]


def main(target: str, file: str, events: str, names: str = "") -> int:
    import numpy.testing

    # How often CPython refers to an object is no semantics of arrays; NumPy has this switch for other Pythons.
    setattr(numpy.testing, "HAS_REFCOUNT", False)  # noqa: B010
    recorder = Recorder(target, events, names)
    if target == "lazyarray":
        swap_when_rewritten()
    # Bytecode of test modules is plain NumPy's, or swapped: neither may be taken for the other.
    sys.dont_write_bytecode = True
    sys.pycache_prefix = f"{events}.bytecode"
    if not os.environ.get("NUMPY_COMPAT_TRACEBACKS"):
        one_line_failures()
    options = f"-q --rootdir {suite.wheel()} -c {events}.ini --timeout={SECONDS_OF_A_TEST}"
    plugins = "-p no:cacheprovider -p _hypothesis_pytestplugin -p pytest_timeout"
    Path(f"{events}.ini").write_text("[pytest]\n", encoding="utf-8")
    warned = ("-W", "ignore::pytest.PytestUnraisableExceptionWarning")
    status = pytest.main([str(suite.wheel() / file), *options.split(), *plugins.split(), *warned], plugins=[recorder])
    recorder.write(end=int(status))
    return int(status)


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # what a test left behind (threads, pending finalizers) is not awaited
