from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.agents import PUBLIC
from tests.test_package import modules
from tests.test_trust import ALL, READ, SEND, write

from indult import load_policy
from indult.ledger import default_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Terminal
    from tests.conftest import Run

CALL = json.dumps({"tool": "write", "args": {}})


@pytest.fixture(name="file")
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder with a policy."""
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "indult.yaml", SEND, READ)


def trust(indult: Run, file: Path) -> None:
    """Trust a file as it is."""
    ran = indult("trust", str(file), "--digest", load_policy(file).digest)
    assert (0, "") == (ran.exit_code, ran.stderr)


class TestTrust:
    """Recording that a file is trusted."""

    def test_by_digest(self, indult: Run, file: Path) -> None:
        """Without a terminal, whoever gives the digest of the policy trusts it."""
        digest = load_policy(file).digest
        ran = indult("trust", "--digest", digest)

        assert (0, f"trusted: {file} {digest}\n", "") == (ran.exit_code, ran.stdout, ran.stderr)
        assert 0 == indult("trust", "--show").exit_code

    def test_without_a_terminal(self, indult: Run, file: Path) -> None:
        """Without a terminal and a digest nothing is recorded; what would be trusted is shown, and the hint says how."""
        ran = indult("trust")

        assert 1 == ran.exit_code
        assert '+ rule read: {"effect":"allow","id":"read","tool":"read"}\n' in ran.stdout
        assert "error: without a terminal `trust` needs `--digest`\n" in ran.stderr
        assert f"--digest {load_policy(file).digest}\n" in ran.stderr
        assert 4 == indult("trust", "--show").exit_code

    def test_another_digest(self, indult: Run, file: Path) -> None:
        """A digest of what was looked at before the file changed trusts nothing."""
        digest = load_policy(file).digest
        write(file, ALL)
        ran = indult("trust", "--digest", digest)

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert f"error: `indult.yaml` has the digest {load_policy(file).digest}\n" in ran.stderr
        assert 4 == indult("trust", "--show").exit_code

    def test_no_policy(self, indult: Run, file: Path) -> None:
        """A file that is no policy cannot be trusted."""
        file.write_text("rules: 1\n", encoding="utf-8")

        assert 3 == indult("trust", "--digest", "sha256:0").exit_code
        assert 3 == indult("trust", "none.yaml").exit_code

    def test_twice(self, indult: Run, file: Path) -> None:
        """What is trusted already is not recorded again, and nobody is asked."""
        trust(indult, file)
        ran = indult("trust")

        assert 0 == ran.exit_code
        assert re.search(r"^trusted  on 20.+Z by \w+$", ran.stdout, flags=re.MULTILINE)
        assert 1 == len(indult("log", "--kind", "trusted", "--json").stdout.splitlines())

    def test_options_that_contradict(self, indult: Run, file: Path) -> None:
        """`--show` records nothing, so it takes no digest."""
        assert "error: `--show` records nothing" in indult("trust", "--show", "--digest", "x").stderr

    def test_on_a_terminal(self, indult: Run, file: Path, terminal: Callable[..., Terminal]) -> None:
        """On a terminal, the changes are shown, and a yes records them."""
        shown = terminal("trust")
        assert "+ rule read:" in shown.until("Trust this policy?")
        shown.answer("y")

        assert 0 == shown.end()
        assert 0 == indult("trust", "--show").exit_code

    @pytest.mark.parametrize("answer", ["n", ""])
    def test_no(self, indult: Run, file: Path, terminal: Callable[..., Terminal], answer: str) -> None:
        """Everything but yes records nothing."""
        shown = terminal("trust")
        shown.until("Trust this policy?")
        shown.answer(answer)

        assert 1 == shown.end()
        assert 4 == indult("trust", "--show").exit_code

    def test_what_was_shown_is_recorded(self, indult: Run, file: Path, terminal: Callable[..., Terminal]) -> None:
        """A file that changes while somebody reads it is not trusted by their yes."""
        before = load_policy(file)
        shown = terminal("trust")
        shown.until("Trust this policy?")
        write(file, ALL)
        shown.answer("y")

        assert 0 == shown.end()
        (row,) = indult("trust", "--show", "--json").json
        assert (False, before.digest) == (row["trusted"], row["last"]["digest"])


class TestShow:
    """What is shown of a file."""

    def test_changes(self, indult: Run, file: Path) -> None:
        """Rules that were added, removed or changed since the last trusted version are shown, key by key."""
        trust(indult, file)
        write(file, SEND.replace("First", "now").replace("ask,", "deny,"), ALL, head="default: ask\n")
        ran = indult("trust", "--show")

        assert 4 == ran.exit_code
        assert [
            "~ default",
            '    "deny" -> "ask"',
            '+ rule all: {"effect":"allow","id":"all"}',
            '- rule read: {"effect":"allow","id":"read","tool":"read"}',
            "~ rule send",
            '    effect: "ask" -> "deny"',
        ] == ran.stdout.splitlines()[4:]

    def test_fixer_and_triage(self, indult: Run, file: Path) -> None:
        """Whoever trusts a file is shown which command it would run on signals, and which signals it takes up."""
        trust(indult, file)
        triage = "{id: noise, when: signal.count > 9, state: ignored}"
        write(file, SEND, READ, head=f"fixer: [sh, -c, fix]\nautofix: {{cooldown: 2h, triage: [{triage}]}}\n")
        ran = indult("trust", "--show")

        assert [
            '+ autofix: {"cooldown":"2h"}',
            '+ fixer: ["sh","-c","fix"]',
            '+ triage rule noise: {"id":"noise","state":"ignored","when":"signal.count > 9"}',
        ] == ran.stdout.splitlines()[4:]

    @pytest.mark.parametrize(("name", "more"), [("indult.yaml", ""), ("law of 2.yaml", " --policy 'law of 2.yaml'")])
    def test_presets_are_a_line_each(self, indult: Run, file: Path, name: str, more: str) -> None:
        """The first time, a preset is its name and how many rules it has, and the file's own lines are shown in full."""
        head = (
            "extends: [indult/repository@1, indult/readonly-tools@1]\nwords: {repo.secrets: {says: Leave secrets.}}\n"
        )
        write(file.with_name(name), READ, head=head)
        lines = indult("trust", "--show", name).stdout.splitlines()[2:]

        assert [
            "trusted  never: the file holds as it is",
            "+ extends indult/repository@1: 5 rules",
            "+ extends indult/readonly-tools@1: 2 rules",
            f"    to read them: indult policy show --resolved{more}",
            '+ default: "deny"',
            '+ rule read: {"effect":"allow","id":"read","tool":"read"}',
            "~ rule repo.secrets",
        ] == lines[:-1]
        assert lines[-1].endswith(' -> "Leave secrets."')

    def test_a_preset_that_comes_later_is_shown_in_full(self, indult: Run, file: Path) -> None:
        """Once a version is trusted, each rule that a preset brings is a change like any other."""
        trust(indult, file)
        write(file, SEND, READ, head="extends: indult/readonly-tools@1\n")
        shown = indult("trust", "--show").stdout

        assert ("+ extends" in shown, "+ rule readonly.tools: {" in shown) == (False, True)

    def test_json_has_the_rules_of_presets(self, indult: Run, file: Path) -> None:
        """As JSON nothing is left out."""
        write(file, READ, head="extends: indult/readonly-tools@1\n")
        (row,) = indult("trust", "--show", "--json").json

        assert {"rule read", "rule readonly.mcp", "rule readonly.tools"} <= {one["what"] for one in row["changes"]}

    def test_json(self, indult: Run, file: Path) -> None:
        """As JSON, a line holds the place, the digest, whether it is trusted, what was last, and every change."""
        (never,) = indult("trust", "--show", "--json").json
        trust(indult, file)
        (known,) = indult("trust", "--json").json
        write(file, SEND)
        (changed,) = indult("trust", "--show", "--json").json

        assert (str(file), False, None) == (never["path"], never["trusted"], never["last"])
        assert (True, []) == (known["trusted"], known["changes"])
        assert [{"what": "rule read", "before": {"effect": "allow", "id": "read", "tool": "read"}, "after": None}] == (
            changed["changes"]
        )
        assert {"digest", "at", "by"} == set(changed["last"])
        (done,) = indult("trust", "--digest", changed["digest"], "--json").json
        assert (True, changed["digest"]) == (done["trusted"], done["digest"])

    def test_makes_no_ledger(self, indult: Run, file: Path, data_home: Path) -> None:
        """Looking makes no ledger."""
        indult("trust", "--show")

        assert not data_home.exists()


class TestInForce:
    """What the verbs that judge work under."""

    def verdict(self, indult: Run, *args: str) -> Any:
        """Return what `check` says of a call of `write`."""
        (row,) = indult("check", CALL, "--json", *args).json
        return row["verdict"]

    def test_changed_file(self, indult: Run, file: Path) -> None:
        """Once a file is trusted, a change to it opens nothing until it is trusted too."""
        trust(indult, file)
        write(file, ALL)
        assert "DENY" == self.verdict(indult)
        assert "Anything else is denied." in indult("brief").stdout

        trust(indult, file)
        assert "APPROVE" == self.verdict(indult)

    def test_named_file(self, indult: Run, file: Path) -> None:
        """A file that is named with `--policy` holds as it is."""
        trust(indult, file)
        write(file, ALL)

        assert "APPROVE" == self.verdict(indult, "--policy", "indult.yaml")
        assert "`*`." in indult("brief", "--policy", "indult.yaml").stdout

    def test_never_trusted(self, indult: Run, file: Path) -> None:
        """A file that nobody trusted holds as it is, whether or not there is a ledger."""
        write(file, ALL)
        assert "APPROVE" == self.verdict(indult)
        trust(indult, write(file.with_name("other.yaml"), READ))
        assert "APPROVE" == self.verdict(indult)

    def test_recorded_check(self, indult: Run, file: Path) -> None:
        """A check that is recorded goes by the same policy."""
        trust(indult, file)
        write(file, ALL)

        assert "DENY" == self.verdict(indult, "--subject", "s")

    def test_policy_of_the_user(self, indult: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The policy of the user restricts the one of the folder, and the text says so."""
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        write(file, ALL)
        write(tmp_path / "config" / "indult" / "policy.yaml", READ)

        assert "DENY" == self.verdict(indult)
        assert "- The user policy lets nothing through but: `read`.\n" in indult("brief").stdout

    def test_ledger_that_cannot_be_read(self, indult: Run, file: Path, data_home: Path) -> None:
        """Where there is a ledger that cannot be read, nothing is judged: there may be a record in it."""
        default_path().parent.mkdir(parents=True)
        default_path().write_text("no ledger", encoding="utf-8")

        assert 1 == indult("check", CALL).exit_code
        assert 1 == indult("brief").exit_code

    def test_ledger_that_is_being_made(self, indult: Run, file: Path, data_home: Path) -> None:
        """A ledger whose file is there and empty, because another process is about to fill it, holds no record."""
        default_path().parent.mkdir(parents=True)
        default_path().touch(mode=0o600)

        assert 2 == indult("check", CALL).exit_code

    def test_verbs_of_approvals(self, indult: Run, file: Path) -> None:
        """Approvers whom a changed file puts in can neither decide nor be shown: the trusted version has none."""
        trust(indult, file)
        (row,) = indult("request", '{"tool": "send"}', "--subject", "s", "--json").json
        write(file, SEND, READ, head=f"approvers: {{eve: {PUBLIC.text}}}\n")

        assert "unsigned" in indult("show", row["id"]).stdout
        assert 0 == indult("approve", row["id"], "--digest", row["digest"], "--by", "ada").exit_code
        assert 0 == indult("check", '{"tool": "send"}', "--subject", "s").exit_code

    def test_ledger_of_the_environment(
        self, indult: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The record is looked for in the ledger that `INDULT_DB` names."""
        monkeypatch.setenv("INDULT_DB", str(tmp_path / "own.db"))
        trust(indult, file)
        write(file, ALL)

        assert "DENY" == self.verdict(indult)
        assert "Anything else is denied." in indult("brief").stdout

    def test_without_a_ledger_none_is_loaded(self, file: Path) -> None:
        """Where there is no ledger, no database is imported to look for a record."""
        loaded = modules("check", '{"tool": "read", "args": {}}')

        assert not {"sqlite3", "indult.ledger", "indult.policy.merge", "cryptography"} & loaded
