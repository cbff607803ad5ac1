"""Owns the command that runs NumPy's own test suite on lazyarray: `python -m tests.numpy_compat`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from tests.numpy_compat import figures, run, share, suite


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.numpy_compat", description=__doc__)
    add = parser.add_argument
    add("--mode", choices=[*suite.MODES, "all"], default="default", help="how lazyarray runs the tests' arrays")
    add("--files", nargs="+", metavar="NAME", help="only these test files (names, or parts of their paths)")
    add("--fast", action="store_true", help="only the share that the project's own tests run")
    add("--tests", nargs="+", default=[], metavar="NAME", help="only these classes and functions in them")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="files that run at the same time")
    add("--json", metavar="FILE", help="write every result there; - for the standard output")
    add("--failures", action="store_true", help="name every test that fails")
    add("--top", type=int, default=15, help="how many causes of failure to name")
    add("--min", type=float, default=0.0, help="exit with 1 where less than this percentage of cases passes")
    add("--write-known", action="store_true", help="with --fast --mode all: write known_failures.txt as found")
    add("--write-figures", action="store_true", help="put the figures into README.md beside this command")
    return parser.parse_args(argv)


def show(result: run.FileResult) -> None:
    """One line for a file."""
    passed, counted = len(result.passed), result.counted
    line = f"{result.file:55} {passed:6} of {counted:6} {run.percent((passed, counted)):7.2f} % {result.seconds:6.1f} s"
    print(f"{line}  {result.stopped}" if result.stopped else line, flush=True)


def summarise(mode: str, total: run.Total, options: argparse.Namespace, seconds: float) -> None:
    """The total, and why tests fail."""
    cases, functions = total.cases, total.functions
    excluded = sum(result.excluded for result in total.results)
    untouched = sum(result.untouched for result in total.results)
    print(
        f"{mode}: {cases[0]} of {cases[1]} cases pass = {run.percent(cases):.2f} %; "
        f"{functions[0]} of {functions[1]} test functions with every case passing = {run.percent(functions):.2f} %; "
        f"not counted: {excluded} excluded, {untouched} that never use lazyarray; {seconds:.0f} s"
    )
    causes = total.causes()
    if causes:
        print("most frequent causes (cases, functions, cause, an example):")
    for kind, count, among, example in causes[: options.top]:
        print(f"{count:6} {among:5}  {kind}\n              {example}")
    if options.failures:
        for result in total.results:
            for test, cause in result.failed.items():
                print(f"FAILED {test}: {cause}")


def as_json(mode: str, total: run.Total) -> dict[str, Any]:
    return {
        "mode": mode,
        "versions": suite.versions(),
        "cases": total.cases,
        "functions": total.functions,
        "files": {
            result.file: {
                "passed": result.passed,
                "failed": result.failed,
                "excluded": result.excluded,
                "untouched": result.untouched,
                "seconds": round(result.seconds, 1),
                "stopped": result.stopped,
            }
            for result in total.results
        },
    }


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    files = suite.find_files(options.files)
    chosen = dict(share.FILES) if options.fast else dict.fromkeys(files, " ".join(options.tests))
    if not chosen:
        print(f"no test file is called {' '.join(options.files)}", file=sys.stderr)
        return 2
    written: list[dict[str, Any]] = []
    totals: dict[str, run.Total] = {}
    status = 0
    for mode in suite.MODES if options.mode == "all" else [options.mode]:
        started = time.perf_counter()
        results: list[run.FileResult] = []
        for result in run.run_mode(mode, chosen, options.jobs):
            results.append(result)
            show(result)
        total = run.Total(sorted(results, key=lambda result: list(chosen).index(result.file)))
        summarise(mode, total, options, time.perf_counter() - started)
        written.append(as_json(mode, total))
        totals[mode] = total
        if options.write_figures:
            figures.write(mode, total)
        if run.percent(total.cases) < options.min:
            status = 1
    if options.write_known:
        if not options.fast or options.mode != "all":
            raise SystemExit("--write-known needs --fast --mode all")
        share.write_known(totals)
    if options.json == "-":
        json.dump(written, sys.stdout, indent=1)
    elif options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump(written, stream, indent=1)
    return status


if __name__ == "__main__":
    sys.exit(main())
