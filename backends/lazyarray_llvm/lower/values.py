"""Owns what a kernel record says about its values: their dtypes, and who reads them."""

from __future__ import annotations

from lazyarray.schedule.kernel import Kernel, Stage


def value_codes(kernel: Kernel) -> dict[int, str]:
    """The dtype of every value of a kernel."""
    codes: dict[int, str] = {}
    for stage in kernel.stages:
        codes.update((i.target, i.code) for i in (*stage.body, *stage.after))
        codes.update((r.target, r.code) for r in stage.reductions)
        if stage.scan is not None:
            codes[stage.scan.target] = stage.scan.code
    return codes


def used_values(stage: Stage) -> set[int]:
    """Every value number that a stage reads."""
    used = {a for i in (*stage.body, *stage.after) for a in i.args}
    used |= {t.value for t in stage.stores} | {t.mask for t in stage.stores if t.mask is not None}
    for r in stage.reductions:
        used |= {v for v in (r.value, r.where, r.start) if v is not None}
    if stage.scan is not None:
        used.add(stage.scan.value)
    return used | set(stage.kept)
