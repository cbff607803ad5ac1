"""Owns what is timed on a GPU: array programs with the array module as argument, PyTorch's forms, sizes, bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import workloads

Array = Any
Shape = tuple[int, ...]
SIDE = 8192
MI = 1 << 20


@dataclass(frozen=True, slots=True)
class Input:
    """An input array: uniform numbers between two bounds."""

    shape: Shape
    dtype: str = "float32"
    low: float = -3.0
    high: float = 3.0


@dataclass(frozen=True, slots=True)
class GpuWorkload:
    """`moved`: the fewest bytes that cross memory; `torch`: the same program for PyTorch, its module as argument.

    `share`: of the bandwidth of a copy, what the project wants of it; `tolerance`: of the largest value.
    """

    name: str
    run: Callable[..., Sequence[Array]]
    torch: Callable[..., Sequence[Array]]
    inputs: tuple[Input, ...]
    moved: int
    share: float | None = None
    tolerance: float = 1e-5
    jax: bool = True


def column_sum(np: Any, x: Array) -> Sequence[Array]:
    return (x.sum(axis=0),)


def julia_step(np: Any, z: Array, c: Array, count: Array) -> Sequence[Array]:
    inside = z.real * z.real + z.imag * z.imag <= 4
    return np.where(inside, z * z + c, z), count + inside


def half_chain(np: Any, x: Array, y: Array) -> Sequence[Array]:
    return (np.maximum(x * y + x, y) * 0.5 - x,)


def transposed_copy(np: Any, x: Array) -> Sequence[Array]:
    return (np.ascontiguousarray(x.T),)


def take(np: Any, x: Array, places: Array) -> Sequence[Array]:
    return (x[places],)


def running_sum(np: Any, x: Array) -> Sequence[Array]:
    return (np.cumsum(x),)


def jacobi_sweep(np: Any, a: Array, b: Array) -> Sequence[Array]:
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
    return (b,)


def chain_of_ten(np: Any, x: Array, y: Array) -> Sequence[Array]:
    a = x * y + x
    b = a - y * 0.5
    c = b * b + 1.0
    d = np.sqrt(c)
    return (np.maximum(d - x, y) * a,)


def torch_maximum(torch: Any, a: Array, number: float) -> Array:
    return torch.clamp_min(a, number)


def torch_activation(torch: Any, x: Array, y: Array) -> Sequence[Array]:
    return (torch_maximum(torch, (torch.sin(x) * torch.cos(y) + x) * y, 0),)


def torch_softmax(torch: Any, x: Array) -> Sequence[Array]:
    e = torch.exp(x - x.amax(1, keepdim=True))
    return (e / e.sum(1, keepdim=True),)


def torch_layer_norm(torch: Any, x: Array, gain: Array, bias: Array) -> Sequence[Array]:
    return (torch.nn.functional.layer_norm(x, x.shape[-1:], gain, bias, 1e-5),)


def torch_statistics(torch: Any, x: Array) -> Sequence[Array]:
    return x.amin(), x.amax(), x.mean(), x.std(correction=0)


def torch_black_scholes(torch: Any, spot: Array, strike: Array, years: Array) -> Sequence[Array]:
    return workloads.black_scholes(torch, spot, strike, years)


def torch_transposed(torch: Any, x: Array) -> Sequence[Array]:
    return (x.t().contiguous(),)


def torch_running_sum(torch: Any, x: Array) -> Sequence[Array]:
    return (torch.cumsum(x, 0),)


def jax_jacobi(jnp: Any, a: Array, b: Array) -> Sequence[Array]:
    mid = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
    return (b.at[1:-1, 1:-1].set(mid),)


def _options(dtype: str) -> tuple[Input, ...]:
    shape = (64 * MI,)
    return Input(shape, dtype, 10, 50), Input(shape, dtype, 10, 50), Input(shape, dtype, 0.2, 2)


_SQUARE = Input((SIDE, SIDE))
_LINE = Input((100_000_000,))

WORKLOADS: tuple[GpuWorkload, ...] = (
    GpuWorkload(
        "activation f32, 20 Mi", workloads.activation, torch_activation, (Input((20 * MI,)),) * 2, 12 * 20 * MI, 0.95
    ),
    GpuWorkload(
        "activation f64, 20 Mi",
        workloads.activation,
        torch_activation,
        (Input((20 * MI,), "float64"),) * 2,
        24 * 20 * MI,
        0.85,
        1e-13,
    ),
    GpuWorkload(
        "(a*b+c)*d - a/(b+1) f64, 32 Mi",
        workloads.arithmetic_chain,
        workloads.arithmetic_chain,
        (Input((32 * MI,), "float64", 0, 1),) * 4,
        40 * 32 * MI,
        None,
        0.0,
    ),
    GpuWorkload("row softmax f32, 8192^2", workloads.row_softmax, torch_softmax, (_SQUARE,), 8 * SIDE**2, 0.95),
    GpuWorkload(
        "row softmax f32, 1024 x 65536",
        workloads.row_softmax,
        torch_softmax,
        (Input((1024, 65536)),),
        8 * SIDE**2,
    ),
    GpuWorkload(
        "layer norm f32, 8192^2",
        workloads.layer_norm,
        torch_layer_norm,
        (_SQUARE, Input((SIDE,)), Input((SIDE,))),
        8 * SIDE**2,
        0.95,
    ),
    GpuWorkload("column sum f32, 8192^2", column_sum, lambda t, x: (x.sum(0),), (_SQUARE,), 4 * SIDE**2, 0.95),
    GpuWorkload(
        "sum(exp(x)*y) f32, 1e8",
        workloads.sum_of_product,
        workloads.sum_of_product,
        (_LINE, _LINE),
        8 * 10**8,
        0.95,
        1e-3,
    ),
    GpuWorkload(
        "min, max, mean, std f32, 1e8", workloads.statistics_together, torch_statistics, (_LINE,), 4 * 10**8, None, 1e-3
    ),
    GpuWorkload(
        "Black-Scholes f32, 64 Mi",
        workloads.black_scholes,
        torch_black_scholes,
        _options("float32"),
        20 * 64 * MI,
    ),
    GpuWorkload(
        "Black-Scholes f64, 64 Mi",
        workloads.black_scholes,
        torch_black_scholes,
        _options("float64"),
        40 * 64 * MI,
        None,
        1e-13,
    ),
    GpuWorkload(
        "Julia step c64, 16 Mi",
        julia_step,
        julia_step,
        (Input((16 * MI,), "complex64"), Input((16 * MI,), "complex64"), Input((16 * MI,), "int32", 0, 50)),
        32 * 16 * MI,
    ),
    GpuWorkload(
        "max(x*y+x, y)*0.5-x f16, 64 Mi",
        half_chain,
        half_chain,
        (Input((64 * MI,), "float16"),) * 2,
        6 * 64 * MI,
        None,
        2e-3,
    ),
    GpuWorkload("transposed copy f32, 8192^2", transposed_copy, torch_transposed, (_SQUARE,), 8 * SIDE**2, None, 0.0),
    GpuWorkload(
        "x[places] f32, 16 Mi",
        take,
        take,
        (Input((16 * MI,)), Input((16 * MI,), "int64", 0, 16 * MI)),
        16 * 16 * MI,
        None,
        0.0,
    ),
    GpuWorkload("cumsum f32, 64 Mi", running_sum, torch_running_sum, (Input((64 * MI,)),), 8 * 64 * MI, None, 1e-3),
    GpuWorkload("Jacobi sweep f32, 8192^2", jacobi_sweep, jacobi_sweep, (_SQUARE, _SQUARE), 8 * SIDE**2, 0.85, 1e-6),
)
TINY = GpuWorkload("10 operations, N=1024, host time", chain_of_ten, chain_of_ten, (Input((1024,)),) * 2, 0)
JAX_FORMS: dict[str, Callable[..., Sequence[Array]]] = {
    "Jacobi sweep f32, 8192^2": jax_jacobi,
    "transposed copy f32, 8192^2": lambda jnp, x: (x.T,),
}


# ---- programs of library calls, run whole (`benchmarks/gpu_programs.py`)


def sort(np: Any, x: Array) -> Sequence[Array]:
    return (np.sort(x),)


def transform(np: Any, x: Array) -> Sequence[Array]:
    return (np.fft.fft(x),)


def batched_product(np: Any, x: Array, y: Array) -> Sequence[Array]:
    return (x @ y,)


def contraction(np: Any, x: Array, y: Array) -> Sequence[Array]:
    return (np.einsum("bik,bjk->bij", x, y),)


def mask_read(np: Any, x: Array) -> Sequence[Array]:
    return (x[x > 0],)


def counts(np: Any, x: Array) -> Sequence[Array]:
    return (np.bincount(x, minlength=1024),)


def histogram(np: Any, x: Array) -> Sequence[Array]:
    return (np.histogram(x, 256, (-3.0, 3.0))[0],)


def perceptron(np: Any, x: Array, first: Array, second: Array) -> Sequence[Array]:
    hidden = np.maximum(x @ first, 0)
    unused = hidden @ first  # noqa: F841
    return (hidden @ second,)


_BATCH = Input((64, 512, 512))
_HALF = Input((1024, 1024), "float16", -0.05, 0.05)

LIBRARY: tuple[GpuWorkload, ...] = (
    GpuWorkload("sort f32, 16 Mi", sort, sort, (Input((16 * MI,)),), 8 * 16 * MI),
    GpuWorkload("FFT c64, 16 Mi", transform, transform, (Input((16 * MI,), "complex64"),), 16 * 16 * MI),
    GpuWorkload("x @ y f32, 64 x 512^2", batched_product, batched_product, (_BATCH, _BATCH), 3 * 4 * 64 * 512**2),
    GpuWorkload("einsum bik,bjk->bij f32, 64 x 512^2", contraction, contraction, (_BATCH, _BATCH), 3 * 4 * 64 * 512**2),
    GpuWorkload("x[x > 0] f32, 64 Mi", mask_read, mask_read, (Input((64 * MI,)),), 6 * 64 * MI, jax=False),
    GpuWorkload(
        "bincount int32, 16 Mi, 1024 bins", counts, counts, (Input((16 * MI,), "int32", 0, 1024),), 4 * 16 * MI
    ),
    GpuWorkload("histogram f64, 16 Mi, 256 bins", histogram, histogram, (Input((16 * MI,), "float64"),), 8 * 16 * MI),
    GpuWorkload(
        "MLP f16, 4096 x 1024, one product unused",
        perceptron,
        perceptron,
        (Input((4096, 1024), "float16", -1, 1), _HALF, _HALF),
        2 * (2 * 4096 * 1024 + 2 * 1024**2),
    ),
)
