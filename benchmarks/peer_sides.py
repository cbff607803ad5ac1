"""Owns the compilers that are measured: for each, a call that runs a program, or the reason why there is none."""

import ast
import importlib
import inspect
import os
import textwrap
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import count_cores
from benchmarks.peer_workloads import Case
from benchmarks.workloads import Inputs

Side = Callable[[], Sequence[Any]]  # runs the program once; the results are complete when it returns


class Missing(Exception):
    """Why a compiler does not run a program."""


def make_numpy(case: Case, inputs: Inputs) -> Side:
    own_inputs = harness.as_alone(lambda: [array.copy() for array in inputs])
    return lambda: harness.as_alone(case.run, np, *own_inputs)


def make_lazyarray(case: Case, inputs: Inputs) -> Side:
    import lazyarray

    lazy_inputs = [lazyarray.asarray(array.copy()) for array in inputs]
    lazyarray.evaluate(*lazy_inputs)

    def run() -> Sequence[Any]:
        results = case.run(lazyarray, *lazy_inputs)
        lazyarray.evaluate(*results)
        return results

    return run


def make_lazyarray_jit(case: Case, inputs: Inputs) -> Side:
    """The program as a function that is recorded once: beside the peers, which are decorators too."""
    import lazyarray

    lazy_inputs = [lazyarray.asarray(array.copy()) for array in inputs]
    lazyarray.evaluate(*lazy_inputs)

    @lazyarray.jit
    def recorded(*arrays: Any) -> Sequence[Any]:
        return case.run(lazyarray, *arrays)

    def run() -> Sequence[Any]:
        results: Sequence[Any] = recorded(*lazy_inputs)
        lazyarray.evaluate(*results)
        return results

    return run


def make_numexpr(case: Case, inputs: Inputs) -> Side:
    numexpr = load("numexpr")
    if case.numexpr is None:
        raise Missing("no expression of numexpr's")
    numexpr.set_num_threads(count_cores())
    run = case.numexpr

    def evaluate(text: str, arrays: dict[str, Any]) -> Any:
        return numexpr.evaluate(text, local_dict=arrays, global_dict={})

    return lambda: run(evaluate, *inputs)


def make_numba(case: Case, inputs: Inputs) -> Side:
    numba = load("numba")
    # It warns of what it runs on one thread.
    warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
    jitted: dict[Callable[..., Any], Any] = {}

    def jit(function: Callable[..., Any]) -> Any:
        if function not in jitted:
            jitted[function] = numba.njit(parallel=True)(bind_module(function, jit))
        return jitted[function]

    run = jit(case.run)
    return lambda: run(*inputs)


def make_jax(case: Case, inputs: Inputs) -> Side:
    jax = load("jax")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    run = case.functional or case.run
    jitted = jax.jit(lambda *arrays: run(jax.numpy, *arrays))
    device_inputs = [jax.numpy.asarray(array) for array in inputs]
    return lambda: jax.block_until_ready(jitted(*device_inputs))


def make_torch(case: Case, inputs: Inputs) -> Side:
    """torch.compile of NumPy code, which it takes as it is."""
    torch = load("torch")
    torch.set_num_threads(count_cores())
    run = case.run

    def call(*arrays: Any) -> Any:
        return run(np, *arrays)

    # A code object of its own: what is compiled for one program is not looked through for another one.
    call.__code__ = call.__code__.replace()
    compiled = torch.compile(call, fullgraph=True, dynamic=False)
    return lambda: compiled(*inputs)


MAKERS: dict[str, Callable[[Case, Inputs], Side]] = {
    "NumPy": make_numpy,
    "lazyarray": make_lazyarray,
    "lazyarray.jit": make_lazyarray_jit,
    "numexpr": make_numexpr,
    "Numba": make_numba,
    "jax.jit": make_jax,
    "torch.compile": make_torch,
}
PACKAGES = {"numexpr": "numexpr", "Numba": "numba", "jax.jit": "jax", "torch.compile": "torch"}


def load(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(f"{name} is not installed") from error


def list_versions() -> dict[str, str]:
    """The versions of the peers that are here."""
    versions = {}
    for package in PACKAGES.values():
        try:
            versions[package] = str(load(package).__version__)
        except Missing as missing:
            versions[package] = str(missing)
    return versions


def use_all_cores() -> None:
    """Settings that the peers read when they are imported."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "NUMEXPR_MAX_THREADS", "NUMEXPR_NUM_THREADS"):
        os.environ.setdefault(name, str(count_cores()))


def bind_module(function: Callable[..., Any], jit: Callable[[Callable[..., Any]], Any]) -> Callable[..., Any]:
    """The function without its first parameter, the array module, which is NumPy by name: Numba takes no modules.

    Functions that it hands the module on to are bound and jitted likewise.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    module = definition.args.args.pop(0).arg
    names: dict[str, Any] = dict(function.__globals__)
    for node in ast.walk(definition):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            first = node.args[0]
            if isinstance(first, ast.Name) and first.id == module:
                node.args.pop(0)
                names[node.func.id] = jit(function.__globals__[node.func.id])
    definition.returns = None
    for argument in definition.args.args:
        argument.annotation = None
    names[module] = np
    exec(compile(ast.fix_missing_locations(tree), inspect.getfile(function), "exec"), names)
    bound: Callable[..., Any] = names[definition.name]
    return bound
