"""What evaluations remember of the settings is what the settings are."""

from __future__ import annotations

import pytest

import lazyarray as np
from lazyarray.config import config
from lazyarray.runtime import running
from lazyarray.runtime.backend import load


def test_a_backend_that_is_set_is_the_one_that_runs() -> None:
    x = np.ones(1 << 17)
    for backend, kernels in (("numpy", 0), (config.backend, 1), ("numpy", 0)):
        with np.config.set(backend=backend), np.record_runs() as runs:
            np.evaluate(x * 2.0)
        assert len(runs.kernels) == kernels


def test_settings_that_change_while_they_are_worked_out_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = running.Settings()
    answers = ["llvm", "numpy"]

    def current() -> object:
        found = load(answers.pop(0))
        if answers:
            settings.forget()  # somebody sets `config.backend` at this moment
        return found

    monkeypatch.setattr(running, "current", current)
    assert settings.work_out().name == "numpy"
    assert settings.backend.name == "numpy"
    assert not settings.home
