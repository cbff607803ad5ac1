"""Owns who serves keys and operands of arrays that are not usual: functions of modules that are imported later.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final


class Keys:
    """Who serves the keys that are not usual; set once the class is there."""

    __slots__ = (
        "copy",
        "divmod",
        "element",
        "get",
        "iterate",
        "matmul",
        "matmul_in_place",
        "pick",
        "power",
        "power_in_place",
        "product",
        "put",
        "put_any",
        "reflected_divmod",
        "reflected_matmul",
        "reflected_power",
        "slice_at",
        "take_over",
        "transpose",
        "turned",
        "ufunc",
        "view_at",
    )  # fmt: skip

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


keys: Final = Keys()


def serve(**found: Any) -> None:
    """Fills `keys`."""
    for name, item in found.items():
        setattr(keys, name, item)
