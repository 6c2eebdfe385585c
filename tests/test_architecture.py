"""The shape of the package: which way its imports point, and what its docs say of its files."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "vast"

TOOLS = {"errors", "checks", "files", "lazy", "kernel_cache", "env_ids", "extras"}
"""small modules at the bottom that every room may use"""
ALLOWED = {
    "planning": set(),
    "replay": set(),
    "model": set(),
    "envs": set(),
    "training": {"planning", "model", "replay"},
    "tasks": {"envs"},
    "agents": {"training", "planning", "model", "replay"},
    "experiments": {"agents", "training", "planning", "model", "replay", "tasks", "envs"},
}
ALLOWED["analysis"] = ALLOWED["experiments"] | {"experiments"}
ALLOWED["explorer"] = ALLOWED["analysis"] | {"analysis"}
ALLOWED["cli"] = ALLOWED["explorer"] | {"explorer", "__init__"}
ALLOWED["__main__"] = {"cli"}
ALLOWED["__init__"] = {"tasks", "agents", "experiments"}  # the public names
DOOM_WORDS = ("doom", "map_name", "reversed", "wad", "vizdoom")


def modules() -> dict[str, Path]:
    """Return the modules of the package by name, such as `agents.vast.agent`."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and parts[:-1] else parts)] = path
    return found


def imported(path: Path, *, at_once: bool = False) -> Iterator[str]:
    """Give the modules of the package that a file imports, or those `at_once`, when it is run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = _executed(tree) if at_once else ast.walk(tree)
    names = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    known = modules()
    for name in names:
        if name == "vast":
            yield "__init__"
        elif name.removeprefix("vast.") in known and name.startswith("vast."):
            yield name.removeprefix("vast.")


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Give the statements that run at import: none in functions, none for type checkers only."""
    for node in ast.iter_child_nodes(tree):
        checking = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if not checking and not isinstance(node, ast.FunctionDef):
            yield node
            yield from _executed(node)


def room(module: str) -> str:
    return module.split(".")[0]


@pytest.mark.parametrize("name", sorted({room(module) for module in modules()} - TOOLS))
def test_imports_point_down_only(name: str) -> None:
    wrong = [
        f"{module} imports {other}"
        for module, path in modules().items()
        if room(module) == name
        for other in imported(path)
        if room(other) not in ALLOWED[name] | TOOLS | {name}
    ]
    assert wrong == []


def test_tools_import_nothing_but_each_other() -> None:
    for module, path in modules().items():
        if room(module) in TOOLS:
            assert {room(other) for other in imported(path)} <= TOOLS


def test_no_two_modules_import_each_other() -> None:
    """Names in strings, by which the registry and the config find classes later, do not count."""
    found = modules()
    arrows = {name: set(imported(path, at_once=True)) for name, path in found.items()}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " -> ".join((*above, module))
        if module not in done:
            # A package's own __init__ runs before its modules: that is no arrow of theirs.
            for other in arrows[module]:
                if not module.startswith(f"{other}."):
                    visit(other, (*above, module))
            done.add(module)

    for module in found:
        visit(module, ())


def test_training_knows_no_doom_and_agents_know_no_environment() -> None:
    for name in ("training", "agents"):
        for path in (PACKAGE / name).rglob("*.py"):
            code = re.sub(r"\breversed\(", "", path.read_text(encoding="utf-8").lower())
            words = DOOM_WORDS if name == "training" else ("vizdoom", "map_name", "vast/")
            assert [word for word in words if re.search(rf"\b{word}\b", code)] == [], path


def test_files_are_short_but_for_kernels_and_table() -> None:
    long = {
        str(path.relative_to(ROOT))
        for folder in ("src", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > 400
    }
    assert long <= {"src/vast/planning/kernels.py", "src/vast/planning/table.py"}


def test_the_picture_of_the_architecture_names_every_file() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text.split("```")[1]
    named = Counter(name.split("/")[-1] for name in re.findall(r"[\w/]+\.py", tree))
    files = Counter(path.name for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    del named["__init__.py"]
    assert named == files


def test_the_agent_cites_every_line_of_algorithm_1_in_order() -> None:
    """The supplement's Algorithm 1 has 34 numbered lines."""
    code = (PACKAGE / "agents" / "vast" / "agent.py").read_text(encoding="utf-8")
    cited: list[int] = []
    for first, last in re.findall(r"# lines? (\d+)(?:-(\d+))?", code):
        cited += range(int(first), int(last or first) + 1)
    assert cited == list(range(1, 35))
