"""Owns the statements of the aliasing machine, drawn by looking at the arrays NumPy has at that point.

Only what NumPy computes in one defined way is drawn: arithmetic, comparisons, sums of integers, casts of values that
the new dtype holds. Statements that fail are drawn too: both sides must then fail alike and leave the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from tests.property.aliasing_twins import LOOK, SHARES, WAYS, Twins, shown_by
from tests.property.draw import Chooser, Names, broadcasts, index_of, view_forms
from tests.property.programs import EVALUATE, Step

DTYPES = ("f8", "f8", "f4", "i8", "i4", "b1", "u1", "c16", "c8", "f2")
SMALL = ((), (1,), (5,), (6,), (3, 4), (4, 4), (2, 3, 2), (0,), (1, 4))
NEAR = (*SMALL, (23,), (25,), (5, 6), (30,), (6, 6), (2, 3, 5), (40,))
LARGE = (*SMALL, (4095,), (4200,), (65, 65), (70, 60), (3, 40, 40))
SHAPES = {"default": LARGE, "near": NEAR, "one thread": NEAR}
NUMBERS = ("0", "1", "2", "-1", "3", "0.5", "-1.5", "True", "2.0", "300", "1j", "np.float32(2)", "np.int64(3)")
OPERATORS = ("+", "-", "*", "+", "-", "*", "/", "&", "|", "^", "<", ">=", "==", "!=")
UFUNCS = (
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "add",
    "subtract",
    "multiply",
    "divide",
    "less",
    "logical_or",
)
MOST_NAMES = 9


class Drawer(Names):
    """Draws a statement and has the twins take it."""

    def __init__(self, chooser: Chooser, twins: Twins, shapes: tuple[tuple[int, ...], ...]) -> None:
        super().__init__(chooser)
        self.twins = twins
        self.shapes = shapes
        # Who owns the memory is forgotten where a shape or strides were set: `resize` then refuses in other words.
        self.bent = False

    @property
    def env(self) -> Mapping[str, Any]:
        return self.twins.theirs

    def names(self, wanted: Callable[[Any], bool] = lambda value: True) -> list[str]:
        """Arrays that are lazyarray's on its side."""
        found = [n for n, v in self.env.items() if n[0] == "v" and isinstance(v, numpy.ndarray) and wanted(v)]
        if not found and not [n for n, v in self.env.items() if n[0] == "v" and isinstance(v, numpy.ndarray)]:
            draw_source(self)
            return self.names(wanted)
        return found

    def exported(self) -> list[str]:
        return [n for n, v in self.env.items() if n[0] == "n" and isinstance(v, numpy.ndarray)]

    def operand_names(self) -> list[str]:
        return [n for n, v in self.env.items() if isinstance(v, numpy.ndarray | numpy.generic)]

    def run(self, source: str) -> None:
        self.twins.do(Step(source))

    def assign(self, expression: str) -> None:
        self.run(f"{self.fresh()} = {expression}")

    def partner(self, name: str) -> str:
        """An operand that broadcasts with `name`, mostly; often a number."""
        if self.chance(3):
            return self.chooser.pick(NUMBERS)
        shape = numpy.shape(self.value(name))
        fitting = [n for n in self.operand_names() if broadcasts(numpy.shape(self.value(n)), shape)]
        return self.chooser.pick(self.operand_names() if self.chance(24) else fitting)

    def writeable(self) -> str:
        return self.name(lambda v: v.flags.writeable or self.chance(16))

    def source_for(self, shape: tuple[int, ...], dtype: numpy.dtype[Any], target: Any = None) -> str:
        """What may be written into an array of this shape and dtype (at `target`) with a defined result."""
        fitting = [
            n
            for n in self.operand_names()
            if goes_into(numpy.shape(self.value(n)), shape)
            and is_held(self.value(n), dtype)
            and not is_misread(self.value(n), target)
        ]
        if not fitting or self.chance(3):
            return self.number_for(dtype)
        if self.chance(20):
            return self.name(lambda v: is_held(v, dtype)) if self.names(lambda v: is_held(v, dtype)) else "2"
        found = self.chooser.pick(fitting)
        value = self.value(found)
        if isinstance(value, numpy.ndarray) and value.ndim and value.shape == shape and self.chance(3):
            return self.chooser.pick((f"{found}[::-1]", f"{found} + 0", f"np.flip({found})", f"{found}.copy()"))
        return found

    def number_for(self, dtype: numpy.dtype[Any]) -> str:
        return self.chooser.pick(("0", "1", "2", "3", "True", "0.5", "2.0", "7"))

    def index(self, name: str) -> str:
        return index_of(self, numpy.shape(self.value(name)))

    def part(self, name: str, index: str) -> Any:
        """NumPy's value of `name[index]`; all of it where the index is wrong."""
        try:
            return self.value(name)[eval(f"numpy.s_[{index}]")]
        except (IndexError, TypeError):
            return self.value(name)

    def places(self, size: int, count: int = 3) -> str:
        """A list of indices, with duplicates; now and then one out of bounds."""
        if size == 0 or self.chance(40):
            return str([size])
        return str([self.chooser.below(2 * size) - size for _ in range(count)])


def goes_into(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """True when `shape` broadcasts to `target`."""
    extents = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(m in (1, n) for m, n in extents)


def is_misread(value: Any, target: Any) -> bool:
    """True where NumPy assigns within one array without a copy, and reads places that the same assignment wrote.

    That happens along one axis, where both run in one direction at unequal strides.
    """
    if not isinstance(value, numpy.ndarray) or not isinstance(target, numpy.ndarray) or target.ndim != 1:
        return False
    same = value.ndim > 0 and value.strides[-1] == target.strides[0] and value.dtype == target.dtype
    return not same and numpy.may_share_memory(value, target)


def is_held(value: Any, dtype: numpy.dtype[Any]) -> bool:
    """True when casting the value to `dtype` is defined."""
    array = numpy.asarray(value)
    if array.dtype.kind not in "fc" or dtype.kind in "fcb" or array.size == 0:
        return dtype.kind != "b" or array.dtype.kind != "c" or bool(numpy.isfinite(array).all())
    limits = numpy.iinfo(dtype)
    return float(array.real.min()) > limits.min - 1 and float(array.real.max()) < limits.max // 2


def draw_source(d: Drawer) -> None:
    shape, dtype = d.chooser.pick(d.shapes), d.chooser.pick(DTYPES)
    drawn = f"values({shape}, {dtype!r}, {d.chooser.below(1000)})"
    forms = [f"np.array({drawn})"] * 3
    forms += [f"np.array({drawn}, order='F')", f"np.asarray({drawn})", f"np.zeros({shape}, {dtype!r})"]
    forms += [f"np.ones({shape}, {dtype!r}, order='F')", f"np.full({shape}, 2, {dtype!r})"]
    forms += [f"np.asfortranarray({drawn})", f"np.ascontiguousarray({drawn})"]
    if dtype != "b1":
        forms += [f"np.arange({int(numpy.prod(shape))}, dtype={dtype!r}).reshape({shape})"]
    d.assign(d.chooser.pick(forms))


def draw_foreign(d: Drawer) -> None:
    """An array of NumPy's, and one over its memory."""
    shape, dtype = d.chooser.pick(d.shapes), d.chooser.pick(DTYPES)
    owner = f"n{d.fresh()[1:]}"
    layout = d.chooser.pick(
        ("", "", ".T", ".copy('F')", "[::-1]" if shape else "", "[:, 1:]" if len(shape) > 1 else "")
    )
    d.run(f"{owner} = numpy.array(values({shape}, {dtype!r}, {d.chooser.below(1000)})){layout}")
    if d.chance(8):
        d.run(f"{owner}.flags.writeable = False")
    forms = [f"np.asarray({owner})"] * 2 + [f"np.array({owner}, copy=False)", f"np.asanyarray({owner}[...])"]
    forms += [f"np.array({owner})", f"np.array({owner}, copy=None)", f"np.asarray({owner}, order='C')"]
    if shape:
        forms += [f"np.asarray({owner}[::2])", f"np.asarray({owner}[1:])", f"np.asarray({owner}.T)"]
        forms += [f"np.frombuffer({owner}, {owner}.dtype)"]
    d.assign(d.chooser.pick(forms))


def draw_view(d: Drawer) -> None:
    x = d.name(lambda v: v.ndim > 0 or d.chance(8))
    value = d.value(x)
    forms = view_forms(d, x)
    forms += [f"{x}.view()", f"{x}[...]", f"{x}[()]", f"np.asarray({x})", f"{x}[None]", f"{x}.reshape(-1, order='A')"]
    forms += [f"np.reshape({x}, -1, order='F')", f"np.ravel({x}, 'K')", f"np.atleast_3d({x})", f"{x}.mT"]
    if value.dtype.kind in "iuf":
        forms += [f"{x}.view({d.chooser.pick(('i8', 'i4', 'u1', 'u8', 'i2'))!r})"] * 3
    if value.dtype.kind == "c":
        forms += [f"{x}.real", f"{x}.imag", f"{x}.view('f8')"] * 3
    if value.ndim:
        forms += [f"np.split({x}, [1])[{d.chooser.below(2)}]", f"np.lib.stride_tricks.sliding_window_view({x}, 2, 0)"]
        forms += [f"np.broadcast_arrays({x}, 1)[0]", f"next(iter({x}))", f"{x}[{d.chooser.below(3)}]"]
    if value.ndim > 1:
        forms += [f"np.unstack({x})[0]", f"np.diagonal({x}, 1)", f"np.einsum('ij->ji', {x})"]
    d.assign(d.chooser.pick(forms))


def draw_expression(d: Drawer) -> None:
    x = d.name()
    y = d.partner(x)
    form = d.chooser.below(4)
    if form == 0 or form == 1:
        operator = d.chooser.pick(OPERATORS)
        d.assign(f"{y} {operator} {x}" if d.chance(3) else f"{x} {operator} {y}")
    elif form == 2:
        d.assign(d.chooser.pick(unary_forms(d, x)))
    else:
        d.assign(d.chooser.pick(other_forms(d, x, y)))


def unary_forms(d: Drawer, x: str) -> list[str]:
    value = d.value(x)
    forms = [f"-{x}", f"np.square({x})", f"{x}.copy()", f"np.copy({x})", f"{x}.copy('K')", f"np.array({x})"]
    forms += [f"{x}.copy('F')", f"{x}.flatten()", f"{x}.conj()", f"+{x}", x, f"~{x}", f"np.array({x}, order='F')"]
    if value.dtype.kind != "c":
        forms += [f"abs({x})", f"np.sqrt(np.abs({x}))"]
    held = [t for t in DTYPES if is_held(value, numpy.dtype(t))]
    forms += [f"{x}.astype({d.chooser.pick(held)!r})", f"{x}.astype({d.chooser.pick(held)!r}, copy=False)"] * 2
    return forms


def other_forms(d: Drawer, x: str, y: str) -> list[str]:
    value = d.value(x)
    mask = d.mask(value.shape)
    axis = d.axes(value.ndim)
    forms = [f"np.maximum({x}, {y})", f"{x}.max(axis={axis}, initial=0)", f"np.add({x}, {y}, dtype='c16')"]
    forms += [f"np.where({mask}, {x}, {y})"] * (2 if mask else 0)
    if value.dtype.kind in "biu":
        forms += [f"{x}.sum(axis={axis})", f"np.cumsum({x}, axis={d.axis(value.ndim)})"] * 2
    if value.ndim:
        places = d.places(value.shape[0])
        forms += [f"{x}[{places}]", f"np.take({x}, {places}, axis=0)", f"np.concatenate(({x}, {x}[::-1]))"]
        forms += [f"np.roll({x}, 1)", f"np.stack(({x}, {x}))", f"{x}[np.array({places})]", f"np.repeat({x}, 2)"]
        forms += [f"{x}[{x} > 0]", f"np.sort({x})", f"(lambda a: a * 2)({x})", f"np.tile({x}, 2)"]
    if mask and d.value(mask).shape == value.shape:
        forms += [f"{x}[{mask}]"] * 2
    return forms


def draw_augmented(d: Drawer) -> None:
    x = d.writeable()
    operator = d.chooser.pick(("+", "-", "*", "+", "-", "*", "/", "&", "^"))
    y = d.partner(x)
    if d.chance(3) and d.value(x).ndim:
        index = d.index(x)
        d.run(f"{x}[{index}] {operator}= {y if d.chance(2) else d.number_for(d.value(x).dtype)}")
    elif d.chance(12):
        d.assign(f"(lambda a: a.__iadd__(1))({x})")
    else:
        d.run(f"{x} {operator}= {y}")


def draw_out(d: Drawer) -> None:
    """A ufunc into any array, with or without a mask."""
    x = d.name()
    y, shape = d.partner(x), numpy.shape(d.value(x))
    fitting = d.names(lambda v: v.flags.writeable and v.shape == shape)
    out = d.name() if not fitting or d.chance(16) else d.chooser.pick(fitting)
    mask = d.mask(numpy.shape(d.value(out))) if d.chance(3) else None
    where = f", where={mask}" if mask else ""
    function = d.chooser.pick(UFUNCS)
    if d.chance(8):
        d.run(f"numpy.{function}({x}, {y}, out={out}{where})")
    elif d.chance(6):
        d.run(f"np.negative({x}, out={out}{where})")
    else:
        d.run(f"np.{function}({x}, {y}, out={out}{where})")


def draw_overlap(d: Drawer) -> None:
    """An array written from itself: shifted, reversed, transposed, by rows."""
    x = d.name(lambda v: v.ndim > 0 and v.flags.writeable)
    value = d.value(x)
    if not value.ndim:
        return
    f = d.chooser.pick(("add", "subtract", "multiply", "maximum"))
    n = d.chooser.below(2) + 1
    forms = [f"np.{f}({x}[:-{n}], {x}[{n}:], out={x}[{n}:])", f"np.{f}({x}[{n}:], 2, out={x}[:-{n}])"]
    forms += [f"np.{f}({x}, {x}[::-1], out={x})", f"np.{f}({x}, 2, out={x}[::-1])", f"{x}[{n}:] = {x}[:-{n}]"]
    forms += [f"{x}[:-{n}] = {x}[{n}:] * 2", f"{x}[...] = {x}[::-1]", f"{x}[::-1] += {x}", f"{x}[:] = {x} * 2"]
    forms += [f"np.copyto({x}[{n}:], {x}[:-{n}])", f"{x}[{n}:] -= {x}[:-{n}]", f"{x}[0], {x}[-1] = {x}[-1], {x}[0]"]
    forms += [f"{x}[::2] += {x}[:(len({x}) + 1) // 2]", f"np.{f}.accumulate({x}, out={x})", f"{x} += {x}.T"]
    forms += [f"np.copyto({x}, {x}[::-1], where={x} > {x}[::-1])", f"{x}[{x} > 0] = {x}[{x} > 0][::-1]"]
    forms += [f"np.{f}({x}, {x}, out={x}, where={x} > 0)", f"{x}[{x} < 0] *= -1", f"np.clip({x}, 0, 3, out={x})"]
    places = d.places(value.shape[0])
    forms += [f"{x}[{places}] = {x}[[0, 0, -1]]", f"{x}[[0, -1]] = {x}[[-1, 0]]", f"{x}[{places}] = {x}[:3][::-1]"]
    if value.ndim > 1:
        forms += [f"{x}[0] += {x}[-1]", f"{x}[:, 0] = {x}[:, -1]", f"{x}[:, ::-1] = {x}", f"{x}[...] = {x}[0]"]
        forms += [f"np.{f}({x}, {x}[0], out={x})", f"{x}[:, 1:] = {x}[:, :-1] + 1", f"{x} -= {x}[:, :1]"]
        forms += [f"np.{f}({x}, {x}.T, out={x})", f"{x}.T[...] = {x}"]
    if value.dtype.kind in "iu":
        forms += [f"np.cumsum({x}, axis=0, out={x})", f"np.sum({x}, axis=0, out={x}[0])"] * 2
    d.run(d.chooser.pick(forms))


def draw_item(d: Drawer) -> None:
    """`x[index] = value` with a basic index."""
    x = d.name(lambda v: (v.flags.writeable or d.chance(16)) and (v.ndim > 0 or d.chance(4)))
    index = d.index(x)
    part = d.part(x, index)
    d.run(f"{x}[{index}] = {d.source_for(numpy.shape(part), d.value(x).dtype, part)}")


def draw_scatter(d: Drawer) -> None:
    """Writes at index arrays, with duplicates, and under masks."""
    x = d.name(lambda v: v.ndim > 0 and v.flags.writeable)
    value = d.value(x)
    if not value.ndim:
        return
    shape = value.shape
    places = d.places(shape[0])
    source = d.source_for((3, *shape[1:]), value.dtype)
    number = d.number_for(value.dtype)
    forms = [f"{x}[{places}] = {source}", f"{x}[np.array({places})] = {source}", f"{x}[{places}] += {number}"]
    forms += [f"np.add.at({x}, {places}, {number})", f"np.subtract.at({x}, {places}, 1)", f"{x}[{places}] = {number}"]
    forms += [f"np.multiply.at({x}, np.array({places}), {source})", f"np.put({x}, {d.places(value.size)}, [1, 2, 3])"]
    forms += [f"{x}.put({d.places(value.size)}, {number})", f"{x}[np.array({places}), ...] = {number}"]
    forms += [f"{x}[{x} > {number}] = {d.source_for((), value.dtype)}", f"np.place({x}, {x} < 1, [1, 2])"]
    forms += [f"np.putmask({x}, {x} > 1, [4, 5, 6])", f"np.putmask({x}, {x} > 0, {x}[::-1])"]
    if len(shape) > 1:
        forms += [f"{x}[:, {d.places(shape[1], 2)}] = {number}", f"{x}[{places}, 0] = [1, 2, 3]"]
        forms += [f"{x}[{places}, {d.places(shape[1])}] = [3, 2, 1]", f"{x}[0, {d.places(shape[1])}] += 1"]
    mask = d.mask(shape)
    if mask is not None:
        forms += [f"np.copyto({x}, {d.source_for(shape, value.dtype, value)}, where={mask})"] * 2
        if d.value(mask).shape == shape:
            forms += [f"{x}[{mask}] = {d.source_for((), value.dtype)}", f"{x}[{mask}] += 1"] * 2
            forms += [
                f"np.putmask({x}, {mask}, {d.source_for(shape, value.dtype, value)})",
                f"{x}[{mask}] = {x}[::-1][{mask}]",
            ]
    d.run(d.chooser.pick(forms))


def draw_function(d: Drawer) -> None:
    """What else writes into an array."""
    x = d.writeable()
    value = d.value(x)
    number = d.number_for(value.dtype)
    forms = [f"{x}.fill({number})", f"{x}.flat[{d.chooser.below(3)}] = {number}", f"{x}.real = {number}"]
    source = d.source_for(value.shape, value.dtype, value)
    forms += [f"{x}.flat = {source}", f"{x}[...] = {number}", f"{x}.flat[::2] = [1, 2]"]
    forms += [f"np.copyto({x}, {source}, casting='unsafe')", f"np.fill_diagonal({x}, 7)"]
    forms += [f"{x}.flat[[0, 0]] = [5, 6]", f"np.copyto({x}, {number})"]
    if value.dtype.kind == "c":
        forms += [f"{x}.imag = {number}", f"{x}.real += 1", f"{x}.real = {x}.imag"] * 2
    if value.dtype.kind in "iub":
        forms += [f"{x}.byteswap(True)"]
    if value.ndim:
        other = f"v{d.count}"
        forms += [f"{x}.sort()", f"{x}.sort(axis=0)", f"{x}[::-1].sort()", f"{x}.T.sort(0)", f"{x}.partition(0)"]
        forms += [f"np.random.default_rng(3).shuffle({x})", f"for {other} in {x}: {other} += 1"]
        forms += [f"for {other} in {x}: {other}[...] = {other}[::-1]", f"for i in range(3): {x}[i] = {x}[i - 1]"]
        forms += [f"for i in range(len({x})): {x}[i] += {x}[0]"] if len(value) < 50 else []
        forms += [f"np.put_along_axis({x}, np.argmax({x}, axis=0, keepdims=True), 1, axis=0)"]
        d.count += 1
    d.run(d.chooser.pick(forms))


def draw_attribute(d: Drawer) -> None:
    """Attributes that change the array itself, unless it is what one of NumPy's names or iterators refers to."""
    held = [getattr(v, "base", None) if n[0] == "h" else v for n, v in d.env.items() if n[0] in "nh"]
    names = [n for n in d.names() if all(d.value(n) is not other for other in held)]
    held.clear()  # NumPy counts references before it resizes
    if not names:
        return
    x = d.chooser.pick(names)
    value = d.value(x)
    size = value.size
    forms = [f"{x}.shape = -1", f"{x}.shape = {(1, *value.shape)}", f"{x}.shape = {(size, 1)}"]
    forms += [f"{x}.flags.writeable = False", f"{x}.setflags(write=True)", f"{x}.setflags(write=False)"]
    forms += [f"{x}.resize({value.shape})", f"{x}.flags.writeable = True"]
    if not d.bent:
        forms += [f"{x}.resize({(2, size // 2)})"]
        forms += [f"{x}.resize({size + 2})"] if value.flags.writeable else []  # others grow by whatever was there
    if value.ndim > 1 and len(set(value.shape)) == 1:
        forms += [f"{x}.strides = {value.strides[::-1]}"]
    if value.dtype.kind in "iu":
        forms += [f"{x}.dtype = {d.chooser.pick(('i8', 'u1', 'i4', 'u8'))!r}"] * 2
    if size % 2 == 0:
        forms += [f"{x}.shape = {(2, size // 2)}"]
    del value  # NumPy counts references before it resizes
    form = d.chooser.pick(forms)
    d.bent |= "flags" not in form
    d.run(form)


def draw_export(d: Drawer) -> None:
    x = d.name()
    value = d.value(x)
    forms = [
        f"numpy.asarray({x})",
        f"numpy.asarray({x}.data)",
        f"numpy.array({x}, copy=False)",
        f"numpy.asarray({x}.T)",
    ]
    if value.ndim:
        forms += [f"numpy.asarray({x}[::-1])", f"numpy.asarray({x})[1:]", f"numpy.asarray({x}[{d.index(x)}])"]
    if value.flags.writeable and value.dtype.kind != "b":
        forms += [f"numpy.from_dlpack({x})"]
    d.run(f"n{d.fresh()[1:]} = {d.chooser.pick(forms)}")


def draw_handle(d: Drawer) -> None:
    """A memoryview or an iterator that stays, or what is written through one."""
    handles = [n for n in d.env if n[0] == "h"]
    if not handles or d.chance(2):
        x = d.name()
        d.run(f"h{d.fresh()[1:]} = {d.chooser.pick((f'{x}.data', f'{x}.flat', f'{x}.T.flat'))}")
        return
    h = d.chooser.pick(handles)
    value = shown_by(d.env[h])
    number = d.number_for(value.dtype)
    if isinstance(d.env[h], memoryview):
        forms = [f"numpy.asarray({h})[...] = {number}"]
        d.run(f"n{d.fresh()[1:]} = numpy.asarray({h})" if d.chance(2) else d.chooser.pick(forms))
    elif d.chance(3):
        d.assign(d.chooser.pick((f"{h}[::2]", f"{h}.copy()", f"{h}[[0, 0, -1]]")))
    else:
        d.run(d.chooser.pick((f"{h}[0] = {number}", f"{h}[:] = {number}", f"{h}[[0, 0]] = [1, 2]")))


def draw_owner_write(d: Drawer) -> None:
    """NumPy writes memory that lazyarray has handed out or been given."""
    names = d.exported()
    if not names:
        draw_foreign(d)
        names = d.exported()
    if not names:
        return
    n = d.chooser.pick(names)
    value = d.value(n)
    number = d.number_for(value.dtype)
    source = d.source_for(value.shape, value.dtype, value)
    forms = [f"{n}[...] = {number}", f"{n} += {number}", f"{n}.fill({number})", f"{n}[...] = {source}"]
    forms += [f"numpy.add({n}, 1, out={n}, casting='unsafe')", f"{n}.flat[0] = {number}", f"{n} *= {d.partner(n)}"]
    if value.ndim:
        forms += [f"{n}[::2] = {number}", f"{n}[...] = {n}[::-1]", f"{n}.sort()", f"{n}[{d.index(n)}] = {number}"]
    d.run(d.chooser.pick(forms))


def draw_evaluation(d: Drawer) -> None:
    """Points where Python needs a value."""
    x = d.name()
    form = d.chooser.below(6)
    forms = [f"repr({x})", f"bool(({x} == {x}).all())", f"{x}.tolist()", f"str({x})", f"float({x}.real.flat[0])"]
    forms += [
        f"{x}.item(0)",
        f"int(np.count_nonzero({x}))",
        f"2 in {x}",
        f"len({x})",
        f"float({x}.real.max())",
        f"{x}[0]",
    ]
    if form < 3:
        names = tuple(d.names()) if form == 0 else (x,)
        d.twins.do(Step("", EVALUATE, names))
    else:
        d.assign(d.chooser.pick(forms))
        if d.chance(2):
            d.run(f"del v{d.count - 1}") if f"v{d.count - 1}" in d.env else None


def draw_deletion(d: Drawer) -> None:
    names = list(d.env)
    if len(names) < 3 or d.chance(3):
        d.run("__import__('gc').collect(0)")
    while len(names) > 2:
        d.run(f"del {names.pop(d.chooser.below(len(names)))}")
        if len(names) < MOST_NAMES and d.chance(2):
            return


def draw_naming(d: Drawer) -> None:
    """Names that move from array to array."""
    x, y = d.name(), d.name()
    forms = [
        f"{x}, {y} = {y}, {x}",
        f"{x} = {y}",
        f"{x} = {x}[...]",
        f"{x} = {x} + 0",
        f"{x} = {x}.copy()",
        f"{x} = {y}.T",
    ]
    d.run(d.chooser.pick(forms))


def draw_look(d: Drawer) -> None:
    names = tuple(d.env)
    if not names:
        return
    if d.chance(3):
        arrays = d.names() + d.exported()
        d.twins.do(Step("", SHARES, (d.chooser.pick(arrays), d.chooser.pick(arrays))))
        return
    way = d.chooser.pick(tuple(WAYS))
    d.twins.do(Step(way, LOOK, names if d.chance(2) else (d.chooser.pick(names),)))


DRAWS: dict[str, Callable[[Drawer], None]] = {
    name.removeprefix("draw_"): function for name, function in list(globals().items()) if name.startswith("draw_")
}
