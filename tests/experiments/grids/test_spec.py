"""Experiments as data: which runs follow from a declaration, and what is refused in one line."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiments.conftest import Refused
from tests.experiments.grids.worlds import FORKED, written
from tests.experiments.sameness import vast
from vast.agents.registry import AGENTS, agent_named
from vast.agents.table import TableAgent
from vast.experiments.config import default_run
from vast.experiments.figures import EXPERIMENTS, SAME_RUNS, experiment_named, scales_of
from vast.experiments.figures.differences import differences, page
from vast.experiments.grids.directory import Grid, read_grid, write_grid
from vast.experiments.grids.run import grid_of, wanted
from vast.experiments.grids.slurm import chain_of
from vast.experiments.probes import PROBES, TABLE, probe_named
from vast.experiments.spec import Arm, Experiment
from vast.experiments.spec_file import read_experiment
from vast.training.plain import with_changes

DESIGN = """
[grid]
tasks = ["plus-maze", "t-maze-2d"]
seeds = [0, 1]
preset = "cpu"
steps = 20_000

[arms.vast]
agent = "vast"

[arms.short-codes]
agent = "vast"
set = { "model.n_bits" = 16 }

[arms.lsh]
agent = "lsh"
"""


def test_a_file_means_the_runs_that_vast_train_would_do(tmp_path: Path) -> None:
    conditions = read_experiment(written(tmp_path, DESIGN)).conditions()
    assert [condition.name for condition in conditions] == [
        *("plus-maze-vast", "plus-maze-short-codes", "plus-maze-lsh"),
        *("t-maze-2d-vast", "t-maze-2d-short-codes", "t-maze-2d-lsh"),
    ]
    short = default_run("plus-maze", "vast", "cpu")
    short = replace(
        short, steps=20_000, seed=1, settings=with_changes(short.settings, {"model.n_bits": 16})
    )
    assert conditions[1].run_config(1) == short
    assert conditions[1].run_name(1) == "plus-maze-short-codes-1"


def test_steps_tests_and_arms_of_ones_own(tmp_path: Path) -> None:
    text = DESIGN.replace("steps = 20_000", "eval_every = 5000\neval_epsilon = 0.1")
    text += '\n[arms.long]\nagent = "nec"\nsteps = 50_000\nseeds = [7]\ntasks = ["plus-maze"]\n'
    conditions = {each.name: each for each in read_experiment(written(tmp_path, text)).conditions()}
    vast_config = conditions["plus-maze-vast"].config
    assert vast_config.steps == default_run("plus-maze", "vast", "cpu").steps
    assert (vast_config.loop.eval_every, vast_config.loop.eval_epsilon) == (5000, 0.1)
    assert conditions["plus-maze-long"].config.steps == 50_000
    assert conditions["plus-maze-long"].seeds == (7,)
    assert "t-maze-2d-long" not in conditions


def test_forks_continue_one_trained_agent(tmp_path: Path) -> None:
    grid = grid_of(read_experiment(written(tmp_path, FORKED)), "own")
    runs = {run.name: run for run in grid.runs()}
    trunk = runs["plus-maze-vast-0"]
    assert (trunk.steps, trunk.condition.config.interventions) == (350, ())
    for fork, interventions in {"same": (), "reversed": ("350:reverse",)}.items():
        run = runs[f"plus-maze-vast-{fork}-0"]
        assert grid.trunk(run) == trunk
        assert (run.steps, run.condition.config.interventions) == (500, interventions)
    assert grid.trunk(trunk) is None
    assert len(runs) == 4  # an arm without forks is trained up to there


WRONG: dict[str, tuple[Callable[[str], str], str]] = {
    "a task": (lambda text: text.replace("plus-maze", "plus-mase"), "did you mean 'plus-maze'?"),
    "a preset": (lambda text: text.replace('"cpu"', '"cqu"'), "did you mean 'cpu'?"),
    "an agent": (lambda text: text.replace('"lsh"', '"lhs"'), "arm 'lsh': unknown agent 'lhs'"),
    "a field": (lambda text: text.replace("n_bits", "nbits"), "did you mean 'n_bits'?"),
    "its value": (
        lambda text: text.replace("= 16", '= "many"'),
        "arm 'short-codes': model.n_bits must be int, got 'many'",
    ),
    "a key": (lambda text: text.replace("seeds =", "sedes ="), "did you mean 'seeds'?"),
    "a key of an arm": (
        lambda text: text.replace("set = {", "sett = {"),
        "unknown key of [arms.short-codes] 'sett'",
    ),
    "a table": (lambda text: text.replace("[grid]", "[girds]"), "unknown table 'girds'"),
    "seeds": (lambda text: text.replace("[0, 1]", "[0, -1]"), "seeds in [grid] must be"),
    "no list": (lambda text: text.replace("[0, 1]", "3"), "seeds in [grid] must be a list"),
    "steps": (lambda text: text.replace("20_000", "0"), "must be a whole number of 1 or more"),
    "no arm": (lambda text: text.partition("[arms")[0], "must have at least one arm"),
    "no seeds": (lambda text: text.replace("seeds = [0, 1]", ""), "[grid] must have 'seeds'"),
    "no TOML": (lambda text: text.replace("[grid]", "[grid"), "is not TOML"),
    "an arm's name": (
        lambda text: text.replace("[arms.lsh]", '[arms."l/s"]'),
        "the name of an arm must consist of letters",
    ),
    "an intervention": (
        lambda text: text.replace("steps =", 'interventions = ["5:invert"]\nsteps ='),
        "an intervention must be one of",
    ),
    "a fork before": (
        lambda text: text + '\n[forks]\nat = 500\nearly = ["400:reverse"]\n',
        "must be at least 500, got 400",
    ),
    "a probe": (
        lambda text: text.replace("steps =", 'probes = ["tere"]\nsteps ='),
        "unknown probe 'tere': must be one of",
    ),
    "a probe of other tasks": (
        lambda text: text.replace("steps =", 'probes = ["teleporter"]\nsteps ='),
        "arm 'vast': the probe 'teleporter' needs the task h-maze, got plus-maze",
    ),
    "a probe of other agents": (
        lambda text: text.replace('"lsh"', '"mfec"\nprobes = ["tree"]'),
        "the probe 'tree' needs the agent vast or lsh or bins, got mfec",
    ),
    "a probe of plain VaST": (
        lambda text: text.replace("steps =", 'probes = ["decisions"]\nsteps ='),
        "arm 'vast': the probe 'decisions' needs VaST without extensions",
    ),
    "forks without a step": (lambda text: text + "\n[forks]\nsame = []\n", "'at' in [forks]"),
    "two of one name": (
        lambda text: text + "\n[arms.vast-a]\nagent='vast'\n[forks]\nat = 500\na = []\n",
        "two runs would have the same name, plus-maze-vast-a",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_in_one_line(refused: Refused, tmp_path: Path, what: str) -> None:
    change, said = WRONG[what]
    written(tmp_path, change(DESIGN))
    assert said in refused("grid", "my.toml")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fig33",), "unknown experiment 'fig33'"),
        (("figg3",), "did you mean 'fig3'?"),
        (("fig3", "--scale", "cpuu"), "did you mean 'cpu'?"),
        (("nowhere.toml",), "there is no file nowhere.toml"),
        (("my.toml", "--scale", "cpu"), "--scale must not be given with my.toml"),
        (("fig3", "--arms", "vats"), "unknown arm 'vats'"),
        (("fig3", "--tasks", "large-maze-hazard"), "did you mean 'large-maze-hazards'?"),
        (("my.toml", "--workers", "0"), "workers must be at least 1, got 0"),
        (("my.toml", "--ray", "somewhere"), "--ray must be 'local' or the address HOST:PORT"),
        (("my.toml", "--ray", "127.0.0.1:1"), "no Ray cluster answers at 127.0.0.1:1: Connection"),
    ],
)
def test_a_wrong_option_is_refused(
    refused: Refused, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    written(tmp_path, DESIGN)
    assert said in refused("grid", *words)


FEWER = ("--steps", "300")


def small(**options: object) -> Grid:
    arms = {"vast": Arm("vast"), "lsh": Arm("lsh")}
    given = {"seeds": (0,), "steps": 100, "arms": arms, **options}
    return grid_of(Experiment("small", ("t-maze-2d",), preset="debug", **given), "own")  # type: ignore[arg-type]


def test_seeds_arms_and_steps_can_be_added_to_a_grid_and_nothing_else_changed(
    refused: Refused, tmp_path: Path
) -> None:
    folder = tmp_path / "grid"
    first = small()
    assert write_grid(folder, first) == first == read_grid(folder)
    more = {"plain": Arm("vast", {"extensions": ()})}
    write_grid(folder, small(seeds=(3,), arms=more, steps=200))
    names = [run.name for run in read_grid(folder).runs()]
    assert names == ["t-maze-2d-vast-0", "t-maze-2d-lsh-0", "t-maze-2d-plain-3"]
    write_grid(folder, small(seeds=(1,), steps=300))
    steps = {run.name: run.steps for run in read_grid(folder).runs()}
    assert steps["t-maze-2d-vast-0"] == steps["t-maze-2d-vast-1"] == 300
    assert steps["t-maze-2d-plain-3"] == 200
    text = 'tasks=["t-maze-2d"]\nseeds=[0]\npreset="debug"\n[arms.vast]\nagent="vast"\n'
    written(tmp_path, f'[grid]\nsteps=100\n{text}set={{"model.n_bits"=9}}\n', "small.toml")
    line = refused("grid", "small.toml", "--out", "grid")
    assert "in t-maze-2d-vast, settings.model.n_bits is 16 there, 9 here" in line


def test_some_arms_of_a_grid_are_done_first_and_the_others_stay_in_it(tmp_path: Path) -> None:
    path = written(tmp_path, FORKED)
    _, whole = wanted(str(path))
    _, some = wanted(str(path), arms=("vast",))
    names = [run.name for run in some.runs()]
    assert names == [run.name for run in whole.runs() if run.condition.arm == "vast"]
    assert any("reversed" in name for name in names)  # its forks are done, too
    write_grid(tmp_path / "grid", whole)
    _, again = wanted(str(tmp_path / "grid"), arms=("plain",))
    assert {run.condition.arm for run in again.runs()} == {"plain"}
    write_grid(tmp_path / "grid", again)
    assert {run.name for run in read_grid(tmp_path / "grid").runs()} == {
        run.name for run in whole.runs()
    }


@pytest.mark.parametrize("name", ["fig3", "fig7", "latent-plus-maze", "latent-large-maze"])
def test_beta_of_ddqn_is_one_when_its_runs_end_and_not_before(name: str) -> None:
    found = [each for each in experiment_named(name).conditions() if each.arm == "ddqn"]
    assert found
    for condition in found:
        config = condition.config
        assert (
            config.settings.beta_at(config.steps - 1) < 1 == config.settings.beta_at(config.steps)
        )


def test_some_tasks_of_a_grid_are_done_first_and_the_others_stay_in_it(tmp_path: Path) -> None:
    _, some = wanted("fig3", tasks=("large-maze-hazards",), arms=("vast", "lsh"))
    assert {run.condition.task for run in some.runs()} == {"large-maze-hazards"}
    assert {run.condition.arm for run in some.runs()} == {"vast", "lsh"}
    _, whole = wanted("fig3")
    write_grid(tmp_path / "grid", whole)
    _, again = wanted(str(tmp_path / "grid"), tasks=("large-maze",))
    assert len(again.runs()) == len(whole.runs()) // 2
    write_grid(tmp_path / "grid", again)
    assert read_grid(tmp_path / "grid").runs() == whole.runs()


def test_steps_are_those_of_all_runs_and_must_lie_behind_the_fork(
    refused: Refused, tmp_path: Path
) -> None:
    path = written(tmp_path, FORKED)
    _, grid = wanted(str(path), steps=400)
    assert {run.steps for run in grid.runs() if run.condition.fork} == {400}
    assert "steps must be above 350, the fork, got 300" in refused("grid", str(path), *FEWER)
    _, fig7 = wanted("fig7", steps=1000)
    assert {run.steps for run in fig7.runs()} == {1000}  # also of arms with steps of their own
    write_grid(tmp_path / "grid", grid)
    assert "--steps must not be given with the directory" in refused("grid", "grid", *FEWER)
    # A grid has one number of steps for all seeds of an arm: fewer would silently be more.
    begun = ("--out", "grid", "--seeds", "1", "--dry-run")
    said = refused("grid", str(path), "--steps", "360", *begun)
    assert "--steps must be 400 or more, which plus-maze-vast-same in grid has, got 360" in said


def test_a_directory_of_something_else_is_left_alone(refused: Refused, tmp_path: Path) -> None:
    written(tmp_path, DESIGN)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("...")
    assert "is not empty and not a grid" in refused("grid", "my.toml", "--out", "other")
    assert "is not a grid" in refused("grid", "other")


@pytest.mark.parametrize("name", [*EXPERIMENTS, *SAME_RUNS])
def test_every_experiment_declares_valid_runs_at_its_scales(name: str) -> None:
    for scale in scales_of(name):
        if name == "tree-likeness":
            pytest.importorskip("ale_py")
        experiment = experiment_named(name, scale)
        conditions = experiment.conditions()
        assert {condition.task for condition in conditions} == {*experiment.tasks}
        # Arms that were all alike would compare nothing.
        configs = [repr(condition.config) for condition in conditions]
        assert len(set(configs)) == len(configs)
        for probe in experiment.probes:
            assert callable(probe_named(probe))


@pytest.mark.parametrize("scale", ["cpu", "paper"])
def test_fig7_compares_histories_by_the_papers_target(scale: str) -> None:
    pytest.importorskip("ale_py")
    models = {
        condition.arm: condition.config.settings.model
        for condition in experiment_named("fig7", scale).conditions()
        if condition.config.agent == "vast"
    }
    seen = {arm: (model.history, model.target.past) for arm, model in models.items()}
    motion = {"k3-motion": (3, 2)} if scale == "cpu" else {}
    assert seen == {"k0": (0, 0), "k3": (3, 0), **motion}


def test_every_agent_has_eight_trials_on_a_seed_that_no_figure_shows() -> None:
    shown = {
        seed
        for name in EXPERIMENTS
        if name.startswith("fig")
        for condition in experiment_named(name).conditions()
        for seed in condition.seeds
    }
    for name in ("trials-plus-maze", "trials-large-maze"):
        conditions = experiment_named(name).conditions()
        agents = Counter(condition.arm.partition("-")[0] for condition in conditions)
        assert agents == dict.fromkeys(("plain", "nec", "ddqn", "lsh", "mfec"), 8)
        assert not shown & {seed for condition in conditions for seed in condition.seeds}


def test_every_probe_is_there() -> None:
    assert all(callable(probe_named(name)) for name in PROBES)
    for name in {*AGENTS, *TABLE}:
        assert issubclass(agent_named(name).agent_class, TableAgent) == (name in TABLE)


def test_a_dry_run_counts_what_is_left_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, FORKED)
    vast("grid", "my.toml", "--dry-run")
    said = capsys.readouterr().out
    assert "4 runs, 0 of them finished" in said
    # Two trunks of 350 steps, and two forks of 150 more.
    assert "1,000 environment steps to go" in said
    assert [path.name for path in tmp_path.iterdir()] == ["my.toml"]


def test_a_script_for_slurm_has_one_job_per_agent_that_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, FORKED)
    vast("grid", "my.toml", "--slurm", "job.sh")
    assert "2 jobs" in capsys.readouterr().out
    script = (tmp_path / "job.sh").read_text()
    assert "#SBATCH --array=0-1\n" in script
    assert "runs=(plus-maze-vast-0 plus-maze-plain-0)\n" in script
    assert 'run="${runs[$SLURM_ARRAY_TASK_ID]}"\n' in script
    assert f'vast grid {tmp_path / "grids" / "my"} --run "$run" --save-seconds 60\n' in script
    # B: Slurm warns the steps of a job by default, and this one has none but its shell.
    assert "#SBATCH --signal=B:TERM@120\n" in script
    assert read_grid(tmp_path / "grids" / "my").name == "my"


def test_a_script_for_slurm_does_the_runs_that_were_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refused: Refused
) -> None:
    written(tmp_path, FORKED.replace("seeds = [0]", "seeds = [0, 1, 2]"))
    vast("grid", "my.toml", "--slurm", "all.sh")
    assert "#SBATCH --array=0-5\n" in (tmp_path / "all.sh").read_text()
    capsys.readouterr()
    vast("grid", "grids/my", "--arms", "plain", "--slurm", "plain.sh")
    assert "3 jobs" in capsys.readouterr().out
    plain = " ".join(f"plus-maze-plain-{seed}" for seed in range(3))
    assert "#SBATCH --array=0-2\n" in (tmp_path / "plain.sh").read_text()
    assert f"runs=({plain})\n" in (tmp_path / "plain.sh").read_text()
    vast("grid", "grids/my", "--seeds", "0", "2", "--slurm", "seeds.sh")
    assert "#SBATCH --array=0-3\n" in (tmp_path / "seeds.sh").read_text()
    grid = read_grid(tmp_path / "grids" / "my")
    assert [run.name for run in chain_of(grid, "plus-maze-plain-1")] == ["plus-maze-plain-1"]
    assert "must be one of" in refused("grid", "grids/my", "--run", "plus-maze-plain-3")
    assert "must not be given together" in refused(
        "grid", "grids/my", "--slurm", "x.sh", "--ray", "local"
    )
    said = refused("grid", "grids/my", "--arms", "plain", "--seeds", "99")
    assert "--seeds must be among 0, 1, 2, which grids/my has, got 99" in said


def test_the_page_of_scales_lists_what_differs_now() -> None:
    path = Path(__file__).parents[3] / "docs" / "scales.md"
    assert path.read_text(encoding="utf-8") == page(), (
        f"python -m vast.experiments.figures.differences > {path}"
    )


def test_the_page_of_scales_compares_like_with_like() -> None:
    found = {(each.agent, each.field): (each.paper, each.cpu) for each in differences("fig3")}
    assert found["mfec", "neighbours"] == ("11", "25")  # has no arm at the scale paper
    assert not any(field == "task" for _, field in found)
    steps = {each[2:] for each in differences("fig5") if each.field == "steps"}
    assert steps == {
        ("400 000", "150 000", "before the fork"),
        ("1 000 000", "180 000", "forks"),
    }
    replays = {each[2:4] for each in differences("fig6") if each.field == "replay.capacity"}
    assert replays == {("100 000", "15 000"), ("500 000", "75 000")}
    trees = {(each.field, each.where): each.cpu for each in differences("tree-likeness")}
    assert trees["resize", "pong"] == "21, 21"
    assert len(trees) == len(differences("tree-likeness"))
