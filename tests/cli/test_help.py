"""The help of every verb, as somebody reads it on a screen of 80 columns."""

import pytest

from vast.cli import main
from vast.cli.verbs import VERBS


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_fits_into_80_columns_and_speaks_no_python(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stop:
        main([*([verb] if verb else []), "--help"])
    assert stop.value.code in (0, None)
    usage, *lines = capsys.readouterr().out.splitlines()
    assert usage.startswith(f"usage: vast {verb}".rstrip())
    assert [line for line in lines if len(line) > 80] == []
    assert "None" not in "".join(lines)
    assert "[[" not in usage
