"""`python -m lazyarray doctor` tells the state of an installation; with a script, where its time went."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lazyarray import native
from lazyarray.inspect import doctor
from lazyarray.native import INDEX, find_compiled
from lazyarray_triton.backend import Backend


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lazyarray", "doctor", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_working_installation_passes() -> None:
    text, works = doctor.diagnose()
    assert works
    for words in ("llvmlite", "llvm (in use): CPU", "eager_below = 4096", "softmax: equal"):
        assert words in text


def test_a_backend_that_does_not_load_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.config.__class__, "backend", "missing", raising=False)
    assert any("missing (in use) does not load: BackendError: no backend called" in line for line in doctor.backends())


def test_a_backend_whose_package_is_missing_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(doctor, "entry_points", lambda group: [EntryPoint("triton", "", group)])
    monkeypatch.setattr(doctor.backend, "load", lambda name: Backend())
    assert "triton does not load: BackendError: it needs the package triton" in "\n".join(doctor.backends())


def test_a_difference_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_programs", lambda: {"wrong": lambda np: np.__name__ == "numpy"})
    text, works = doctor.diagnose()
    assert not works
    assert "wrong: DIFFERS" in text


def test_a_script_is_run_and_profiled(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import numpy as np\nx = np.arange(10000.0) * 2\nprint(np.median(np.sin(x)) < 1)\n")
    done = run(str(script))
    assert done.stdout == "True\n"
    assert "script.py:3" in done.stderr
    assert "kernels and calls" in done.stderr


def test_a_script_is_told_what_kept_it_from_being_faster(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "x = np.linspace(0.0, 1.0, 100_000)\n"
        "for step in range(12):\n"
        "    x = np.sort(x * 0.5)\n"
        "    if x.sum() < 0:\n"
        "        break\n"
        "print(np.choose((x > 0.1).astype(int), [x, -x]).shape)\n"
    )
    done = run(str(script))
    assert done.returncode == 0, done.stderr
    told = done.stderr.partition("what kept it from being faster:\n")[2]
    assert "sort ran in NumPy, 12 times [9.2 MiB]: it is not compiled" in told
    assert f"{script}:4  x = np.sort(x * 0.5)" in told
    assert "early evaluation, 12 times: asked for" in told
    assert f"{script}:5  if x.sum() < 0:" in told
    assert "to avoid it: np.select, or np.where" in told


def test_the_form_of_the_hot_modules_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.native, "COMPILED", {"lazyarray.ir.node": Path("node.so")})
    assert next(iter(doctor.hot_modules())).startswith("1 run compiled, from ")
    monkeypatch.setattr(doctor.native, "COMPILED", {})
    monkeypatch.setattr(doctor.native, "WHY_PYTHON", "LAZYARRAY_NATIVE is 0")
    assert next(iter(doctor.hot_modules())).endswith(": LAZYARRAY_NATIVE is 0")


def test_why_the_hot_modules_run_as_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAZYARRAY_NATIVE", raising=False)
    assert "were not compiled when the package was installed" in find_compiled(str(tmp_path))[1]
    index = tmp_path / INDEX
    index.write_text("cpython-27\n")
    assert find_compiled(str(tmp_path))[1].startswith("they were compiled for cpython-27")
    index.write_text(f"{sys.implementation.cache_tag}\nlazyarray.ir.node\tnode.so\tof another source\n")
    assert find_compiled(str(tmp_path)) == ({}, "files of lazyarray.ir.node are missing")
    (tmp_path / "node.so").touch()
    assert find_compiled(str(tmp_path)) == ({}, "lazyarray.ir.node has changed since they were compiled")


def test_digests_of_sources_are_taken_once_for_each_time_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAZYARRAY_NATIVE", raising=False)
    source = Path(native.__file__).parents[1] / "ir" / "node.py"
    taken: list[str] = []
    digest_of = native.digest_of
    monkeypatch.setattr(native, "digest_of", lambda file: taken.append(file) or digest_of(file))
    (tmp_path / "node.so").touch()
    index = f"{sys.implementation.cache_tag}\nlazyarray.ir.node\tnode.so\t"
    (tmp_path / INDEX).write_text(f"{index}{digest_of(str(source))}\n")
    for _ in range(3):
        assert find_compiled(str(tmp_path)) == ({"lazyarray.ir.node": str(tmp_path / "node.so")}, "")
    assert taken == [str(source)]
    monkeypatch.setattr(native, "_stamp", lambda file: "another time")
    assert find_compiled(str(tmp_path))[0]
    assert len(taken) == 2
    (tmp_path / INDEX).write_text(f"{index}of another source\n")
    assert find_compiled(str(tmp_path)) == ({}, "lazyarray.ir.node has changed since they were compiled")
    monkeypatch.setenv("LAZYARRAY_NATIVE", "0")
    assert find_compiled(str(tmp_path)) == ({}, "LAZYARRAY_NATIVE is 0")


def test_a_device_that_does_not_open_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("nowhere", "lazyarray_nowhere:Device", doctor.device.GROUP)
    monkeypatch.setattr(doctor, "entry_points", lambda group: [point])
    assert list(doctor.devices())[1].startswith("nowhere does not open: BackendError: no device called 'nowhere'")


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel.entry").write_bytes(b"1234")
    monkeypatch.setattr(doctor.os, "access", lambda *args: False)
    with doctor.config.set(cache_dir=str(tmp_path)):
        assert list(doctor.cache()) == [
            f"{tmp_path}: 1 files, 4 B",
            "it cannot be written: every process compiles anew what is not there",
        ]
