"""Owns the share of NumPy's suite that the project's own tests run, and the list of what is known to fail in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy

from tests.numpy_compat import run, suite

KNOWN: Final = suite.HERE / "known_failures.txt"

_UFUNC: Final = """
    TestUfuncKwargs TestUfunc::test_sum TestUfunc::test_sum_where TestUfunc::test_broadcast TestUfunc::test_where_param
    TestUfunc::test_reduction_with_where_and_initial TestUfunc::test_casting_out_param TestUfunc::test_axes_argument
    TestUfunc::test_reduce_arguments TestUfunc::test_output_argument TestUfunc::test_reduce_noncontig_output
    """
_UMATH: Final = """
    TestDivision TestDivisionIntegerOverflowsAndDivideByZero TestPower TestRemainder TestMinMax TestMaximum
    TestLogAddExp2 TestSpecialMethods
    """
# Files that cover much and run for a few seconds; of the largest ones, the named classes and functions.
FILES: Final[dict[str, str]] = {
    "numpy/_core/tests/test_indexing.py": "",
    "numpy/_core/tests/test_nep50_promotions.py": "",
    "numpy/_core/tests/test_shape_base.py": "",
    "numpy/_core/tests/test_function_base.py": "",
    "numpy/_core/tests/test_umath.py": _UMATH,
    "numpy/_core/tests/test_ufunc.py": _UFUNC,
    "numpy/_core/tests/test_numeric.py": "TestNonzero TestRoll TestCross TestStdVar TestIsclose",
    "numpy/lib/tests/test_index_tricks.py": "",
    "numpy/lib/tests/test_stride_tricks.py": "",
    "numpy/lib/tests/test_histograms.py": "TestHistogram",
}
FLOOR: Final = 97.0  # percent of cases, on versions of NumPy that the list does not name

_HEAD: Final = """\
# Tests of the share (share.py) that fail: modes, test, two spaces, # and the cause.
# Whoever mends a cause takes its lines out; `python -m tests.numpy_compat --fast --mode all --write-known` does too.
"""


def this_numpy() -> str:
    """The installed NumPy's major and minor version."""
    return ".".join(numpy.__version__.split(".")[:2])


def known_versions() -> list[str]:
    """The versions of NumPy that the list is of."""
    named = re.search(r"^NumPy (.*)$", KNOWN.read_text(encoding="utf-8"), re.MULTILINE)
    assert named is not None
    return named[1].split()


def known_failures() -> dict[str, dict[str, str]]:
    """For each mode, the tests that are known to fail and why."""
    found: dict[str, dict[str, str]] = {mode: {} for mode in suite.MODES}
    for line in suite.read_lines(KNOWN.name):
        if line.startswith("NumPy "):
            continue
        entry, _, cause = (part.strip() for part in line.partition("  #"))
        modes, _, test = entry.partition(" ")
        if not cause:
            raise ValueError(f"{KNOWN.name}: no cause for {test}")
        for mode in modes.split(","):
            found[mode][test.strip()] = cause
    return found


def write_known(totals: Mapping[str, run.Total]) -> None:
    """Writes the list as found; a cause that somebody wrote down stays."""
    stopped = [result.file for total in totals.values() for result in total.results if result.stopped]
    if stopped:
        raise SystemExit(f"not written: these files did not run to their end: {' '.join(stopped)}")
    before = {test: cause for tests in known_failures().values() for test, cause in tests.items()}
    failed: dict[str, tuple[list[str], str]] = {}
    for mode, total in totals.items():
        for result in total.results:
            for test, cause in result.failed.items():
                failed.setdefault(test, ([], cause))[0].append(mode)
    lines = [f"{','.join(modes)} {test}  # {before.get(test, cause[:100])}" for test, (modes, cause) in failed.items()]
    KNOWN.write_text("\n".join([_HEAD, f"NumPy {this_numpy()}", *sorted(lines), ""]), encoding="utf-8")
