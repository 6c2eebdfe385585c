"""A grid on a Ray cluster of two nodes, one of which is lost, equals one on this machine."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.grids.worlds import VECTOR, assert_same_grids, written
from tests.experiments.sameness import vast
from vast.experiments.grids.directory import attempts

pytestmark = [
    pytest.mark.slow,
    # Ray closes its sockets when it is collected.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two nodes on this machine; the first one only coordinates."""
    pytest.importorskip("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    nodes: Any = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    yield nodes
    nodes.shutdown()


def has_leg(node: Any) -> bool:
    """Tell whether a leg runs on a node: Ray names its processes after what they do."""
    raylet = node.all_processes["raylet"][0].process.pid
    return any(
        Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"ray::_leg_on_node")
        for child in Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
    )


def test_a_grid_that_lost_a_node_equals_the_local_one(cluster: Any, tmp_path: Path) -> None:
    spec = written(tmp_path, VECTOR)
    doomed = cluster.add_node(num_cpus=1)
    out = tmp_path / "ray"
    lost_at: list[float] = []

    def lose_a_node() -> None:
        while not list(out.glob("runs/*/checkpoints.jsonl")) or not has_leg(doomed):
            time.sleep(0.01)
        lost_at.append(time.monotonic())
        cluster.remove_node(doomed, allow_graceful=False)

    losing = threading.Thread(target=lose_a_node)
    losing.start()
    options = ("--workers", "2", "--leg-seconds", "1.5")
    vast("grid", spec, "--out", out, "--ray", cluster.address, *options)
    done_at = time.monotonic()
    losing.join()
    assert lost_at[0] < done_at, "the grid was done before its node was lost"
    lost = [entry for entry in attempts(out) if entry["outcome"] == "crashed"]
    assert len(lost) == 1, lost
    vast("grid", spec, "--out", tmp_path / "local", "--workers", "2")
    assert_same_grids(out, tmp_path / "local")
