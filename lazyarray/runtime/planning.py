"""Owns making a plan of an expression that was not met before, or finding it on disk, and dumping its stages."""

from __future__ import annotations

from lazyarray.config import config
from lazyarray.ir.expression import Expression
from lazyarray.runtime.kept_plans import keep_plan, key_of, load_plan
from lazyarray.schedule.plan import Plan


def new_plan(expression: Expression) -> Plan:
    """The plan of an expression not met before in this process."""
    if config.debug or config.dump is not None:
        return made_and_shown(expression)
    key = key_of(expression)
    plan = None if key is None else load_plan(key)
    if plan is None:
        from lazyarray.schedule.schedule import schedule

        plan = schedule(expression)
        if key is not None:
            keep_plan(key, plan)
    return plan


def made_and_shown(expression: Expression) -> Plan:
    """The plan of an expression, made now; its stages are dumped if wanted."""
    from functools import partial

    from lazyarray.runtime.dump import show
    from lazyarray.schedule.printer import format_expression, format_kernel, format_plan
    from lazyarray.schedule.schedule import schedule

    show("graph", "recorded", lambda: format_expression(expression))
    plan = schedule(expression, lambda name, after: show("passes", name, lambda: format_expression(after)))
    show("plan", f"{len(plan.steps)} steps", lambda: format_plan(plan))
    for kernel in plan.kernels:
        show("kernels", "nest", partial(format_kernel, kernel))
    return plan
