"""The desk: policy, ledger and gate of the repository in which a hook is called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.conftest import LAW, Session

from indult import load_policy
from indult.adapters.desk import Desk
from indult.errors import FactError, ForgedRecord, PolicyError
from indult.gate.subjects import WORKTREES, appointment
from indult.ledger import Draft
from indult.places import repository_ledger
from indult.trust import record_trust

FACTS = """
schema: 1
default: deny
context: {session: string, repo: string, now: timestamp}
rules:
  - {id: one, tool: Look, effect: allow, when: "session == 's-1' && repo.endsWith('/app') && now > timestamp('2020-01-01T00:00:00Z')"}
"""


class TestOpen:
    def test_the_subject_is_the_work_tree(self, root: Path) -> None:
        """What an approval opens, it opens for this work tree."""
        with Desk.open(str(root)) as desk:
            assert f"tree:{root.resolve()}" == desk.gate.subject

    def test_the_ledger_is_that_of_the_repository(self, root: Path) -> None:
        """The ledger is outside the work tree, in the place of this repository, for its owner only."""
        with Desk.open(str(root)):
            pass

        path = repository_ledger(str(root))
        assert not path.startswith(str(root))
        assert 0o600 == Path(path).stat().st_mode & 0o777

    def test_another_ledger_can_be_named(self, root: Path, tmp_path: Path) -> None:
        """A ledger elsewhere is used where it is named."""
        with Desk.open(str(root), database=str(tmp_path / "x.db")):
            pass

        assert (tmp_path / "x.db").is_file()
        assert not os.path.lexists(repository_ledger(str(root)))

    def test_a_policy_in_error_is_refused(self, root: Path) -> None:
        """A policy that cannot be loaded is an error with its place."""
        (root / "indult.yaml").write_text("schema: 1\nrules: [{id: a}]\n", encoding="utf-8")

        with pytest.raises(PolicyError):
            Desk.open(str(root))

    def test_what_is_trusted_counts(self, root: Path) -> None:
        """Of a file that a person trusted another version of, nothing is allowed by the file alone."""
        with Desk.open(str(root)) as desk:
            record_trust(root / "indult.yaml", load_policy(root / "indult.yaml"), desk.ledger, by="you")
        (root / "indult.yaml").write_text(f"{LAW}  - {{id: own, tool: Own, effect: allow}}\n", encoding="utf-8")

        assert "deny" == Session(root).pre("Own").say.value


class TestFix:
    """The work tree of a fix, of which the ledger says whose it is."""

    @pytest.fixture(name="tree")
    def _tree(self, root: Path, tmp_path: Path, desk: Desk) -> Path:
        """Make another work tree of the repository, and record that it belongs to the signal `s_1`."""
        tree = tmp_path / "fixes" / "tree"
        (root / ".git" / "worktrees" / "tree").mkdir(parents=True)
        (root / ".git" / "worktrees" / "tree" / "commondir").write_text("../..\n", encoding="utf-8")
        tree.mkdir(parents=True)
        (tree / ".git").write_text(f"gitdir: {root}/.git/worktrees/tree\n", encoding="utf-8")
        record(desk, appointment(str(tree), "signal:s_1", str(root / "indult.yaml")))
        return tree

    def test_the_subject_is_the_signal(self, tree: Path) -> None:
        """What is done there is judged, and kept, under the signal."""
        with Desk.open(str(tree)) as desk:
            assert "signal:s_1" == desk.gate.subject

    def test_the_law_is_that_of_the_repository(self, tree: Path) -> None:
        """A policy that the fixer writes into its tree opens nothing."""
        wide = f"{LAW}  - {{id: own, tool: Own, effect: allow}}\n"
        (tree / "indult.yaml").write_text(wide, encoding="utf-8")

        assert "deny" == Session(tree).pre("Own").say.value
        assert "nothing" == Session(tree).pre("Find", limit=5).say.value

    def test_a_folder_below_is_no_way_out(self, tree: Path) -> None:
        """A policy further below holds as little, where the ledger is named."""
        inner = tree / "packages" / "a"
        inner.mkdir(parents=True)
        (inner / "indult.yaml").write_text(f"{LAW}  - {{id: own, tool: Own, effect: allow}}\n", encoding="utf-8")

        with Desk.open(str(inner), database=repository_ledger(str(tree))) as desk:
            assert ("signal:s_1", str(tree)) == (desk.gate.subject, desk.root)

    def test_afterwards_it_is_a_tree_like_any_other(self, tree: Path, desk: Desk) -> None:
        """Once the fix has ended, the subject is the work tree and its own policy holds."""
        record(desk, appointment(str(tree), None))
        (tree / "indult.yaml").write_text(LAW, encoding="utf-8")

        with Desk.open(str(tree)) as other:
            assert f"tree:{tree}" == other.gate.subject

    @pytest.mark.parametrize(
        "entry", [{}, {"subject": "signal:s_1"}, {"subject": "", "policy": "/x"}, {"subject": "s", "policy": "x"}]
    )
    def test_an_entry_that_says_nothing_is_an_error(self, tree: Path, desk: Desk, entry: dict[str, str]) -> None:
        """A record that names no subject and no policy does not make the tree one like any other."""
        record(desk, {WORKTREES: {str(tree): entry}})

        with pytest.raises(ForgedRecord, match="no subject with a policy"):
            Desk.open(str(tree))


def record(desk: Desk, latest: dict[str, dict[str, Any]]) -> None:
    """Record what an event has as `latest`."""
    desk.ledger.append(Draft(stream="signal:s_1", kind="fix_started", data={"latest": latest}))


class TestFacts:
    def test_a_hook_supplies_session_repository_and_time(self, root: Path) -> None:
        """Conditions can read the session, the repository and the time of the call."""
        (root / "indult.yaml").write_text(FACTS, encoding="utf-8")

        assert "nothing" == Session(root).pre("Look").say.value
        assert "deny" == Session(root, "s-2").pre("Look").say.value

    def test_a_sub_agent_is_in_the_session(self, root: Path) -> None:
        """The session of a sub-agent is that of the agent above it."""
        (root / "indult.yaml").write_text(FACTS, encoding="utf-8")

        assert "nothing" == Session(root, more={"agent_id": "a-9"}).pre("Look").say.value

    def test_another_fact_is_an_error_that_names_it(self, root: Path) -> None:
        """A fact that no hook knows is refused by name when the policy is opened, and not when a rule reads it."""
        (root / "indult.yaml").write_text(FACTS.replace("{session:", "{branch: string, session:"), encoding="utf-8")

        with pytest.raises(FactError, match="`branch`") as caught:
            Desk.open(str(root))

        assert "session, repo, now" in str(caught.value.hint)


class TestWait:
    def test_what_was_never_asked_is_not_waited_for(self, desk: Desk) -> None:
        """Without a request there is nothing to wait for."""
        assert not desk.waits(None)
