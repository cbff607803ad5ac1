"""A dumped launch runs again on its saved inputs and is compared with the NumPy interpreter."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

import lazyarray as np
from lazyarray.inspect.__main__ import main
from lazyarray.inspect.replay import replay, run
from lazyarray.runtime import saved
from lazyarray.runtime.running import plans


def elementwise() -> np.ndarray:
    x = np.asarray(numpy.random.default_rng(0).random((60, 101)))
    return (x * 3.5 + 1.0).T - 2.0


def softmax() -> np.ndarray:
    x = np.asarray(numpy.random.default_rng(0).random((60, 101), dtype="f4"))
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def update() -> np.ndarray:
    x = np.evaluate(np.asarray(numpy.random.default_rng(0).random((60, 101))) + 0.0)
    x[1:-1] += x[1:-1] * 0.25
    return x


def stencil() -> np.ndarray:
    x = np.evaluate(np.asarray(numpy.random.default_rng(0).random((60, 101))) + 0.0)
    x[1:] = np.roll(x, 3, axis=1)[:-1] * 2.0
    return x


def selection() -> np.ndarray:
    x = np.evaluate(np.asarray(numpy.arange(6000)) * 7)
    return (x + 3)[x % 2 == 0]


def gather() -> np.ndarray:
    x = np.evaluate(np.asarray(numpy.random.default_rng(0).random(6000)) + 0.0)
    return x[np.asarray(numpy.arange(5999, 0, -1))] * 2.0


def scatter() -> np.ndarray:
    x = np.evaluate(np.asarray(numpy.zeros(6000)) + 0.0)
    x[np.asarray(numpy.arange(0, 6000, 3))] = np.evaluate(np.ones(2000)) * 5.0
    return x


def running() -> np.ndarray:
    return (np.asarray(numpy.arange(6000.0)) * 0.5).cumsum() + 1.0


def complex_scalar() -> np.ndarray:
    return np.asarray(numpy.arange(6000) + 1j) * (2 + 3j)


def dump(program, folder: Path) -> numpy.ndarray:  # type: ignore[no-untyped-def]
    with np.config.set(eager_below=0):
        x = program()
        plans.clear()
        with np.config.set(dump=str(folder)):
            np.evaluate(x)
        return numpy.asarray(x)


def launches(folder: Path) -> list[Path]:
    return sorted(inner for inner in folder.iterdir() if inner.is_dir())


PROGRAMS = (elementwise, softmax, update, stencil, selection, gather, scatter, running, complex_scalar)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_kind_of_kernel_runs_again_and_agrees(program, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    dump(program, tmp_path)
    lines, agree = replay(tmp_path)
    assert agree, lines
    assert any("output" in line for line in lines)


def test_a_replay_gives_the_dumped_launches_results(tmp_path: Path) -> None:
    result = dump(update, tmp_path)
    (ours,) = run(saved.Saved.load(launches(tmp_path)[-1]))
    assert numpy.array_equal(ours, result)


def test_a_difference_is_found_and_placed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump(elementwise, tmp_path)
    (folder,) = launches(tmp_path)
    found = saved.Saved.load(folder)
    entries = [
        e._replace(attr=("add", e.attr[1])) if e.attr and e.attr[0] == "subtract" else e for e in found.plan.entries
    ]
    saved.Saved(replace(found.plan, scheduled=tuple(entries)), found.values).save(folder, "")
    assert main(["replay", str(folder)]) == 1
    assert "DIFFERS: 6060 of 6060 elements are not NumPy's" in capsys.readouterr().out


def test_the_command_runs_a_whole_dump(tmp_path: Path) -> None:
    script = "import lazyarray as np; np.evaluate(np.sqrt(np.arange(1e5))); np.evaluate(np.arange(1e5) + 1)"
    environment = {"LAZYARRAY_DUMP": str(tmp_path), **os.environ}
    subprocess.run([sys.executable, "-c", script], env=environment, timeout=60, check=True)
    command = [sys.executable, "-m", "lazyarray.inspect", "replay", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("equal to NumPy's, bit for bit") == 2
    folder = launches(tmp_path)[0]
    assert "define void @kernel" in (folder / "source.txt").read_text()
    assert "parallel for" in (folder / "kernel.txt").read_text()


def test_a_folder_with_other_objects_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "plan.pickle").write_bytes(pickle.dumps((print, [])))
    with pytest.raises(pickle.UnpicklingError, match="print is no part of a saved launch"):
        replay(tmp_path)


def test_inputs_beyond_the_limit_are_left_out_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "LARGEST", 1000)
    dump(elementwise, tmp_path)
    (folder,) = launches(tmp_path)
    assert "48480 bytes of inputs" in (folder / "not-saved.txt").read_text()


def test_a_folder_without_anything_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path)]) == 2
    assert "holds no replay" in capsys.readouterr().err
    assert main(["play"]) == 2
