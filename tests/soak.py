"""Owns the soak: `python -m tests.soak --programs N` runs N random programs against NumPy and shows each mismatch.

Each program is drawn from its number, so a mismatch is found again with `--first NUMBER --programs 1`. It runs three
times (evaluated at the end, after each step, now and then), with small arrays eager or everything recorded. Each run
must give NumPy's arrays, and all of them the same bits.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator

import lazyarray
from lazyarray.config import config
from tests.property.draw import SeededChooser, build_program
from tests.property.programs import Policy, Program, Trace, compare, run, to_script
from tests.property.shadow import Shadow

POLICIES: tuple[Policy, ...] = ("never", "each", "drawn")
EAGER_BELOW = (4096, 0)
MOST_STEPS = 16


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    add = parser.add_argument
    add("--programs", type=int, default=1000, help="how many programs to run")
    add("--first", type=int, default=0, help="the number of the first one")
    add("--seconds", type=float, default=float("inf"), help="stop after this time")
    add("--mismatches", type=int, default=10, help="stop after so many")
    return parser.parse_args(argv)


def draw(number: int) -> tuple[Program, Shadow]:
    """The program of this number, with what NumPy makes of it."""
    chooser = SeededChooser(number)
    return build_program(chooser, 1 + chooser.below(MOST_STEPS))


def problems(program: Program, shadow: Shadow, eager_below: int) -> Iterator[str]:
    """How the program's runs differ from NumPy's and from one another."""
    traces: dict[Policy, Trace] = {}
    with config.set(eager_below=eager_below):
        for policy in POLICIES:
            try:
                traces[policy] = run(program, lazyarray, policy)
            except Exception as error:  # an evaluation that fails is a mismatch like any other
                yield f"fails, evaluated {policy}, eager below {eager_below}: {type(error).__name__}: {error}"
    for policy, trace in traces.items():
        for problem in compare(shadow.trace, trace, shadow.limits):
            yield f"differs from NumPy, evaluated {policy}, eager below {eager_below}: {problem}"
        for problem in compare(traces.get("each", trace), trace):
            yield f"bits differ, evaluated {policy}, eager below {eager_below}: {problem}"


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    warnings.simplefilter("ignore")
    start, done, steps = time.monotonic(), 0, 0
    mismatches: list[int] = []
    for number in range(options.first, options.first + options.programs):
        program, shadow = draw(number)
        found = list(problems(program, shadow, EAGER_BELOW[number % len(EAGER_BELOW)]))
        done, steps = done + 1, steps + len(program)
        if found:
            mismatches.append(number)
            print(f"program {number}:", *found, "", to_script(program), sep="\n", flush=True)
        if len(mismatches) >= options.mismatches or time.monotonic() - start > options.seconds:
            break
    seconds = time.monotonic() - start
    print(f"{done} programs of {steps} steps in {seconds:.0f} s, {len(mismatches)} with a mismatch: {mismatches}")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
