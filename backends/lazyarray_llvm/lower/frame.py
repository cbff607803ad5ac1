"""Owns one function under construction: entry block, argument loads, loops with carried registers, hoisting.

Lines can be added to the entry block or to the block before a loop while the loop's body is being emitted: that is
how invariant values (arguments, splats) reach the place where they cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from lazyarray.records import NamedTuple
from lazyarray.schedule.kernel import Kernel
from lazyarray_llvm.builder import AnyValue, Builder, Complex, Module, Value, llvm_type
from lazyarray_llvm.engine import Host
from lazyarray_llvm.lower import status
from lazyarray_llvm.lower.pairs import in_halves
from lazyarray_llvm.lower.signature import Signature
from lazyarray_llvm.lower.streaming import host_streams
from lazyarray_llvm.lower.watch import Watch


class Pointer(NamedTuple):
    """A register that holds an address."""

    ref: str
    type: str = "ptr"


Register: TypeAlias = Value | Pointer


class Scope:
    """A place before a loop: lines added to it run once per entry of that loop."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.splats: dict[tuple[str, str, int], AnyValue] = {}


class Frame:
    """One function `void name(ptr args, i64 begin, i64 end, i64 worker)` under construction."""

    def __init__(
        self, module: Module, kernel: Kernel, signature: Signature, host: Host, *, watched: bool = False
    ) -> None:
        self.kernel = kernel
        self.signature = signature
        self.host = host
        self.b = Builder(module, **host.abilities)
        taken_names = ("args", "begin", "end", "worker", "entry", "start", "status", "fence", "fenced")
        for taken in (*taken_names, "is_first", "first", "ran", "ended"):
            self.b.fresh(taken)
        self.entry = Scope([])
        self.open = [self.entry]  # innermost last
        self._walk: Scope | None = None  # the place before the walk that is being emitted
        self._arguments: dict[str, Value | Pointer] = {}
        self.b.block = "start"
        self.watch = Watch(self, everything=watched)
        self.looks_ahead = False  # set by who has something to compute ahead of a walk
        self._tells = not watched and bool(self.watch.words)  # reads the CPU's status
        self.in_halves = in_halves(kernel, host)
        self.can_stream = not watched and host_streams(host)
        self._past: Value | None = None

    # -- text -----------------------------------------------------------------------------------------------
    def function(self, name: str) -> str:
        """The finished function."""
        self.watch.tell()
        module, triple, slot = self.b.module, self.host.triple, self.signature.slots["raised"]
        head = f"define void @{name}(ptr noundef %args, i64 %begin, i64 %end, i64 %worker) nounwind {{"
        body = [
            head,
            "entry:",
            *(status.slot_lines(triple) if self.watch.words else ()),
            *self.entry.lines,
            *(status.clear_lines(module, triple, "start") if self._tells else ("  br label %start",)),
            "start:",
            *self.b.lines,
            *(self._fence_lines() if self._past is not None else ()),
            *(status.tell_lines(module, triple, slot) if self._tells else ()),
            *self._ran_lines(),
            "  ret void",
            "}",
        ]
        return "\n".join(body)

    @contextmanager
    def hoisted(self, scope: Scope) -> Iterator[None]:
        """Lines emitted inside go to `scope`; they must not open blocks."""
        saved, self.b.lines = self.b.lines, scope.lines
        yield
        self.b.lines = saved

    @contextmanager
    def scope(self) -> Iterator[Scope]:
        """Begins a scope at the current place."""
        outer = self.b.lines
        here = Scope([])
        self.open.append(here)
        self.b.lines = []
        yield here
        outer.extend(here.lines)
        outer.extend(self.b.lines)
        self.b.lines = outer
        self.open.pop()

    # -- arguments ------------------------------------------------------------------------------------------
    def argument(self, name: str, code: str = "i8") -> Value:
        """The register of an argument of the block, loaded in the entry block."""
        found = self._arguments.get(name)
        if found is None:
            with self.hoisted(self.entry):
                at = self._slot(name)
                if code == "b1":
                    byte = self.b.emit(f"load i8, ptr {at}", "u1", 1, name)
                    found = self.b.compare("ne", byte, self.b.const("u1", 0, 1))
                else:
                    found = self.b.emit(f"load {llvm_type(code, 1)}, ptr {at}", code, 1, name)
            self._arguments[name] = found
        assert isinstance(found, Value)
        return found

    def address(self, name: str) -> Pointer:
        """The register of a pointer of the block."""
        found = self._arguments.get(name)
        if found is None:
            with self.hoisted(self.entry):
                found = self.pointer(f"load ptr, ptr {self._slot(name)}", name)
            self._arguments[name] = found
        assert isinstance(found, Pointer)
        return found

    def _slot(self, name: str) -> str:
        slot = self.signature.slots[name]
        return self.pointer(f"getelementptr i64, ptr %args, i64 {slot}", "slot").ref if slot else "%args"

    def scalar(self, number: int) -> AnyValue:
        """A runtime scalar argument."""
        code = self.kernel.scalars[number]
        if code[0] == "c":
            part = "f4" if code == "c8" else "f8"
            return Complex(self.argument(f"scalar{number}.re", part), self.argument(f"scalar{number}.im", part))
        found = self.argument(f"scalar{number}", code)
        self.b.uniform.add(found.ref)
        return found

    # -- addresses, integers --------------------------------------------------------------------------------
    def pointer(self, instruction: str, hint: str) -> Pointer:
        name = "%" + self.b.fresh(hint)
        self.b.line(f"{name} = {instruction}")
        return Pointer(name)

    def offset(self, base: Pointer, distance: Value, unit: int = 1, hint: str = "at") -> Pointer:
        """base + distance * unit bytes."""
        if distance.ref == "0":
            return base
        element = "i8" if unit == 1 else f"[{unit} x i8]"
        return self.pointer(f"getelementptr {element}, ptr {base.ref}, i64 {distance.ref}", hint)

    def settled(self, at: Pointer) -> Pointer:
        """The address in a register of its own, whatever instructions could have computed on the way.

        Zen 4 takes 3 to 7 ns for each of many additions of integers into memory, one after another, whose addresses end
        in a move from a vector register, and 0.5 ns where a scalar instruction made them.
        """
        return self.pointer(f'call ptr asm "", "=r,0"(ptr {at.ref})', "settled")

    def number(self, value: int) -> Value:
        return self.b.const("i8", value, 1)

    def minimum(self, a: Value, b: Value) -> Value:
        return self.b.intrinsic("smin", [a, b])

    def alloca(self, type_: str, hint: str, align: int = 8) -> Pointer:
        with self.hoisted(self.entry):
            return self.pointer(f"alloca {type_}, align {align}", hint)

    def splat(self, value: AnyValue, lanes: int, scope: Scope) -> AnyValue:
        """A one-lane register in every lane, made once in `scope`."""
        if isinstance(value, Complex):
            re, im = self.splat(value.re, lanes, scope), self.splat(value.im, lanes, scope)
            assert isinstance(re, Value)
            assert isinstance(im, Value)
            return Complex(re, im)
        if value.lanes == lanes:
            return value
        key = (value.ref, value.code, lanes)  # constants of two dtypes are spelled alike
        found = scope.splats.get(key)
        if found is None:
            with self.hoisted(scope):
                made = self.b.splat(value, lanes)
            found = scope.splats[key] = made
            self.b.ahead[made.ref] = lambda name, make: self._follow(value, lanes, scope, name, make)
            if scope in self.open[:2]:  # before all loops
                self.b.once.add(made.ref)
        return found

    def _follow(self, one: Value, lanes: int, scope: Scope, name: str, make: Callable[[Value], Value]) -> Value:
        """What `make` makes of a one-lane register, in every lane; computed once in `scope`, or nearer to a walk."""
        scope = scope if self._walk is None or scope in self.open[:2] else self._walk
        key = (f"{name} of {one.ref}", one.code, lanes)
        found = scope.splats.get(key)
        if found is None:
            saved, self.b.observer = self.b.observer, None
            with self.hoisted(scope):
                made = make(one)
            found = scope.splats[key] = self.splat(made, lanes, scope)
            self.b.observer = saved
        assert isinstance(found, Value)
        return found

    def streaming(self) -> Value:
        """Whether this launch writes past the caches, as a register of the entry block."""
        if self._past is None:
            with self.hoisted(self.entry):
                word = self.b.emit(f"load i64, ptr {self._slot('stream')}", "i8", 1, "stream")
                self._past = self.b.emit(f"icmp ne i64 {word.ref}, 0", "b1", 1, "past")
        return self._past

    def _fence_lines(self) -> list[str]:
        """The end of a function: what was written past the caches is in memory before the task counts as done."""
        self.b.module.declare("llvm.x86.sse.sfence", "void", [])
        return [
            f"  br i1 {self.streaming().ref}, label %fence, label %fenced",
            "fence:",
            "  call void @llvm.x86.sse.sfence()",
            "  br label %fenced",
            "fenced:",
        ]

    def _ran_lines(self) -> list[str]:
        """The end of a function: the first task notes that the launch is one that has run."""
        return [
            "  %is_first = icmp eq i64 %begin, 0",
            "  br i1 %is_first, label %first, label %ended",
            "first:",
            f"  %ran = getelementptr i64, ptr %args, i64 {self.signature.slots['ran']}",
            "  store atomic i64 1, ptr %ran monotonic, align 8",
            "  br label %ended",
            "ended:",
        ]

    # -- control flow ---------------------------------------------------------------------------------------
    def loop(
        self,
        start: Value,
        stop: Value,
        step: int,
        carried: Sequence[Register],
        body: Callable[[Value, list[Register]], Sequence[Register]],
        hint: str = "j",
        *,
        entered: bool = False,
    ) -> list[Register]:
        """`for index in range(start, stop, step)` with carried registers; returns the index reached and them.

        `entered`: it is known that start < stop.
        """
        b = self.b
        initial = [self.carry(r) for r in (start, *carried)]
        top, done, before = b.fresh(f"{hint}.loop"), b.fresh(f"{hint}.done"), b.block
        if entered:
            b.jump(top)
        else:
            b.branch(b.compare("slt", start, stop), top, done)
        b.start(top)
        names = ["%" + b.fresh(hint), *("%" + b.fresh("carry") for _ in carried)]
        place = len(b.lines)
        b.lines.append("")
        index = Value(names[0], "i8", 1)
        passed = [r._replace(ref=n) for r, n in zip(initial[1:], names[1:], strict=True)]
        inner = [self.resume(c, p) for c, p in zip(carried, passed, strict=True)]
        after = [b.emit(f"add nsw i64 {index.ref}, {step}", "i8", 1, f"{hint}.next")]
        final = [self.carry(r) for r in (*after, *body(index, inner))]
        latch = b.block
        b.branch(b.compare("slt", after[0], stop), top, done)
        b.lines[place] = "\n".join(
            f"  {name} = phi {first.type} [ {first.ref}, %{before} ], [ {last.ref}, %{latch} ]"
            for name, first, last in zip(names, initial, final, strict=True)
        )
        b.start(done)
        if not entered:
            final = [self._join(first, before, last, latch) for first, last in zip(initial, final, strict=True)]
        return [self.resume(like, r) for like, r in zip((start, *carried), final, strict=True)]

    def walk(
        self,
        start: Value,
        stop: Value,
        step: int,
        carried: Sequence[Register],
        body: Callable[[Value, list[Register]], Sequence[Register]],
    ) -> list[Register]:
        """A `loop` over whole vectors of a row, behind a scope that only rows enter in which there are any."""
        b = self.b

        def vectors() -> list[Register]:
            with self.scope() as here:
                outer, self._walk, b.walks = (self._walk, b.walks), here, True
                state = self.loop(start, stop, step, carried, body, entered=True)
                self._walk, b.walks = outer
            return state

        return self.when(b.compare("slt", start, stop), vectors, [start, *carried])

    def carried_code(self, code: str, lanes: int) -> str:
        """The dtype that lanes have from block to block and in memory: bits are bytes, where masks are vectors.

        LLVM takes 64 bits apart there, one scalar register each: `any` of rows of bytes took 70 ns a row, and takes 5.
        """
        return "i1" if code == "b1" and lanes > 1 and self.host.vector_bytes < 64 else code

    def carry(self, register: Register, code: str = "i1") -> Register:
        """A register as it goes from block to block, bits as `carried_code` says or in wider lanes."""
        if isinstance(register, Value) and self.carried_code(register.code, register.lanes) != register.code:
            return self.b.convert("sext", register, code)
        return register

    def resume(self, like: Register, carried: Register) -> Register:
        """What `carry` made of a register like this one, as it was."""
        if isinstance(like, Value) and isinstance(carried, Value) and like.code != carried.code:
            return self.b.compare("slt", carried, self.b.like(carried, 0))
        return carried

    def _join(self, first: Register, before: str, last: Register, latch: str) -> Register:
        if first.ref == last.ref:
            return first
        name = "%" + self.b.fresh("out")
        self.b.line(f"{name} = phi {first.type} [ {first.ref}, %{before} ], [ {last.ref}, %{latch} ]")
        return first._replace(ref=name)

    def when(
        self, condition: Value, body: Callable[[], Sequence[Register]], otherwise: Sequence[Register] = ()
    ) -> list[Register]:
        """Runs `body` only if `condition`; the results are those of the body or `otherwise`."""
        b = self.b
        initial = [self.carry(r) for r in otherwise]
        then, done, before = b.fresh("then"), b.fresh("endif"), b.block
        b.branch(condition, then, done)
        b.start(then)
        results = [self.carry(r) for r in body()]
        latch = b.block
        b.jump(done)
        b.start(done)
        joined = [self._join(first, before, last, latch) for first, last in zip(initial, results, strict=True)]
        return [self.resume(like, r) for like, r in zip(otherwise, joined, strict=True)]

    def either(self, condition: Value, body: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Runs `body` if `condition`, else the other."""
        b = self.b
        then, other, done = b.fresh("then"), b.fresh("else"), b.fresh("endif")
        b.branch(condition, then, other)
        b.start(then)
        body()
        b.jump(done)
        b.start(other)
        otherwise()
        b.jump(done)
        b.start(done)

    def is_argument(self, ref: str) -> bool:
        """Whether a register is loaded in the entry block."""
        return any(found.ref == ref for found in self._arguments.values())
