"""Holds that `einsum` is products of matrices or sums of products where it is one, and NumPy's own loop elsewhere."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import recipes
from lazyarray.frontend.callables import FEW_CONTRACTED
from lazyarray.frontend.contractions import Chain, plan_of
from lazyarray.ir.node import TAPE
from lazyarray.runtime.budget import TAPE_MOST
from tests.frontend.test_recipes import count_recipes

DRAW = numpy.random.default_rng(5)
EXTENTS = {"a": 3, "b": 4, "c": 2, "i": 24, "j": 20, "k": 28, "l": 5}
WIDE = {**EXTENTS, "i": 256, "j": 260, "k": 8}
PRODUCTS = [
    "ij,jk->ik", "ij,jk", "ij,jk->ki", "ij,kj->ik", "ji,kj->ki", "ij , jk -> ik", "bij,bjk->bik", "bij,bkj->bik",
    "bij,bjk->ibk", "bij,bjk->kib", "ijb,bjk->ibk", "abij,jk->abik", "aibj,akbj->abik", "jk,ij->ik", "ijl,ljk->ik",
    "bij,jk->bik", "ij,bjk->bik",
]  # fmt: skip
SUMS = ["ij,ij->i", "ij,ij->j", "ij,ij", "ij,ij->", "ij->j", "ij->i", "ij->", "ij,j->i", "ij,i->j", "j,ij->ij",
        "ijk,ik->k", "ijk->ki", "ijk,kji->", "ijk,j,i->ki", "ij,ji->i"]  # fmt: skip


def drawn(subscripts: str, dtype: str, extents: dict[str, int] = EXTENTS) -> list[Any]:
    """Operands with an extent for each label, the same ones whatever ran before."""
    draw = numpy.random.default_rng([*subscripts.encode(), *dtype.encode()])
    terms = subscripts.replace(" ", "").partition("->")[0].split(",")
    shapes = [[extents[label] for label in term] for term in terms]
    if dtype in ("D", "F"):
        return [(draw.standard_normal(shape) + 1j * draw.standard_normal(shape)).astype(dtype) for shape in shapes]
    if dtype in ("d", "f", "e"):
        return [draw.standard_normal(shape).astype(dtype) for shape in shapes]
    return [draw.integers(0, 1000, shape).astype(dtype) for shape in shapes]


def both(subscripts: str, operands: list[Any], **options: Any) -> tuple[Any, Any]:
    """NumPy's and ours, in memory."""
    ours = lazyarray.einsum(subscripts, *[lazyarray.array(a) for a in operands], **options)
    return numpy.einsum(subscripts, *operands, **options), ours


def bits(values: Any) -> bytes:
    return numpy.asarray(values).tobytes()


@pytest.mark.parametrize("dtype", ["d", "f", "D", "F"])
@pytest.mark.parametrize("subscripts", PRODUCTS)
def test_products_of_matrices_are_numpys_up_to_the_order_of_sums(subscripts: str, dtype: str) -> None:
    operands = drawn(subscripts, dtype)
    expected, found = both(subscripts, operands)
    assert found.dtype == expected.dtype
    assert found.strides == expected.strides
    assert found.flags.owndata
    assert found.flags.writeable
    exact = numpy.einsum(subscripts, *[a.astype("G" if dtype in "DF" else "g") for a in operands])
    scale = numpy.einsum(subscripts, *[abs(a.astype("D")) for a in operands]).real
    error = numpy.finfo(dtype).eps * scale
    # Of 20 numbers each. NumPy's own are as far away: 3 of these, in 3,000 draws.
    assert (abs(numpy.asarray(found) - exact) <= 4 * error).all()
    # Nowhere less accurate than NumPy's by more than the last bit of the sum of magnitudes.
    assert abs(numpy.asarray(found) - exact).max() <= abs(expected - exact).max() + error.max()


def test_a_product_of_matrices_has_the_bits_of_matmul() -> None:
    a, b = drawn("ij,jk->ik", "d")
    assert bits(both("ij,jk->ik", [a, b])[1]) == bits(a @ b)
    assert bits(both("ij,kj->ik", [a, b.T.copy()])[1]) == bits(a @ b.T.copy().T)
    assert bits(both("bij,bjk->bik", [a[None], b[None]])[1]) == bits(a[None] @ b[None])


@pytest.mark.parametrize("subscripts", [*PRODUCTS, *SUMS])
def test_bits_are_the_same_of_pending_and_of_computed_operands(subscripts: str) -> None:
    operands = drawn(subscripts, "d", WIDE)
    computed = [lazyarray.array(a) for a in operands]
    pending = [lazyarray.array(a) * 1.0 for a in operands]
    lent = [numpy.array(a) for a in operands]
    first = bits(lazyarray.einsum(subscripts, *computed))
    assert bits(lazyarray.einsum(subscripts, *pending)) == first
    if subscripts in PRODUCTS:
        assert bits(lazyarray.einsum(subscripts, *lent)) == first


@pytest.mark.parametrize("subscripts", [*PRODUCTS, *SUMS])
def test_few_products_have_numpys_bits(subscripts: str) -> None:
    few = {label: 5 for label in EXTENTS}
    expected, found = both(subscripts, drawn(subscripts, "d", few))
    assert bits(found) == bits(expected)
    pending = [lazyarray.array(a) * 1.0 for a in drawn(subscripts, "d", few)]
    assert bits(lazyarray.einsum(subscripts, *pending)) == bits(numpy.einsum(subscripts, *map(numpy.asarray, pending)))


@pytest.mark.parametrize("side", [19, 20, 21])
def test_from_so_many_products_on_blas_makes_them(side: int) -> None:
    a, b = DRAW.standard_normal((2, side, side))
    expected = numpy.einsum("ij,jk->ik", a, b) if side**3 < FEW_CONTRACTED else a @ b
    assert bits(both("ij,jk->ik", [a, b])[1]) == bits(expected)


CHAINS = [
    "ni,ij,nj->n",
    "ij,jk,kl->il",
    "ij,jk,kl->li",
    "ij,jk,kl,ln->in",
    "bij,jk,bkl->bil",
    "ij,ik,jk->",
    "ij,jk,k->i",
]
LONG = {"b": 3, "i": 30, "j": 28, "k": 32, "l": 26, "n": 90}


@pytest.mark.parametrize("dtype", ["d", "f", "D"])
@pytest.mark.parametrize("subscripts", CHAINS)
def test_several_operands_are_made_by_two_where_that_is_less_work(subscripts: str, dtype: str) -> None:
    operands = drawn(subscripts, dtype, LONG)
    expected, found = both(subscripts, operands)
    assert found.dtype == expected.dtype
    assert type(found) is (lazyarray.ndarray if expected.ndim else type(expected))
    if expected.ndim:
        assert found.strides == expected.strides
        assert found.flags.owndata
    scale = numpy.einsum(subscripts, *[abs(a) for a in operands]).real
    assert (abs(numpy.asarray(found) - expected) <= 200 * numpy.finfo(dtype).eps * scale).all()
    pending = lazyarray.einsum(subscripts, *[lazyarray.array(a) * 1.0 for a in operands])
    assert bits(pending) == bits(found)
    with lazyarray.config.set(numerics="numpy"):
        assert bits(both(subscripts, operands)[1]) == bits(expected)


@pytest.mark.parametrize(
    ("subscripts", "steps"),
    [("ni,ij,nj->n", 2), ("ij,jk,kl->il", 2), ("ij,jk,kl,ln->in", 3), ("ij,ij,ij->i", 0), ("ij,jk,kk->i", 0)],
)
def test_how_several_operands_are_made(subscripts: str, steps: int) -> None:
    plan = plan_of(subscripts, *drawn(subscripts, "d", LONG))
    assert (len(plan.steps) if isinstance(plan, Chain) else 0) == steps
    few = plan_of(subscripts, *drawn(subscripts, "d", {label: 3 for label in LONG}))
    assert few is None


@pytest.mark.parametrize(("rows", "columns"), [(1, 2000), (2000, 1), (1, 1)])
def test_single_rows_and_columns_are_numpys(rows: int, columns: int) -> None:
    operands = [DRAW.standard_normal((rows, 20)), DRAW.standard_normal((20, columns))]
    operands[0][0, 3] = numpy.nan
    operands[1][3] = 0.0
    expected, found = both("ij,jk->ik", operands)
    assert bits(found) == bits(expected)


@pytest.mark.parametrize("subscripts", [*PRODUCTS, *SUMS])
def test_numerics_of_numpy_is_numpys_own_loop(subscripts: str) -> None:
    operands = drawn(subscripts, "d", WIDE)
    with lazyarray.config.set(numerics="numpy"):
        for factor in (None, 1.0):  # in memory, and pending
            given = [lazyarray.array(a) if factor is None else lazyarray.array(a) * factor for a in operands]
            assert bits(lazyarray.einsum(subscripts, *given)) == bits(numpy.einsum(subscripts, *operands))


@pytest.mark.parametrize("dtype", ["d", "f", "D", "q", "B", "i"])
@pytest.mark.parametrize("subscripts", SUMS)
def test_sums_of_products_are_recorded(subscripts: str, dtype: str) -> None:
    operands = drawn(subscripts, dtype, WIDE)
    with lazyarray.record_runs() as runs:
        expected, found = both(subscripts, operands)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        values = numpy.asarray(found)
    # Floats that are read crosswise are multiplied first.
    assert len(runs.kernels) == (2 if subscripts == "ijk,kji->" and dtype in "dfD" else 1)
    assert not runs.library_calls
    assert not runs.fallbacks
    if dtype in ("q", "B", "i"):
        assert bits(values) == bits(expected)
    else:
        scale = numpy.einsum(subscripts, *[abs(a) for a in operands])
        assert (abs(values - expected) <= 100 * numpy.finfo(dtype).eps * scale).all()


def test_rows_of_products_are_added_as_sum_adds_them() -> None:
    a, b = DRAW.standard_normal((2, 256, 260))
    assert bits(both("ij,ij->i", [a, b])[1]) == bits((a * b).sum(1))
    assert bits(both("ij,ij->j", [a, b])[1]) == bits((a * b).sum(0))


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,ij->i", "ij,ij->ij"])
def test_nothing_is_told_of_the_numbers(subscripts: str) -> None:
    operands = drawn(subscripts, "d", {"i": 260, "j": 256, "k": 20})
    operands[0][3, 4], operands[1][3, 4], operands[1][4, 3] = 1e300, 1e300, 1e300
    operands[0][5, 5], operands[1][5, 5] = numpy.inf, 0.0
    with warnings.catch_warnings(), numpy.errstate(all="raise"):
        warnings.simplefilter("error")
        expected, found = both(subscripts, operands)
        values = numpy.asarray(found)
    assert (numpy.isinf(values) == numpy.isinf(expected)).all()
    assert (numpy.isnan(values) == numpy.isnan(expected)).all()
    assert numpy.isnan(values).any()


@pytest.mark.parametrize("subscripts", ["ij,ij->i", "ij,ij->ij", "ij->i", "ij,jk->ik"])
def test_no_sum_is_minus_zero(subscripts: str) -> None:
    operands = [numpy.full(a.shape, value) for a, value in zip(drawn(subscripts, "d", WIDE),
                                                              (-0.0, 0.0), strict=False)]  # fmt: skip
    expected, found = both(subscripts, operands)
    assert bits(found) == bits(expected)


ODD: dict[str, Any] = {
    "an axis that is repeated": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a[:, :1]), np.array(b)),
    "extents that do not fit": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a), np.array(b[:7])),
    "a label twice in an operand": lambda np, a, b: np.einsum("ii,ij->j", np.array(a[:20]), np.array(b)),
    "a label twice in the result": lambda np, a, b: np.einsum("ij,jk->ii", np.array(a), np.array(b)),
    "an unknown label": lambda np, a, b: np.einsum("ij,jk->iz", np.array(a), np.array(b)),
    "too few labels": lambda np, a, b: np.einsum("ij,k->ik", np.array(a), np.array(b)),
    "too many operands": lambda np, a, b: np.einsum("ij,jk,kl->il", np.array(a), np.array(b)),
    "an ellipsis": lambda np, a, b: np.einsum("...j,jk->...k", np.array(a), np.array(b)),
    "lists of labels": lambda np, a, b: np.einsum(np.array(a), [0, 1], np.array(b), [1, 2]),
    "labels that a list is": lambda np, a, b: np.einsum("ij,j->i", np.array(a), b[:, 0].tolist()),
    "out": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a), np.array(b), out=np.zeros((24, 28))),
    "optimize": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a), np.array(b), optimize=True),
    "optimize of sums": lambda np, a, b: np.einsum("ij->j", np.array(a), optimize=True),
    "dtype": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a), np.array(b), dtype="f4", casting="same_kind"),
    "two dtypes": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a), np.array(b.astype("f4"))),
    "integers": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a.astype("i4")), np.array(b.astype("i4"))),
    "truth values": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a > 0), np.array(b > 0)),
    "half floats": lambda np, a, b: np.einsum("ij,ij->i", np.array(a.astype("e")), np.array(a.astype("e"))),
    "an unknown sign": lambda np, a, b: np.einsum("i#,#k->ik", np.array(a), np.array(b)),
    "a sign of other alphabets": lambda np, a, b: np.einsum("ij,j\u00e9->i\u00e9", np.array(a), np.array(b)),
    "half an arrow": lambda np, a, b: np.einsum("ij,jk- >ik", np.array(a), np.array(b)),
    "two arrows": lambda np, a, b: np.einsum("ij,jk->i->k", np.array(a), np.array(b)),
    "another order of bytes": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a, ">f8"), np.array(b, ">f8")),
    "another order of bytes, sums": lambda np, a, b: np.einsum("ij->i", np.ones((300, 300), ">f8")),
    "no elements": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a[:, :0]), np.array(b[:0])),
    "an outer product": lambda np, a, b: np.einsum("i,j->ij", np.array(a.ravel()), np.array(b[0])),
    "a diagonal": lambda np, a, b: np.einsum("ii->i", np.array(a[:20])),
    "three operands": lambda np, a, b: np.einsum("ij,jk,k->i", np.array(a), np.array(b), np.array(b[0])),
    "views": lambda np, a, b: np.einsum("ij,jk->ik", np.array(a.T).T, np.array(b)[:, ::-1]),
    "nothing": lambda np, a, b: np.einsum(),
}  # fmt: skip


def outcome(call: Any, *args: Any) -> tuple[Any, Exception | None]:
    """What a call returns, or raises."""
    try:
        return call(*args), None
    except Exception as error:
        return None, error


@pytest.mark.parametrize("name", ODD)
def test_other_calls_are_numpys(name: str) -> None:
    a, b = drawn("ij,jk->ik", "d")
    call = ODD[name]
    (expected, error), (found, ours) = outcome(call, numpy, a, b), outcome(call, lazyarray, a, b)
    assert (type(ours), str(ours)) == (type(error), str(error))
    if error is not None:
        return
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if name in ("views", "out"):
        numpy.testing.assert_allclose(numpy.asarray(found), expected, rtol=1e-12, atol=1e-12)
    else:
        assert bits(found) == bits(expected)


def test_writes_after_a_call_do_not_change_it() -> None:
    a, b = [lazyarray.array(x) for x in drawn("ij,jk->ik", "d")]
    found = lazyarray.einsum("ij,jk->ik", a, b)
    expected = numpy.asarray(a) @ numpy.asarray(b)
    a[:] = 0.0
    assert bits(found) == bits(expected)


@pytest.mark.parametrize("state", ["warn", "ignore", "raise"])
@pytest.mark.parametrize("subscripts", SUMS)
def test_a_sum_of_products_is_recorded_again_by_a_recipe_that_tells_nothing_either(subscripts: str, state: Any) -> None:
    operands = drawn(subscripts, "d", WIDE)
    first = operands[0].reshape(-1)
    first[:3] = numpy.inf, -numpy.inf, 1e308
    with numpy.errstate(all="ignore"):
        given = [lazyarray.evaluate(lazyarray.array(a) * 1.0) for a in operands]
    found = []
    recipes._forget()  # other tests' calls
    with warnings.catch_warnings(), numpy.errstate(all=state):
        warnings.simplefilter("error")
        for turn in range(4):
            before = count_recipes()
            found.append(bits(lazyarray.einsum(subscripts, *given)))
            # Operands that are long are known by their shapes; short ones may be NumPy's. What is turned is a view.
            if turn == 1 and all(a.size >= lazyarray.config.eager_below for a in operands) and subscripts != "ijk->ki":
                assert count_recipes() == before + 1
    assert found[1:] == found[:1] * 3


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij->ji", "ij,ij->ij"])
def test_what_einsum_returns_again_is_of_the_present_operands(subscripts: str) -> None:
    for turn in range(4):
        operands = [a + turn for a in drawn(subscripts, "d", {"i": 260, "j": 256, "k": 20})]
        given = [lazyarray.array(a) * 1.0 for a in operands]
        expected = numpy.einsum(subscripts, *operands)
        assert numpy.allclose(numpy.asarray(lazyarray.einsum(subscripts, *given)), expected, rtol=1e-12)
    with lazyarray.config.set(numerics="numpy"):
        assert bits(lazyarray.einsum(subscripts, *given)) == bits(expected)


def test_a_recipe_made_where_nothing_is_told_tells_nothing_elsewhere() -> None:
    with numpy.errstate(all="ignore"):
        a = lazyarray.evaluate(lazyarray.array(numpy.full((256, 260), 1e300)) * 1.0)
        recipes._forget()  # other tests' calls
        for _ in range(3):
            lazyarray.einsum("ij,ij->i", a, a)
        assert count_recipes() == 1
    with warnings.catch_warnings(), numpy.errstate(all="raise"):
        warnings.simplefilter("error")
        assert numpy.isinf(numpy.asarray(lazyarray.einsum("ij,ij->i", a, a))).all()


def test_what_recipes_record_is_evaluated_when_it_has_become_much() -> None:
    a = lazyarray.evaluate(lazyarray.array(DRAW.standard_normal((256, 260))) * 1.0)
    kept = [lazyarray.einsum("ij->j", a) for _ in range(2 * TAPE_MOST)]
    assert len(TAPE) <= TAPE_MOST
    assert {bits(found) for found in kept} == {bits(numpy.asarray(a).sum(0) + 0.0)}
