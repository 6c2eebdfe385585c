"""What a step of a baseline costs when a long run has filled its memories.

The sizes are those at the end of the preset `cpu` of the large maze: 500 000 frames in the replay,
and 200 000 entries per action in NEC's and MFEC's memories (600 000 steps, three actions). They are
filled with frames of a random walk, keys slightly changed. All agents take turns in one maze; a
step is everything but the engine, which is a process of its own: deciding, storing and, as often as
the preset says, training. Process time, so that other work on the machine disturbs it less.
"""

import time
from itertools import islice
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.growth import as_stored
from benchmarks.random_walk import random_walk
from vast.agents.ddqn import PrioritizedDDQN
from vast.agents.mfec import MFEC
from vast.agents.nec.agent import NEC
from vast.agents.registry import agent_named
from vast.tasks import make_env
from vast.training.plain import with_changes
from vast.training.protocol import Env
from vast.training.spaces import spaces_of

TASK = "large-maze"
AGENTS = ("ddqn", "nec", "mfec")
WALK = 20_000
"""frames of the random walk"""
REPLAY = 500_000
ENTRIES = 200_000
STEPS = 500
"""environment steps of a turn"""
APART = 0.1
"""how far a filled key is from an observed one, in standard deviations of the keys"""
LATE = {
    "exploration.burn_in": 0,
    "exploration.first": 0.1,
    "exploration.final": 0.1,
    "exploration.anneal_steps": 0,
}
"""the exploration at the end of a run"""


class Full:
    """An agent late in a run, whose steps are timed."""

    def __init__(self, name: str, env: Env, walk: NDArray[Any]) -> None:
        spaces = spaces_of(env)
        config = with_changes(agent_named(name).preset("cpu", TASK, spaces.shape), LATE)
        if name != "mfec":
            config = with_changes(config, {"standardise_after": None})
        self.name, self.env, self.rng = name, env, np.random.default_rng(1)
        self.agent = agent_named(name).agent_class(spaces, config=config)
        self.turns: list[float] = []
        frames = as_stored(self.agent, walk)
        if isinstance(self.agent, NEC | PrioritizedDDQN):
            self.agent.network.standardise(frames[::10, 0])
            self._fill_replay(self.agent, frames)
        if isinstance(self.agent, PrioritizedDDQN):
            self._fill_ranks(self.agent)
        elif isinstance(self.agent, NEC | MFEC):
            self._fill_memories(self.agent, frames)

    def _fill_replay(self, agent: NEC | PrioritizedDDQN, frames: NDArray[Any]) -> None:
        agent.replay.begin(frames[0, 0])
        for i in range(1, REPLAY):
            agent.replay.append(int(self.rng.integers(3)), 0.0, frames[i % len(frames), 0])
        agent.replay.end_truncated()

    def _fill_ranks(self, agent: PrioritizedDDQN) -> None:
        agent._copy_to_target()
        steps = REPLAY - 1  # from the last frame there is none
        none = np.zeros(0, np.int64)
        agent.ranks.load_state_dict(
            {
                "order": self.rng.permutation(steps),
                "priority": np.sort(self.rng.exponential(0.1, steps))[::-1],
                **dict.fromkeys(("new", "changed", "changed_to"), none),
            }
        )

    def _fill_memories(self, agent: NEC | MFEC, frames: NDArray[Any]) -> None:
        keys = np.stack([agent.embed(frame) for frame in frames])
        spread = np.float32(APART * keys.std(0).mean())
        memories = agent.memories if isinstance(agent, MFEC) else agent.dictionary.memories
        for memory in memories:
            chosen = keys[self.rng.integers(len(keys), size=ENTRIES)]
            chosen += spread * self.rng.standard_normal(chosen.shape, np.float32)
            values, used = 0.1 * self.rng.random(ENTRIES), np.arange(ENTRIES)
            memory.load_state_dict(
                {"keys": chosen, "values": values, "used": used, "clock": ENTRIES}
            )
        if isinstance(agent, NEC):
            agent._target[:REPLAY] = 0.1 * self.rng.standard_normal(REPLAY)
            agent._action[:REPLAY] = self.rng.integers(3, size=REPLAY)

    def take_turn(self, steps: int) -> None:
        """Learn for this many steps, in new episodes, and record the time of one."""
        agent, env = self.agent, self.env
        begin, ended = time.process_time(), True
        for _ in range(steps):
            if ended:
                agent.begin(env.reset(seed=agent.steps)[0])
            action = agent.decide()
            observation, reward, terminated, truncated, _ = env.step(np.int64(action))
            agent.observe(action, float(reward), observation, terminated, truncated)
            while agent.train():
                pass
            ended = bool(terminated or truncated)
        agent.cut()
        self.turns.append(1000 * (time.process_time() - begin) / steps)


def full(turns: int) -> list[Any]:
    """Return the milliseconds of process time per step of each agent."""
    env = make_env(TASK)
    walk = np.stack(list(islice(random_walk(TASK), WALK)))
    subjects = [Full(name, env, walk) for name in AGENTS]
    for subject in subjects:
        subject.take_turn(STEPS)  # a warm-up, which also compiles
        subject.turns.clear()
    for _ in range(turns):
        for subject in subjects:
            subject.take_turn(STEPS)
    for subject in subjects:
        subject.agent.close()
    env.close()
    return [
        {
            "agent": subject.name,
            "ms_per_step": median(subject.turns),
            "least": min(subject.turns),
            "most": max(subject.turns),
        }
        for subject in subjects
    ]
