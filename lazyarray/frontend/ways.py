"""Owns the line that `help` shows below NumPy's text: how lazyarray runs a function."""

from __future__ import annotations

from typing import Any, Final

COMPILED: Final = "recorded; evaluation runs it in a compiled kernel."
VIEW: Final = "recorded as a view, or a shared value: nothing is computed."
LIBRARY: Final = "recorded; evaluation calls a library (BLAS, on a GPU cuBLAS) on evaluated operands."
REBASED: Final = "NumPy's own Python code over lazyarray's functions: it records what those record."
ABOUT: Final = "looks at dtypes and shapes; nothing is evaluated."
NUMPY: Final = "not compiled: arguments are evaluated and NumPy runs."

# Names of lazyarray's own functions that run in another way than in a kernel, as docs/coverage.md shows.
_OTHER: Final = {
    **dict.fromkeys(
        """
        array_split asanyarray asarray ascontiguousarray broadcast_arrays broadcast_to copyto diag diagonal dsplit empty
        empty_like expand_dims flip fliplr flipud hsplit matrix_transpose moveaxis permute_dims ravel reshape rollaxis
        rot90 split squeeze swapaxes transpose vsplit lib.stride_tricks.sliding_window_view
        """.split(),
        VIEW,
    ),
    **dict.fromkeys("dot einsum inner matmul vdot linalg.matmul".split(), LIBRARY),
    **dict.fromkeys("isnat matvec vecdot vecmat from_dlpack".split(), NUMPY),
    "linalg.norm": REBASED,
    **dict.fromkeys("shape ndim size".split(), ABOUT),
}


def way_of_recorded(name: str) -> str:
    """How a function runs that lazyarray has of its own."""
    return _OTHER.get(name, COMPILED)


def with_way(doc: str | None, way: str) -> str | None:
    """NumPy's text with the line below it, indented as the text is."""
    if not doc or not doc.strip():
        return doc
    text = doc.rstrip()
    # Of lines in the order of texts the one with the fewest spaces before it is the last.
    last = max(text.split("\n")[1:], default="")
    indent = len(last) - len(last.lstrip())
    return f"{text}\n\n{' ' * indent}lazyarray: {way}\n"


def tell(found: Any, source: Any, way: str) -> Any:
    """The function, whose help ends with how it runs."""
    found.__doc__ = with_way(getattr(source, "__doc__", None), way)
    return found
