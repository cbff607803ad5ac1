"""Filters on a photograph (scikit-learn's china.jpg): grey, sepia, blur, edges, gamma and others."""

import numpy as np
from sklearn.datasets import load_sample_image

ENLARGE = 2


def to_grey(image):
    weights = np.array([0.299, 0.587, 0.114])
    return (image * weights).sum(axis=2).astype(np.uint8)


def to_sepia(image):
    matrix = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])
    red, green, blue = (image[..., i].astype(np.float64) for i in range(3))
    toned = [m[0] * red + m[1] * green + m[2] * blue for m in matrix]
    return np.minimum(np.stack(toned, axis=-1), 255.0).astype(np.uint8)


def blur(image, sigma):
    """A Gaussian blur, first down the columns and then along the rows, with the edges repeated."""
    radius = int(3 * sigma)
    offsets = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    weights /= weights.sum()
    height, width = image.shape[:2]
    padded = np.pad(image.astype(np.float64), ((radius, radius), (radius, radius), (0, 0)), mode="edge")
    down = sum(w * padded[i : i + height] for i, w in enumerate(weights))
    return sum(w * down[:, i : i + width] for i, w in enumerate(weights))


def sobel(grey):
    """How steep the picture is at each inner pixel, scaled to 0..255."""
    g = grey.astype(np.float64)
    gx = (g[:-2, 2:] + 2 * g[1:-1, 2:] + g[2:, 2:]) - (g[:-2, :-2] + 2 * g[1:-1, :-2] + g[2:, :-2])
    gy = (g[2:, :-2] + 2 * g[2:, 1:-1] + g[2:, 2:]) - (g[:-2, :-2] + 2 * g[:-2, 1:-1] + g[:-2, 2:])
    steepness = np.sqrt(gx**2 + gy**2)
    return steepness * (255.0 / steepness.max())


def gamma(image, value):
    return (255.0 * (image / 255.0) ** value + 0.5).astype(np.uint8)


def posterise(image, levels):
    step = 256 // levels
    return image // step * step + step // 2


def vignette(image):
    height, width = image.shape[:2]
    y = np.linspace(-1.0, 1.0, height)[:, np.newaxis, np.newaxis]
    x = np.linspace(-1.0, 1.0, width)[np.newaxis, :, np.newaxis]
    return (image * np.clip(1.2 - 0.6 * (x**2 + y**2), 0.0, 1.0)).astype(np.uint8)


def describe(name, image):
    values = np.asarray(image, dtype=np.float64)
    print(f"{name:10s} {image.shape!s:16s} mean {values.mean():9.4f}  deviation {values.std():8.4f}")


def main():
    photo = np.asarray(load_sample_image("china.jpg"))
    photo = np.repeat(np.repeat(photo, ENLARGE, axis=0), ENLARGE, axis=1)
    describe("photo", photo)
    grey = to_grey(photo)
    describe("grey", grey)
    describe("sepia", to_sepia(photo))
    soft = blur(photo, 2.0)
    describe("blur", soft)
    describe("sharpened", np.clip(2.0 * photo - soft, 0.0, 255.0))
    edges = sobel(grey)
    describe("edges", edges)
    describe("gamma", gamma(photo, 0.6))
    describe("posterised", posterise(photo, 4))
    describe("vignette", vignette(photo))
    describe("mirrored", photo[:, ::-1].transpose(1, 0, 2))

    print("brightest fifth of the grey photo starts at", int(np.percentile(grey, 80)))
    counts, _ = np.histogram(grey, bins=8, range=(0, 256))
    print("grey histogram:", counts)
    print(f"pixels on a strong edge: {np.count_nonzero(edges > 100.0)}")
    print("mean colour:", np.round(photo.reshape(-1, 3).mean(axis=0), 4))


if __name__ == "__main__":
    main()
