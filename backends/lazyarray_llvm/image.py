"""Owns machine code that needs no linker: an object file laid out as one image, and an image put into this process.

LLVM's linker comes with all of LLVM, which takes longer to load than most programs' kernels take to run. What kernels
leave to a linker is little: constants beside the code, and 8-byte addresses of both and of C functions. An object file
that asks for more (other machines' relocations, writable data) has no image, and LLVM links it.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import struct
import sys
from collections.abc import Callable
from typing import Any, Final

from lazyarray.records import NamedTuple

# System V ABI, AMD64 supplement: ELF for x86-64, and its relocation of 8 bytes to an address.
_IDENTITY: Final = b"\x7fELF\x02\x01\x01"
_X86_64: Final = 62
_ADDRESS_64: Final = 1
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QQq")
_CODE_OR_DATA, _SYMBOLS, _RELOCATIONS, _UNWINDING = 1, 2, 4, 0x70000001
_WRITABLE, _LOADED, _THREAD_LOCAL = 0x1, 0x2, 0x400


class Relocation(NamedTuple):
    """Eight bytes at `offset` that hold an address: that of a C function, or of the image, and `addend`."""

    offset: int
    name: str  # empty: the image's
    addend: int


class Image(NamedTuple):
    """Code and constants, where the module's own symbols are, and the addresses to write."""

    code: bytes
    symbols: dict[str, int]
    relocations: tuple[Relocation, ...]

    @property
    def externals(self) -> list[str]:
        """The C functions that it calls."""
        return sorted({r.name for r in self.relocations if r.name})

    def pack(self) -> bytes:
        """The image as bytes."""
        lines = [f"{name}\t{offset}" for name, offset in self.symbols.items()]
        moved = [f"{r.offset}\t{r.name}\t{r.addend}" for r in self.relocations]
        text = "\n".join([str(len(lines)), *lines, *moved]).encode()
        return len(text).to_bytes(4, "little") + text + self.code


def unpack(data: bytes) -> Image:
    """The image that `Image.pack` made bytes of."""
    size = int.from_bytes(data[:4], "little")
    count, *lines = data[4 : 4 + size].decode().split("\n")
    symbols = {name: int(offset) for name, offset in (line.split("\t") for line in lines[: int(count)])}
    moved = [line.split("\t") for line in lines[int(count) :]]
    return Image(data[4 + size :], symbols, tuple([Relocation(int(o), name, int(a)) for o, name, a in moved]))


def lay_out(code: bytes) -> Image | None:
    """The image of an object file; None where linking it takes more than an image can say."""
    if not code.startswith(_IDENTITY) or struct.unpack_from("<H", code, 18) != (_X86_64,):
        return None
    if not sys.platform.startswith("linux"):
        return None
    (start,) = struct.unpack_from("<Q", code, 40)
    (count,) = struct.unpack_from("<H", code, 60)
    sections = [_SECTION.unpack_from(code, start + i * _SECTION.size) for i in range(count)]
    places: dict[int, int] = {}
    image = bytearray()
    for number, (_, kind, flags, _, offset, size, _, _, align, _) in enumerate(sections):
        if not flags & _LOADED or not size or _is_unwinding(code, sections, number):
            continue
        if kind != _CODE_OR_DATA or flags & (_WRITABLE | _THREAD_LOCAL):
            return None
        image += bytes(-len(image) % max(align, 1))
        places[number] = len(image)
        image += code[offset : offset + size]
    names, symbols = _read_symbols(code, sections)
    relocations = []
    for _, kind, _, _, offset, size, _, target, _, _ in sections:
        if kind != _RELOCATIONS or target not in places:
            continue
        for at in range(offset, offset + size, _RELOCATION.size):
            place, what, addend = _RELOCATION.unpack_from(code, at)
            _, _, _, home, value, _ = symbols[what >> 32]
            if what & 0xFFFFFFFF != _ADDRESS_64 or (home and home not in places):
                return None
            name = "" if home else names[what >> 32]
            relocations.append(Relocation(places[target] + place, name, addend + (places[home] + value if home else 0)))
    own = {name: places[s[3]] + s[4] for name, s in zip(names, symbols, strict=True) if name and s[3] in places}
    return Image(bytes(image), own, tuple(relocations))


def _is_unwinding(code: bytes, sections: list[Any], number: int) -> bool:
    """Whether a section says how to unwind the stack, which nobody does through kernels."""
    if sections[number][1] == _UNWINDING:
        return True
    (own,) = struct.unpack_from("<H", code, 62)
    at = sections[own][4] + sections[number][0]
    return code[at : code.index(b"\0", at)] == b".eh_frame"


def _read_symbols(code: bytes, sections: list[Any]) -> tuple[list[str], list[Any]]:
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind == _SYMBOLS:
            symbols = [_SYMBOL.unpack_from(code, at) for at in range(offset, offset + size, _SYMBOL.size)]
            text = sections[link][4]
            return [code[text + s[0] : code.index(b"\0", text + s[0])].decode() for s in symbols], symbols
    return [], []


def make_executable(address: int, size: int) -> bool:
    """Turns pages from writable to executable (never both at once: systems that forbid that let this pass)."""
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return bool(protect(address, size, mmap.PROT_READ | mmap.PROT_EXEC) == 0)


@functools.cache
def runs_here() -> bool:
    """Whether this process may run code out of memory that it wrote."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return make_executable(ctypes.addressof(ctypes.c_char.from_buffer(memory)), mmap.PAGESIZE)


def outlive(items: list[Any]) -> list[Any]:
    """The list, which with all that it holds stays until the process ends.

    The interpreter clears its modules while the pool's threads still stand in code and memory that these hold.
    """
    if sys.implementation.name == "cpython":
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(items))
    return items


class Loaded:
    """An image in this process's memory, for as long as the object lives."""

    def __init__(self, image: Image, find: Callable[[str], int]) -> None:
        size = max(len(image.code), 1)
        self._memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._memory.write(image.code)
        for offset, name, addend in image.relocations:
            struct.pack_into("<q", self._memory, offset, (find(name) if name else self.base) + addend)
        if not make_executable(self.base, size):
            raise OSError("the system does not run code that is made at run time")
        self._symbols = image.symbols

    def get_function_address(self, name: str) -> int:
        """Where a symbol of the module is; 0 if it has none of this name."""
        offset = self._symbols.get(name)
        return 0 if offset is None else self.base + offset
