"""Kernels of every class compiled to cubins for three generations of GPUs, without one, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("triton") is None:
    pytest.skip("needs the optional dependency triton", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]


def compile_share(share: str, capabilities: str, cache: Path) -> list[dict[str, Any]]:
    """What `compile_kernels.py` reports. The interpreter's setting of this process must not reach it."""
    settings = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    settings |= {"TRITON_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "backends")))}
    settings["TRITON_DISABLE_LINE_INFO"] = "1"
    command = [sys.executable, str(ROOT / "tests/triton/compile_kernels.py"), share, capabilities]
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    report: list[dict[str, Any]] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("share", ["usual", "table", "others"])
def test_kernels_compile_and_approximate_nothing(share: str, tmp_path: Path) -> None:
    report = compile_share(share, "90" if share == "usual" else "80,90,100", tmp_path)
    assert all(row["bytes"] > 0 for row in report)
    assert [row for row in report if row["inexact"]] == []
    if share != "usual":
        assert {row["capability"] for row in report} == {80, 90, 100}
        return
    memory = {(row["name"], row["function"]): row["memory"] for row in report}
    for name in ("activation f4", "softmax rows", "layer norm"):
        assert "st.global.v4.b32" in memory[name, "kernel"], name
        assert any(w.startswith("ld.global") and w.endswith("v4.b32") for w in memory[name, "kernel"]), name
    # What is read once leaves the caches first. Rows of 1000 elements are no multiple of 16.
    assert "ld.global.L1::evict_first.L2::cache_hint.v4.b32" in memory["argmax rows", "kernel"]
    assert "ld.global.L1::evict_first.L2::cache_hint.v4.b32" in memory["column sum", "stage0"]
    assert {"ld.global.v2.b64", "st.global.v2.b64"} <= set(memory["activation f8", "kernel"])
    # The larger of two with NaN in mind is one instruction; whole tiles are read without a mask, in vectors.
    rows = {(row["name"], row["function"]): row for row in report}
    assert rows["statistics", "stage0"]["extremes"] >= 2 * 4
    assert any(w.startswith("ld.global") and w.endswith("v4.b32") for w in memory["statistics", "stage0"])


DUMP = """
import sys
from types import SimpleNamespace
from lazyarray.config import config
from lazyarray_triton.backend import Backend
from tests.triton import cases
from tests.triton.test_launcher import FakeDriver

class Driver(FakeDriver):
    def launch_kernel(self, *given):
        pass

device = SimpleNamespace(name="cuda:0", driver=Driver(), about=lambda: "no GPU")
launcher = Backend().compile_for(device, cases.activation("f4")).launcher((1000,), ((4,),) * 3, (4000,) * 3)
with config.set(dump=sys.argv[1]):
    launcher.start([16, 32, 48], [], [16, 32, 48], 0)
"""


@pytest.mark.parametrize("run", ["compiled", "found on disk"])
def test_a_dump_holds_triton_source_and_ptx(run: str, tmp_path: Path) -> None:
    settings = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    settings |= {"LAZYARRAY_CACHE_DIR": str(tmp_path / "cache"), "TRITON_CACHE_DIR": str(tmp_path / "triton")}
    settings["PYTHONPATH"] = os.pathsep.join((str(ROOT), str(ROOT / "backends")))
    for folder in ("first", "second") if run == "found on disk" else ("second",):
        command = [sys.executable, "-c", DUMP, str(tmp_path / folder)]
        done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr[-3000:]
    files = {file.name.split("-", 2)[2]: file.read_text() for file in (tmp_path / "second").iterdir()}
    assert sorted(files) == ["asm-kernel.ptx", "cache-compiled.txt", "kernels-triton.py"]
    assert "@triton.jit\ndef kernel(a0, a1, a2, n0" in files["kernels-triton.py"]
    assert ".visible .entry kernel(" in files["asm-kernel.ptx"]


def test_what_interpreted_tests_launch_is_compiled_by_a_command() -> None:
    # Within a worker of pytest-xdist, plugins of the pytest that the command runs would take it for one.
    others = ("TRITON_INTERPRET", "LAZYARRAY_TEST_DEVICE", "PYTEST_")
    settings = {k: v for k, v in os.environ.items() if not k.startswith(others)}
    settings["PYTHONPATH"] = os.pathsep.join((str(ROOT), str(ROOT / "backends")))
    chosen = ["tests/triton/test_interpreted_kernels.py", "-k", "test_elementwise_over_any_rank"]
    command = [sys.executable, "-m", "tests.triton.compile_all", "--targets", "90", "--jobs", "1", *chosen]
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " variants of 4 kernels for sm_90: " in done.stdout
    assert done.stdout.rstrip().endswith(", 0 failed")
