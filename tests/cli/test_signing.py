from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indult.keys import key_path, make_key, open_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Office, Terminal

PASSPHRASE = "correct horse battery"


@pytest.fixture(name="ada")
def _ada(office: Office) -> Path:
    """Declare Ada as an approver, with a key in the folder of keys, and return the file of its passphrase."""
    public = make_key(key_path("ada"), PASSPHRASE)
    law = office.folder / "indult.yaml"
    law.write_text(f"approvers: {{ada: {public.text}}}\n" + law.read_text(encoding="utf-8"), encoding="utf-8")
    file = office.folder / "passphrase"
    file.write_text(PASSPHRASE + "\n", encoding="utf-8")
    file.chmod(0o600)
    return file


class TestSigned:
    def test_an_approval_is_signed(self, office: Office, ada: Path) -> None:
        """Under declared approvers a decision is signed, and every verb says so."""
        row = office.ask()
        ran = office.approve(row, "--by", "ada", "--passphrase-file", str(ada))
        shown = office.show(row["id"])

        assert (0, f"approved {row['id']} by ada (signed)") == (ran.exit_code, ran.stdout.splitlines()[0])
        assert "unsigned" not in ran.stdout
        assert shown["grant"]["signed"]
        assert shown["decisions"][0]["signature"].startswith("ed25519:")
        assert "  signed by ada  " in office("grants").stdout
        assert "decided    approve by ada (signed)" in office("show", row["id"]).stdout
        assert 0 == office("check", '{"tool": "send", "args": {"to": "max"}}', "--subject", "s").exit_code

    def test_the_passphrase_may_come_on_standard_input(self, office: Office, ada: Path) -> None:
        """`--passphrase-file -` reads one line."""
        row = office.ask()
        args = ["approve", row["id"], "--digest", row["digest"], "--by", "ada", "--passphrase-file", "-"]

        assert 0 == office(*args, stdin=PASSPHRASE + "\n").exit_code

    def test_a_key_file_may_be_named(self, office: Office, ada: Path) -> None:
        """`--key-file` signs with the key of that file."""
        key_path("ada").rename(office.folder / "mine.pem")
        args = ["--by", "ada", "--key-file", "mine.pem", "--passphrase-file", str(ada)]

        assert 0 == office.approve(office.ask(), *args).exit_code

    def test_an_agent_signs(self, office: Office, ada: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """`--agent` signs with the key that ssh-agent holds, and with no file."""
        signer = open_key(key_path("ada"), PASSPHRASE)
        key_path("ada").unlink()
        row = office.ask()
        monkeypatch.setattr("indult.sshagent.agent_keys", list)
        assert "error: ssh-agent does not hold SHA256:" in office.approve(row, "--by", "ada", "--agent").stderr
        monkeypatch.setattr("indult.sshagent.agent_keys", lambda: [signer.public_key])
        monkeypatch.setattr("indult.sshagent.AgentSigner", lambda key: signer)

        assert 0 == office.approve(row, "--by", "ada", "--agent").exit_code

    def test_other_answers_are_signed_too(self, office: Office, ada: Path) -> None:
        """A no and a discussion carry a signature as a yes does."""
        row = office.ask()
        for verb in ("discuss", "reject"):
            args = [verb, row["id"], "--note", "x", "--by", "ada", "--passphrase-file", str(ada)]
            assert 0 == office(*args).exit_code

        assert [True, True] == [decision["signed"] for decision in office.show(row["id"])["decisions"]]

    def test_lists_say_that_it_has_to_be_signed(self, office: Office, ada: Path) -> None:
        """An open request is listed as one whose decisions are signed."""
        office.ask()

        assert ["signed"] == [row["signing"] for row in office("requests", "--json").json]

    def test_at_the_prompt(self, office: Office, ada: Path, terminal: Callable[..., Terminal]) -> None:
        """On a terminal the passphrase is asked for after the yes, and not shown."""
        row = office.ask()
        one = terminal("approve", row["id"], "--by", "ada")
        one.until("Approve exactly this? [y/N]: ")
        one.answer("y")
        one.until(f"Passphrase of {key_path('ada')}: ")
        one.answer(PASSPHRASE)

        assert 0 == one.end()
        assert PASSPHRASE not in one.shown
        assert "signed" == office.show(row["id"])["signing"]


class TestRefused:
    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["--by", "eve"], "`eve` is no approver\nhint: approvers: ada"),
            (["--by", "ada"], "no terminal to ask for the passphrase of"),
            (["--by", "ada", "--agent"], "there is no ssh-agent: SSH_AUTH_SOCK is not set"),
            (["--by", "ada", "--key-file", "none.pem"], "there is no key `none.pem`"),
            (["--by", "ada", "--passphrase-file", "none"], "the passphrase file `none` cannot be read"),
            (
                ["--by", "ada", "--passphrase-file", "indult.yaml"],
                "the passphrase file `indult.yaml` can be read by others",
            ),
            (["--agent", "--key-file", "x"], "`--agent` goes with neither `--key-file` nor `--passphrase-file`"),
        ],
    )
    def test_what_cannot_be_signed_is_not_recorded(
        self, office: Office, ada: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], message: str
    ) -> None:
        """Who is no approver, or cannot sign, changes nothing."""
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        (office.folder / "indult.yaml").chmod(0o644)
        row = office.ask()
        ran = office.approve(row, *args)

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert message in ran.stderr
        assert [] == office.show(row["id"])["decisions"]

    def test_a_wrong_passphrase(self, office: Office, ada: Path) -> None:
        """A key that does not open signs nothing."""
        ada.write_text("another passphrase", encoding="utf-8")
        ran = office.approve(office.ask(), "--by", "ada", "--passphrase-file", str(ada))

        assert 1 == ran.exit_code
        assert "does not open" in ran.stderr

    def test_an_approval_from_before_opens_nothing(self, office: Office) -> None:
        """Once approvers are declared, an unsigned grant is dead, and its decision is shown as void."""
        office.approve(row := office.ask(), "--by", "ada")
        public = make_key(key_path("ada"), PASSPHRASE)
        law = office.folder / "indult.yaml"
        law.write_text(f"approvers: {{ada: {public.text}}}\n" + law.read_text(encoding="utf-8"), encoding="utf-8")

        assert "g_" not in office("grants").stdout
        assert "  void       d_" in office("show", row["id"]).stdout
        assert "open" == office.show(row["id"])["state"]

    def test_nothing_is_signed_without_approvers(self, office: Office) -> None:
        """Options about keys are refused where no signature would be made."""
        for args in (["--agent"], ["--key-file", "x"], ["--passphrase-file", "x"]):
            ran = office.approve(office.ask(), *args)

            assert (1, "error: nothing is signed under a policy that declares no approvers") == (
                ran.exit_code, ran.stderr.splitlines()[0],
            )  # fmt: skip


def test_two_approvers(office: Office, ada: Path) -> None:
    """Where a rule takes two approvals, the first opens nothing yet, and one person counts once."""
    public = make_key(key_path("max"), PASSPHRASE)
    law = office.folder / "indult.yaml"
    text = law.read_text(encoding="utf-8").replace("approvers: {", f"approvers: {{max: {public.text}, ")
    law.write_text(text.replace("{id: send, ", "{id: send, approvals: 2, "), encoding="utf-8")
    row = office.ask()
    first = office.approve(row, "--by", "ada", "--passphrase-file", str(ada))

    assert "1 of 2 approvals: nothing is opened yet" == first.stdout.splitlines()[1]
    assert f"{row['id']}  open, 1 of 2 approvals" == office("show", row["id"]).stdout.splitlines()[0]
    assert [] == office("grants", "--json").json
    seen = str(office.show(row["id"])["seen"])
    second = office.approve(row, "--seen", seen, "--by", "max", "--passphrase-file", str(ada), "--json")
    assert ("approved", ["ada", "max"]) == (second.json[0]["state"], second.json[0]["approved_by"])
