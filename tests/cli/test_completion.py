"""`vast --install-completion`."""

import subprocess
from pathlib import Path

import pytest

from vast.cli import main

ASK = """
source "$1"
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_tyro_vast
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_bash_completes_verbs_and_options(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--install-completion", "bash"])
    script = home / ".local" / "share" / "bash-completion" / "completions" / "vast"
    assert capsys.readouterr().out.startswith(f"wrote {script}; ")

    def completed(words: str) -> list[str]:
        command = ["bash", "-c", ASK.format(words=words), "bash", str(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [line.strip() for line in done.stdout.splitlines()]

    assert {"resume", "report"} <= set(completed("vast re"))
    assert completed("vast tra") == ["train"]
    assert {"--preset"} == set(completed("vast train t-maze --pres"))
    assert {"--model.n-bits"} == set(completed("vast train --model.n-b"))
    assert {"--steps"} == set(completed("vast eval --ste"))


@pytest.mark.parametrize(
    ("shell", "file"),
    [("/usr/bin/zsh", ".zfunc/_vast"), ("fish", ".config/fish/completions/vast.fish")],
)
def test_the_users_own_shell_is_the_default(
    shell: str, file: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", shell)
    main(["--install-completion"])
    assert "--model.n-bits" in (home / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["zhs"], "unknown shell 'zhs': must be one of bash, fish, zsh; did you mean 'zsh'?"),
        (["bash", "zsh"], "--install-completion takes the name of one shell, got bash zsh"),
    ],
)
def test_another_shell_gets_one_line(
    words: list[str], said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--install-completion", *words])
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"vast: {said}\n"
    assert list(home.iterdir()) == []
