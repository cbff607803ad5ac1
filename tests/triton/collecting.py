"""A plugin for pytest: notes every variant of every kernel that the tests launch under the interpreter.

They go to the folder that LAZYARRAY_COLLECT names, a file for each process (see `compile_all`).
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import tests.triton.interpreter as interpreter
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_triton import launch, model
from lazyarray_triton.emit import emit

_run = interpreter.launch
_found: dict[Any, Any] = {}


def _note(kernel: Kernel, binding: Binding, guess: model.Guess | None, origins: Any, watched: str) -> None:
    shift = launch.shift_of(kernel, binding)
    guess = guess or model.guess(kernel, binding.extents, shifted=shift > 0, watched=watched != "")
    source = emit(kernel, guess.form, watched)  # type: ignore[arg-type]
    plan = launch.plan_launches(source, binding.extents, guess, shift)
    index = launch.choose_index(plan, binding)
    for step in plan.steps:
        values = launch.arguments(plan, step, binding, [512] * len(source.works), origins)
        made = launch.variant(step, index, values)
        _found[source.text, made] = (kernel, guess.form, watched, made)


def _launch(
    kernel: Kernel,
    binding: Binding,
    guess: model.Guess | None = None,
    origins: Any = None,
    watched: str = "",
    flags: Any = None,
) -> Any:
    if not any(n == 0 for n, role in zip(binding.extents, kernel.roles, strict=True) if role == "p"):
        _note(kernel, binding, guess, origins, watched)
    return _run(kernel, binding, guess, origins, watched, flags)


interpreter.launch = _launch


def pytest_sessionfinish(session: pytest.Session) -> None:
    folder = Path(os.environ["LAZYARRAY_COLLECT"])
    (folder / f"{os.getpid()}.pickle").write_bytes(pickle.dumps(list(_found.values())))
