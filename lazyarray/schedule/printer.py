"""Owns the text of expressions, plans and kernels, for people: what `LAZYARRAY_DEBUG` prints."""

from __future__ import annotations

from lazyarray.ir.expression import Expression
from lazyarray.ir.node import Library
from lazyarray.schedule.kernel import Instruction, Kernel, Stage
from lazyarray.schedule.plan import CallStep, ClaimStep, KernelStep, Plan, Step

INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "equal": "==", "not_equal": "!=", "bitwise_and": "&", "bitwise_or": "|",
}  # fmt: skip


def format_expression(expression: Expression) -> str:
    """The entries of an expression, a line each; outputs are marked."""
    lines = []
    for position, entry in enumerate(expression.entries):
        shape = "x".join(str(n) for n in entry.shape) or "0-d"
        attr = entry.attr.name if isinstance(entry.attr, Library) else entry.attr
        words = " ".join(f"e{a}" for a in entry.args)
        marked = "  <- asked for" if position in expression.outputs else ""
        lines.append(f"e{position}: {entry.code} {shape} = {entry.kind} {words} {attr or ''}".rstrip() + marked)
    return "\n".join(lines)


def format_plan(plan: Plan) -> str:
    """The steps of a plan, a line each."""
    return "\n".join([f"plan of {len(plan.steps)} steps", *("  " + format_step(step) for step in plan.steps)])


def format_step(step: Step) -> str:
    """One step in a line."""
    if isinstance(step, KernelStep):
        return f"kernel {step.name}: reads {step.loaded} bytes, writes {step.stored} bytes: {' '.join(step.ops)}"
    if isinstance(step, ClaimStep):
        return f"value {step.result} takes the memory of value {step.old}" + (" as a copy" if step.copy else "")
    if isinstance(step, CallStep):
        return f"library call {step.library.name} makes value {step.result}"
    return f"memory for value {step.result}"


def format_kernel(kernel: Kernel) -> str:
    """The loop nest as pseudo-code: `a0, ...` are accesses, `s0, ...` scalar arguments, `i, j, ...` loop indices."""
    names = "ijklmnpq"
    index = [names[k] if k < len(names) else f"i{k}" for k in range(len(kernel.roles))]
    parallel = ", ".join(i for i, role in zip(index, kernel.roles, strict=True) if role == "p")
    reduced = ", ".join(i for i, role in zip(index, kernel.roles, strict=True) if role == "r")
    order = "in order for" if kernel.scatters or kernel.packs else "parallel for"
    lines = [f"{order} {parallel}:" if parallel else "once, split over the workers:"]
    for stage in kernel.stages:
        depth = "  "
        if stage.level == "full" and reduced:
            lines.append(f"  for {reduced}:")
            depth = "    "
        lines += [depth + line for line in stage_lines(kernel, stage, index)]
    return "\n".join(lines)


def stage_lines(kernel: Kernel, stage: Stage, index: list[str]) -> list[str]:
    """The body of one stage."""
    lines = [f"v{i.target} = {right_side(kernel, i, index)}" for i in stage.body]
    lines += [f"v{value} is kept for a later stage" for value in stage.kept]
    for r in stage.reductions:
        lines.append(f"v{r.target} = {r.op}(v{r.value})" + (f" where v{r.where}" if r.where is not None else ""))
    if stage.scan is not None:
        lines.append(f"v{stage.scan.target} = running {stage.scan.op}(v{stage.scan.value})")
    lines += [f"v{i.target} = {right_side(kernel, i, index)}" for i in stage.after]
    for store in stage.stores:
        place = element(kernel, store.access, index)
        if store.offset is not None:
            place = f"a{store.access} at byte v{store.offset}"
        elif store.packed:
            place = f"a{store.access}[next]"
        sign = "+=" if store.op == "add" else "="
        lines.append(f"{place} {sign} v{store.value}" + (f" where v{store.mask}" if store.mask is not None else ""))
    return lines


def right_side(kernel: Kernel, instruction: Instruction, index: list[str]) -> str:
    """What an instruction computes."""
    op, attr = instruction.op, instruction.attr
    args = [f"v{a}" for a in instruction.args]
    if op == "load" and isinstance(attr, int):
        return element(kernel, attr, index)
    if op == "scalar":
        return f"s{attr}"
    if op == "index" and isinstance(attr, int):
        return index[attr]
    if op == "const":
        return str(attr)
    if op == "recall":
        return f"kept v{attr}"
    if op == "gather":
        return f"a{attr} at byte {args[0]}"
    if op == "expand":
        return f"a{attr}[next] where {args[0]}"
    if op == "cast":
        return f"{instruction.code}({args[0]})"
    if op in INFIX:
        return f"{args[0]} {INFIX[op]} {args[1]}"
    return f"{op}({', '.join(args)})"


def element(kernel: Kernel, access: int, index: list[str]) -> str:
    """An access at the loop indices that it moves with."""
    used = [i for i, step in zip(index, kernel.accesses[access].steps, strict=True) if step != "0"]
    return f"a{access}[{', '.join(used)}]"
