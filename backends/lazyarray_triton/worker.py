"""Owns the processes that compile: one that holds Triton in memory, and is forked into those that answer jobs.

They are another process's (`workers.py`), and import Triton and the functions that kernels are made of, nothing else.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import pickle
import select
import signal
import socket
from pathlib import Path
from typing import Any, BinaryIO, Final

from lazyarray_triton.compiler import Job, compile_job

_ORPHANED: Final = 60.0  # seconds without being asked after which a process ends, whether or not the other is there


class Refused(Exception):
    """What the compiler said to a job, in another process."""


def answer_to(job: Job) -> Any:
    """A binary, or what the compiler said."""
    try:
        return compile_job(job)
    except Exception as error:
        return Refused(f"{type(error).__name__}: {error}")


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answers jobs until there are no more; the next one comes when the last is answered."""
    with contextlib.suppress(EOFError, OSError):  # who asked has ended
        while select.select([jobs], [], [], _ORPHANED)[0]:
            pickle.dump(answer_to(pickle.load(jobs)), answers)
            answers.flush()


# Something to compile, so that processes which are forked find in memory what every kernel needs.
_FIRST: Final = Job(
    text="""import triton
import triton.language as tl


@triton.jit
def kernel(a, INDEX: tl.constexpr):
    tl.store(a, tl.sum(tl.exp(tl.load(a + tl.arange(0, 32))), 0))
""",
    function="kernel",
    signature=(("a", "*fp32"), ("INDEX", "constexpr")),
    constants=(),
    integers="i32",
    aligned=(),
    warps=4,
    registers=0,
    capability=90,
)


def _prepare() -> None:
    """What every kernel needs, once for all processes."""
    import triton.runtime.cache

    for path in sorted((Path(__file__).parent / "device").glob("[a-z]*.py")):
        importlib.import_module(f"lazyarray_triton.device.{path.stem}")
    # Triton names itself by the contents of all of its files, which takes longer to read than most kernels to compile.
    # That is for its own cache, where these processes' kernels have names of their own.
    if hasattr(triton.runtime.cache, "triton_key"):
        name = f"lazyarray {importlib.metadata.version('triton')}"
        triton.runtime.cache.triton_key = lambda: name
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.always_compile = True
        answer_to(_FIRST)


def main() -> None:
    """The process that is forked, for each socket that its standard input hands it."""
    os.dup2(2, 1)  # what is printed is nobody's answer
    control = socket.socket(fileno=0)
    control.settimeout(_ORPHANED)
    try:
        _prepare()
    except Exception:
        return  # who asked compiles by itself then, and meets the same
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with contextlib.suppress(TimeoutError, OSError):
        while True:
            asked, given, _, _ = socket.recv_fds(control, 1, 1)
            if not asked:
                return
            if not os.fork():
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                control.close()
                with open(given[0], "rb", closefd=False) as jobs, open(given[0], "wb") as answers:
                    serve(jobs, answers)
                os._exit(0)
            os.close(given[0])
