"""Holds settings: defaults, environment, checks, and blocks that put back what they changed."""

from __future__ import annotations

from typing import Any

import pytest

from lazyarray.config import Config
from lazyarray.errors import ConfigError


def test_defaults() -> None:
    config = Config({})
    assert (config.backend, config.device, config.eager_below, config.numerics) == ("llvm", "cpu", 65536, "fast")
    assert (config.num_threads, config.memory_budget, config.debug, config.dump) == (None, None, (), None)
    assert config.cache_dir.endswith("lazyarray")


def test_environment() -> None:
    config = Config(
        {
            "LAZYARRAY_EAGER_BELOW": "0",
            "LAZYARRAY_NUM_THREADS": "3",
            "LAZYARRAY_MEMORY_BUDGET": "512MiB",
            "LAZYARRAY_DEBUG": "plan, cache",
            "LAZYARRAY_NUMERICS": "numpy",
            "LAZYARRAY_DUMP": "~",
        }
    )
    assert (config.eager_below, config.num_threads, config.memory_budget) == (0, 3, 512 << 20)
    assert (config.debug, config.numerics) == (("plan", "cache"), "numpy")
    assert config.dump is not None
    assert not config.dump.startswith("~")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("2G", 2 << 30), ("1.5k", 1536), ("100", 100), (7, 7), ("3 MB", 3 << 20), (None, None), ("", None)],
)
def test_bytes(value: Any, wanted: Any) -> None:
    config = Config({})
    config.memory_budget = value
    assert config.memory_budget == wanted


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eager_below", -1),
        ("eager_below", "many"),
        ("eager_below", 1.5),
        ("num_threads", 0),
        ("numerics", "exact"),
        ("memory_budget", "2X"),
        ("debug", "plans"),
        ("backend", ""),
        ("cache_dir", 3),
        ("eager_bellow", 3),
    ],
)
def test_what_is_refused_changes_nothing(name: str, value: Any) -> None:
    config = Config({})
    before = repr(config)
    with pytest.raises(ConfigError, match=name):
        setattr(config, name, value)
    with pytest.raises(ConfigError, match=name), config.set(device="other", **{name: value}):
        pass
    assert repr(config) == before


def test_blocks_nest_and_end_with_errors() -> None:
    config = Config({})
    with config.set(eager_below=1, numerics="numpy"):
        with pytest.raises(KeyError), config.set(eager_below=2):
            raise KeyError
        assert (config.eager_below, config.numerics) == (1, "numpy")
    assert (config.eager_below, config.numerics) == (65536, "fast")
