"""What the project says of itself agrees: version, citation, changelog, extras, workflows."""

import re
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import vast
from tests.docs.pages import ROOT, text
from vast.extras import EXTRAS

PROJECT: dict[str, Any] = tomllib.loads(text("pyproject.toml"))["project"]
CITATION: dict[str, Any] = yaml.safe_load(text("CITATION.cff"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASED = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", re.MULTILINE)


# --- version, citation and changelog --------------------------------------------------------------


def test_version_citation_and_changelog_name_the_same_release() -> None:
    version, day = RELEASED.findall(text("CHANGELOG.md"))[0]
    assert (vast.__version__, CITATION["version"]) == (version, version)
    assert CITATION["date-released"] == day


def test_the_changelog_has_releases_in_order_below_what_is_unreleased() -> None:
    log = text("CHANGELOG.md")
    headings = re.findall(r"^## .*$", log, re.MULTILINE)
    releases = RELEASED.findall(log)
    assert headings[0] == "## [Unreleased]"
    assert headings[1:] == [f"## [{version}] - {day}" for version, day in releases]
    assert releases == sorted(releases, key=lambda one: Version(one[0]), reverse=True)
    assert all(date.fromisoformat(day) for _, day in releases)
    for part in re.split(r"^## ", log, flags=re.MULTILINE)[1:]:
        sections = re.findall(r"^### (.*)$", part, re.MULTILINE)
        order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
        assert sections == [name for name in order if name in sections]  # each once


def test_the_changelog_links_every_release() -> None:
    log = text("CHANGELOG.md")
    for name in ("Unreleased", *(version for version, _ in RELEASED.findall(log))):
        assert f"\n[{name}]: {PROJECT['urls']['Repository']}/" in log


def test_the_citation_is_one_of_software_that_prefers_the_paper() -> None:
    """The required keys of the Citation File Format 1.2.0, and the types of their values."""
    assert CITATION["cff-version"] == "1.2.0"
    assert (CITATION["type"], CITATION["license"]) == ("software", PROJECT["license"])
    assert CITATION["repository-code"] == PROJECT["urls"]["Repository"]
    assert [author["name"] for author in CITATION["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]
    assert {"message", "title", "abstract"} <= {
        key for key, value in CITATION.items() if isinstance(value, str)
    }
    paper = CITATION["preferred-citation"]
    assert (paper["type"], paper["year"], paper["volume"]) == ("conference-paper", 2018, 80)
    assert paper["title"].endswith("with Variational State Tabulation")
    names = [(author["given-names"], author["family-names"]) for author in paper["authors"]]
    assert names == [("Dane", "Corneil"), ("Wulfram", "Gerstner"), ("Johanni", "Brea")]
    assert paper["url"] == PROJECT["urls"]["Paper"]
    assert paper["url"] in text("README.md")


# --- dependencies ---------------------------------------------------------------------------------


def requirements() -> Iterator[Requirement]:
    """Give the other packages that this one requires, with any extra."""
    groups = (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    found = (Requirement(line) for group in groups for line in group)
    return (wanted for wanted in found if wanted.name != PROJECT["name"])


def test_every_extra_of_the_code_can_be_installed_and_is_part_of_all() -> None:
    declared = PROJECT["optional-dependencies"]
    (everything,) = (Requirement(line) for line in declared["all"])
    assert EXTRAS.keys() <= everything.extras == set(declared) - {"all", "dev", "docs"}
    assert any(Requirement(line).extras == {"all", "docs"} for line in declared["dev"])


def test_every_dependency_has_an_exact_version_among_the_constraints() -> None:
    lines = (line.split("==") for line in text("constraints.txt").splitlines()[1:])
    pinned = {canonicalize_name(name): version for name, version in lines}
    for wanted in requirements():
        assert pinned[canonicalize_name(wanted.name)] in wanted.specifier, wanted


def test_the_command_has_the_name_of_the_package_too() -> None:
    assert PROJECT["scripts"] == {"vast": "vast.cli:main", PROJECT["name"]: "vast.cli:main"}


# --- workflows ------------------------------------------------------------------------------------


def workflow(name: str) -> dict[str, Any]:
    """Return a workflow; YAML takes the key `on` for a truth value."""
    found: dict[Any, Any] = yaml.safe_load(text(f".github/workflows/{name}"))
    return {"on" if key is True else str(key): value for key, value in found.items()}


def steps(name: str) -> list[dict[str, Any]]:
    """Return the steps of all jobs of a workflow."""
    return [step for job in workflow(name)["jobs"].values() for step in job.get("steps", ())]


@pytest.mark.parametrize("name", [path.name for path in WORKFLOWS])
def test_a_workflow_calls_what_exists(name: str) -> None:
    makefile = text("Makefile")
    for job in workflow(name)["jobs"].values():
        if "uses" in job:
            assert (ROOT / job["uses"]).is_file()
    for step in steps(name):
        assert ("run" in step) != ("uses" in step)
        if "run" not in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./]+", step["uses"])
            continue
        command, target, *variables = step["run"].split()
        assert command in ("make", "test"), step
        if command == "make":
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), step
            for variable in variables:
                assert re.search(rf"^{variable.split('=')[0]} \?=", makefile, re.MULTILINE), step


def test_tests_run_on_every_python_that_the_package_names() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert workflow("tests.yml")["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert {"run": "make test PYTHON=python"} in steps("tests.yml")


def test_the_documentation_is_published_from_the_folder_that_it_is_built_in() -> None:
    (upload,) = (step for step in steps("docs.yml") if "upload-pages" in step.get("uses", ""))
    assert f"{upload['with']['path']}/index.html" in text("Makefile")


def test_a_tag_is_tested_built_and_published_without_a_password() -> None:
    release = workflow("release.yml")
    jobs = release["jobs"]
    assert release["on"] == {"push": {"tags": ["v*"]}}
    assert jobs["test"]["uses"] == "./.github/workflows/tests.yml"
    assert "workflow_call" in workflow("tests.yml")["on"]
    assert (jobs["build"]["needs"], jobs["publish"]["needs"]) == ("test", "build")
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] in text("docs/recipes.md")
    assert jobs["publish"]["steps"][-1] == {"uses": "pypa/gh-action-pypi-publish@release/v1"}
    assert "secrets." not in text(".github/workflows/release.yml")


def test_a_release_is_built_as_the_tests_build_it() -> None:
    recipe = text("Makefile").split("\ndist:")[1].split("\n\n")[0]
    assert "-m build --no-isolation" in recipe
    assert '"-m", "build", "--no-isolation"' in text("tests/distribution/conftest.py")
    (check,) = (step["run"] for step in steps("release.yml") if step.get("name"))
    wheel = Path(check.split('"')[1]).name
    assert wheel.replace("${GITHUB_REF_NAME#v}", vast.__version__) == (
        f"{PROJECT['name'].replace('-', '_')}-{vast.__version__}-py3-none-any.whl"
    )
