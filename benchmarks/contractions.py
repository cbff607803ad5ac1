"""What `einsum` costs: `python -m benchmarks.contractions [--quick]`.

`np.einsum` under NumPy and lazyarray, turn by turn in one process: products of matrices, stacks of them, and sums of
elementwise products. Then products of square matrices of growing sides, alone and in stacks: from which on BLAS is
ahead of NumPy's own loop, which `frontend/contractions.py` goes by. Figures are the least of all turns.
"""

import argparse
import sys

import numpy

import lazyarray
from benchmarks import harness

CASES: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("ij,jk->ik", ((3, 3), (3, 3))),
    ("ij,jk->ik", ((40, 40), (40, 40))),
    ("ij,jk->ik", ((400, 400), (400, 400))),
    ("ij,kj->ik", ((400, 400), (400, 400))),
    ("ij,jk->ki", ((400, 400), (400, 400))),
    ("bij,bjk->bik", ((64, 64, 64), (64, 64, 64))),
    ("bhid,bhjd->bhij", ((4, 8, 64, 32), (4, 8, 64, 32))),
    ("bihd,bjhd->bhij", ((4, 64, 8, 32), (4, 64, 8, 32))),
    ("ij,jk,kl->il", ((100, 100), (100, 100), (100, 100))),
    ("ni,ij,nj->n", ((10_000, 20), (20, 20), (10_000, 20))),
    ("nij,nj->ni", ((2000, 3, 3), (2000, 3))),
    ("nij,njk->nik", ((2000, 3, 3), (2000, 3, 3))),
    ("ij,j->i", ((1000, 1000), (1000,))),
    ("ij,ij->i", ((1000, 1000), (1000, 1000))),
    ("ij,ij->j", ((1000, 1000), (1000, 1000))),
    ("ij,ij->", ((1000, 1000), (1000, 1000))),
    ("ij->j", ((1000, 1000),)),
    ("i,i,i->", ((1_000_000,), (1_000_000,), (1_000_000,))),
)
SIDES = (4, 6, 8, 10, 12, 16, 20, 24, 32)
STACKS = (1, 100)
CALLS = 20


def table_of_cases(turns: int) -> None:
    """Prints what NumPy's einsum and lazyarray's take."""
    draw = numpy.random.default_rng(1)
    rows = []
    for subscripts, shapes in CASES:
        operands = [draw.random(shape) for shape in shapes]
        line = f"done(np.einsum({subscripts!r}, *operands))"  # NumPy's side asks for that too, and is let through
        sides = [
            harness.looped(line, {"np": module, "operands": [*map(module.array, operands)], "done": lazyarray.evaluate})
            for module in (numpy, lazyarray)
        ]
        calls = 3 if sum(a.size for a in operands) > 1000 else 300
        plain, ours = [1e6 * seconds / calls for seconds in harness.least_in_turn(sides, calls, turns)]
        sizes = ", ".join("x".join(map(str, shape)) for shape in shapes)
        rows.append([subscripts, sizes, f"{plain:.1f}", f"{ours:.1f}", f"{plain / ours:.2f}x"])
    harness.print_table(("einsum", "operands", "NumPy us", "lazyarray us", "NumPy / lazyarray"), rows)


def table_of_sides(turns: int) -> None:
    """Prints what NumPy's loop and BLAS take for matrices of growing sides."""
    draw = numpy.random.default_rng(1)
    rows = []
    for side in SIDES:
        cells = []
        for number in STACKS:
            names = {"np": numpy, "a": draw.random((number, side, side)), "b": draw.random((number, side, side))}
            sides = [harness.looped(line, names) for line in ("np.einsum('bij,bjk->bik', a, b)", "np.matmul(a, b)")]
            loop, blas = [1e6 * seconds / CALLS for seconds in harness.least_in_turn(sides, CALLS, turns)]
            cells.append(f"{loop:.1f} / {blas:.1f}")
        rows.append([str(side), str(side**3), *cells])
    harness.print_table(("side", "products each", *[f"{number}: loop / BLAS us" for number in STACKS]), rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contractions", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    turns = 3 if parser.parse_args().quick else 30
    table_of_cases(turns)
    print()
    table_of_sides(turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
