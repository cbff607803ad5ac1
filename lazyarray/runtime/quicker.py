"""Owns which inner loops run in the place of NumPy's on small arrays: the backend's, where they take far less time.

They have NumPy's bits, so that it does not matter for a value which loop ran. `native/quicker.pxd` asks here once for
each ufunc and type of operands, and before each call whether NumPy's error state tells of underflow, of which loops in
vectors say nothing.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.errors import BackendError
from lazyarray.ir.ops import OPS, QUICKER, QUICKER_SMALL
from lazyarray.runtime.backend import current
from lazyarray.runtime.floating import LAST, error_state

_settings: Final = array("q", [0])  # how often settings have changed: loops are those of a backend
SETTINGS_AT: Final = _settings.buffer_info()[0]
_STATES_LIMIT: Final = 256
_states: dict[int, tuple[Any, bool]] = {}  # by id of a state, which is kept so that the id stays its own


def find(ufunc: Any, dtype: np.dtype[Any], number: bool) -> int:
    """The address of the loop that takes the place of the ufunc's own for operands of a dtype; 0 for none.

    `number`: the second operand is one number.
    """
    name = ufunc.__name__
    if name not in QUICKER | QUICKER_SMALL or OPS[name].ufunc is not ufunc:
        return 0
    try:
        loop_of = getattr(current(), "quicker_loop", None)
    except BackendError:
        return 0
    return 0 if loop_of is None else int(loop_of(name, f"{dtype.kind}{dtype.itemsize}", number))


def may_run() -> bool:
    """Whether NumPy's present error state lets underflow go."""
    state = error_state()
    if state is LAST.waits:
        return True
    found = _states.get(id(state))
    if found is None:
        if len(_states) >= _STATES_LIMIT:
            _states.clear()
        found = _states[id(state)] = (state, np.geterr()["under"] == "ignore")
    return found[1]


def _count() -> None:
    _settings[0] += 1


config.followers.append(_count)
