from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from indult import Action, Boundary, Policy, load_policy, loads_policy, open_ledger
from indult.errors import ForgedRecord, LedgerConflict, PolicyError
from indult.ledger import Draft, Ledger
from indult.testing import MemoryLedger
from indult.trust import (
    Change,
    changes,
    effective_policy,
    real_place,
    record_trust,
    seen_policy,
    trust_stream,
    trusted,
)

SEND = "- {id: send, tool: send, effect: ask, says: Ask first.}"
READ = "- {id: read, tool: read, effect: allow}"
ALL = "- {id: all, effect: allow}"
NOTHING = "/nonexistent/indult/policy.yaml"


def law(*rules: str, head: str = "") -> str:
    """Return the text of a policy."""
    return f"schema: 1\n{head}rules:\n" + "".join(f"  {rule}\n" for rule in rules)


def write(path: Path, *rules: str, head: str = "") -> Path:
    """Write a policy file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(law(*rules, head=head), encoding="utf-8")
    return path


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    """Write a policy file that a person is going to trust."""
    return write(tmp_path / "project" / "indult.yaml", SEND, READ)


@pytest.fixture(name="ledger", params=["memory", "sqlite"])
def _ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    """Open an empty ledger of each kind."""
    return MemoryLedger() if request.param == "memory" else open_ledger(tmp_path / "ledger.db")


def verdicts(file: Path, ledger: Ledger | None, *tools: str, system: str | Path = NOTHING) -> list[str]:
    """Return what the policy in force says of calls of some tools."""
    boundary = Boundary(policy=effective_policy(file, ledger, system=str(system)))
    return [str(boundary.judge(Action(tool=tool, args={}), {}).verdict) for tool in tools]


class TestRecord:
    """Recording what a person trusts."""

    def test_kept(self, file: Path, ledger: Ledger) -> None:
        """A record holds the digest, the whole policy, the place of the file and who recorded it."""
        law = load_policy(file)
        record = record_trust(file, law, ledger, by="ann")

        assert record == trusted(file, ledger)
        assert (str(file), law.digest, "ann", 1) == (record.path, record.digest, record.by, record.version)
        assert law == record.policy

    def test_last_one_counts(self, file: Path, ledger: Ledger) -> None:
        """Of several records, the last one counts, whether or not it was there before."""
        first, second = load_policy(file), loads_policy(law(ALL))
        for policy in (first, second, first):
            record_trust(file, policy, ledger, by="ann")
        record = trusted(file, ledger)

        assert record is not None
        assert (first.digest, 3) == (record.digest, record.version)

    def test_none(self, file: Path, ledger: Ledger) -> None:
        """Of a file that nobody recorded there is no record, and one file's record is not another's."""
        record_trust(file, load_policy(file), ledger, by="ann")

        assert trusted(file.with_name("other.yaml"), ledger) is None

    def test_what_looks_like_a_secret(self, file: Path, ledger: Ledger) -> None:
        """A rule about secrets is kept as it is, though the ledger masks what looks like one."""
        when = "args.text.contains('password=hunter22222') || args.text.contains('ghp_0123456789abcdefghijABCDEFGHIJ012345')"
        write(file, f'- {{id: secrets, effect: deny, says: No secrets., when: "{when}"}}')
        law = load_policy(file)

        assert law == record_trust(file, law, ledger, by="ann").policy

    def test_two_at_once(self, file: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of two who record at the same time, the second is told, since it did not see the first."""
        law = load_policy(file)
        record_trust(file, law, ledger, by="ann")
        monkeypatch.setattr("indult.trust.trusted", lambda *_: None)
        with pytest.raises(LedgerConflict):
            record_trust(file, law, ledger, by="bob")


class TestPlace:
    """Which file a record is about."""

    def test_one_name(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every path to a file is one name of it."""
        (file.parent.parent / "link").symlink_to(file.parent)
        monkeypatch.chdir(file.parent)

        assert {str(file)} == {
            real_place(path)
            for path in (file, "indult.yaml", "./indult.yaml", "../project/indult.yaml", "../link/indult.yaml")
        }

    def test_link_in_its_place(self, file: Path, ledger: Ledger) -> None:
        """A link that takes the place of a trusted file does not lead out of the record."""
        record_trust(file, load_policy(file), ledger, by="ann")
        other = write(file.with_name("other.yaml"), ALL)
        file.unlink()
        file.symlink_to(other)

        assert ["ASK_USER", "DENY"] == verdicts(file, ledger, "send", "write")

    def test_odd_name(self, tmp_path: Path, ledger: Ledger) -> None:
        """A folder whose name is no text has records as any other."""
        folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n")
        file = write(Path(folder) / "indult.yaml", READ)

        record_trust(file, load_policy(file), ledger, by="ann")

        assert trusted(tmp_path / "indult.yaml", ledger) is None
        assert load_policy(file) == effective_policy(file, ledger, system=NOTHING)


class TestEffective:
    """What holds for a policy file."""

    def test_without_a_record(self, file: Path, ledger: Ledger) -> None:
        """Without a record, and without a ledger, the file holds as it is."""
        assert load_policy(file) == effective_policy(file, ledger, system=NOTHING)
        assert load_policy(file) == effective_policy(file, None, system=NOTHING)

    def test_unchanged(self, file: Path, ledger: Ledger) -> None:
        """The trusted file holds as it is, and so does one with the same meaning in other words."""
        record_trust(file, load_policy(file), ledger, by="ann")
        write(file, READ, "# a comment", SEND)

        assert load_policy(file) == effective_policy(file, ledger, system=NOTHING)

    def test_more_allowed(self, file: Path, ledger: Ledger) -> None:
        """A file that allows more than the trusted one opens nothing."""
        record_trust(file, load_policy(file), ledger, by="ann")
        write(file, ALL)

        assert ["ASK_USER", "DENY", "APPROVE"] == verdicts(file, ledger, "send", "write", "read")

    def test_less_allowed(self, file: Path, ledger: Ledger) -> None:
        """A file that denies more than the trusted one is obeyed at once."""
        record_trust(file, load_policy(file), ledger, by="ann")
        write(file, SEND, READ, "- {id: no, tool: read, effect: deny, says: No.}")

        assert ["ASK_USER", "DENY"] == verdicts(file, ledger, "send", "read")

    def test_trusted_again(self, file: Path, ledger: Ledger) -> None:
        """Once the new version is trusted, it holds as it is."""
        record_trust(file, load_policy(file), ledger, by="ann")
        write(file, ALL)
        record_trust(file, load_policy(file), ledger, by="ann")

        assert ["APPROVE", "APPROVE"] == verdicts(file, ledger, "send", "write")

    def test_broken(self, file: Path, ledger: Ledger) -> None:
        """A file that does not load, or is gone, is an error whatever was trusted."""
        record_trust(file, load_policy(file), ledger, by="ann")
        file.write_text("rules: [", encoding="utf-8")
        with pytest.raises(PolicyError, match="not YAML"):
            effective_policy(file, ledger, system=NOTHING)
        file.unlink()
        with pytest.raises(PolicyError, match="no such policy file"):
            effective_policy(file, ledger, system=NOTHING)

    def test_user_and_system(self, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The policies of the user and of the system restrict every project; neither opens anything."""
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        write(tmp_path / "config" / "indult" / "policy.yaml", ALL, "- {id: no, tool: send, effect: deny, says: Never.}")
        system = write(tmp_path / "etc" / "policy.yaml", ALL, "- {id: ask, tool: read, effect: ask, says: Ask.}")

        assert ["DENY", "ASK_USER", "DENY"] == verdicts(file, None, "send", "read", "write", system=system)
        assert ["DENY", "APPROVE", "DENY"] == verdicts(file, None, "send", "read", "write")
        assert ["project/default", "system/ask", "user/no"] == [
            rule.id for rule in effective_policy(file, system=str(system)).rules if "/" in rule.id
        ]
        assert ["user/no"] == [rule.id for rule in effective_policy(file, system=NOTHING).rules if "/" in rule.id]

    def test_all_three(self, file: Path, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Trusted, changed, the user's and the system's policy hold together."""
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        write(tmp_path / "config" / "indult" / "policy.yaml", ALL, "- {id: no, tool: send, effect: deny, says: Never.}")
        record_trust(file, load_policy(file), ledger, by="ann")
        write(file, ALL)

        assert ["DENY", "APPROVE", "DENY"] == verdicts(file, ledger, "send", "read", "write")

    def test_broken_user_policy(self, file: Path, tmp_path: Path) -> None:
        """A policy of the user that does not load, or that leads nowhere, is an error: a restriction must not vanish."""
        user = tmp_path / "user.yaml"
        user.write_text("schema: 1\nrulez: []\n", encoding="utf-8")
        with pytest.raises(PolicyError, match=r"user\.yaml:1:1"):
            effective_policy(file, user=str(user), system=NOTHING)
        user.unlink()
        user.symlink_to(tmp_path / "none")
        with pytest.raises(PolicyError, match="no such policy file"):
            effective_policy(file, user=str(user), system=NOTHING)

    def test_unreadable_system_policy(self, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A policy of the system in a folder that cannot be entered is an error, not no policy."""
        real = os.lstat

        def lstat(path: str) -> os.stat_result:
            if str(path).startswith(str(tmp_path / "etc")):
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr("indult.trust.os.lstat", lstat)
        with pytest.raises(PolicyError):
            effective_policy(file, system=str(tmp_path / "etc" / "policy.yaml"))

    def test_no_folder(self, file: Path, tmp_path: Path) -> None:
        """Where a file stands in the way of the folder, there is no policy of the system."""
        (tmp_path / "etc").touch()

        assert load_policy(file) == effective_policy(file, system=str(tmp_path / "etc" / "policy.yaml"))

    def test_of_itself(self, tmp_path: Path) -> None:
        """The policy of the user is not held against itself."""
        user = write(tmp_path / "policy.yaml", READ)

        assert load_policy(user) == effective_policy(user, user=str(user), system=NOTHING)


class TestForged:
    """Records that are not what was recorded."""

    def tamper(self, tmp_path: Path, sql: str, *values: object) -> None:
        """Change the file of the ledger past the program, triggers and all."""
        db = sqlite3.connect(tmp_path / "ledger.db")
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute(sql, values)
        db.commit()
        db.close()

    @pytest.mark.parametrize(
        "sql",
        [
            'UPDATE events SET data = replace(data, \'"by":"ann"\', \'"by":"eve"\')',
            "UPDATE events SET data = replace(data, 'sha256:', 'sha256:0')",
            "UPDATE events SET kind = 'other'",
            "UPDATE events SET at = '2020-01-01T00:00:00.000000Z'",
            "DELETE FROM events WHERE version = 2",
        ],
    )
    def test_changed_row(self, file: Path, tmp_path: Path, sql: str) -> None:
        """A record that was changed or cut off past the program is refused; nothing holds by it."""
        with open_ledger(tmp_path / "ledger.db") as ledger:
            record_trust(file, load_policy(file), ledger, by="ann")
            record_trust(file, loads_policy(law(ALL)), ledger, by="ann")
        self.tamper(tmp_path, sql)
        with open_ledger(tmp_path / "ledger.db") as ledger, pytest.raises(ForgedRecord):
            effective_policy(file, ledger, system=NOTHING)

    @pytest.mark.parametrize(
        "change",
        [
            lambda data, other: {**data, "digest": other.digest},
            lambda data, other: {**data, "model": "x"},
            lambda data, other: {**data, "model": "eJw="},
            lambda data, other: {**data, "model": None},
            lambda data, other: {},
        ],
    )
    def test_written_by_hand(self, file: Path, ledger: Ledger, change: Callable[..., dict[str, object]]) -> None:
        """An event whose policy is not that of its digest, or none, is refused when it is needed."""
        record_trust(file, load_policy(file), ledger, by="ann")
        other = loads_policy(law(ALL))
        (event,) = ledger.events(trust_stream(file))
        ledger.append(Draft(stream=trust_stream(file), kind="trusted", data=change(event.data, other)))
        write(file, "- {id: third, effect: allow}")
        with pytest.raises(ForgedRecord, match="not what was recorded"):
            effective_policy(file, ledger, system=NOTHING)


class TestChanges:
    """What differs between two versions."""

    def test_rules_and_keys(self) -> None:
        """Rules that were added, removed or changed are told, and so are other keys."""
        before = loads_policy(law(SEND, READ))
        after = loads_policy(law(SEND.replace("ask,", "deny,"), ALL, head="default: ask\n"))

        assert [
            ("default", "deny", "ask"),
            ("rule all", None, {"id": "all", "effect": "allow"}),
            ("rule read", {"id": "read", "effect": "allow", "tool": "read"}, None),
            (
                "rule send",
                {"id": "send", "effect": "ask", "tool": "send", "says": "Ask first."},
                {"id": "send", "effect": "deny", "tool": "send", "says": "Ask first."},
            ),
        ] == [(change.what, change.before, change.after) for change in changes(before, after)]

    def test_fixer_and_triage(self) -> None:
        """Another fixer and other numbers are told as keys, and a rule of triage by its id, before the rules."""
        noise, slow = "{id: noise, state: ignored}", "{id: slow, priority: 2}"
        before = loads_policy(law(ALL, head=f"fixer: [fix]\nautofix: {{turns: 2, triage: [{noise}, {slow}]}}\n"))
        after = loads_policy(
            law(READ, head=f"fixer: [fix, -p]\nautofix: {{turns: 4, triage: [{slow.replace('2', '5')}]}}\n")
        )

        assert [
            ("autofix", {"turns": 2}, {"turns": 4}),
            ("fixer", ["fix"], ["fix", "-p"]),
            ("triage rule noise", {"id": "noise", "state": "ignored"}, None),
            ("triage rule slow", {"id": "slow", "priority": 2}, {"id": "slow", "priority": 5}),
            ("rule all", {"id": "all", "effect": "allow"}, None),
            ("rule read", None, {"id": "read", "effect": "allow", "tool": "read"}),
        ] == [(change.what, change.before, change.after) for change in changes(before, after)]
        assert ("autofix", None, {}) in changes(loads_policy(law(ALL)), loads_policy(law(ALL, head="autofix: {}\n")))

    def test_none(self) -> None:
        """Between equal policies nothing differs."""
        assert [] == changes(loads_policy(law(SEND, READ)), loads_policy(law(READ, SEND)))

    def test_from_nothing(self) -> None:
        """Without a version before, everything is new."""
        found = changes(None, loads_policy(law(ALL)))

        assert Change(what="default", before=None, after="deny") in found
        assert {"what": "rule all", "before": None, "after": {"id": "all", "effect": "allow"}} == found[-1].to_dict()


class TestSeen:
    """Understanding a policy file once, and judging by the record of that."""

    @pytest.fixture(name="loads")
    def _loads(self, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
        """Collect the texts that are made a policy of, each time that it happens."""
        found: list[bytes] = []

        def counted(text: bytes, **more: str) -> Policy:
            found.append(text)
            return loads_policy(text, **more)

        monkeypatch.setattr("indult.policy.load.loads_policy", counted)
        return found

    def test_a_file_is_understood_once(self, file: Path, ledger: Ledger, loads: list[bytes]) -> None:
        """As long as a file says the same it is loaded once, and is the same policy each time."""
        found = [seen_policy(file, file.read_bytes(), ledger) for _ in range(3)]

        assert [load_policy(file)] * 3 == found
        assert 1 == len(loads)

    def test_another_text_is_another_policy(self, file: Path, ledger: Ledger, loads: list[bytes]) -> None:
        """A byte more, and the file is read anew; what is recorded of it tells which versions judged."""
        seen_policy(file, file.read_bytes(), ledger)
        write(file, SEND, READ, ALL)

        assert load_policy(file) == seen_policy(file, file.read_bytes(), ledger)
        assert 2 == len(loads)
        digests = [event.data["digest"] for event in ledger.events() if event.kind == "policy_seen"]
        assert [loads_policy(text).digest for text in loads] == digests

    def test_another_version_reads_for_itself(
        self, file: Path, ledger: Ledger, loads: list[bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What another version of indult understood is read anew."""
        seen_policy(file, file.read_bytes(), ledger)
        monkeypatch.setattr("indult.trust.__version__", "0.0.0")

        seen_policy(file, file.read_bytes(), ledger)
        assert 2 == len(loads)

    @pytest.mark.parametrize(
        "change", [{"model": "AAAA"}, {"model": "é"}, {"digest": "sha256:" + "0" * 64}, {"model": None}]
    )
    def test_a_record_that_is_not_this_policy_counts_for_nothing(
        self, file: Path, ledger: Ledger, change: dict[str, object]
    ) -> None:
        """A record whose policy is not the one of its digest is passed over."""
        seen_policy(file, file.read_bytes(), ledger)
        (event,) = [event for event in ledger.events() if event.kind == "policy_seen"]
        ledger.append(Draft(event.stream, "policy_seen", {**event.data, **change}))

        assert load_policy(file) == seen_policy(file, file.read_bytes(), ledger)

    def test_a_text_in_error_is_one_each_time(self, file: Path, ledger: Ledger) -> None:
        """A file that is no policy is refused however often it is read, and nothing is recorded of it."""
        for _ in range(2):
            with pytest.raises(PolicyError):
                seen_policy(file, b"rules: 1", ledger)

        assert [] == list(ledger.events())

    def test_what_is_trusted_is_not_read_again(self, file: Path, ledger: Ledger, loads: list[bytes]) -> None:
        """Where the file is byte for byte what a person trusted, the policy that they trusted holds."""
        record_trust(file, load_policy(file), ledger, by="ann")
        loads.clear()

        assert ["ASK_USER", "APPROVE", "DENY"] == verdicts(file, ledger, "send", "read", "other")
        assert [] == loads

    def test_a_policy_from_elsewhere_says_nothing_of_the_file(
        self, file: Path, ledger: Ledger, loads: list[bytes]
    ) -> None:
        """What was trusted of a commit does not stand for what the file says."""
        record_trust(file, loads_policy(law(ALL)), ledger, by="ann")
        loads.clear()

        assert ["ASK_USER", "DENY"] == verdicts(file, ledger, "send", "other")
        assert 1 == len(loads)
