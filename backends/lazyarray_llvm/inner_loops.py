"""Owns the lowering of elementwise ops to NumPy inner loops, for small arrays (`eager.py`).

A loop works in chunks of one vector.  Operands that are contiguous are read and written in place; a chunk
of a strided one is gathered, of any other (broadcast, the last incomplete chunk) goes through a small buffer
on the stack, so that every element passes through the same instructions wherever it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from lazyarray.ir.ops import OPS

from . import engine
from .builder import (
    COMPLEX_PARTS,
    AnyValue,
    Builder,
    Complex,
    Module,
    Value,
    is_complex,
    itemsize,
    llvm_type,
    memory_code,
)
from .eager import symbol_of
from .elementwise import lower
from .elementwise.arithmetic import power
from .loop_flags import TOLD, LoopFlags

_MOST_SPELLED: Final = 32  # elements of a chunk that are moved without a loop


def inner_loop(op: str, in_codes: Sequence[str], out_code: str, number: bool = False) -> str:
    """The IR text of a module with one NumPy inner loop, `void (args, n, steps, data)`.

    `number`: the second operand is one element, its step is 0.
    """
    module = Module()
    define_inner_loop(module, op, in_codes, out_code, number=number)
    return module.text()


def define_inner_loop(
    module: Module,
    op: str,
    in_codes: Sequence[str],
    out_code: str,
    at: engine.Host | None = None,
    lanes: int = 0,
    number: bool = False,
) -> str:
    """Adds the inner loop of `op` to a module, for this CPU and width if not told, and returns its symbol."""
    symbol = symbol_of(op, in_codes, out_code, number)
    if not module.has(symbol):
        loop = _Loop(module, op, (*in_codes, out_code), at or engine.host(), lanes, number)
        module.define(symbol, loop.text(symbol))
    return symbol


class _Loop:
    """Writes one inner loop."""

    def __init__(
        self, module: Module, op: str, codes: tuple[str, ...], at: engine.Host, lanes: int, number: bool
    ) -> None:
        self.op = op
        self.codes = codes  # of the arguments, then of the result
        self.number = number  # the second argument is one element
        widest = max(itemsize(COMPLEX_PARTS.get(code, code)) for code in codes)
        own = op in OPS and OPS[op].transcendental and codes[-1][0] in "fc"
        self.checked = own or op in TOLD
        # Two vectors of a long chain of instructions overlap in more of their latencies than the CPU's window sees, and
        # of products in place of a quotient share the loop's own: 5.5 us for 10,000 float64 on a Zen 3, and 4.1 so.
        longer = own or (number and op == "divide")
        vectors = 2 if longer and codes[-1] in ("f4", "f8") else 1
        self.lanes = lanes or max(vectors * at.vector_bytes // widest, 1)
        self.b = Builder(module, **at.abilities)

    def text(self, symbol: str) -> str:
        self._entry()
        self._chunks()
        body = "\n".join(self.b.lines)
        return f"define void @{symbol}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{\nentry:\n{body}\n}}"

    # -- the frame: pointers, steps, buffers -------------------------------------------------------------
    def _integer(self, instruction: str, hint: str = "n") -> Value:
        return self.b.emit(instruction, "i8", 1, hint)

    def _pointer(self, instruction: str, hint: str = "p") -> str:
        name = "%" + self.b.fresh(hint)
        self.b.line(f"{name} = {instruction}")
        return name

    def _at(self, base: str, offset: Value) -> str:
        return self._pointer(f"getelementptr i8, ptr {base}, i64 {offset.ref}", "at")

    def _entry(self) -> None:
        b = self.b
        self.size = self._integer("load i64, ptr %dims", "size")
        self.bases, self.steps, self.buffers, self.contiguous = [], [], [], []
        for k, code in enumerate(self.codes):
            slot = self._pointer(f"getelementptr ptr, ptr %args, i64 {k}", "slot")
            self.bases.append(self._pointer(f"load ptr, ptr {slot}", "base"))
            slot = self._pointer(f"getelementptr i64, ptr %steps, i64 {k}", "slot")
            self.steps.append(self._integer(f"load i64, ptr {slot}", "step"))
            self.buffers.append(self._pointer(f"alloca [{self.lanes * itemsize(code)} x i8], align 64", "buffer"))
            self.contiguous.append(b.compare("eq", self.steps[k], b.const("i8", itemsize(code), 1)))
        if self.checked:
            self.flags = LoopFlags(b)
        stepwise = self._depends()
        self.whole = b.not_(stepwise)
        self.chunk = b.select(stepwise, b.const("i8", 1, 1), b.const("i8", self.lanes, 1))
        zero = b.const("i8", 0, 1)
        empty, loop = b.fresh("empty"), b.fresh("fill")
        b.branch(b.compare("sgt", self.size, zero), loop, empty)
        b.start(empty)
        b.line("ret void")
        b.start(loop)
        self.still: list[Value] = []
        self.constant = []
        for k in range(len(self.codes) - 1):
            self.still.append(b.compare("eq", self.steps[k], zero))
            fixed = b.and_(self.still[k], self.whole)
            self.constant.append(fixed)
            self._when(fixed, lambda k=k: self._stage(k, self.bases[k], b.const("i8", 1, 1)))

    def _extent(self, k: int) -> tuple[Value, Value]:
        """The first byte of operand k and the one behind its last."""
        b = self.b
        start = self._integer(f"ptrtoint ptr {self.bases[k]} to i64", "address")
        travel = b.mul(b.sub(self.size, b.like(start, 1)), self.steps[k])
        low = b.add(start, b.intrinsic("smin", [travel, b.like(start, 0)]))
        high = b.add(start, b.intrinsic("smax", [travel, b.like(start, 0)]))
        return low, b.add(high, b.like(start, itemsize(self.codes[k])))

    def _depends(self) -> Value:
        """May an element be read after it was written (reduce, accumulate)? Then the loop goes one by one."""
        b = self.b
        out = len(self.codes) - 1
        found = b.compare("eq", self.steps[out], b.const("i8", 0, 1))
        low, high = self._extent(out)
        for k in range(out):
            start, end = self._extent(k)
            meets = b.and_(b.compare("ult", start, high), b.compare("ult", low, end))
            same_start = b.emit(f"icmp eq ptr {self.bases[k]}, {self.bases[out]}", "b1", 1, "same")
            same = b.and_(same_start, b.compare("eq", self.steps[k], self.steps[out]))
            found = b.or_(found, b.and_(meets, b.not_(same)))
        return found

    def _when(self, condition: Value, emit: Any) -> None:
        then, after = self.b.fresh("then"), self.b.fresh("after")
        self.b.branch(condition, then, after)
        self.b.start(then)
        emit()
        self.b.jump(after)
        self.b.start(after)

    # -- copies between memory and buffers ---------------------------------------------------------------
    def _copying(self, count: Value, move: Any) -> None:
        """for j in range(count): move(j)"""
        b = self.b
        before, head, after = b.block, b.fresh("copy"), b.fresh("copied")
        b.jump(head)
        b.start(head)
        following = "%" + b.fresh("j.next")
        j = self._integer(f"phi i64 [ 0, %{before} ], [ {following}, %{head} ]", "j")
        move(j)
        b.line(f"{following} = add i64 {j.ref}, 1")
        b.branch(b.compare("ult", Value(following, "i8", 1), count), head, after)
        b.start(after)

    def _stage(self, k: int, start: str, count: Value) -> None:
        """Fills the buffer of operand k with `count` elements, the last one repeated to the end."""
        b, code = self.b, self.codes[k]
        size = itemsize(code)
        last = b.sub(count, b.like(count, 1))

        def move(j: Value) -> None:
            source = self._at(start, b.mul(b.intrinsic("smin", [j, last]), self.steps[k]))
            target = self._at(self.buffers[k], b.mul(j, b.like(j, size)))
            b.line(f"{(name := '%' + b.fresh('element'))} = load i{8 * size}, ptr {source}, align 1")
            b.line(f"store i{8 * size} {name}, ptr {target}, align 1")

        self._copying(b.const("i8", self.lanes, 1), move)

    def _gathered(self, k: int, start: str) -> Value:
        """A whole chunk of operand k in a register, as `_raw` reads one: no load waits for what was just stored.

        Through a buffer, 50,000 quotients of every other float64 took 150 us on a Zen 3, whose loads of 32 bytes wait
        until two stores of 16 have reached the cache.
        """
        b, (words, code) = self.b, self._words(k)
        size, found = itemsize(code), Value("poison", code, words * self.lanes)
        for lane, place in enumerate(self._strided(k, start)):
            for word in range(words):
                at = self._at(place, b.const("i8", word * size, 1))
                one = b.emit(f"load {llvm_type(code, 1)}, ptr {at}, align 1", code, 1, "element")
                found = b.insert(found, one, lane * words + word) if found.lanes > 1 else one
        code, lanes = self._raw_type(k)
        return b.emit(f"bitcast {found} to {llvm_type(code, lanes)}", code, lanes, "chunk")

    def _scattered(self, k: int, start: str) -> None:
        """Writes a whole chunk from the buffer of operand k to where its elements lie."""
        b, (words, code) = self.b, self._words(k)
        size, lanes = itemsize(code), words * self.lanes
        found = b.emit(f"load {llvm_type(code, lanes)}, ptr {self.buffers[k]}, align 1", code, lanes, "chunk")
        for lane, place in enumerate(self._strided(k, start)):
            for word in range(words):
                at = self._at(place, b.const("i8", word * size, 1))
                b.line(f"store {b.extract(found, lane * words + word)}, ptr {at}, align 1")

    def _words(self, k: int) -> tuple[int, str]:
        """As how many numbers of which dtype an element is moved: of 64 bits, those that one instruction places."""
        size = itemsize(self.codes[k])
        return size // 8 or 1, "f8" if size >= 8 else f"i{size}"

    def _strided(self, k: int, start: str) -> Iterator[str]:
        """Where the elements of a chunk lie."""
        for lane in range(self.lanes):
            yield start
            if lane < self.lanes - 1:
                start = self._at(start, self.steps[k])

    def _unstage(self, k: int, start: str, count: Value) -> None:
        b = self.b
        size = itemsize(self.codes[k])

        def move(j: Value) -> None:
            source = self._at(self.buffers[k], b.mul(j, b.like(j, size)))
            target = self._at(start, b.mul(j, self.steps[k]))
            b.line(f"{(name := '%' + b.fresh('element'))} = load i{8 * size}, ptr {source}, align 1")
            b.line(f"store i{8 * size} {name}, ptr {target}, align 1")

        self._copying(count, move)

    def _raw_type(self, k: int) -> tuple[str, int]:
        """The dtype and lanes of a chunk of operand k as it lies in memory: complex numbers are pairs, bools bytes."""
        code = self.codes[k]
        if is_complex(code):
            return COMPLEX_PARTS[code], 2 * self.lanes
        return memory_code(code), self.lanes

    def _raw(self, pointer: str, k: int) -> Value:
        """A whole chunk of operand k, which lies there without gaps."""
        code, lanes = self._raw_type(k)
        return self.b.emit(f"load {llvm_type(code, lanes)}, ptr {pointer}, align 1", code, lanes, "load")

    def _unpacked(self, raw: Value, code: str) -> AnyValue:
        """A chunk as operations take it."""
        b, n = self.b, self.lanes
        if is_complex(code):
            if n == 1:
                return Complex(b.extract(raw, 0), b.extract(raw, 1))
            even, odd = range(0, 2 * n, 2), range(1, 2 * n, 2)
            return Complex(b.shuffle(raw, None, even), b.shuffle(raw, None, odd))
        return b.compare("ne", raw, b.like(raw, 0)) if code == "b1" else raw

    def _store(self, value: AnyValue, pointer: str) -> None:
        b, n = self.b, self.lanes
        if isinstance(value, Complex):
            if n == 1:
                both = Value("poison", value.re.code, 2)
                both = b.insert(b.insert(both, value.re, 0), value.im, 1)
            else:
                both = b.shuffle(value.re, value.im, [i // 2 + n * (i % 2) for i in range(2 * n)])
            b.line(f"store {both}, ptr {pointer}, align 1")
            return
        if value.code == "b1":
            value = b.convert("zext", value, "u1")
        b.line(f"store {value}, ptr {pointer}, align 1")

    # -- the loop ----------------------------------------------------------------------------------------
    def _chunks(self) -> None:
        """One body for all chunks, with two ways into it: operands where they lie, or gathered, or staged in buffers.

        Whether all operands are read and written in place is known before the loop, so that a turn of the
        usual loop is a comparison, the loads, the body, and the steps of its pointers.
        """
        b = self.b
        out = len(self.codes) - 1
        first, strides, in_place = self._places()
        every = self._number() if self.number else None
        before, head, usual, staging = b.block, *map(b.fresh, ("head", "usual", "staging"))
        body, latch = b.fresh("body"), b.fresh("latch")
        done, following = b.fresh("done"), "%" + b.fresh("i.next")
        b.jump(head)
        b.start(head)
        i = self._integer(f"phi i64 [ 0, %{before} ], [ {following}, %{latch} ]", "i")
        here = [
            self._pointer(f"phi ptr [ {pointer}, %{before} ], [ %here.{k}.next, %{latch} ]", "here")
            for k, pointer in enumerate(first)
        ]
        left = b.sub(self.size, i)
        direct = b.and_(in_place, b.compare("sge", left, b.like(left, self.lanes)))
        b.branch(direct, usual, staging)
        b.start(usual)
        read = [k for k in range(out) if not (self.number and k == 1)]  # that one is made ahead of the loop
        quick = [self._raw(here[k], k) for k in read]
        b.jump(body)
        b.start(staging)
        count = b.intrinsic("smin", [left, self.chunk])
        full = self._is_full(count)
        slow = [self._chunk_of(k, i, count, full) for k in read]
        target, behind = self._target(i, full)
        staged = b.block
        b.jump(body)
        b.start(body)
        raws = [
            b.phi(one.code, one.lanes, [(one, usual), (other, staged)], "chunk")
            for one, other in zip(quick, slow, strict=True)
        ]
        place = self._pointer(f"phi ptr [ {here[out]}, %{usual} ], [ {target}, %{staged} ]", "place")
        taken = b.phi("i8", 1, [(b.const("i8", self.lanes, 1), usual), (count, staged)], "count")
        in_buffer = b.phi("b1", 1, [(b.const("b1", False, 1), usual), (behind, staged)], "in_buffer")
        args = [self._unpacked(raw, self.codes[k]) for raw, k in zip(raws, read, strict=True)]
        if every is not None:
            args.append(every)
        result = self._compute(args)
        self._store(result, place)
        if self.checked:
            self.flags.collect(self.op, args, result)
        self._when(in_buffer, lambda: self._put_back(i, taken))
        b.jump(latch)
        b.start(latch)
        for k, (pointer, stride) in enumerate(zip(here, strides, strict=True)):
            b.line(f"%here.{k}.next = getelementptr i8, ptr {pointer}, i64 {stride.ref}")
        b.line(f"{following} = add i64 {i.ref}, {taken.ref}")
        b.branch(b.compare("slt", Value(following, "i8", 1), self.size), head, done)
        b.start(done)
        if self.checked:
            self.flags.close()
        b.line("ret void")

    def _number(self) -> Value:
        """The second operand's one element in every lane. What is made of it alone is made here, ahead of the loop."""
        b, code = self.b, self.codes[1]
        one = b.emit(f"load {llvm_type(code, 1)}, ptr {self.bases[1]}, align 1", code, 1, "number")
        every = b.splat(one, self.lanes)
        end = len(b.lines)
        made: dict[tuple[str, str], Value] = {}

        def follow(number: Value, name: str, make: Callable[[Value], Value]) -> Value:
            nonlocal end
            found = made.get((number.ref, name))
            if found is None:
                after = b.lines[end:]
                del b.lines[end:]
                found = made[number.ref, name] = settled(make(number))
                end = len(b.lines)
                b.lines += after
            return found

        def settled(number: Value) -> Value:
            b.ahead[number.ref] = lambda name, make: follow(number, name, make)
            b.once.add(number.ref)
            return number

        return settled(every)

    def _compute(self, args: list[AnyValue]) -> AnyValue:
        b, code, one = self.b, self.codes[-1], self.b.const("i8", 1, 1)
        if self.op == "power" and code in ("f4", "f8"):
            x, y = args
            assert isinstance(x, Value)
            assert isinstance(y, Value)
            return power(b, x, y, b.and_(self.still[1], b.or_(self.whole, b.compare("eq", self.size, one))))
        return lower(b, self.op, args, code)

    def _put_back(self, i: Value, count: Value) -> None:
        """Writes a chunk of the result from its buffer: a whole one without a loop, if that is few instructions."""
        b, out = self.b, len(self.codes) - 1
        place = self._at(self.bases[out], b.mul(i, self.steps[out]))
        if self.lanes > _MOST_SPELLED:
            self._unstage(out, place, count)
            return
        straight, loop, after = b.fresh("straight"), b.fresh("one.by.one"), b.fresh("moved")
        b.branch(self._is_full(count), straight, loop)
        b.start(straight)
        self._scattered(out, place)
        b.jump(after)
        b.start(loop)
        self._unstage(out, place, count)
        b.jump(after)
        b.start(after)

    def _places(self) -> tuple[list[str], list[Value], Value]:
        """Where the loop begins in each operand, how far a chunk takes it, and whether all are used in place."""
        b = self.b
        in_place = self.whole
        first, strides = [], []
        for k, code in enumerate(self.codes):
            span = b.const("i8", self.lanes * itemsize(code), 1)
            usable = self.contiguous[k]
            if k < len(self.constant):
                fixed = self.constant[k]
                usable = b.or_(usable, fixed)
                span = b.select(fixed, b.like(span, 0), span)
                first.append(self._pointer(f"select {fixed}, ptr {self.buffers[k]}, ptr {self.bases[k]}", "first"))
            else:
                first.append(self.bases[k])
            strides.append(span)
            in_place = b.and_(in_place, usable)
        return first, strides, in_place

    def _is_full(self, count: Value) -> Value:
        """Whether so many elements are a whole chunk, which is moved at once."""
        return self.b.and_(self.b.compare("eq", count, self.b.const("i8", self.lanes, 1)), self.whole)

    def _target(self, i: Value, full: Value) -> tuple[str, Value]:
        """Where a chunk of the result goes that is not stored in place, or is the last; and is that the buffer?"""
        b, out = self.b, len(self.codes) - 1
        here = self._at(self.bases[out], b.mul(i, self.steps[out]))
        direct = b.and_(full, self.contiguous[out])
        return self._pointer(f"select i1 {direct.ref}, ptr {here}, ptr {self.buffers[out]}", "target"), b.not_(direct)

    def _chunk_of(self, k: int, i: Value, count: Value, full: Value) -> Value:
        """A chunk of operand k: read where it lies, gathered if it is a whole one, or by way of the buffer."""
        b = self.b
        here = self._at(self.bases[k], b.mul(i, self.steps[k]))
        direct = b.and_(full, self.contiguous[k])
        lies, jumps, some, joined = b.fresh("lies"), b.fresh("jumps"), b.fresh("some"), b.fresh("joined")
        spelled = self.lanes <= _MOST_SPELLED
        ways: list[tuple[Value, str]] = []

        def way(label: str, read: Callable[[], Value]) -> None:
            b.start(label)
            ways.append((read(), b.block))
            b.jump(joined)

        def staged() -> Value:
            self._stage(k, here, count)
            return self._raw(self.buffers[k], k)

        b.branch(b.or_(direct, self.constant[k]), lies, jumps)
        source = f"select i1 {direct.ref}, ptr {here}, ptr {self.buffers[k]}"
        way(lies, lambda: self._raw(self._pointer(source, "source"), k))
        if spelled:
            whole = b.fresh("whole")
            b.start(jumps)
            b.branch(full, whole, some)
            way(whole, lambda: self._gathered(k, here))
        way(some if spelled else jumps, staged)
        b.start(joined)
        return b.phi(ways[0][0].code, ways[0][0].lanes, ways, "chunk")
