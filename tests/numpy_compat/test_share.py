"""NumPy's own tests, a share of them in each mode: what fails is known, and what is known fails."""

from __future__ import annotations

import pytest

from tests.numpy_compat import run, share, suite

JOBS = 2


@pytest.mark.parametrize("mode", suite.MODES)
def test_numpys_tests_fail_where_it_is_known(mode: str) -> None:
    total = run.Total(list(run.run_mode(mode, share.FILES, JOBS)))
    assert total.cases[1] > 700
    if share.this_numpy() not in share.known_versions():
        assert run.percent(total.cases) >= share.FLOOR, total.causes()[:10]
        return
    known = share.known_failures()[mode]
    failed = {test: cause for result in total.results for test, cause in result.failed.items()}
    assert {test: cause for test, cause in failed.items() if test not in known} == {}
    assert sorted(test for test in known if test not in failed) == []
