"""As many quotients and roots of a stage are products as leave the divider and the other units alike much to do."""

from __future__ import annotations

import pytest

from lazyarray.schedule.kernel import Access, Instruction, Kernel, Scan, Stage, Store
from lazyarray_llvm.engine import Host
from lazyarray_llvm.lower.dividing import by_products
from lazyarray_llvm.lower.facts import Levels

I = Instruction  # noqa: E741
SLOW = Host("sapphirerapids", "", 64, "x86_64-unknown-linux-gnu", True)
QUICK = Host("znver5", "", 64, "x86_64-unknown-linux-gnu", True)
NARROW = Host("haswell", "", 32, "x86_64-unknown-linux-gnu", True)
HALVES = Host("znver1", "", 32, "x86_64-unknown-linux-gnu", True)
BASELINE = Host("x86-64", "", 16, "x86_64-unknown-linux-gnu", False)


def chosen(host: Host, code: str, *body: tuple[str, ...]) -> list[str]:
    """The operations of a kernel over arrays `a` and `b` and a number `s` that are products there.

    Each is told as its name and those of its arguments; a later one names its result.
    """
    places = {"a": 0, "b": 1, "s": 2}
    made = [I(0, "load", (), code, 0), I(1, "load", (), code, 1), I(2, "scalar", (), code, 0)]
    for op, *args in body:
        number = len(places)
        made.append(I(number, op, tuple(places[arg] for arg in args), code))
        places[op] = number
    access = Access(code, ("1",))
    stage = Stage("full", tuple(made), stores=(Store(2, len(places) - 1),))
    kernel = Kernel(("p",), (access,) * 3, (code,), (stage,))
    found = by_products(kernel, Levels(kernel), host)
    return [op for op, number in places.items() if number in found]


LENGTH = (("multiply", "a", "a"), ("square", "b"), ("add", "multiply", "square"), ("sqrt", "add"))


def test_alone_they_are_products_where_a_cpu_divides_slowly() -> None:
    assert chosen(SLOW, "f8", ("sqrt", "a")) == ["sqrt"]
    assert chosen(SLOW, "f8", ("divide", "a", "b")) == ["divide"]
    for host in (QUICK, NARROW, BASELINE):
        assert chosen(host, "f8", ("sqrt", "a")) == []
        assert chosen(host, "f8", ("divide", "a", "b")) == []
    assert chosen(SLOW, "f4", ("divide", "a", "b")) == []


@pytest.mark.parametrize(("host", "codes"), [(SLOW, "f8 f4"), (QUICK, "f8 f4"), (NARROW, "f8"), (BASELINE, "")])
def test_quotients_by_one_number_are_products(host: Host, codes: str) -> None:
    for code in ("f8", "f4"):
        assert chosen(host, code, ("divide", "a", "s")) == ["divide"] * (code in codes.split())


def test_quotients_by_numbers_are_products_beside_others_where_vectors_take_two_turns() -> None:
    assert chosen(HALVES, "f8", ("divide", "a", "s")) == []
    assert chosen(HALVES, "f8", ("sqrt", "a"), ("divide", "sqrt", "s")) == ["divide"]


@pytest.mark.parametrize("host", [SLOW, QUICK, NARROW, HALVES])
def test_quotients_are_left_to_the_divider_behind_a_running_total(host: Host) -> None:
    total = Scan(1, "sum", 0, "f8")
    after = (I(2, "scalar", (), "f8", 0), I(3, "divide", (1, 2), "f8"))
    stage = Stage("full", (I(0, "load", (), "f8", 0),), scan=total, after=after, stores=(Store(1, 3),))
    kernel = Kernel(("p", "r"), (Access("f8", ("s", "1")),) * 2, ("f8",), (stage,))
    assert not by_products(kernel, Levels(kernel), host)


def test_one_of_a_quotient_and_a_root_is_left_to_the_divider() -> None:
    assert chosen(SLOW, "f8", *LENGTH, ("divide", "a", "sqrt")) == ["sqrt"]


def test_both_are_left_to_it_beside_much_other_work() -> None:
    functions = (("exp", "a"), ("log", "b"), ("sin", "exp"), ("multiply", "sin", "log"))
    assert chosen(SLOW, "f8", *functions, ("divide", "multiply", "b")) == []
    assert chosen(SLOW, "f8", *functions, ("divide", "multiply", "s")) == []
