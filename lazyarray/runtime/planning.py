"""Owns making a plan of an expression that was not met before, and dumping its stages."""

from __future__ import annotations

from functools import partial

from lazyarray.ir.expression import Expression
from lazyarray.runtime.dump import show
from lazyarray.schedule.plan import Plan
from lazyarray.schedule.printer import format_expression, format_kernel, format_plan
from lazyarray.schedule.schedule import schedule


def new_plan(expression: Expression) -> Plan:
    """The plan of an expression not met before; its stages are dumped if wanted."""
    show("graph", "recorded", lambda: format_expression(expression))
    plan = schedule(expression, lambda name, after: show("passes", name, lambda: format_expression(after)))
    show("plan", f"{len(plan.steps)} steps", lambda: format_plan(plan))
    for kernel in plan.kernels:
        show("kernels", "nest", partial(format_kernel, kernel))
    return plan
