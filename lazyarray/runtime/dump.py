"""Owns debug output: each stage of an evaluation as text, on standard error or as files of a folder.

`LAZYARRAY_DEBUG` names the stages wanted; with `LAZYARRAY_DUMP` they go to numbered files there, all of them if none
is named.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from typing import Final

from lazyarray.config import DEBUG_STAGES, config

_number: Final = itertools.count(1)


def is_wanted(stage: str) -> bool:
    """True when somebody wants to read the stage."""
    assert stage in DEBUG_STAGES, stage
    return stage in config.debug or (config.dump is not None and not config.debug)


def show(stage: str, title: str, text: Callable[[], str], suffix: str = "txt") -> None:
    """Writes a stage's text, made only if it is wanted. `title` becomes part of the file's name."""
    if not is_wanted(stage):
        return
    if config.dump is None:
        print(f"--- {stage}: {title}\n{text()}", file=sys.stderr)
        return
    file = place(stage, title) + f".{suffix}"
    with open(file, "w", encoding="utf-8") as opened:
        opened.write(text() + "\n")


def saves_launches() -> bool:
    """True when the first launch of each kernel of a new plan is to be left in the dump, with its inputs."""
    return config.dump is not None and is_wanted("kernels")


def new_folder(stage: str, title: str) -> str:
    """A new folder of the dump."""
    folder = place(stage, title)
    os.mkdir(folder)
    return folder


def place(stage: str, title: str) -> str:
    """Where the next file or folder of the dump goes."""
    assert config.dump is not None
    os.makedirs(config.dump, exist_ok=True)
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in title)
    return os.path.join(config.dump, f"{os.getpid()}-{next(_number):05}-{stage}-{name}")
