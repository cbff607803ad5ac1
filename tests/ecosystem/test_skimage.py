"""scikit-image's filters, warps, labels and segmentations take lazy images as they take NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, numbers

pytest.importorskip("skimage")
from skimage import exposure, feature, filters, measure, morphology, restoration, segmentation, transform, util

image = numpy.abs(numbers(24, 24)) / 3.0
blobs = image > 0.3
Use = Callable[[Any], Any]

USES: dict[str, Use] = {
    "smoothed": lambda n: filters.gaussian(n.array(image), sigma=1.5),
    "edges": lambda n: filters.sobel(n.array(image)),
    "a threshold": lambda n: filters.threshold_otsu(n.array(image)),
    "a median": lambda n: filters.median(n.array(image), n.ones((3, 3))),
    "resized": lambda n: transform.resize(n.array(image), (12, 16)),
    "warped by a matrix": lambda n: transform.warp(n.array(image), n.array([[1.0, 0, 3], [0, 1, -2], [0, 0, 1]])),
    "warped to places": lambda n: transform.warp(n.array(image), n.mgrid[0:8, 0:8] * 1.5),
    "windows": lambda n: util.view_as_windows(n.array(image), (3, 3)),
    "blocks": lambda n: util.view_as_blocks(n.array(image), (4, 4)),
    "bytes": lambda n: util.img_as_ubyte(n.array(image).clip(0, 1)),
    "equalised": lambda n: exposure.equalize_hist(n.array(image)),
    "matched": lambda n: exposure.match_histograms(n.array(image), n.array(image**2)),
    "labels": lambda n: measure.label(n.array(blobs)),
    "regions": lambda n: [r.centroid for r in measure.regionprops(measure.label(n.array(blobs)), n.array(image))],
    "contours": lambda n: measure.find_contours(n.array(image), 0.4),
    "a surface": lambda n: measure.marching_cubes(n.array(numbers(6, 7, 8)), 0.1)[0],
    "a line fitted": lambda n: measure.ransac(n.array(numbers(9, 2)), measure.LineModelND, 2, 99.0, rng=0)[1],
    "opened": lambda n: morphology.opening(n.array(blobs), n.ones((2, 2))),
    "a skeleton": lambda n: morphology.skeletonize(n.array(blobs)),
    "basins": lambda n: segmentation.watershed(n.array(image), n.where(n.array(image) < 0.02, 1, 0)),
    "boundaries": lambda n: segmentation.find_boundaries(n.array(blobs)),
    "corners": lambda n: feature.corner_harris(n.array(image)),
    "gradients": lambda n: feature.hog(n.array(image)),
    "denoised": lambda n: restoration.denoise_tv_chambolle(n.array(image)),
}


@pytest.mark.parametrize("large", [False, True], ids=["small", "pending"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_scikit_image_takes_lazy_images_as_numpys(use: Use, large: bool) -> None:
    expected = use(numpy)
    with lazyarray.config.set(eager_below=0 if large else 65536):
        found = use(lazyarray)
    assert_equal(found, expected)


def test_what_a_cython_function_declares_as_numpys_class_wants_that() -> None:
    edges = lazyarray.array(blobs)
    with pytest.raises(TypeError, match="incorrect type"):
        transform.hough_line(edges)
    for found, expected in zip(transform.hough_line(numpy.asarray(edges)), transform.hough_line(blobs), strict=True):
        assert_equal(found, expected)
