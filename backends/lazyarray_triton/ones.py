"""Owns what is compiled for the value of a scalar: 1 over something is a reciprocal, which takes half of a quotient."""

from __future__ import annotations

from collections.abc import Sequence

from lazyarray.schedule.kernel import Kernel


def numerators(kernel: Kernel) -> tuple[int, ...]:
    """The scalars of real floats that something is divided into."""
    instructions = [i for s in kernel.stages for i in (*s.body, *s.after)]
    scalars = {i.target: int(i.attr or 0) for i in instructions if i.op == "scalar" and i.code in ("f4", "f8")}
    found = {scalars[i.args[0]] for i in instructions if i.op == "divide" and i.args[0] in scalars}
    return tuple(sorted(found))


def with_ones(kernel: Kernel, scalars: Sequence[complex]) -> Kernel:
    """The kernel for scalars of which such are 1."""
    ones = {k for k in numerators(kernel) if scalars[k] == 1}
    if not ones:
        return kernel
    stages = []
    for stage in kernel.stages:
        body = [i._replace(op="const", attr=1) if i.op == "scalar" and i.attr in ones else i for i in stage.body]
        stages.append(stage._replace(body=tuple(body)))
    return kernel._replace(stages=tuple(stages))
