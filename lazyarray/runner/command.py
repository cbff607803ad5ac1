"""Owns the command line of `python -m lazyarray`."""

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from lazyarray.runner import execute, report

TARGET = "lazyarray"

USAGE = """\
usage: python -m lazyarray [--report] [--repeat N] (script.py | -m module) [arguments...]
       python -m lazyarray doctor [script.py [arguments...]]

Runs a NumPy program as it stands with `import numpy` meaning lazyarray, in the program
and in the modules beside it. Installed packages keep NumPy.

  -m module    run a module, as `python -m module` does
  --report     run the program under NumPy and under lazyarray, each in a process of its
               own; print its output once, whether both outputs are equal, both times
               (the whole process, imports and compiling included) and what lazyarray did
  --repeat N   with --report: run each side N times in turn and give median times
  doctor       tell what is installed, found and working here; with a script: run it, and
               tell what it ran, where its time went and what kept it from being faster
  -h, --help   show this text

Under --report the program runs more than once, with the standard input it is given if
that is a file and an empty one otherwise.
"""


class UsageError(Exception):
    """The command line makes no sense."""


@dataclass(frozen=True, slots=True)
class Request:
    """A parsed command line."""

    program: execute.Program
    report: bool
    repeat: int
    counters_file: str | None


def parse(arguments: Sequence[str]) -> Request | None:
    """Reads the command line up to the program; None means that help was asked for."""
    rest = list(arguments)
    with_report, repeat, counters_file = False, 1, None

    def take_value(option: str) -> str:
        if not rest:
            raise UsageError(f"argument expected for the {option} option")
        return rest.pop(0)

    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            return None
        if word == "--report":
            with_report = True
        elif word == "--repeat":
            value = take_value(word)
            if not value.isdecimal() or int(value) == 0:
                raise UsageError(f"--repeat takes a positive whole number, not {value!r}")
            repeat = int(value)
        elif word == "--counters-file":  # written for the process that made the report
            counters_file = take_value(word)
        elif word == "-m":
            program = execute.Program(take_value(word), True, tuple(rest))
            return Request(program, with_report, repeat, counters_file)
        elif word.startswith("-"):
            raise UsageError(f"unknown option {word}")
        else:
            return Request(execute.Program(word, False, tuple(rest)), with_report, repeat, counters_file)
    raise UsageError("no script given")


def diagnose(arguments: Sequence[str], target: str) -> int:
    """`doctor`: the state of the installation, or a profile of a program's run."""
    if not arguments:
        from lazyarray.inspect import doctor

        text, works = doctor.diagnose()
        print(text)
        return 0 if works else 1
    request = parse(arguments)
    if request is None or request.report:
        raise UsageError("doctor takes a script and its arguments")
    from lazyarray.inspect.findings import findings
    from lazyarray.inspect.profile import profile

    with profile() as found:
        code = execute.run(request.program, target)
    sys.stdout.flush()
    print(found, *findings(found), sep="\n", file=sys.stderr)
    return code


def main(arguments: Sequence[str], target: str = TARGET) -> int:
    """Runs the command line and returns the exit status."""
    try:
        if arguments and arguments[0] == "doctor" and not os.path.exists("doctor"):
            return diagnose(arguments[1:], target)
        request = parse(arguments)
    except UsageError as error:
        print(f"{USAGE.splitlines()[0]}\npython -m lazyarray: {error}", file=sys.stderr)
        return 2
    if request is None:
        print(USAGE, end="")
        return 0
    try:
        if request.report:
            return report.run(request.program, request.repeat, target)
        try:
            return execute.run(request.program, target)
        finally:
            if request.counters_file is not None:
                write_counters(request.counters_file, target)
    except execute.CannotRunError as error:
        print(error, file=sys.stderr)
        return error.code


def write_counters(path: str, target: str) -> None:
    """Leaves what the run counted for the reporting process."""
    snapshot = getattr(sys.modules.get(target), "counters", None)
    counts = dict(snapshot()) if callable(snapshot) else {}
    with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
        json.dump({str(k): v for k, v in counts.items()}, file, default=str)
        file.flush()
        os.fsync(file.fileno())
