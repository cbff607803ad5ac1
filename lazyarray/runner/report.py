"""Owns `--report`: one program under NumPy and under lazyarray, outputs compared, times beside each other."""

import json
import os
import stat
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from lazyarray.runner.execute import Program, find_module, find_script

# Per line of the report: its label, and keys of lazyarray.counters() with the words after their numbers.
# A key that the snapshot lacks is left out, and a line without any.
COUNT_LINES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("kernels", (("launches", "launched"), ("compiles", "compiled"), ("disk_hits", "loaded from disk"))),
    ("evaluated", (("evaluations", "times"),)),
    ("libraries", (("library_calls", "called"),)),
    ("fallbacks", (("fallbacks", "to NumPy"),)),
    ("memory", (("bytes_read", "read"), ("bytes_written", "written"))),
)
SAID_AT_ZERO = frozenset({"kernels", "fallbacks"})
NAMED_FALLBACKS = 6


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float


def run(program: Program, repeat: int, target: str) -> int:
    """Runs both sides, prints output and report; the exit status is lazyarray's, or 1 if outputs differ."""
    # What cannot be started is said once, here.
    find_module(program.name) if program.is_module else find_script(program.name)
    given = read_stdin_file()
    with tempfile.TemporaryDirectory() as folder:
        counters_file = os.path.join(folder, "counters.json")
        python = [sys.executable, *find_interpreter_options()]
        plain = [*python, *program.command]
        lazy = [*python, "-m", target, "--counters-file", counters_file, *program.command]
        # Brings both sides' files into the system's cache, so that the side that runs first does not pay.
        run_process([*python, "-c", f"import {target}"], b"")
        pairs = [(run_process(plain, given), run_process(lazy, given)) for _ in range(repeat)]
        counts = read_counters(counters_file)
    numpy_run, lazy_run = pairs[-1]
    out = sys.stdout.buffer
    sys.stdout.flush()
    out.write(lazy_run.stdout)
    if lazy_run.stdout and not lazy_run.stdout.endswith(b"\n"):
        out.write(b"\n")
    out.flush()
    write_errors(lazy_run, sys.stderr.buffer)
    difference = describe_difference(numpy_run, lazy_run)
    times = [statistics.median(run.seconds for run in side) for side in zip(*pairs, strict=True)]
    print(format_report(program, difference, lazy_run, times, repeat, counts))
    return lazy_run.code or (1 if difference is not None else 0)


def read_stdin_file() -> bytes:
    """Standard input where both sides can be given the same: a file."""
    try:
        status = os.fstat(0)
    except OSError:
        return b""
    if not stat.S_ISREG(status.st_mode):
        return b""
    return sys.stdin.buffer.read()


def find_interpreter_options() -> list[str]:
    """Python's own options (`-W error`, `-O`) of this process, which stood before `-m`."""
    given = sys.orig_argv[1:]
    return given[: given.index("-m")] if "-m" in given else []


def run_process(command: Sequence[str], given: bytes) -> Run:
    start = time.perf_counter()
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    return Run(done.returncode, done.stdout, done.stderr, time.perf_counter() - start)


def read_counters(path: str) -> Mapping[str, object]:
    try:
        with open(path, encoding="utf-8") as file:
            counts = json.load(file)
    except (OSError, ValueError):  # the program left without passing through the runner
        return {}
    return counts if isinstance(counts, dict) else {}


def write_errors(run: Run, stream: BinaryIO) -> None:
    if run.stderr:
        stream.write(run.stderr)
        stream.flush()


def describe_difference(numpy_run: Run, lazy_run: Run) -> str | None:
    """What differs between the two runs, as lines for the report; None if nothing does."""
    if numpy_run.code != lazy_run.code:
        text = f"exit status {lazy_run.code}, under NumPy {numpy_run.code}"
        last = numpy_run.stderr.decode(errors="replace").strip().splitlines()
        return f"{text}\n           NumPy said: {last[-1]}" if numpy_run.code and last else text
    if numpy_run.stdout == lazy_run.stdout:
        return None
    expected = numpy_run.stdout.decode(errors="backslashreplace").split("\n")
    got = lazy_run.stdout.decode(errors="backslashreplace").split("\n")
    common = min(len(expected), len(got))
    line = next((i for i in range(common) if expected[i] != got[i]), common)
    texts = [repr(lines[line]) if line < len(lines) else "(no such line)" for lines in (expected, got)]
    return f"line {line + 1} differs\n           NumPy      {texts[0]}\n           lazyarray  {texts[1]}"


def format_report(
    program: Program,
    difference: str | None,
    lazy_run: Run,
    times: Sequence[float],
    repeat: int,
    counts: Mapping[str, object],
) -> str:
    numpy_seconds, lazy_seconds = times
    lines = lazy_run.stdout.count(b"\n")
    if difference is None:
        output = f"equal to NumPy's ({lines} line{'' if lines == 1 else 's'})"
    else:
        output = f"NOT equal to NumPy's: {difference}"
    # Times of different work do not compare.
    ratio = f", {format_ratio(numpy_seconds / lazy_seconds)}" if difference is None else ""
    median = f", medians of {repeat} runs" if repeat > 1 else ""
    rows = [
        f"--- lazyarray report: {' '.join(program.command)}",
        f"output     {output}",
        f"NumPy      {numpy_seconds:.3f} s (whole process{median})",
        f"lazyarray  {lazy_seconds:.3f} s{ratio}",
        *format_counts(counts),
    ]
    return "\n".join(rows)


def format_ratio(ratio: float) -> str:
    return f"{ratio:.2f} times as fast as NumPy" if ratio >= 1 else f"{1 / ratio:.2f} times SLOWER than NumPy"


def format_counts(counts: Mapping[str, object]) -> list[str]:
    """What ran and what it moved, of what the snapshot has."""
    rows = []
    for label, keys in COUNT_LINES:
        parts = [f"{format_count(key, counts[key])} {text}" for key, text in keys if key in counts]
        if not parts or (label not in SAID_AT_ZERO and not any(counts.get(key) for key, _ in keys)):
            continue
        names = format_names(counts.get("fallbacks_by_name")) if label == "fallbacks" else ""
        rows.append(f"{label:<10} {', '.join(parts)}{names}")
    return rows


def format_count(key: str, value: object) -> str:
    return format_bytes(value) if key.startswith("bytes_") and isinstance(value, int | float) else f"{value}"


def format_names(names: object) -> str:
    """The most frequent fallbacks with their numbers."""
    if not isinstance(names, dict) or not names:
        return ""
    frequent = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{name} {count}" for name, count in frequent[:NAMED_FALLBACKS]]
    return f": {', '.join([*shown, *(['...'] if len(frequent) > NAMED_FALLBACKS else [])])}"


def format_bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
