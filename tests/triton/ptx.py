"""Owns a reader of the PTX of `device`: runs it on the host, one lane, with C's fused multiply-adds."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import operator
import re
import struct
from typing import Any

import numpy as np

_FLOATS = {"f32": ("<I", "<f"), "f64": ("<Q", "<d")}
_COMPARED = {
    "ge": operator.ge,
    "le": operator.le,
    "lt": operator.lt,
    "eq": operator.eq,
    "nan": lambda a, b: a != a or b != b,
}


def _fused() -> dict[str, Any]:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    found = {}
    for kind, name, c_type in (("f32", "fmaf", ctypes.c_float), ("f64", "fma", ctypes.c_double)):
        function = getattr(library, name)
        function.argtypes, function.restype = [c_type] * 3, c_type
        found[kind] = function
    return found


def _guess(kind: str, op: str, x: float) -> float:
    """The GPU's guess of 1/x or 1/sqrt(x): subnormal numbers are zeros; of float64 the high word is right."""
    least = 2.0**-126 if kind == "f32" else 2.0**-1022
    if math.isnan(x) or (op == "rsqrt" and x <= -least):
        return math.nan
    if abs(x) < least:
        return math.copysign(math.inf, x)
    with np.errstate(all="ignore"):
        made = float(np.float64(1) / (np.sqrt(np.float64(x)) if op == "rsqrt" else np.float64(x)))
    if abs(made) < least:
        return math.copysign(0.0, x)
    if kind == "f32":
        return float(np.float32(made))
    (bits,) = struct.unpack("<Q", struct.pack("<d", made))
    return float(struct.unpack("<d", struct.pack("<Q", bits & 0xFFFFFFFF00000000))[0])


class Lane:
    """Registers as bits; `$` names are results, then arguments."""

    def __init__(self, text: str, kind: str) -> None:
        self.kind = kind
        self.lines = [line.strip().rstrip(";") for line in text.splitlines()]
        self.fused = _fused()
        self.bits: dict[str, int] = {}
        self.holds: dict[str, bool] = {}  # predicates

    def run(self, results: int, arguments: list[float]) -> tuple[list[float], bool]:
        """What the text computes, and whether it left by the short way."""
        self.bits = {}
        for number, value in enumerate(arguments):
            self.put(self.kind, f"${results + number}", value)
        self.holds = {}
        short = False
        for line in self.lines:
            word, _, rest = line.partition(" ")
            if word in ("{", "}", ".reg", "DONE:"):
                continue
            if word == "@covered":
                if self.holds["covered"]:
                    short = True
                    break
                continue
            named = [part.strip() for part in re.split(r",(?![^{]*})", rest)]
            if word.startswith("setp"):
                first, second = (self.get(word.rpartition(".")[2], name) for name in named[1:3])
                holds = _COMPARED[word.split(".")[1]](first, second) and (".and" not in word or self.holds[named[3]])
                self.holds[named[0]] = holds
            elif word.startswith("selp"):
                self.bits[named[0]] = self.known(named[1] if self.holds[named[3]] else named[2])
            else:
                self.step(word.split("."), named)
        return [self.get(self.kind, f"${k}") for k in range(results)], short

    def known(self, name: str) -> int:
        """The bits of a register or a number."""
        if name[:2] in ("0f", "0d"):
            return int(name[2:], 16)
        return int(name, 0) if re.match(r"(0x)?[0-9]", name) else self.bits[name]

    def get(self, kind: str, name: str) -> Any:
        bits = self.known(name)
        if kind == "s32":
            return bits - (bits >> 31 << 32)
        if kind not in _FLOATS:
            return bits
        whole, real = _FLOATS[kind]
        return struct.unpack(real, struct.pack(whole, bits))[0]

    def put(self, kind: str, name: str, value: Any) -> None:
        if kind in _FLOATS:
            whole, real = _FLOATS[kind]
            with np.errstate(over="ignore"):
                value = np.float32(value) if kind == "f32" else value
            (value,) = struct.unpack(whole, struct.pack(real, value))
        self.bits[name] = value & 0xFFFFFFFF if kind[1:] == "32" and kind not in _FLOATS else value

    def step(self, op: list[str], named: list[str]) -> None:
        kind, target = op[-1], named[0]
        if op[0] == "mov" and target.startswith("{"):
            halves = [part.strip() for part in target[1:-1].split(",")]
            bits = self.get("b64", named[1])
            self.bits[halves[0]], self.bits[halves[1]] = bits & 0xFFFFFFFF, bits >> 32
            return
        if op[0] == "mov" and named[1].startswith("{"):
            low, high = (self.get("b32", part.strip()) for part in named[1][1:-1].split(","))
            self.bits[target] = high << 32 | low
            return
        given = [self.get(kind, name) for name in named[1:]]
        kind = op[2] if op[0] == "cvt" else kind
        with np.errstate(all="ignore"):
            match op[0]:
                case "mov" | "cvt":
                    made = given[0]
                case "neg":
                    made = -given[0]
                case "abs":
                    made = abs(given[0])
                case "and" | "xor":
                    made = given[0] & given[1] if op[0] == "and" else given[0] ^ given[1]
                case "shl" | "shr":
                    made = given[0] << given[1] if op[0] == "shl" else given[0] >> given[1]
                case "add" | "sub":
                    second = given[1] if op[0] == "add" else -given[1]
                    made = given[0] + second if kind not in _FLOATS else float(np.float64(given[0]) + second)
                case "min" | "max":
                    made = float((np.fmin if op[0] == "min" else np.fmax)(*given))
                case "mul":
                    made = float(np.float64(given[0]) * np.float64(given[1]))
                case "fma":
                    made = self.fused[kind](*given)
                case "rcp" | "rsqrt" if op[1] == "approx":
                    made = _guess(kind, op[0], given[0])
                case "rcp" | "div" | "sqrt":
                    wide = [np.float32(v) if kind == "f32" else np.float64(v) for v in given]
                    made = np.sqrt(wide[0]) if op[0] == "sqrt" else wide[0] / wide[1] if op[0] == "div" else 1 / wide[0]
                case _:
                    raise NotImplementedError(".".join(op))
        self.put(kind, target, made)
