"""Owns which calls come out of an installed package that does not know lazyarray.

A program hands its generators to packages (`random_state=`), which hand what they draw to compiled code: that takes
NumPy's arrays only.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from lazyarray.frontend.quick import tell

UNAWARE: Final[dict[Any, bool]] = {}
"""Whether a module is such a package's, by its name. `vectors.pxd` looks here, too."""
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_STANDARD: Final = Path(sysconfig.get_paths()["stdlib"])


def called_by_package() -> bool:
    """Whether the code that called into lazyarray is such a package's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "lazyarray":
        frame = frame.f_back
    return is_unaware(frame.f_globals)


def is_unaware(space: dict[str, Any]) -> bool:
    """Whether these are the globals of a module that is installed, or Python's, and has no name of lazyarray's."""
    name = space.get("__name__")
    found = UNAWARE.get(name)
    if found is None:
        file = Path(space.get("__file__") or "")
        installed = not _INSTALLED.isdisjoint(file.parts) or _STANDARD in file.parents
        found = UNAWARE[name] = installed and not any([_is_ours(*item) for item in space.items()])
    return found


def _is_ours(name: str, item: Any) -> bool:
    if isinstance(item, ModuleType):
        return item.__name__.partition(".")[0] == "lazyarray"
    return name in _own and item is _own[name] and item is not vars(np).get(name)


_own: Final = vars(sys.modules["lazyarray"])
tell(unaware=UNAWARE, is_unaware=is_unaware)
