"""Owns the command that runs the array API standard's public suite: `python -m tests.array_api FOLDER`.

FOLDER is a clone of https://github.com/data-apis/array-api-tests with its submodule. NumPy runs the same tests beside
lazyarray; `fails.txt` lists those that neither passes, with reasons. The command fails where lazyarray alone does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

ROOT: Final = Path(__file__).resolve().parents[2]
FAILS: Final = Path(__file__).with_name("fails.txt")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.array_api", description=__doc__)
    add = parser.add_argument
    add("folder", type=Path, help="the clone of the suite")
    add("--files", nargs="+", default=[], metavar="NAME", help="only these test files (parts of their names)")
    add("--max-examples", type=int, default=20, help="examples for each test")
    add("--seed", type=int, default=0, help="of the examples")
    add("--eager-below", default="65536", help="lazyarray's setting: 0 records and compiles everything")
    return parser.parse_args(argv)


def known_failures() -> set[str]:
    """The tests that NumPy fails too."""
    lines = [line.strip() for line in FAILS.read_text(encoding="utf-8").splitlines()]
    return {line for line in lines if line and not line.startswith("#")}


def outcomes(report: Path) -> Iterator[tuple[str, str]]:
    """Each test's name and outcome from pytest's report."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        yield f"{case.attrib['classname'].rpartition('.')[2]}.py::{case.attrib['name']}", outcome


def run(module: str, options: argparse.Namespace) -> dict[str, str]:
    """The outcome of every test of the suite on the module."""
    suite = options.folder.resolve()
    files = sorted((suite / "array_api_tests").glob("test_*.py"))
    chosen = [str(file) for file in files if not options.files or any(name in file.name for name in options.files)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", f"--junitxml={report}"]
        command += [f"--max-examples={options.max_examples}", f"--hypothesis-seed={options.seed}", "--disable-deadline"]
        paths = [str(ROOT), str(ROOT / "backends")]
        environment = {
            **os.environ,
            "ARRAY_API_TESTS_MODULE": module,
            "LAZYARRAY_EAGER_BELOW": options.eager_below,
            "PYTHONPATH": os.pathsep.join(paths),
        }
        done = subprocess.run(
            [*command, *chosen], cwd=suite, env=environment, capture_output=True, text=True, check=False
        )
        if not report.exists():
            raise SystemExit(done.stdout + done.stderr)
        return dict(outcomes(report))


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    found = {module: run(module, options) for module in ("numpy", "lazyarray")}
    known = known_failures()
    print("module        passed  failed  skipped  failed and not in fails.txt")
    failed = {}
    for module, results in found.items():
        counts = Counter(results.values())
        failed[module] = {name for name, outcome in results.items() if outcome == "failed"}
        new = len(failed[module] - known)
        print(f"{module:12} {counts['passed']:7} {counts['failed']:7} {counts['skipped']:8} {new:8}")
    for module, names in failed.items():
        for name in sorted(names - known):
            print(f"FAILED on {module}: {name}")
    unlike = {name for name, outcome in found["lazyarray"].items() if found["numpy"].get(name) != outcome}
    for name in sorted(unlike):
        print(f"{name}: {found['numpy'].get(name)} on NumPy, {found['lazyarray'][name]} on lazyarray")
    return 1 if failed["lazyarray"] - known else 0


if __name__ == "__main__":
    sys.exit(main())
