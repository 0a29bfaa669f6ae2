from __future__ import annotations

from pathlib import Path

import pytest

from indult.places import config_folder, data_folder


@pytest.mark.parametrize("value", [None, "", "relative/path", "~/config"])
def test_defaults(value: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a variable, or with a relative path in it, folders are below the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)

    assert str(tmp_path / ".config" / "indult") == config_folder()
    assert str(tmp_path / ".local" / "share" / "indult") == data_folder()


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of the base directory specification say where they are."""
    monkeypatch.setenv("XDG_CONFIG_HOME", "/a")
    monkeypatch.setenv("XDG_DATA_HOME", "/b")

    assert ("/a/indult", "/b/indult") == (config_folder(), data_folder())
