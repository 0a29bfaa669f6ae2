from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.agents import PUBLIC, StartAgent, agent_fixture, identities
from tests.test_trust import READ, write

from indult import load_policy
from indult.keys import key_path, make_key, open_key
from indult.signatures import PublicKey, parse_public_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Terminal
    from tests.conftest import Run

__all__ = ["agent_fixture"]

PASSPHRASE = "correct horse"


@pytest.fixture(name="file")
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder with a policy, with no agent and a folder of settings of one's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "indult.yaml", READ, head="# mine\n")


def approvers(file: Path) -> dict[str, str]:
    """Return the approvers of a policy file."""
    return load_policy(file).approvers


class TestAddWithAKey:
    """Adding an approver whose key is in a file."""

    def test_new_key(self, indult: Run, file: Path) -> None:
        """A key is made under the passphrase, its line put into the file, and nothing else changes."""
        before = file.read_text(encoding="utf-8")
        ran = indult("approver", "add", "ann", "--passphrase-file", "-", stdin=PASSPHRASE + "\n")
        key = open_key(key_path("ann"), PASSPHRASE).public_key

        assert (0, "") == (ran.exit_code, ran.stderr)
        assert f"ann is an approver of indult.yaml with {key.fingerprint}, from {key_path('ann')}\n" in ran.stdout
        assert {"ann": f"{key.text} ann"} == approvers(file)
        assert before == file.read_text(encoding="utf-8").replace(f"approvers:\n  ann: {key.text} ann\n", "")

    def test_mode_and_link_of_the_file(self, indult: Run, file: Path) -> None:
        """The file keeps its mode, and a link to it stays one; nothing is left beside it."""
        file.chmod(0o640)
        file.with_name("link.yaml").symlink_to("indult.yaml")
        indult("approver", "add", "ann", "--passphrase-file", "-", "--policy", "link.yaml", stdin=PASSPHRASE)

        assert 0o640 == stat.S_IMODE(file.stat().st_mode)
        assert file.with_name("link.yaml").is_symlink()
        assert ["ann"] == list(approvers(file))
        assert {"config", "indult.yaml", "link.yaml"} == {path.name for path in file.parent.iterdir()} - {"data"}

    def test_key_that_is_there(self, indult: Run, file: Path) -> None:
        """A key of that name is used again, once its passphrase opens it, whatever its `.pub` file says."""
        public = make_key(key_path("ann"), PASSPHRASE)
        key_path("ann").with_suffix(".pub").write_text(PUBLIC.text, encoding="utf-8")
        ran = indult("approver", "add", "ann", "--passphrase-file", "-", stdin=PASSPHRASE)

        assert 0 == ran.exit_code
        assert public.raw == parse_public_key(approvers(file)["ann"]).raw

    def test_wrong_passphrase(self, indult: Run, file: Path) -> None:
        """A key that does not open makes nobody an approver."""
        make_key(key_path("ann"), PASSPHRASE)
        ran = indult("approver", "add", "ann", "--passphrase-file", "-", stdin="another one")

        assert (1, True) == (ran.exit_code, "does not open" in ran.stderr)
        assert {} == approvers(file)

    def test_named_file(self, indult: Run, file: Path) -> None:
        """`--key-file` says where the key is made, or is."""
        for name in ("Zo\u00eb / 1", "bob"):
            args = ("approver", "add", name, "--key-file", "mine.pem", "--passphrase-file", "-")
            ran = indult(*args, stdin=PASSPHRASE)
        key = open_key(file.with_name("mine.pem"), PASSPHRASE).public_key

        assert {"Zo\u00eb / 1": key.text} == approvers(file)
        assert (3, True) == (ran.exit_code, "`bob` has the key of `Zo\u00eb / 1`" in ran.stderr)

    def test_without_a_terminal(self, indult: Run, file: Path) -> None:
        """Without a terminal, a passphrase file or an agent it refuses, and the hint says what there is."""
        ran = indult("approver", "add", "ann")

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert "error: no terminal to ask for the passphrase of" in ran.stderr
        assert "hint: give --passphrase-file FILE, or use a key in ssh-agent\n" in ran.stderr
        assert not key_path("ann").exists()

    def test_short_passphrase(self, indult: Run, file: Path) -> None:
        """A short passphrase makes no key, and changes no file."""
        ran = indult("approver", "add", "ann", "--passphrase-file", "-", stdin="1234567")

        assert (1, True) == (ran.exit_code, "shorter than 8 characters" in ran.stderr)
        assert (False, {}) == (key_path("ann").exists(), approvers(file))

    def test_on_a_terminal(self, file: Path, terminal: Callable[..., Terminal]) -> None:
        """On a terminal, a new passphrase is asked for twice and not shown."""
        shown = terminal("approver", "add", "ann")
        shown.until("Passphrase of")
        shown.answer(PASSPHRASE)
        shown.until("Once more:")
        shown.answer(PASSPHRASE)

        assert 0 == shown.end()
        assert PASSPHRASE not in shown.shown
        assert open_key(key_path("ann"), PASSPHRASE)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (None, "there is no such policy file"),
            ("schema: 1\nrulez: []\n", "the policy has no `rules`"),
            ("{schema: 1, rules: []}\n", "the file is one mapping between braces"),
            (f"schema: 1\napprovers: {{ann: {PUBLIC.text}}}\nrules: []\n", "`ann` is an approver already"),
        ],
    )
    def test_wrong_file(self, indult: Run, file: Path, text: str | None, message: str) -> None:
        """What is wrong with the file is told before a key is made or a passphrase asked for."""
        file.unlink()
        if text is not None:
            file.write_text(text, encoding="utf-8")
        ran = indult("approver", "add", "ann", "--passphrase-file", "-", stdin=PASSPHRASE)

        assert (3, True) == (ran.exit_code, message in ran.stderr)
        assert not key_path("ann").exists()

    def test_file_that_cannot_be_written(self, indult: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the file cannot be replaced it stays as it was, with nothing beside it."""

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        before = file.read_bytes()
        monkeypatch.setattr("indult.cli.approver.os.fchmod", full)
        ran = indult("approver", "add", "ann", "--passphrase-file", "-", stdin=PASSPHRASE)

        assert (3, True) == (ran.exit_code, "cannot be written: no space left" in ran.stderr)
        assert (before, []) == (file.read_bytes(), list(file.parent.glob("*.new")))


class TestAddWithout:
    """Adding an approver whose private key is elsewhere."""

    def test_only_key_of_the_agent(self, indult: Run, file: Path, agent: StartAgent) -> None:
        """With one key in the agent, that is it."""
        agent(lambda _: identities((PUBLIC.blob, b"ann@laptop")))
        ran = indult("approver", "add", "ann", "--agent")

        assert (0, "") == (ran.exit_code, ran.stderr)
        assert {"ann": f"{PUBLIC.text} ann@laptop"} == approvers(file)

    def test_one_of_several(self, indult: Run, file: Path, agent: StartAgent, tmp_path: Path) -> None:
        """With several, the fingerprint says which."""
        other = make_key(tmp_path / "other.pem", PASSPHRASE)
        agent(lambda _: identities((other.blob, b"work: # odd"), (PUBLIC.blob, b"home")))
        unsaid = indult("approver", "add", "ann", "--agent")
        unknown = indult("approver", "add", "ann", "--agent", "SHA256:x")
        said = indult("approver", "add", "ann", "--agent", other.fingerprint)

        assert (1, 1, 0) == (unsaid.exit_code, unknown.exit_code, said.exit_code)
        assert f"hint: {other.fingerprint} work: # odd, {PUBLIC.fingerprint} home\n" in unsaid.stderr
        assert "error: ssh-agent does not hold `SHA256:x`\n" in unknown.stderr
        assert {"ann": other.text} == approvers(file)

    def test_empty_agent(self, indult: Run, file: Path, agent: StartAgent) -> None:
        """An agent without a key of the kind is no help, and neither is none."""
        agent(lambda _: identities())

        assert "ssh-agent holds no Ed25519 key" in indult("approver", "add", "ann", "--agent").stderr

    def test_no_agent(self, indult: Run, file: Path) -> None:
        """Without an agent, the hint says how one is started."""
        assert "SSH_AUTH_SOCK is not set" in indult("approver", "add", "ann", "--agent").stderr

    @pytest.mark.parametrize("form", ["text", "file", "input"])
    def test_public_key(self, indult: Run, file: Path, form: str) -> None:
        """A public key that somebody sent is enough, as text, as a file or on standard input."""
        file.with_name("bob.pub").write_text(f"{PUBLIC.text} bob@example.org\n", encoding="utf-8")
        given = {"text": f"{PUBLIC.text} bob@example.org", "file": "@bob.pub", "input": "-"}[form]
        ran = indult("approver", "add", "bob", "--public-key", given, stdin=f"{PUBLIC.text} bob@example.org\n")

        assert (0, "") == (ran.exit_code, ran.stderr)
        assert {"bob": f"{PUBLIC.text} bob@example.org"} == approvers(file)

    def test_no_public_key(self, indult: Run, file: Path) -> None:
        """What is no public key is refused."""
        ran = indult("approver", "add", "bob", "--public-key", "ssh-rsa AAAA")

        assert (1, True) == (ran.exit_code, "not an OpenSSH Ed25519 public key" in ran.stderr)

    def test_options_that_contradict(self, indult: Run, file: Path) -> None:
        """A key comes from one place."""
        ran = indult("approver", "add", "bob", "--public-key", PUBLIC.text, "--key-file", "x.pem")

        assert (1, True) == (ran.exit_code, "exclude each other" in ran.stderr)

    def test_print(self, indult: Run, file: Path) -> None:
        """`--print` prints what to put into a file, and touches none."""
        before = file.read_bytes()
        ran = indult("approver", "add", "no", "--public-key", PUBLIC.text, "--print", "--policy", "none.yaml")

        assert (0, f'approvers:\n  "no": {PUBLIC.text}\n') == (ran.exit_code, ran.stdout)
        assert before == file.read_bytes()

    def test_json(self, indult: Run, file: Path) -> None:
        """As JSON, a line holds who, which key and where it went."""
        (row,) = indult("approver", "add", "bob", "--public-key", PUBLIC.text, "--json").json
        (left,) = indult("approver", "remove", "bob", "--json").json

        assert {
            "name": "bob",
            "fingerprint": PUBLIC.fingerprint,
            "key": PUBLIC.text,
            "from": "the line that was given",
            "policy": "indult.yaml",
        } == row
        assert {"name": "bob", "policy": "indult.yaml", "left": []} == left


class TestListAndRemove:
    """Looking at approvers and taking them out."""

    def test_list(self, indult: Run, file: Path, agent: StartAgent) -> None:
        """Each approver is listed with its fingerprint, and with where its private key is, if here."""
        agent(lambda _: identities((PUBLIC.blob, b"")))
        ann = make_key(key_path("ann"), PASSPHRASE)
        cy = PublicKey(bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"))
        for name, key in (("ann", ann), ("bob", PUBLIC), ("cy", cy)):
            indult("approver", "add", name, "--public-key", key.text)
        ran = indult("approver", "list")

        assert [
            f"ann  {ann.fingerprint}  {key_path('ann')}",
            f"bob  {PUBLIC.fingerprint}  in ssh-agent",
            f"cy  {cy.fingerprint}",
        ] == ran.stdout.splitlines()
        assert {"name": "cy", "fingerprint": cy.fingerprint, "key": cy.text, "private": None} == (
            indult("approver", "list", "--json").json[2]
        )

    def test_nobody(self, indult: Run, file: Path) -> None:
        """Without approvers it says what that means."""
        assert "no approvers: decisions under this policy are unsigned\n" == indult("approver", "list").stdout
        assert "" == indult("approver", "list", "--json").stdout

    def test_remove(self, indult: Run, file: Path) -> None:
        """Taking an approver out leaves the file as it was before, and says when nobody is left."""
        before = file.read_bytes()
        indult("approver", "add", "bob", "--public-key", PUBLIC.text)
        ran = indult("approver", "remove", "bob")

        assert (0, before) == (ran.exit_code, file.read_bytes())
        assert "bob is no approver of indult.yaml any more\nnobody is left" in ran.stdout

    def test_remove_nobody(self, indult: Run, file: Path) -> None:
        """Who is no approver cannot be taken out."""
        ran = indult("approver", "remove", "bob")

        assert (3, True) == (ran.exit_code, "`bob` is no approver" in ran.stderr)
