"""The Mandelbrot set: escape times on a grid of complex points, as a small text picture and a histogram."""

import numpy as np

WIDTH, HEIGHT = 1440, 960
ITERATIONS = 100


def escape_times(c, iterations):
    """The iteration at which each point leaves the disc of radius 2 (`iterations` if it does not)."""
    z = np.zeros_like(c)
    times = np.full(c.shape, iterations, dtype=np.int32)
    active = np.ones(c.shape, dtype=bool)
    for n in range(iterations):
        z[active] = z[active] ** 2 + c[active]
        escaped = active & (z.real**2 + z.imag**2 > 4.0)
        times[escaped] = n
        active &= ~escaped
    return times


def draw(times, columns=72, rows=24):
    shades = np.array(list(" .:-=+*#%@"))
    height, width = times.shape
    cells = times[: rows * (height // rows), : columns * (width // columns)]
    cells = cells.reshape(rows, height // rows, columns, width // columns).mean(axis=(1, 3))
    level = np.log1p(cells) / np.log1p(times.max()) * (len(shades) - 1)
    for row in shades[np.rint(level).astype(int)]:
        print("".join(row.tolist()).rstrip())


def main():
    x = np.linspace(-2.2, 0.8, WIDTH)
    y = np.linspace(-1.1, 1.1, HEIGHT)
    c = x[np.newaxis, :] + 1j * y[:, np.newaxis]
    times = escape_times(c, ITERATIONS)
    draw(times)
    inside = times == ITERATIONS
    area = inside.mean() * (x[-1] - x[0]) * (y[-1] - y[0])
    print(f"{np.count_nonzero(inside)} of {inside.size} points stay: area about {area:.4f}")
    counts, edges = np.histogram(times[~inside], bins=[0, 2, 4, 8, 16, 32, 64, 100])
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        print(f"escape after {low:2d} to {high:2d} iterations: {count}")


if __name__ == "__main__":
    main()
