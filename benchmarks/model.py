"""Speed of training the model: a step on 128 transitions, compared with plain PyTorch.

All take turns in one run, so other work on the machine slows all of them. One thread is timed by
processor time, several by the clock. Every row trains on the same number of transitions per step,
single ones unless it says segments: 16 segments of 8 encode 144 frames, where 128 single
transitions encode 256. Networks are those of the presets `paper` (convolutions on 60x80) and `cpu`
(perceptrons on 15x20).

    python -m benchmarks.model [--json FILE] [--threads 1 2] [--history 0 3] [--repeats 7]
        [--compiled]
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro

from benchmarks.plain_model import PlainTabulator
from benchmarks.report import machine, report_console, show, write_json
from benchmarks.timing import Timed, take_turns
from vast.agents.vast.presets import preset
from vast.model import Batch, ModelConfig, Tabulator
from vast.model.networks import set_memory_format

SHAPE = (60, 80, 3)
SMALL = (15, 20, 3)
N_ACTIONS = 3
TRANSITIONS = 128
SEGMENT = 8
FIRST = 0.02
"""share of first frames, as in episodes of 50 steps"""


def batch(shape: tuple[int, ...], history: int, length: int) -> Batch:
    """Return transitions in segments of a length."""
    rng = np.random.default_rng(0)
    rows = TRANSITIONS // length
    steps = (rows, length) if length > 1 else (rows,)
    return Batch(
        rng.integers(0, 256, (rows, history + 1 + length, *shape), np.uint8),
        rng.integers(0, N_ACTIONS, steps),
        rng.random(steps) < FIRST,
    )


def tabulator(config: ModelConfig, shape: tuple[int, ...]) -> Tabulator:
    made = Tabulator(shape, N_ACTIONS, config, torch.Generator().manual_seed(0))
    if config.standardise:
        made.fit_standardisation(batch(shape, 0, 1).observations[:, 0])
    return made


def in_planes(config: ModelConfig, shape: tuple[int, ...]) -> Tabulator:
    """Return a tabulator whose images are planes of one channel each, as in plain PyTorch."""
    made = tabulator(config, shape)
    made.model.observations.memory_format = torch.contiguous_format
    set_memory_format(made.model, torch.contiguous_format)
    return made


def steps(train: Callable[[Batch], Any], data: Batch, n: int) -> Timed:
    """Return a function that times n training steps."""

    def run() -> tuple[float, float]:
        clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
        begin = clock()
        for _ in range(n):
            train(data)
        return n, clock() - begin

    return run


def measured(
    config: ModelConfig, shape: tuple[int, ...], repeats: int, compiled: bool
) -> dict[str, float]:
    """Return training steps per second of each implementation."""
    conv = config.network.kind == "conv"
    n = 1 if conv else 20
    single, segments = (batch(shape, config.history, length) for length in (1, SEGMENT))
    ours, together = tabulator(config, shape), torch.channels_last
    runs = {"plain": steps(PlainTabulator(ours).train, single, n)}
    if conv:
        plain = PlainTabulator(ours, together)
        runs["plain, channels last"] = steps(plain.train, single, n)
        runs["ours, in planes"] = steps(in_planes(config, shape).train, single, n)
    if compiled:
        plain = PlainTabulator(ours, together if conv else torch.contiguous_format, compiled=True)
        runs["plain, channels last, compiled" if conv else "plain, compiled"] = steps(
            plain.train, single, n
        )
    runs["ours"] = steps(tabulator(config, shape).train, single, n)
    runs[f"ours, segments of {SEGMENT}"] = steps(tabulator(config, shape).train, segments, n)
    return take_turns(runs, repeats)


def main(
    threads: Annotated[tuple[int, ...], tyro.conf.arg(help="numbers of threads")] = (1, 2),
    history: Annotated[tuple[int, ...], tyro.conf.arg(help="earlier frames, k")] = (0, 3),
    repeats: Annotated[int, tyro.conf.arg(help="turns that each takes")] = 7,
    compiled: Annotated[
        bool, tyro.conf.arg(help="also time torch.compile; needs a C++ compiler and a minute")
    ] = False,
    json: Annotated[Path | None, tyro.conf.arg(help="also write the results to this file")] = None,
) -> None:
    console = report_console()
    rows: list[dict[str, Any]] = []
    for name, config, shape in (
        ("paper", preset("paper", None, SHAPE).model, SHAPE),
        ("cpu", preset("cpu", None, SHAPE).model, SMALL),
    ):
        for k in history:
            for count in threads:
                torch.set_num_threads(count)
                rates = measured(replace(config, history=k), shape, repeats, compiled)
                rows += [
                    {
                        "network": name,
                        "history": k,
                        "threads": count,
                        "what": what,
                        "ms_per_step": 1000 / rate,
                        "of_plain": rates["plain"] / rate,
                    }
                    for what, rate in rates.items()
                ]
    show(console, f"training on {TRANSITIONS} transitions", rows)
    if json is not None:
        write_json({"machine": machine("numpy", "torch"), "model": rows}, json)


if __name__ == "__main__":
    tyro.cli(main)
