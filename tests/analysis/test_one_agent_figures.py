"""Figs. 1C, D and 2: what is measured on one trained agent, and that this is what is drawn."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.collections import PolyCollection

from tests.analysis.records import record
from vast import VaST
from vast.agents.vast.agent import VaST as Agent
from vast.analysis.drawing import arrowheads
from vast.analysis.paper import fig1, fig2
from vast.cli import main
from vast.experiments.config import default_run
from vast.experiments.probes.images import image_from, image_text
from vast.experiments.probes.networks import networks
from vast.experiments.probes.sightings import sightings
from vast.model.tabulator import Tabulator
from vast.training.protocol import Env

Probed = tuple[Agent, dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def probed(
    trained_tmaze: tuple[Agent, Env], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Probed]:
    """The trained agent, and what both probes found on a copy of it."""
    agent, env = trained_tmaze
    saved = tmp_path_factory.mktemp("agent") / "copy"
    agent.save(saved)
    copy = VaST.load(saved, env)
    run: Any = SimpleNamespace(agent=copy, config=default_run("t-maze", "vast", "debug"))
    through = networks(run)
    yield agent, sightings(run), through
    copy.close()


def test_images_survive_as_text() -> None:
    rng = np.random.default_rng(0)
    for channels in (1, 3):
        frame = rng.integers(256, size=(6, 8, channels), dtype=np.uint8)
        assert np.array_equal(image_from(image_text(frame)), frame)
        assert np.array_equal(image_from(image_text(frame / 255)), frame)


@pytest.mark.slow
def test_known_states_of_the_run_have_the_mean_pose_of_their_earlier_frames(probed: Probed) -> None:
    agent, found, _ = probed
    run = found["run"]
    assert len(run["poses"]) == 21, "the start, and 20 steps"
    assert found["same_networks"]
    numbers = np.arange(agent.replay.oldest, agent.replay.end)
    states, assigned = agent.replay.states(numbers)
    means = {}
    for state in np.unique(states[assigned]):
        poses = agent.replay.poses(numbers[assigned & (states == state)])
        heading = np.exp(1j * np.radians(poses[:, 2])).mean()
        means[tuple(np.round(poses[:, :2].mean(axis=0), 1))] = np.degrees(np.angle(heading)) % 360
    known = [pose for pose in run["seen_at"] if pose is not None]
    assert known, "no observation of the stem was known"
    for x, y, heading in known:
        apart = abs(means[x, y] - heading)
        assert min(apart, 360 - apart) < 0.11
    for pose, before, seen in zip(run["seen_at"], run["before"], run["sightings"], strict=True):
        assert (before is None) == (pose is None) == (seen == 0)


@pytest.mark.slow
def test_the_example_is_one_state_seen_on_the_run_and_before(probed: Probed) -> None:
    agent, found, _ = probed
    example = found["example"]
    seen = [image_from(text) for text in (example["observation"], *example["earlier"])]
    assert len(seen) == min(4, found["run"]["sightings"][example["step"]]) + 1
    assert {image.shape for image in seen} == {agent.replay.frames(np.array([0])).shape[1:]}
    assert found["run"]["sightings"][example["step"]] == max(found["run"]["sightings"])


@pytest.mark.slow
def test_fig1_draws_the_run_where_its_states_were_seen_and_all_values(probed: Probed) -> None:
    _, found, _ = probed
    one = record([0.0], task="t-maze", arm="vast", probes={"sightings": found})
    figure = fig1.draw([one])
    drawn = {
        str(part.get_gid()): part
        for ax in figure.axes
        for part in ax.collections
        if isinstance(part, PolyCollection)
    }
    run = np.array(found["run"]["poses"], float)
    corners = np.array([np.asarray(path.vertices)[:3] for path in drawn["run"].get_paths()])
    assert corners == pytest.approx(arrowheads(run, 1.6 * fig1.ARROW))
    known = sum(pose is not None for pose in found["run"]["seen_at"])
    assert len(drawn["seen before"].get_paths()) == known
    states = found["states"]
    clear = [pose for pose in states["mean_poses"] if None not in pose]
    assert len(drawn["states"].get_paths()) == len(clear)
    without = fig1.draw([])
    assert len(without.axes) == 5, "A, B, the values learned in two ways, and their colours"


@pytest.mark.slow
def test_the_networks_of_one_step(probed: Probed) -> None:
    agent, _, found = probed
    encoder = agent.encoder
    assert isinstance(encoder, Tabulator)
    logits = np.array(found["logits"])
    assert (logits > 0).astype(int).tolist() == found["mode"]
    frame = image_from(found["observations"][1])
    state = int(encoder.encode(frame[None, None])[0])
    assert fig2.hexadecimal(found) == f"{state:x}"
    assert encoder.logits(frame[None, None])[0] == pytest.approx(logits, abs=0.001)

    before = torch.tensor(found["previous_sample"]).to(encoder.model.initial)[None]
    with torch.inference_mode():
        for action, expected in enumerate(found["expected_next"]):
            counts = [int(other == action) for other in range(agent.n_actions)]
            code = encoder.model.network_code(before)
            (now,) = [out for out in encoder.model.transitions(code, counts) if len(out)]
            assert now.sigmoid()[0].numpy() == pytest.approx(expected, abs=0.01)
        sample = torch.tensor(found["sample"]).to(encoder.model.initial)[None]
        picture = encoder.model.reconstructed(sample)[0].movedim(0, -1).numpy()
    assert image_from(found["reconstruction"]) / 255 == pytest.approx(picture, abs=0.01)


@pytest.mark.slow
def test_fig2_draws_the_codes_bit_by_bit(probed: Probed) -> None:
    _, _, found = probed
    one = record([0.0], task="t-maze", arm="vast", probes={"networks": found})
    figure = fig2.draw([one])
    shown: list[Any] = [ax.images[0].get_array() for ax in figure.axes if ax.images]
    codes = [
        np.ma.filled(image, np.nan).ravel() for image in shown if image.shape[1] == fig2.PER_ROW
    ]
    expected = [found["sample"], found["mode"], found["previous_sample"], *found["expected_next"]]
    assert len(codes) == len(expected) == 6
    for code, bits in zip(codes, expected, strict=True):
        assert code[: len(bits)] == pytest.approx(bits)


@pytest.mark.slow
def test_both_figures_are_drawn_from_a_run_directory_which_does_not_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = tmp_path / "run", tmp_path / "figures"
    main(["train", "t-maze", "--preset", "debug", "--out", str(run)])
    before = sorted(path.name for path in run.iterdir())
    for name in ("fig1", "fig2"):
        main(["figure", name, "--from", str(run), "--out", str(out)])
    assert sorted(path.name for path in out.iterdir()) == [
        "fig1.pdf",
        "fig1.png",
        "fig2.pdf",
        "fig2.png",
    ]
    assert sorted(path.name for path in run.iterdir()) == before
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["figure", "fig3", "--from", str(run), "--out", str(out)])
    error = capsys.readouterr().err
    assert error == "vast: fig3 needs runs on large-maze, got runs on t-maze\n"
