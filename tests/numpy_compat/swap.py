"""Owns what NumPy's test modules see: imports of NumPy mean lazyarray, and results are there before a block ends.

Imports are swapped as for any program under `python -m lazyarray` (`lazyarray/runner/swap.py`). Under
`pytest.raises`, `errstate` and the like a test expects what a statement raises or warns before the block ends, and
does not use the result; so the statement's result is evaluated where it is made.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from typing import Any, Final

from lazyarray.runner.swap import ImportRewriter

EVALUATE: Final = "_evaluate_here"  # a builtin while test modules run

WAITING_BLOCKS: Final = frozenset(
    """
    raises warns deprecated_call assert_raises assert_raises_regex assert_warns assert_no_warnings errstate
    catch_warnings suppress_warnings assert_deprecated assert_not_deprecated
    """.split()
)
# Assertions of `numpy.testing` that call a function, with the function's position.
CALLING_ASSERTS: Final = {"assert_raises": 1, "assert_raises_regex": 2, "assert_warns": 1, "assert_no_warnings": 0}
COMPARING_ASSERTS: Final = """
    assert_equal assert_almost_equal assert_approx_equal assert_array_equal assert_array_less
    assert_array_almost_equal assert_array_almost_equal_nulp assert_array_max_ulp assert_allclose assert_string_equal
    """.split()


class TestRewriter(ImportRewriter):
    """Swaps the imports of a test module, and evaluates what stands in blocks that wait for an error or a warning."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__("lazyarray")
        self.waiting = False
        self.in_function = False

    def rename(self, name: str) -> str:
        # Helpers beside the tests take no part in what is tested.
        return name if ".tests" in name else super().rename(name)

    def visit_inside(self, node: ast.AST, waiting: bool, in_function: bool | None = None) -> None:
        before = self.waiting, self.in_function
        self.waiting = waiting
        if in_function is not None:
            self.in_function = in_function
        self.generic_visit(node)
        self.waiting, self.in_function = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        # A function inside a test is often there to be called by `assert_raises`.
        self.visit_inside(node, self.in_function, True)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.visit_inside(node, False)
        return node

    def visit_With(self, node: ast.With) -> ast.With:
        calls = [part.func for item in node.items for part in ast.walk(item.context_expr) if isinstance(part, ast.Call)]
        names = {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
        self.visit_inside(node, self.waiting or not WAITING_BLOCKS.isdisjoint(names))
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        self.visit_inside(node, self.waiting or (self.in_function and bool(node.handlers)))
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        self.generic_visit(node)
        if self.waiting and not isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom | ast.Await):
            node.value = evaluated(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if self.waiting and node.value is not None:
            node.value = evaluated(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        self.generic_visit(node)
        if not self.waiting:
            return [node]
        node.value = evaluated(node.value)
        return [node, *written(node, node.targets)]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        self.generic_visit(node)
        return [node, *written(node, [node.target])] if self.waiting else [node]


def evaluated(value: ast.expr) -> ast.expr:
    """The expression with its value evaluated at once."""
    call = ast.Call(ast.Name(EVALUATE, ast.Load()), [value], [])
    return ast.fix_missing_locations(ast.copy_location(call, value))


def written(node: ast.stmt, targets: list[ast.expr]) -> list[ast.stmt]:
    """Statements that evaluate the arrays which an assignment wrote to."""
    statements: list[ast.stmt] = []
    for target in targets:
        if isinstance(node, ast.Assign) and not isinstance(target, ast.Subscript | ast.Attribute):
            continue
        while isinstance(target, ast.Subscript | ast.Attribute):
            target = target.value
        if isinstance(target, ast.Name) and target.id != "self":
            statement = ast.Expr(evaluated(ast.copy_location(ast.Name(target.id, ast.Load()), node)))
            statements.append(ast.fix_missing_locations(ast.copy_location(statement, node)))
    return statements


def evaluate_here(value: Any) -> Any:
    """The value itself, evaluated where it is lazyarray's, or a short list or tuple of such."""
    from lazyarray.frontend.array import ndarray
    from lazyarray.frontend.scalar import LazyScalar

    kind = type(value)
    if kind is ndarray or kind is LazyScalar:
        value.evaluate()
    elif (kind is tuple or kind is list) and len(value) < 64:
        for item in value:
            if type(item) is ndarray or type(item) is LazyScalar:
                item.evaluate()
    return value


def calling(source: Callable[..., Any], position: int) -> Callable[..., Any]:
    """An assertion that calls a function, which has evaluated its result when it returns."""

    @functools.wraps(source)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        if len(args) > position and callable(args[position]):
            function = args[position]
            given[position] = lambda *inner, **named: evaluate_here(function(*inner, **named))
        return source(*given, **kwargs)

    return call


def comparing(source: Callable[..., Any]) -> Callable[..., Any]:
    """An assertion that compares values, given NumPy's arrays: what it does itself is not what is tested."""
    from lazyarray.frontend.exchange import export

    @functools.wraps(source)
    def call(*args: Any, **kwargs: Any) -> Any:
        return source(*[export(arg) for arg in args], **{name: export(value) for name, value in kwargs.items()})

    return call


def install() -> None:
    """Readies this process for test modules written by `TestRewriter`."""
    import numpy.testing as theirs

    import lazyarray.testing as ours  # type: ignore[import-not-found]
    from lazyarray._core import umath  # type: ignore[import-not-found]

    setattr(builtins, EVALUATE, evaluate_here)
    for name, position in CALLING_ASSERTS.items():
        if hasattr(theirs, name):
            setattr(ours, name, calling(getattr(theirs, name), position))
    for name in COMPARING_ASSERTS:
        setattr(ours, name, comparing(getattr(theirs, name)))
    # Test modules list the ufuncs of this module by its `__dict__`, which holds names that were asked for.
    for name in dir(umath):
        getattr(umath, name, None)
