"""Owns a run of the suite: a process for each file, the baseline on NumPy itself, and what counts as passed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lazyarray.config import config
from tests.numpy_compat import suite

SECONDS_OF_A_FILE: Final = 900


@dataclass
class Outcomes:
    """What one process said about one file."""

    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    collected: list[str] = field(default_factory=list)
    stopped: str = ""  # why the process did not reach its end
    seconds: float = 0.0


@dataclass
class FileResult:
    """A file's tests that count, and why those that failed did."""

    file: str
    passed: list[str]
    failed: dict[str, str]
    excluded: int
    untouched: int
    seconds: float
    stopped: str

    @property
    def counted(self) -> int:
        return len(self.passed) + len(self.failed)

    @property
    def functions(self) -> dict[str, bool]:
        """Each test function that counts, and whether all its cases pass."""
        found = {suite.function_of(test): True for test in self.passed}
        found.update({suite.function_of(test): False for test in self.failed})
        return found


def run_file(target: str, file: str, environment: dict[str, str], names: str = "") -> Outcomes:
    """Runs one file in a process of its own."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="numpy-compat-", ignore_cleanup_errors=True) as folder:
        events = Path(folder) / "events"
        work = Path(folder) / "work"
        work.mkdir()
        # The mode says what runs; other settings of lazyarray's are the user's.
        decided = {name for settings in suite.MODES.values() for name in settings}
        environ = {name: value for name, value in os.environ.items() if name not in decided}
        environ |= environment
        environ |= {
            "PYTHONPATH": os.pathsep.join([str(suite.ROOT), str(suite.ROOT / "backends")]),
            "PYTHONHASHSEED": "0",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "",
            "OPENBLAS_NUM_THREADS": "1",
            "TMPDIR": folder,
        }
        command = [sys.executable, "-m", "tests.numpy_compat.worker", target, file, str(events), names]
        log = os.environ.get("NUMPY_COMPAT_LOG")
        with open(log or os.devnull, "ab") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=work, env=environ,
                start_new_session=True,
            )  # fmt: skip
            reason = ""
            try:
                process.wait(SECONDS_OF_A_FILE)
            except subprocess.TimeoutExpired:
                reason = f"ran longer than {SECONDS_OF_A_FILE} s"
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # itself, and children that a test left behind
            process.wait()
        outcomes = read_outcomes(events, reason or f"the process ended with status {process.returncode}")
    outcomes.seconds = time.perf_counter() - started
    return outcomes


def read_outcomes(events: Path, reason: str) -> Outcomes:
    """What the worker wrote; `reason` is why it stopped, if it did not write its end."""
    outcomes = Outcomes(stopped=reason)
    lines = events.read_text(encoding="utf-8").splitlines() if events.exists() else []
    for line in lines:
        event = json.loads(line)
        if "collected" in event:
            outcomes.collected = event["collected"]
        elif "test" in event:
            outcomes.tests[event["test"]] = event
        elif "uncollected" in event:
            outcomes.tests["(collection)"] = {"outcome": "failed", "cause": event["uncollected"], "touched": True}
        elif "start" in event:
            outcomes.tests[event["start"]] = {"outcome": "failed", "cause": f"stopped here: {reason}", "touched": True}
        elif "end" in event:
            outcomes.stopped = ""
    return outcomes


# ---- the baseline


def baseline_path() -> Path:
    """Where the baseline of this NumPy, Python and runner is kept."""
    sources = b"".join((suite.HERE / name).read_bytes() for name in ("worker.py", "suite.py"))
    key = hashlib.sha256(json.dumps(suite.versions()).encode() + sources).hexdigest()[:16]
    return Path(config.cache_dir) / f"numpy-compat-{key}.json"


def load_baseline() -> dict[str, list[str]]:
    try:
        found: dict[str, list[str]] = json.loads(baseline_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def make_baseline(files: Iterable[str], jobs: int) -> dict[str, list[str]]:
    """The tests of each file that pass on NumPy itself, in their order; made where they are not known yet."""
    known = load_baseline()
    missing = [file for file in files if file not in known]
    if missing:
        for file, outcomes in each_file("numpy", dict.fromkeys(missing, ""), {}, jobs):
            if outcomes.stopped:
                raise RuntimeError(f"{file} does not run with NumPy itself: {outcomes.stopped}")
            known[file] = [
                test for test in outcomes.collected if outcomes.tests.get(test, {}).get("outcome") == "passed"
            ]
        path = baseline_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(known), encoding="utf-8")
        part.replace(path)
    return known


def is_passed(outcome: dict[str, Any] | None) -> bool:
    return outcome is not None and outcome["outcome"] == "passed"


def each_file(
    target: str, files: Mapping[str, str], environment: dict[str, str], jobs: int
) -> Iterator[tuple[str, Outcomes]]:
    """Runs the files (of each the named tests), so many at a time, and gives each as it ends."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(run_file, target, file, environment, files[file]): file for file in files}
        for future in as_completed(futures):
            yield futures[future], future.result()


# ---- what counts


def match(expected: list[str], outcomes: Outcomes) -> dict[str, dict[str, Any] | None]:
    """The outcome of each test of the baseline.

    A case may be called differently here (its name shows an argument); equally many cases are the same ones.
    """
    here: dict[str, list[str]] = {}
    for test in outcomes.collected:
        here.setdefault(suite.function_of(test), []).append(test)
    there: dict[str, list[str]] = {}
    for test in expected:
        there.setdefault(suite.function_of(test), []).append(test)
    found: dict[str, dict[str, Any] | None] = {}
    for function, tests in there.items():
        ours = here.get(function, [])
        same = set(tests) <= set(ours) or len(ours) != len(tests)
        for test, name in zip(tests, tests if same else ours, strict=True):
            found[test] = outcomes.tests.get(name)
    return found


def judge(file: str, expected: list[str], outcomes: Outcomes) -> FileResult:
    """Counts the baseline's tests of a file, less those excluded and those that never use lazyarray."""
    result = FileResult(file, [], {}, 0, 0, outcomes.seconds, outcomes.stopped)
    collection = outcomes.tests.get("(collection)")
    absent = f"not run: {outcomes.stopped or (collection or {}).get('cause') or 'not collected'}"
    for test, outcome in match(expected, outcomes).items():
        if suite.exclusion(test) is not None:
            result.excluded += 1
        elif outcome is None:
            result.failed[test] = absent
        elif outcome["outcome"] != "passed":
            result.failed[test] = outcome["cause"] or outcome["outcome"]
        elif not outcome["touched"]:
            result.untouched += 1
        else:
            result.passed.append(test)
    return result


def run_mode(mode: str, files: Mapping[str, str], jobs: int) -> Iterator[FileResult]:
    """Runs files on lazyarray in one mode and gives each file's result as it ends.

    With a file stand the names of its classes and functions that are run; without any, all are.
    """
    baseline = make_baseline(files, jobs)
    for file, outcomes in each_file("lazyarray", files, suite.MODES[mode], jobs):
        yield judge(file, [test for test in baseline[file] if suite.is_chosen(test, files[file])], outcomes)


def kind_of(cause: str) -> str:
    """A cause without its numbers and addresses."""
    text = re.sub(r"0x[0-9a-f]+", "0x..", cause)
    text = re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", "N", text)
    return re.sub(r"(N[ ,.]*){2,}", "N.. ", text)[:120]


@dataclass
class Total:
    """All files of one mode together."""

    results: list[FileResult]

    @property
    def cases(self) -> tuple[int, int]:
        """Cases that pass, and that count."""
        return sum(len(r.passed) for r in self.results), sum(r.counted for r in self.results)

    @property
    def functions(self) -> tuple[int, int]:
        """Test functions with every case passing, and those that count."""
        found = [passed for result in self.results for passed in result.functions.values()]
        return sum(found), len(found)

    def causes(self) -> list[tuple[str, int, int, str]]:
        """Kinds of failure, the most frequent first: cases, functions, an example."""
        cases: Counter[str] = Counter()
        functions: dict[str, set[str]] = {}
        example: dict[str, str] = {}
        for result in self.results:
            for test, cause in result.failed.items():
                kind = kind_of(cause)
                cases[kind] += 1
                functions.setdefault(kind, set()).add(suite.function_of(test))
                example.setdefault(kind, test)
        return [(kind, count, len(functions[kind]), example[kind]) for kind, count in cases.most_common()]


def percent(part: tuple[int, int]) -> float:
    """A share of counted tests, rounded down: 100.00 means all."""
    passed, counted = part
    return int(10000 * passed / counted) / 100 if counted else 100.0
