"""Configs: those of earlier versions are read, and plain VaST has no extensions."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vast.agents.vast.config import ExtensionsConfig
from vast.cli.train import parse_train
from vast.errors import UserError
from vast.experiments.config import default_run
from vast.experiments.old_configs import RENAMED, upgraded
from vast.experiments.run_directory import read_config, require_same, write_config
from vast.tasks import TASKS
from vast.training.plain import from_plain, to_plain, with_changes


def downgraded(settings: dict[str, Any]) -> dict[str, Any]:
    """Return VaST's settings as version 1 wrote them: every field, in its old place."""
    ours = settings.pop("extensions")
    for old, new in RENAMED.items():
        name = new.removeprefix("extensions.")
        if name in ours:
            part, _, field = old.rpartition(".")
            (settings[part] if part else settings)[field] = ours[name]
    return settings


@pytest.mark.parametrize("task", list(TASKS))
@pytest.mark.parametrize("preset", ["paper", "cpu", "debug"])
def test_a_config_of_version_1_gives_the_same_run(task: str, preset: str, tmp_path: Path) -> None:
    found = default_run(task, "vast", preset)
    known = with_changes(found.settings, {"extensions.last_action_count": 1})  # newer than that
    config = replace(found, settings=known)
    write_config(tmp_path, config)
    content = json.loads((tmp_path / "config.json").read_text())
    content["version"] = 1
    downgraded(content["config"]["settings"])
    assert "extensions" not in content["config"]["settings"]
    text = json.dumps(content)
    (tmp_path / "config.json").write_text(text)
    assert read_config(tmp_path) == config
    assert (tmp_path / "config.json").read_text() == text  # recorded data stays as it is


def test_new_settings_and_those_of_other_agents_stay_as_they_are() -> None:
    for agent in ("vast", "nec"):
        settings = to_plain(default_run("plus-maze", agent, "cpu").settings)
        assert upgraded(settings) == settings


def test_every_old_name_leads_to_a_field_that_exists() -> None:
    fields = default_run("t-maze", "vast", "cpu").settings
    for new in RENAMED.values():
        room, name = new.split(".")
        assert hasattr(getattr(fields, room), name)


def test_a_name_that_is_neither_old_nor_new_is_refused(tmp_path: Path) -> None:
    write_config(tmp_path, default_run("t-maze", "vast", "debug"))
    content = json.loads((tmp_path / "config.json").read_text())
    content["config"]["settings"]["planning"]["smothing"] = 1.0
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"config field settings\.planning 'smothing'"):
        read_config(tmp_path)


def test_plain_is_the_run_without_extensions_and_an_option_turns_one_on_again() -> None:
    usual = default_run("t-maze", "vast", "cpu")
    plain = parse_train(["t-maze", "--plain"]).config
    assert plain == replace(usual, settings=replace(usual.settings, extensions=()))
    one = parse_train(["t-maze", "--plain", "--extensions.smoothing", "0.5"]).config
    assert one.settings.extensions == ExtensionsConfig(smoothing=0.5)


def test_a_config_that_version_1_wrote_is_read() -> None:
    path = Path(__file__).parent / "data" / "config-version-1.json"
    assert '"version": 1' in path.read_text()
    today = default_run("t-maze", "vast", "cpu")
    # There was no process for training then.
    settings = with_changes(today.settings, {"training.process": False})
    assert read_config(path) == replace(today, steps=4000, settings=settings)


def test_a_config_without_initialisation_is_of_the_time_when_there_was_one_only() -> None:
    for agent in ("vast", "nec", "ddqn"):
        settings = to_plain(default_run("plus-maze", agent, "paper").settings)
        network = (settings["model"] if agent == "vast" else settings)["network"]
        assert network.pop("initialisation") == "xavier"
        old = upgraded(settings)
        network = (old["model"] if agent == "vast" else old)["network"]
        assert network["initialisation"] == "torch"


@pytest.mark.parametrize("ours", [None, "all", 3])
def test_extensions_that_are_no_dictionary_are_refused_in_one_line(
    ours: Any, tmp_path: Path
) -> None:
    content = json.loads((Path(__file__).parent / "data" / "config-version-1.json").read_text())
    content["config"]["settings"]["extensions"] = ours
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"settings.extensions must be a dictionary|config field"):
        read_config(tmp_path)


def test_no_extensions_may_be_written_as_an_empty_list() -> None:
    plain = replace(default_run("t-maze", "vast", "cpu").settings, extensions=())
    written = {**to_plain(plain), "extensions": []}
    assert from_plain(type(plain), written) == plain
    cpu = default_run("t-maze", "vast", "cpu").settings
    assert with_changes(cpu, {"extensions": []}) == plain
    one = with_changes(cpu, {"extensions": (), "extensions.caution": 2.0})
    assert one.extensions == ExtensionsConfig(caution=2.0)
    for wrong in (None, ("last_action",), {"last_action": True}):
        with pytest.raises(UserError, match="extensions must be an ExtensionsConfig"):
            replace(cpu, extensions=wrong)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"modle.n_bits": 3}, "config field 'modle'.*did you mean 'model'"),
        ({"model.n_bit": 3}, "config field model 'n_bit'.*did you mean 'n_bits'"),
        ({"model.n_bits": "3"}, "model.n_bits must be int, got '3'"),
        ({"model.n_bits.x": 3}, "model.n_bits has no fields, got x"),
        ({"model": 5}, "model must be a dictionary of fields, got 5"),
        ({"model.": 5}, "unknown config field model ''"),
        ({"extensions.plain_omits_defaults": False}, "unknown config field extensions"),
        ({"training.segment": 7}, "segment must be a divisor of batch"),
    ],
)
def test_wrong_changes_are_refused_in_one_line(changes: dict[str, Any], said: str) -> None:
    settings = default_run("t-maze", "vast", "cpu").settings
    with pytest.raises(UserError, match=said) as error:
        with_changes(settings, changes)
    assert "\n" not in str(error.value)


def test_a_difference_is_told_with_both_values(tmp_path: Path) -> None:
    usual = default_run("t-maze", "vast", "cpu")
    with pytest.raises(UserError, match="last_action is True there, False here"):
        require_same(usual, replace(usual, settings=replace(usual.settings, extensions=())))
