"""An inverted file finds nearly all neighbours, and always what was just written."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.agents.mazes import GridMaze, live
from tests.agents.test_contract import AGENTS, assert_same, everything
from vast.agents import registry
from vast.agents.config import InvertedSearch
from vast.agents.inverted import InvertedFile
from vast.agents.mfec import MFECConfig
from vast.agents.nec.config import NECConfig
from vast.agents.neighbours import KeyValueMemory
from vast.errors import UserError
from vast.training.spaces import Spaces

Array = NDArray[np.float32]


def scattered(n: int, rng: np.random.Generator) -> Array:
    """Return keys on a bent surface of three dimensions, as those of places and headings are."""
    directions = np.random.default_rng(0).standard_normal((3, 16))
    keys: Array = np.sin(rng.random((n, 3)) * 3 @ directions).astype(np.float32)
    return keys


def clustered(n: int, rng: np.random.Generator) -> Array:
    """Return keys in fifty heaps."""
    heaps = 3 * np.random.default_rng(0).standard_normal((50, 16))
    keys: Array = (heaps[rng.integers(50, size=n)] + rng.standard_normal((n, 16))).astype("f4")
    return keys


def filled(
    keys: Array, inverted: InvertedSearch | None, capacity: int | None = None
) -> KeyValueMemory:
    memory = KeyValueMemory(capacity or len(keys), keys.shape[1], inverted)
    for key in keys:
        memory.add(key, 0.0)
    return memory


@pytest.mark.parametrize("draw", [scattered, clustered])
@pytest.mark.parametrize(("k", "probes"), [(11, 4), (50, 8)])
def test_nearly_all_neighbours_are_found(draw: Any, k: int, probes: int) -> None:
    rng = np.random.default_rng(1)
    keys, queries = draw(4000, rng), draw(100, rng)
    # begun early, and most entries replaced since
    memory = filled(keys[:2000], InvertedSearch(500, 64, probes))
    rows = rng.permutation(2000)[:1500]
    memory.move(rows, keys[2000:3500])
    exact = filled(memory.keys(np.arange(2000)), None)
    found, wanted = memory.nearest(queries, k), exact.nearest(queries, k)
    shares = [
        np.isin(mine, all_).mean() for mine, all_ in zip(found.rows, wanted.rows, strict=True)
    ]
    assert np.mean(shares) >= 0.9
    assert (found.squared >= wanted.squared).all()
    difference = memory.keys(found.rows).astype(np.float64) - queries[:, None]
    np.testing.assert_allclose(found.squared, (difference**2).sum(2), rtol=1e-12)


grid = st.integers(-2, 2)
events = st.lists(
    st.tuples(st.sampled_from(["add", "add", "move"]), st.tuples(grid, grid, grid), grid),
    min_size=10,
    max_size=40,
)


@settings(max_examples=40)
@given(
    events=events,
    capacity=st.integers(4, 20),
    probes=st.integers(1, 4),
    k=st.integers(1, 6),
    far=st.sampled_from([0, 10_000]),
)
def test_what_was_just_written_is_found_and_a_copy_finds_the_same(
    events: list[tuple[str, tuple[int, int, int], int]],
    capacity: int,
    probes: int,
    k: int,
    far: int,
) -> None:
    """Few whole numbers, so that many entries are equally far from a query and from centroids."""
    memory = KeyValueMemory(capacity, 3, InvertedSearch(4, 4, probes))
    exact = KeyValueMemory(capacity, 3)
    for kind, cell, number in events:
        key = np.array(cell, np.float32) + far
        if memory.find(key) is not None:
            continue
        if kind == "move" and len(memory):
            row = number % len(memory)
            for each in (memory, exact):
                each.move([row], key[None])
        else:
            row = memory.add(key, 0.0)
            exact.add(key, 0.0)
        found = memory.nearest(key[None], k)
        assert found.rows[0, 0] == memory.find(key) == row
        assert found.squared[0, 0] == 0
        assert found.rows.shape == (1, min(k, len(memory)))
        if probes == 4 or len(memory) < 4:
            assert_same(found, exact.nearest(key[None], k))
    copied = KeyValueMemory(capacity, 3, InvertedSearch(4, 4, probes))
    copied.load_state_dict(memory.state_dict())
    # all at once, which must not differ from one by one
    queries = np.mgrid[-1:2, -1:2, -1:2].reshape(3, -1).T.astype(np.float32) + far
    found = copied.nearest(queries, k)
    for i, query in enumerate(queries):
        one = memory.nearest(query[None], k)
        np.testing.assert_array_equal(one.rows[0], found.rows[i])
        np.testing.assert_array_equal(one.squared[0], found.squared[i])


def test_with_all_lists_probed_the_search_is_exact() -> None:
    rng = np.random.default_rng(1)
    keys, queries = clustered(1000, rng), clustered(100, rng)
    inverted = filled(keys, InvertedSearch(200, 32, 32), capacity=700)
    exact = filled(keys, None, capacity=700)
    assert_same(inverted.nearest(queries, 20), exact.nearest(queries, 20))


def test_the_search_is_exact_until_there_are_enough_entries() -> None:
    rng = np.random.default_rng(1)
    keys, queries = clustered(300, rng), clustered(100, rng)
    inverted = filled(keys[:299], InvertedSearch(300, 32, 1), capacity=400)
    exact = filled(keys[:299], None, capacity=400)
    assert_same(inverted.nearest(queries, 20), exact.nearest(queries, 20))
    for memory in (inverted, exact):
        memory.add(keys[299], 0.0)
    # one list of 32 does not hold the 20 nearest of every query
    assert (inverted.nearest(queries, 20).rows != exact.nearest(queries, 20).rows).any()


def test_the_same_keys_have_the_same_centroids() -> None:
    keys = scattered(2000, np.random.default_rng(1))
    one, two = (InvertedFile.trained(keys, 16, 2, 2000).centroids for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_a_memory_saved_without_centroids_or_with_others_makes_its_own() -> None:
    keys = scattered(300, np.random.default_rng(1))
    wanted = filled(keys, InvertedSearch(300, 8, 2)).state_dict()
    for saved in (filled(keys, None), filled(keys, InvertedSearch(100, 4, 2))):
        memory = KeyValueMemory(300, 16, InvertedSearch(100, 8, 2))
        memory.load_state_dict(saved.state_dict())
        assert_same(memory.state_dict()["centroids"], wanted["centroids"])
    with pytest.raises(ValueError, match="saved memory: centroids"):
        memory.load_state_dict({**wanted, "centroids": np.zeros((8, 3), np.float32)})


@pytest.mark.parametrize("name", ["mfec", "nec"])
@pytest.mark.parametrize("image", [False, True])
def test_stopping_and_resuming_equals_never_having_stopped(name: str, image: bool) -> None:
    make, config = AGENTS[name]
    config = replace(
        config, index="inverted", index_from=8, lists=6, probes=2, capacity=40, neighbours=3
    )
    spaces = Spaces((5, 5, 1) if image else (2,), np.dtype(np.uint8 if image else np.float32), 4)
    agent, other = (make(spaces, config=config, seed=seed) for seed in range(2))
    env = GridMaze(image, limit=23)
    live(agent, env, 200)
    agent.metrics()
    assert indexed(agent)
    store = agent.frame_store
    frames = [] if store is None else [store.frames_since(store.oldest)]
    other.load_state_dict(copy.deepcopy(agent.state_dict()), frames)
    for each, theirs in ((agent, copy.deepcopy(env)), (other, env)):
        live(each, theirs, 100, begin=False)
    assert agent.metrics() == other.metrics()
    assert_same(everything(agent), everything(other))


def indexed(agent: Any) -> bool:
    memories = agent.memories if hasattr(agent, "memories") else agent.dictionary.memories
    return all(memory.state_dict()["centroids"] is not None for memory in memories)


@pytest.mark.parametrize("agent", ["mfec", "nec"])
def test_large_memories_are_inverted_and_small_ones_exact(agent: str) -> None:
    presets = {name: registry.AGENTS[agent].preset(name, None, (2,)) for name in registry.PRESETS}
    assert {name: preset.index for name, preset in presets.items()} == {
        "paper": "inverted",
        "cpu": "inverted",
        "debug": "exact",
    }


def test_wrong_numbers_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="probes must be at most 32, the number of lists, got 33"):
        NECConfig(lists=32, probes=33)
    with pytest.raises(UserError, match="index_from must be at least 1024"):
        MFECConfig(index="inverted", index_from=10)
