"""The device of the networks: where everything lands, and what falls back elsewhere.

PyTorch's meta device has shapes but no values. What is left on the processor by mistake meets it in
an operation, and is refused; so every machine can test the placement.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.agents.worlds import Grid
from tests.model.worlds import batch, seeded
from vast import LSH, MFEC, NEC, PrioritizedDDQN, VaST
from vast.agents.base import Agent, ReplayAgent
from vast.agents.vast.trainers import ThreadTrainer
from vast.agents.vast.training_process import ProcessTrainer
from vast.errors import UserError
from vast.experiments.run_directory import read_config
from vast.model import ModelConfig, NetworkConfig, Tabulator, tabulator
from vast.model.single import single_encoder
from vast.replay import Steps
from vast.training.device import device_name, device_named

META = torch.device("meta")
AGENTS: list[type[Agent]] = [VaST, LSH, MFEC, NEC, PrioritizedDDQN]
WORLDS: list[Any] = ["CartPole-v1", Grid()]


def networks_of(agent: Agent) -> dict[str, nn.Module]:
    """Return every network of an agent by name."""
    found: dict[str, nn.Module] = {}
    if isinstance(agent, VaST):
        encoder = agent.encoder
        assert isinstance(encoder, Tabulator)
        found |= {"model": encoder.model}
        for name in ("_average", "_published"):
            copied = getattr(encoder, name)
            found |= {name: copied} if copied is not None else {}
    if isinstance(agent, ReplayAgent):
        found |= {"network": agent.network}
    if isinstance(agent, PrioritizedDDQN):
        found |= {"target": agent.target}
    return found


def tensors_of(agent: Agent) -> Iterator[tuple[str, Tensor]]:
    """Give every parameter, buffer and state of an optimiser."""
    for name, network in networks_of(agent).items():
        for inside, tensor in (*network.named_parameters(), *network.named_buffers()):
            yield f"{name}.{inside}", tensor
    holder = agent.encoder if isinstance(agent, VaST) else getattr(agent, "_optimiser", None)
    adam = getattr(holder, "_optimiser", None) or getattr(holder, "_adam", None)
    if adam is not None:
        yield from ((f"adam.{name}", each) for name, each in adam.tensors().items())


@pytest.mark.parametrize("world", WORLDS, ids=str)
@pytest.mark.parametrize("kind", AGENTS)
def test_everything_of_every_agent_lands_on_the_device(kind: type[Agent], world: Any) -> None:
    agent = kind(world, "debug", device=META)
    places = {name: tensor.device.type for name, tensor in tensors_of(agent)}
    assert set(places.values()) <= {"meta"}, places
    assert bool(places) == (kind in (VaST, NEC, PrioritizedDDQN))
    if kind is VaST:
        names = {name.partition(".")[0] for name in places}
        assert names == {"model", "adam", "_average", "_published"}
    agent.close()


@pytest.mark.parametrize("estimator", ["concrete", "straight-through"])
@pytest.mark.parametrize("network", ["mlp", "conv"])
@pytest.mark.parametrize("length", [1, 3])
def test_a_training_step_of_the_model_stays_on_the_device(
    network: Any, estimator: Any, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = NetworkConfig(kind=network, mlp_hidden=(16,), conv_channels=(4, 4, 4), dense=8)
    config = ModelConfig(
        n_bits=8, history=1, network=small, estimator=estimator, ema_decay=0.9, standardise=False
    )
    learner = Tabulator((16, 16, 1), 3, config, seeded(), device=META)
    seen: list[str] = []

    def note(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        seen.extend(each.device.type for each in inputs if isinstance(each, Tensor))

    for part in learner.model.modules():
        if isinstance(part, nn.Linear | nn.Conv2d | nn.ConvTranspose2d | nn.Sequential):
            part.register_forward_pre_hook(note)
    # There are no numbers to look at; Adam looks at its step.
    monkeypatch.setattr(learner._optimiser, "step", lambda: None)
    monkeypatch.setattr(learner._optimiser, "require_finite_gradient", lambda *_: None)
    monkeypatch.setattr(tabulator, "as_numbers", lambda terms: terms)
    drawn = batch(np.random.default_rng(0), history=1, shape=(16, 16, 1), length=length)
    terms: Any = learner.train(drawn)
    assert {each.device.type for each in terms} == {"meta"}
    assert set(seen) == {"meta"}
    gradients = [parameter.grad for parameter in learner.model.encoder.parameters()]
    assert {each.device.type for each in gradients if each is not None} == {"meta"}
    assert len(gradients) == sum(each is not None for each in gradients)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_inputs_of_an_embedding_land_on_the_device(dtype: Any) -> None:
    agent = NEC("CartPole-v1", "debug", device=META)
    histories = np.zeros((5, agent.config.history + 1, 4), dtype)
    keys = agent.network(histories)
    assert (keys.device, keys.dtype) == (META, torch.float32)
    agent.network.standardise(histories[:, 0])
    agent.close()


def test_the_inputs_of_q_networks_land_on_the_device() -> None:
    agent = PrioritizedDDQN("CartPole-v1", "debug", device=META)
    rng = np.random.default_rng(0)
    k = agent.config.history
    frames = rng.normal(size=(5, k + 2, 4)).astype(np.float64)
    steps = Steps(frames, np.zeros(5, np.int64), np.ones(5), np.array([0, 1, 0, 0, 1], np.bool_))
    errors = agent.td_errors(steps)
    assert (errors.device, errors.dtype) == (META, torch.float32)
    torch.autograd.backward(errors.sum())
    assert all(each.grad is not None for each in agent.network.parameters())
    agent.close()


@pytest.mark.parametrize("kind", [VaST, NEC, PrioritizedDDQN])
def test_what_is_saved_on_one_device_is_loaded_on_another(kind: type[Agent], tmp_path: Any) -> None:
    agent = kind("CartPole-v1", "debug", seed=3)
    agent.learn(60, progress=False)
    agent.save(tmp_path)
    elsewhere = kind.load(tmp_path, "CartPole-v1", device=META)
    assert elsewhere.device == META
    assert {tensor.device.type for _, tensor in tensors_of(elsewhere)} == {"meta"}
    back = kind.load(tmp_path, "CartPole-v1", device="auto")
    seen = np.linspace(-0.1, 0.1, 4, dtype=np.float32)
    np.testing.assert_array_equal(back.q_values(seen), agent.q_values(seen))
    for each in (agent, elsewhere, back):
        each.close()


def test_weights_begin_alike_on_every_device_since_they_are_drawn_on_the_processor() -> None:
    config = ModelConfig(n_bits=8, network=NetworkConfig(kind="mlp", mlp_hidden=(16,)))
    here = Tabulator((4, 4, 1), 2, config, seeded(5))
    there = Tabulator((4, 4, 1), 2, config, seeded(5), device=META)
    assert torch.equal(here.generator.get_state(), there.generator.get_state())


def test_shortcuts_through_main_memory_are_for_the_processor_only() -> None:
    config = VaST("CartPole-v1", "debug").config
    config = replace(config, training=replace(config.training, overlap=True, process=True))
    here = VaST("CartPole-v1", config=config)
    there = VaST("CartPole-v1", config=config, device=META)
    assert isinstance(here._jobs, ProcessTrainer)
    assert isinstance(there._jobs, ThreadTrainer)
    for agent, expected in ((here, True), (there, False)):
        encoder = agent.encoder
        assert isinstance(encoder, Tabulator)
        assert encoder.on_cpu == expected
        single = single_encoder(encoder.model.encoder, encoder.model.observations)
        assert (single is not None) == expected
        agent.close()


def test_auto_is_cuda_then_mps_then_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"cuda": False, "mps": False}
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there["cuda"])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: there["mps"])
    assert device_named("auto") == torch.device("cpu")
    with pytest.raises(UserError, match=r"cpu, auto here: PyTorch finds no MPS device, got 'mps'"):
        device_named("mps")
    there["mps"] = True
    assert device_named("auto") == torch.device("mps")
    there["cuda"] = True
    assert device_named("auto") == torch.device("cuda")
    assert device_named("cuda:1") == torch.device("cuda:1")
    with pytest.raises(UserError, match=r"the last CUDA device is cuda:1, got 'cuda:2'"):
        device_named("cuda:2")


@pytest.mark.parametrize("kind", AGENTS)
def test_a_device_that_is_not_one_gets_one_line(kind: type[Agent]) -> None:
    with pytest.raises(UserError, match=r"^device must be one of cpu, cuda, mps, auto, got 'gpu'$"):
        kind("CartPole-v1", "debug", device="gpu")


@pytest.mark.parametrize("device", [torch.device("cpu", 0), "cpu:0", torch.device("cpu"), "cpu"])
def test_a_device_is_recorded_by_its_one_name(device: Any, tmp_path: Path) -> None:
    agent = LSH("CartPole-v1", "debug", device=device)
    agent.learn(10, out=tmp_path / "run", progress=False)
    agent.close()
    assert agent.device == torch.device("cpu")
    assert read_config(tmp_path / "run").device == "cpu"
    assert device_name("mps:0") == device_name(torch.device("mps", 0)) == "mps"
    assert device_name("cuda:0") == "cuda:0"


@pytest.mark.parametrize(
    ("device", "said"),
    [
        (None, "device must be one of cpu, cuda, mps, auto, got None"),
        (0, "device must be one of cpu, cuda, mps, auto, got 0"),
        ("mps:1", "device must be one of cpu, cuda, mps, auto, got 'mps:1'"),
        (torch.device("cuda"), "here: PyTorch finds no CUDA device, got 'cuda'"),
        (torch.device("mps", 0), "here: PyTorch finds no MPS device, got 'mps'"),
    ],
)
def test_what_cannot_be_a_device_here_gets_one_line(
    device: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UserError, match=said):
        LSH("CartPole-v1", "debug", device=device)
