"""Lazy arrays are written to files and read from them, by NumPy's own functions and by other packages."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, is_pending, numbers, pending

values = numbers(30, 20)
spaces = pytest.mark.parametrize("space", [numpy, lazyarray], ids=["by NumPy", "by lazyarray"])


@spaces
@pytest.mark.parametrize("dtype", ["f8", "i2", "c8", "?", ">f4", "U3", "M8[s]"])
def test_saved_files_are_numpys_byte_for_byte(space: Any, dtype: str) -> None:
    kept = (abs(values) * 10).astype("i4").astype(dtype)
    array = pending(kept) if dtype in ("f8", "i2", "c8", "?") else lazyarray.array(kept)
    ours, theirs = io.BytesIO(), io.BytesIO()
    space.save(ours, array)
    numpy.save(theirs, kept)
    assert ours.getvalue() == theirs.getvalue()
    ours.seek(0)
    assert_equal(space.load(ours), kept)


@spaces
def test_archives_of_several_arrays(space: Any, tmp_path: Path) -> None:
    for save in (space.savez, space.savez_compressed):
        save(tmp_path / "several.npz", pending(values), named=pending(values[0]) > 0)
        with space.load(tmp_path / "several.npz") as found:
            assert sorted(found.files) == ["arr_0", "named"]
            assert_equal(found["arr_0"], values)
            assert_equal(found["named"], values[0] > 0)


@spaces
def test_text(space: Any, tmp_path: Path) -> None:
    space.savetxt(tmp_path / "table.csv", pending(values), delimiter=",", header="h")
    assert_equal(space.loadtxt(tmp_path / "table.csv", delimiter=","), values)
    assert_equal(space.genfromtxt(tmp_path / "table.csv", delimiter=","), values)
    assert_equal(space.fromstring("1 2 3", sep=" "), numpy.array([1.0, 2.0, 3.0]))


@spaces
def test_raw_bytes(space: Any, tmp_path: Path) -> None:
    pending(values).tofile(tmp_path / "raw")
    assert_equal(space.fromfile(tmp_path / "raw").reshape(30, 20), values)
    assert_equal(space.frombuffer(pending(values).tobytes()), values.ravel())


@spaces
def test_mapped_files_are_read_and_written(space: Any, tmp_path: Path) -> None:
    mapped = space.memmap(tmp_path / "mapped", dtype="f8", mode="w+", shape=(30, 20))
    mapped[...] = pending(values)
    mapped[0] = pending(values[1]) * 2
    mapped.flush()
    again = space.memmap(tmp_path / "mapped", dtype="f8", mode="r", shape=(30, 20))
    assert_equal(again[1:], values[1:])
    assert_equal(pending(values) + again, values + numpy.asarray(again))
    assert_equal(again[0], values[1] * 2)
    numpy.save(tmp_path / "saved.npy", values)
    opened = space.load(tmp_path / "saved.npy", mmap_mode="r")
    assert_equal(space.exp(opened).sum(axis=0), numpy.exp(values).sum(axis=0))


def test_a_mapped_file_shows_later_writes_to_its_array(tmp_path: Path) -> None:
    mapped = lazyarray.memmap(tmp_path / "mapped", dtype="f8", mode="w+", shape=(5000,))
    doubled = lazyarray.asarray(mapped) * 2
    mapped[:] = 3.0
    assert_equal(doubled, numpy.zeros(5000))
    assert_equal(lazyarray.asarray(mapped) * 2, numpy.full(5000, 6.0))


def test_pillow() -> None:
    image = pytest.importorskip("PIL.Image")
    for pixels in ((abs(values) * 60).astype("u1"), (abs(numbers(8, 9, 3)) * 60).astype("u1")):
        picture = image.fromarray(pending(pixels))
        assert picture.size == pixels.shape[1::-1]
        assert picture.tobytes() == pixels.tobytes()
        array = lazyarray.asarray(picture)
        assert type(array) is lazyarray.ndarray
        assert_equal(255 - array, 255 - pixels)
        assert_equal(lazyarray.array(picture.convert("L")).astype(float), numpy.array(picture.convert("L"), float))


def test_h5py(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        kept = file.create_dataset("a", data=pending(values), compression="gzip")
        file["b"] = pending(values[0] > 0)
        file.create_dataset("c", (30, 20), "f4")[2:5] = pending(values)[2:5]
        kept.attrs["scale"] = pending(values[0])
        assert_equal(kept[...], values)
        assert_equal(lazyarray.asarray(kept) * 2, values * 2)
        assert_equal(pending(values) + kept[:], values + values)
        assert_equal(kept[pending(values[:, 0]) > 0], values[values[:, 0] > 0])
        assert_equal(kept.attrs["scale"], values[0])
        assert_equal(file["c"][2:5], values[2:5].astype("f4"))
        into = pending(numpy.zeros((30, 20)))
        kept.read_direct(numpy.asarray(into))
        assert_equal(into, values)


def test_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(tmp_path / "data.zarr", shape=(30, 20), chunks=(7, 20), dtype="f8")
    stored[...] = pending(values)
    stored[3] = pending(values[4]) * 2
    found = lazyarray.asarray(stored[...])
    expected = values.copy()
    expected[3] = values[4] * 2
    assert_equal(found, expected)
    assert_equal(lazyarray.sqrt(abs(found)), numpy.sqrt(abs(expected)))
    assert_equal(zarr.array(pending(values), chunks=(30, 5))[...], values)


def test_reading_evaluates_nothing_else() -> None:
    other = pending(values)
    lazyarray.load(
        io.BytesIO(
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }" + b" " * 60 + b"\n"
        )
    )
    assert is_pending(other)
