"""Owns what is compiled when the package is installed, for the CPU it is on: inner loops, and what moves elements.

Loops are those of transcendental functions: a program of small arrays that calls `exp` would else load LLVM in its
first run, and compile, a tenth of a second. And those of ops whose loops in NumPy take several times as long
(`ir/ops.py: QUICKER`, `QUICKER_SMALL`). They are used on a CPU that describes itself as the one they were made on, with
these very sources; else `eager.py` compiles the former, and NumPy's own run for the latter. Like the other modules'
compiled form (`lazyarray/native`) they are left out with `LAZYARRAY_NATIVE=0`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import source_hash
from typing import Any, Final

from lazyarray.runtime.cache import python_files
from lazyarray_llvm import hosts, image

FOLDER: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loops")
CODES: Final = ("f4", "f8", "c8", "c16")
_INDEX: Final = "index.txt"  # the CPU and the sources that the loops are for
_FILE: Final = ".image"
_fits: Final[dict[str, bool]] = {}  # by folder
_kept: Final[list[Any]] = image.outlive([])


def load(op: str, code: str, symbol: str, folder: str = FOLDER, number: bool = False) -> int:
    """The address of an op's loop for a dtype, or of that over a number; 0 where none is ready for this CPU."""
    found = find(_name(op, code, number), folder)
    return 0 if found is None else found.get_function_address(symbol)


def find(name: str, folder: str = FOLDER) -> image.Loaded | None:
    """What was compiled under a name, for as long as the process lives; None where nothing is ready for this CPU."""
    if not _fit(folder):
        return None
    try:
        packed = _read(os.path.join(folder, name + _FILE))
    except OSError:
        return None
    from lazyarray_llvm.engine import find_symbol

    found = image.unpack(packed)
    if not all(map(find_symbol, found.externals)):
        return None
    loaded = image.Loaded(found, find_symbol)
    _kept.append(loaded)
    return loaded


def _name(op: str, code: str, number: bool) -> str:
    return f"{op}.{code}{'.number' * number}"


def _fit(folder: str) -> bool:
    if os.environ.get("LAZYARRAY_NATIVE", "1") == "0":
        return False
    fits = _fits.get(folder)
    if fits is None:
        try:
            fits = _read(os.path.join(folder, _INDEX)).decode() == _made_for() and image.runs_here()
        except OSError:
            fits = False
        _fits[folder] = fits
    return fits


def _made_for() -> str:
    """This CPU, and the sources that loops are made by, as one digest; empty where the system does not describe it."""
    described = hosts.describe_cpu()
    if described is None:
        return ""
    sources = [_read(file) for file in sorted([entry.path for entry in python_files(os.path.dirname(FOLDER))])]
    return source_hash(b"\0".join([described.encode(), *sources])).hex()


def _read(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read()


def wanted() -> list[tuple[str, str, bool]]:
    """The loops that are made: op, dtype code, and whether the second operand is a number."""
    from lazyarray.ir.ops import OPS, QUICKER, QUICKER_SMALL
    from lazyarray_llvm.eager import eager_codes, number_codes, quicker_codes

    own = [op for op, row in OPS.items() if row.transcendental]
    loops = [(op, code, False) for op in own for code in eager_codes(op) if code in CODES]
    for op in sorted(QUICKER | QUICKER_SMALL):
        loops += [(op, code, False) for code in quicker_codes(op)]
        loops += [(op, code, True) for code in number_codes(op)]
    return loops


def _texts() -> Iterator[tuple[str, str]]:
    """Name and text of all that is made."""
    from lazyarray.ir.ops import OPS
    from lazyarray_llvm import engine, moves
    from lazyarray_llvm.inner_loops import inner_loop
    from lazyarray_llvm.moves.names import SIZES, module_name

    for op, code, number in wanted():
        yield _name(op, code, number), inner_loop(op, [code] * OPS[op].nin, code, number)
    for size in SIZES:
        yield module_name(size), moves.text(size, engine.host().vector_bytes)


def build(folder: str = FOLDER) -> int:
    """Compiles all loops for this machine's CPU into a folder; how many, 0 where objects have no images."""
    import shutil

    from lazyarray_llvm import engine

    shutil.rmtree(folder, ignore_errors=True)
    made_for = _made_for()
    if not made_for:
        return 0
    made = {}
    for name, text in _texts():
        generator = engine.engine().generator
        laid = image.lay_out(generator.generate(generator.parse(text, name)).code)
        if laid is None:
            return 0
        made[name] = laid.pack()
    os.makedirs(folder)
    for name, packed in made.items():
        with open(os.path.join(folder, name + _FILE), "wb") as file:
            file.write(packed)
    with open(os.path.join(folder, _INDEX), "w", encoding="utf-8") as index:
        index.write(made_for)
    return len(made)


if __name__ == "__main__":
    build()
