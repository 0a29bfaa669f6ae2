from __future__ import annotations

from pathlib import Path

import pytest

from indult.errors import LedgerError, MissingExtra, UsageError
from indult.ledger import Draft, default_path, open_ledger


def test_the_default_ledger_is_in_the_data_folder(
    data_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of any repository it is in the user's data folder; a relative one in the environment is ignored."""
    monkeypatch.chdir(tmp_path)
    with open_ledger() as ledger:
        ledger.append(Draft("a", "step", {}))

    assert data_home / "indult" / "ledger.db" == default_path()
    assert default_path().is_file()
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert Path.home() / ".local" / "share" / "indult" / "ledger.db" == default_path()


def test_a_file_is_named_by_path_or_url(tmp_path: Path) -> None:
    """A path, as text or object, and a `sqlite://` URL name the same file."""
    path = tmp_path / "a b#?%41.db"
    with open_ledger(path) as ledger:
        ledger.append(Draft("a", "step", {}))
    for address in (str(path), f"sqlite://{path}"):
        with open_ledger(address, read_only=True) as ledger:
            assert 1 == ledger.head("a")[0]

    assert {path.name} == {name.name.removesuffix("-wal").removesuffix("-shm") for name in tmp_path.iterdir()}


def test_other_addresses_are_refused(tmp_path: Path) -> None:
    """PostgreSQL is not there yet, and other schemes are no ledgers."""
    for address in ("postgres://x/y", "postgresql://x/y"):
        with pytest.raises(MissingExtra, match="PostgreSQL"):
            open_ledger(address)
    for address in ("https://x/y", "sqlite://"):
        with pytest.raises(UsageError, match="is no ledger"):
            open_ledger(address)
    with pytest.raises(LedgerError, match="there is no ledger"):
        open_ledger(tmp_path / "none.db", create=False)
    assert [] == list(tmp_path.iterdir())
