"""Matplotlib draws the same pixels from lazy arrays as from NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, numbers, pending

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.collections import PolyCollection

x = numpy.linspace(0, 5, 40)
y = numpy.sin(x)
image = numbers(12, 9)
Convert = Callable[[Any], Any]

DRAWINGS: dict[str, Callable[[Any, Convert], Any]] = {
    "plot": lambda axes, to: axes.plot(to(x), to(y), to(x), to(y) ** 2),
    "plot of columns": lambda axes, to: axes.plot(to(image)),
    "imshow": lambda axes, to: axes.imshow(to(image)),
    "imshow of colours": lambda axes, to: axes.imshow(to(numpy.abs(numbers(5, 5, 3)) % 1)),
    "hist": lambda axes, to: axes.hist(to(y), bins=to(numpy.linspace(-1, 1, 7))),
    "scatter": lambda axes, to: axes.scatter(to(x), to(y), c=to(y), s=to(x) * 3),
    "contourf": lambda axes, to: axes.contourf(to(image)),
    "pcolormesh": lambda axes, to: axes.pcolormesh(to(image)),
    "errorbar": lambda axes, to: axes.errorbar(to(x), to(y), yerr=to(abs(y))),
    "fill_between": lambda axes, to: axes.fill_between(to(x), to(y), to(y) + 1, where=to(y) > 0),
    "bar": lambda axes, to: axes.bar(to(x), to(y)),
    "hist of columns": lambda axes, to: axes.hist(to(image)),
    "boxplot": lambda axes, to: axes.boxplot(to(image)),
    "quiver": lambda axes, to: axes.quiver(to(image), to(image)),
    "semilogy": lambda axes, to: axes.semilogy(to(x), to(y) + 2),
    "step": lambda axes, to: axes.step(to(x), to(y)),
    "errorbar of two": lambda axes, to: axes.errorbar(
        to(x), to(y), yerr=[to(abs(y)), to(x)], xerr=to(numpy.stack([x, y**2]))
    ),
    "scatter of colours": lambda axes, to: axes.scatter(to(x), to(y), c=to(numpy.abs(numbers(40, 3)) % 1)),
    "bar of one colour": lambda axes, to: axes.bar(to(x), to(y), color=to(numpy.array([[0.1, 0.2, 0.3]]))),
    "streamplot of colours": lambda axes, to: axes.streamplot(
        to(x),
        to(x),
        to(numpy.outer(y, y)),
        to(numpy.outer(x, y)),
        color=to(numpy.outer(y, x)),
        linewidth=to(numpy.outer(x, x)),
    ),
    "polygons": lambda axes, to: axes.add_collection(PolyCollection(to(numpy.abs(numbers(5, 4, 2)) % 1))),
    "limits of scalars": lambda axes, to: (axes.set_xlim(to(x).min(), to(x).max()), axes.axhline(to(y).mean())),
}


def pixels(draw: Callable[[Any, Convert], Any], to: Convert) -> Any:
    figure, axes = pyplot.subplots(figsize=(2, 2), dpi=50)
    draw(axes, to)
    figure.canvas.draw()
    drawn = numpy.asarray(figure.canvas.buffer_rgba()).copy()
    pyplot.close(figure)
    return drawn


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_the_picture_is_that_of_numpys_arrays(draw: Callable[[Any, Convert], Any]) -> None:
    drawn = pixels(draw, numpy.asarray)
    assert len(numpy.unique(drawn)) > 1
    assert_equal(pixels(draw, pending), drawn)


def test_lines_give_back_the_values_and_pictures_become_lazy_arrays() -> None:
    figure, axes = pyplot.subplots()
    (line,) = axes.plot(pending(x), pending(y))
    assert_equal(line.get_ydata(), y)
    assert_equal(axes.imshow(pending(image)).get_array().data, image)
    figure.canvas.draw()
    assert lazyarray.asarray(figure.canvas.buffer_rgba()).shape[2] == 4
    pyplot.close(figure)


def test_normalisation_and_colour_maps_of_lazy_arrays() -> None:
    norm = matplotlib.colors.Normalize(-1, 1)
    assert_equal(norm(pending(y)), norm(y))
    assert_equal(matplotlib.colormaps["viridis"](pending(y)), matplotlib.colormaps["viridis"](y))
