"""Owns the C slots through which CPython asks a class written in Python for its memory (`bf_getbuffer`).

Python code can answer such requests from 3.12 on only (`__buffer__`), and then cannot tell who asks. NumPy asks every
object that it converts for its buffer before it looks at `__array__`, and what it reads out of a buffer is less than
what `__array__` gives it: another array object each time, and dtypes without titles, alignment or metadata. So the
slots are filled with a few instructions that send NumPy on to `__array__`, and answer everybody else with the buffer
of the NumPy array that a Python function makes of the object. In C:

    int slot(PyObject *self, Py_buffer *view, int flags)
    {
        char *entry = stack pointer at entry;
        table.entry = entry;
        if (return address == table.site && *(uintptr_t *)(entry + table.depth) - table.low < table.length) {
            PyErr_SetNone(table.error);                   // NumPy takes any error for "no buffer"
            goto fail;
        }
        PyObject *array = PyObject_CallOneArg(table.export, self);
        if (array == NULL)
            goto fail;
        int result = PyObject_GetBuffer(array, view, flags);
        if (result == 0) {
            view->internal = view->obj;                   // the array, for as long as the view is in use
            view->obj = self;                             // what `memoryview.obj` shows
            Py_IncRef(self);
        }
        Py_DecRef(array);
        return result;
    fail:
        view->obj = NULL;
        return -1;
    }

    void release(PyObject *self, Py_buffer *view) { Py_DecRef(view->internal); }

NumPy's own exports set `internal` too, and never read it. A callback of ctypes cannot do this: it returns with no
exception set. Whether NumPy asks for a conversion is read off the stack: `site` is where `PyMemoryView_FromObject`
calls `PyObject_GetBuffer`, `depth` is how far up its own return address lies, and `low` and `length` say what that is
where NumPy converts (elsewhere, as in `frombuffer`, it means what it asks). A probe finds these for the running
interpreter, and other probes check them; nothing is installed where one of them disagrees.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from lazyarray.records import NamedTuple

# The functions above for the System V calling convention of x86-64. `release` lies 256 bytes after the beginning of
# `slot`, the table 512.
#
#  slot: endbr64                       serve: mov  rdi, [rbx + 56]     # export
#        push rbx                             mov  rsi, rbp
#        push rbp                             call [rbx + 64]          # PyObject_CallOneArg
#        push r12                             test rax, rax
#        push r13                             je   fail
#        push r14                             mov  r14, rax
#        mov  rbp, rdi                        mov  rdi, rax
#        mov  r12, rsi                        mov  rsi, r12
#        mov  r13d, edx                       mov  edx, r13d
#        lea  rbx, [rip + slot + 512]         call [rbx + 72]          # PyObject_GetBuffer
#        lea  rax, [rsp + 40]                 mov  r13d, eax
#        mov  [rbx], rax       # entry        test eax, eax
#        mov  rcx, [rbx + 8]   # site         jne  drop
#        cmp  [rax], rcx                      mov  rax, [r12 + 8]      # view->obj
#        jne  serve                           mov  [r12 + 72], rax     # view->internal
#        mov  rcx, [rbx + 16]  # depth        mov  [r12 + 8], rbp
#        mov  rdx, [rax + rcx]                mov  rdi, rbp
#        sub  rdx, [rbx + 24]  # low          call [rbx + 80]          # Py_IncRef
#        cmp  rdx, [rbx + 32]  # length drop: mov  rdi, r14
#        jae  serve                           call [rbx + 88]          # Py_DecRef
#        mov  rdi, [rbx + 40]  # error        mov  eax, r13d
#        call [rbx + 48]       # SetNone      jmp  done
#        jmp  fail                      fail: mov  qword ptr [r12 + 8], 0
#                                             mov  eax, -1
#  release: endbr64                     done: pop r14; pop r13; pop r12; pop rbp; pop rbx
#           mov  rdi, [rsi + 72]              ret
#           jmp  [rip + slot + 600]
_X86_64: Final = bytes.fromhex(
    "f30f1efa53554154415541564889fd4989f44189d5488d1de4010000488d442428488903488b4b08483908751b488b4b10488b1408482b53"
    "18483b53207309488b7b28ff5330eb45488b7b384889eeff53404885c074364989c64889c74c89e64489eaff53484189c585c07515498b44"
    "2408498944244849896c24084889efff53504c89f7ff53584489e8eb0e49c744240800000000b8ffffffff415e415d415c5d5bc3"
)
_X86_64_RELEASE: Final = bytes.fromhex("f30f1efa488b7e48ff254a010000")

# The same for AArch64's, where the return address is in x30 at entry (and then 56 bytes below it on the stack).
#
#  slot: hint #34                       serve: ldr  x0, [x19, #56]     // export
#        stp  x29, x30, [sp, #-64]!            mov  x1, x20
#        mov  x29, sp                          ldr  x9, [x19, #64]     // PyObject_CallOneArg
#        stp  x19, x20, [sp, #16]              blr  x9
#        stp  x21, x22, [sp, #32]              cbz  x0, fail
#        str  x23, [sp, #48]                   mov  x23, x0
#        mov  x20, x0                          mov  x1, x21
#        mov  x21, x1                          mov  w2, w22
#        mov  w22, w2                          ldr  x9, [x19, #72]     // PyObject_GetBuffer
#        adr  x19, slot + 512                  blr  x9
#        add  x9, sp, #64                      mov  w22, w0
#        str  x9, [x19]        // entry        cbnz w0, drop
#        ldr  x10, [x19, #8]   // site         ldr  x9, [x21, #8]      // view->obj
#        cmp  x30, x10                         str  x9, [x21, #72]     // view->internal
#        b.ne serve                            str  x20, [x21, #8]
#        ldr  x10, [x19, #16]  // depth        mov  x0, x20
#        ldr  x11, [x9, x10]                   ldr  x9, [x19, #80]     // Py_IncRef
#        ldr  x10, [x19, #24]  // low          blr  x9
#        sub  x11, x11, x10             drop:  mov  x0, x23
#        ldr  x10, [x19, #32]  // length       ldr  x9, [x19, #88]     // Py_DecRef
#        cmp  x11, x10                         blr  x9
#        b.hs serve                            mov  w0, w22
#        ldr  x0, [x19, #40]   // error        b    done
#        ldr  x9, [x19, #48]   // SetNone fail: str xzr, [x21, #8]
#        blr  x9                               mov  w0, #-1
#        b    fail                      done:  ldp  x19, x20, [sp, #16]
#                                              ldp  x21, x22, [sp, #32]
#  release: hint #34                           ldr  x23, [sp, #48]
#           ldr  x0, [x1, #72]                 ldp  x29, x30, [sp], #64
#           ldr  x9, slot + 600                ret
#           br   x9
_AARCH64: Final = bytes.fromhex(
    "5f2403d5fd7bbca9fd030091f35301a9f55b02a9f71b00f9f40300aaf50301aaf603022af30e0010e9030191690200f96a0640f9df030aeb"
    "810100546a0a40f92b696af86a0e40f96b010acb6a1240f97f010aeba2000054601640f9691a40f920013fd618000014601e40f9e10314aa"
    "692240f920013fd6600200b4f70300aae10315aae203162a692640f920013fd6f603002ae0000035a90640f9a92600f9b40600f9e00314aa"
    "692a40f920013fd6e00317aa692e40f920013fd6e003162a03000014bf0600f900008012f35341a9f55b42a9f71b40f9fd7bc4a8c0035fd6"
)
_AARCH64_RELEASE: Final = bytes.fromhex("5f2403d5202440f9890a005820011fd6")


class _Machine(NamedTuple):
    code: bytes
    release: bytes
    site_at: int  # where the return address is found after entry, relative to the stack pointer at entry


_AMD: Final = _Machine(_X86_64, _X86_64_RELEASE, 0)
_ARM: Final = _Machine(_AARCH64, _AARCH64_RELEASE, -56)
_MACHINES: Final = {"x86_64": _AMD, "amd64": _AMD, "aarch64": _ARM, "arm64": _ARM}

RELEASE: Final = 256  # from the beginning of the code to `release`
ROOM: Final = 512  # and to the table
FIELDS: Final = (
    "entry",
    "site",
    "depth",
    "low",
    "length",
    "error",
    "set_error",
    "export",
    "call",
    "get_buffer",
    "hold",
    "drop",
)
_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
_SEEN: Final = 48  # words of stack that a probe looks at: both functions together need about fifteen

# Offsets in PyTypeObject (CPython's Include/cpython/object.h), the same in all releases from 3.8 to 3.14.
_NAME, _BASICSIZE, _ITEMSIZE, _BUFFER, _FLAGS = 24, 32, 40, 160, 168


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


class Slot:
    """The functions in executable memory, and their table in writable memory on the page after."""

    def __init__(self, machine: _Machine, export: Callable[[Any], Any]) -> None:
        page = mmap.PAGESIZE
        self.memory = mmap.mmap(-1, 2 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.address = start + page - ROOM
        self.table = start + page
        for at, code in ((page - ROOM, machine.code), (page - ROOM + RELEASE, machine.release)):
            self.memory[at : at + len(code)] = code
        self.export = export
        api = ctypes.pythonapi
        self["error"] = id(BufferError)
        self["export"] = id(export)
        for field, function in (
            ("set_error", api.PyErr_SetNone),
            ("call", api.PyObject_CallOneArg),
            ("get_buffer", api.PyObject_GetBuffer),
            ("hold", api.Py_IncRef),
            ("drop", api.Py_DecRef),
        ):
            self[field] = ctypes.cast(function, ctypes.c_void_p).value or 0
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        if protect(start, page, mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "memory cannot be made executable")

    def fill(self, place: int) -> None:
        """Makes the functions those of the class whose slots lie at `place`."""
        ctypes.c_size_t.from_address(place).value = self.address
        ctypes.c_size_t.from_address(place + _WORD).value = self.address + RELEASE

    def __getitem__(self, field: str) -> int:
        return _word(self.table + FIELDS.index(field) * _WORD)

    def __setitem__(self, field: str, value: int) -> None:
        ctypes.c_size_t.from_address(self.table + FIELDS.index(field) * _WORD).value = value


def _place_of(cls: Any) -> int:
    """Where the class keeps `bf_getbuffer`; raises LookupError where the layout is not the one that is known."""
    for known in (cls, _Plain, int, bytes, bytearray):
        at = id(known)
        fields = (_word(at + _BASICSIZE), _word(at + _ITEMSIZE), _word(at + _FLAGS))
        if fields != (known.__basicsize__, known.__itemsize__, known.__flags__):
            raise LookupError("PyTypeObject")
        name = ctypes.c_char_p.from_address(at + _NAME).value
        if name is None or (name.decode() != type.__dict__["__name__"].__get__(known) and known is not cls):
            raise LookupError("tp_name")
    once, twice = _word(id(bytes) + _BUFFER), _word(id(bytearray) + _BUFFER)
    if _word(id(int) + _BUFFER) or not once or not twice:
        raise LookupError("tp_as_buffer")
    # bytes export without anything to release, a bytearray counts its exports.
    if not _word(once) or _word(once + _WORD) or not _word(twice) or not _word(twice + _WORD):
        raise LookupError("PyBufferProcs")
    found = _word(id(cls) + _BUFFER)
    if not id(cls) < found < id(cls) + type(cls).__basicsize__ or found % _WORD:
        raise LookupError("as_buffer")  # of PyHeapTypeObject, which the class is
    return found


class _Plain:
    pass


# What was installed, by class.
SLOTS: Final[dict[type, Slot]] = {}


def _code_of_numpy() -> list[tuple[int, int]]:
    """Address and length of what is mapped executable of NumPy's core."""
    name = np._core._multiarray_umath.__file__  # type: ignore[attr-defined]
    found = []
    with open("/proc/self/maps") as lines:
        for line in lines:
            parts = line.split(maxsplit=5)
            if len(parts) == 6 and parts[5].rstrip("\n") == name and "x" in parts[1]:
                low, high = (int(part, 16) for part in parts[0].split("-"))
                found.append((low, high - low))
    return found


def _is_return_address(address: int, machine: _Machine) -> bool:
    """True where a call ends right before the address."""
    before = ctypes.string_at(address - 6, 6)
    if machine is _ARM:
        word = int.from_bytes(before[2:], "little")
        return word >> 26 == 0b100101 or word & 0xFFFFFC1F == 0xD63F0000
    return before[1] == 0xE8 or before[:2] == b"\xff\x15" or (before[4] == 0xFF and before[5] & 0xF8 == 0xD0)


def _conversions(probe: Any) -> Iterator[Callable[[], Any]]:
    """Ways in which NumPy converts an object."""
    into = np.empty((1, 1), np.int8)
    yield lambda: np.asarray(probe)
    yield lambda: np.array([[probe]])
    yield lambda: into.__setitem__(0, probe)
    yield lambda: np.concatenate((probe, probe))
    yield lambda: np.add(probe, 1)


def _calibrate(slot: Slot, probe: Any, seen: list[tuple[int, bytes]], machine: _Machine) -> None:
    """Finds how to tell conversions from other requests; raises LookupError where they cannot be told."""
    code = _code_of_numpy()
    if len(code) != 1:
        raise LookupError("NumPy's code")
    low, length = code[0]
    for convert in _conversions(probe):
        convert()
    sites, depths, callers = set(), set(), []
    for site, stack in seen:
        words = [int.from_bytes(stack[at : at + _WORD], sys.byteorder) for at in range(0, len(stack), _WORD)]
        found = [k for k, word in enumerate(words) if 0 <= word - low < length and _is_return_address(word, machine)]
        if not found:
            raise LookupError("the caller")
        sites.add(site)
        depths.add(found[0] * _WORD)
        callers.append(words[found[0]])
    if len(sites) != 1 or len(depths) != 1:
        raise LookupError("the stack")
    slot["site"], slot["depth"], slot["low"] = sites.pop(), depths.pop(), min(callers)
    slot["length"] = max(callers) - min(callers) + 1
    for other in (memoryview, bytes, bytearray, lambda probe: np.frombuffer(probe, np.int8)):
        for convert in _conversions(probe):
            seen.clear()
            convert()
            if seen:
                raise LookupError("conversions are not told")
            if bytes(other(probe)) != b"\x07":
                raise LookupError("others are taken for conversions")


def install(classes: tuple[type, ...], export: Callable[[Any], Any]) -> bool:
    """Makes instances of the classes export the buffer of what `export` makes of them; False where that cannot be."""
    machine = _MACHINES.get(platform.machine().lower())
    if sys.platform != "linux" or sys.implementation.name != "cpython" or _WORD != 8 or machine is None:
        return False
    try:
        places = [_place_of(cls) for cls in classes]
        slot = _tried(machine, export)
    except (LookupError, OSError, ValueError, AttributeError):
        return False
    for cls, place in zip(classes, places, strict=True):
        slot.fill(place)
        SLOTS[cls] = slot
    return True


def _tried(machine: _Machine, export: Callable[[Any], Any]) -> Slot:
    """The slot, tried with a class of its own."""
    value = np.full(1, 7, np.int8)
    seen: list[tuple[int, bytes]] = []

    class Probe:
        __slots__ = ()

        def __array__(self, *args: Any, **options: Any) -> Any:
            return value

    def record(probe: Any) -> Any:
        entry = slot["entry"]
        seen.append((_word(entry + machine.site_at), ctypes.string_at(entry, _SEEN * _WORD)))
        return value

    slot = Slot(machine, record)
    place = _place_of(Probe)
    slot.fill(place)
    _calibrate(slot, Probe(), seen, machine)
    slot.export = export
    slot["export"] = id(export)
    # Classes may be asked until the interpreter is gone: what they call stays.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(export))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(slot.memory))
    return slot
