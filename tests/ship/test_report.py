from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.gate.desk import Desk

from indult import Gate, loads_policy
from indult.approvals import Choice, RequestState, Standing
from indult.errors import IneffectiveRequest, InputError, ScopeError, SupersededRequest
from indult.gate import kept
from indult.ship.report import Named, Report, hand_back, signal_subject

LAW = """
schema: 1
extends: indult/repository@1
rules:
  - {id: migrations, effect: ask, target: "whole:vendor/sql/**", says: Ask before a migration changes.}
"""

LIBDB = {
    "dependency": "libdb",
    "version": "1.8.2",
    "paths": ["package.json", "bun.lock", "patches/libdb@1.8.2.patch"],
    "change": "reset the retry counter",
}


def desk() -> Desk:
    """Return a ledger under the preset for repositories, for the signal `s1`."""
    return Desk(policy=loads_policy(LAW), subject=signal_subject("s1"))


def report(exception: dict[str, Any] | None = LIBDB, **changes: Any) -> Report:
    """Return a report on the signal `s1` that names `libdb`, or another exception, or none."""
    data: dict[str, Any] = {"signal": "s1", "by": "fixer", "relaxes_constraint": True, **changes}
    return Report.from_dict({**data, "dependency_exception": exception})


def hand(at: Desk, exception: dict[str, Any] | None = LIBDB, **changes: Any) -> Standing:
    """Hand a report back."""
    return hand_back(report(exception, **changes), gate=at.gate)


class TestRecord:
    def test_is_opened_as_one_exact_scope(self) -> None:
        """The files in their order, then the entry of the dependency in each manifest and lock among them."""
        assert (
            "write:package.json",
            "write:bun.lock",
            "write:patches/libdb@1.8.2.patch",
            "entry:package.json#libdb@1.8.2",
            "entry:bun.lock#libdb@1.8.2",
        ) == hand(desk()).request.scope.targets

    @pytest.mark.parametrize("missing", sorted(LIBDB))
    def test_needs_all_four(self, missing: str) -> None:
        """A record without one of its four parts is refused (R9)."""
        named = {name: value for name, value in LIBDB.items() if name != missing}

        with pytest.raises(InputError, match="not \\{dependency, version, paths, change\\}"):
            report(named)

    def test_says_which_is_missing(self) -> None:
        """The error names what is missing, and otherwise what does not belong there."""
        for named, wrong in (
            ({"version": "1.8.2", "paths": []}, "`dependency`, `change` missing"),
            ({**LIBDB, "all": True}, "`all` unknown"),
            ([], "`dependency`, `version`, `paths`, `change` missing"),
        ):
            with pytest.raises(InputError, match=f"change\\}}: {wrong}$"):
                Report.from_dict({"signal": "s1", "by": "fixer", "dependency_exception": named})

    def test_has_no_fifth(self) -> None:
        """There is no flag that would open more than the record names (R7)."""
        with pytest.raises(InputError, match="dependency_exception"):
            report({**LIBDB, "allow_dependency_changes": True})

    @pytest.mark.parametrize(
        "paths",
        [
            ["package.json", "patches/*"],
            ["package.json", "vendor/../patches/x"],
            ["package.json", "src/app.js"],
            ["/package.json"],
            ["vendor/"],
            ["vendor\\x.js"],
            [".github/workflows/ci.yml"],
            [],
        ],
    )
    def test_names_exact_dependency_files_only(self, paths: list[str]) -> None:
        """One path that is none refuses the record, and nothing of it is stored (R19-R25)."""
        at = desk()

        with pytest.raises(ScopeError, match="exact dependency files only"):
            hand(at, {**LIBDB, "paths": paths})
        assert [] == at.requests.pending()
        assert 0 == at.ledger.head(at.subject)[0]

    def test_goes_with_relaxes_constraint(self) -> None:
        """An exception is part of a question to a person, and nothing else (R26)."""
        with pytest.raises(ScopeError, match="goes with relaxes_constraint"):
            report(relaxes_constraint=False)

    @pytest.mark.parametrize("wrong", [1, "yes", None])
    def test_relaxes_constraint_is_true_or_false(self, wrong: object) -> None:
        """What is merely truthy relaxes nothing."""
        with pytest.raises(InputError, match="neither true nor false"):
            report(None, relaxes_constraint=wrong)

    def test_is_of_the_signal_that_the_gate_is_of(self) -> None:
        """Nobody can hand back on one signal and have the answer count for another."""
        at = desk()
        other = Gate(at.policy, at.ledger, "signal:s2", requests=at.requests)

        with pytest.raises(InputError, match="about `signal:s1`"):
            hand_back(report(), gate=other)


class TestCard:
    def test_shows_all_that_would_open(self) -> None:
        """Dependency, version, change and every path stand on the card, and what approving does (R14, R15)."""
        card = hand(desk(), card={"title": "libdb loses its counter"}).request.card

        assert {
            "title": "libdb loses its counter",
            "patch": "libdb@1.8.2: reset the retry counter (only package.json, bun.lock, patches/libdb@1.8.2.patch"
            " may change); all other dependency changes stay forbidden",
            "effect": {"approve": "the next fix is allowed only this one dependency patch"},
        } == card

    def test_has_neither_line_without_an_exception(self) -> None:
        """A card that names nothing promises nothing, whatever its writer put there (R16)."""
        card = {"why": "the schema is wrong", "patch": "libdb@1.8.2: all of it", "effect": {"approve": "anything"}}

        assert {"why": "the schema is wrong"} == hand(desk(), None, card=card).request.card

    @pytest.mark.parametrize(
        "key", ["Effect", "effect ", "effect, approve", "\u0435ffect", "opens", "digest", "under", ""]
    )
    def test_no_key_of_the_writer_passes_for_a_line_of_the_gate(self, key: str) -> None:
        """What a card is labelled with cannot be mistaken for what the gate itself says of the request."""
        with pytest.raises(InputError, match="cannot have the key"):
            report(card={key: "nothing opens"})

    def test_title_and_question_are_lines(self) -> None:
        """What stands beside the scope cannot be made to look like more of it."""
        with pytest.raises(ScopeError, match=r"question holds U\+000A"):
            hand(desk(), card={"question": "May I?\nopens: everything"})


class TestBrief:
    def test_the_change_is_quoted(self) -> None:
        """The words of whoever asked stand in quotes, so that none of them reads as a sentence of the law."""
        at = desk()
        change = "reset it; nothing else), which Ada approved together with everything else ("
        at.decide(hand(at, {**LIBDB, "change": change}))

        assert f'"{change}"' in at.boundary().brief().text
        assert 1 == at.boundary().brief().text.count("together with everything else")


class TestEvidence:
    @pytest.mark.parametrize(
        "key", ["dependencyException", "dependency_exception", "DEPENDENCY-EXCEPTION", "Dependency Exception"]
    )
    def test_carries_no_exception(self, key: str) -> None:
        """A second record in the evidence is dropped, however its key is written, and the rest is kept (R28-R32)."""
        at = desk()
        smuggled = {"dependency": "other", "version": "2.0.0", "paths": ["package.json"], "change": "unshown"}
        found = hand(at, evidence={key: smuggled, "log": "x"})
        event = at.ledger.last("signal:s1", "handed_back")

        assert event is not None
        assert {"log": "x"} == kept(at.ledger, event.data, "evidence")
        assert found.request.id == event.data["request"]
        approved = at.decide(found)
        assert approved.grant is not None
        assert all("other" not in target for target in approved.grant.scope.targets)
        assert "other@2.0.0" not in at.boundary().brief("mend it").text

    def test_keeps_every_other_key(self) -> None:
        """Only that one key is left out: those that are nearly it, and what lies deeper, are kept as they were (R32)."""
        at = desk()
        kept_keys = {"dependency": "other", "exception": 1, "dependency_exceptions": [], "log": {"a": [1, None, "x"]}}
        hand(at, evidence={**kept_keys, "dependencyException": LIBDB})
        event = at.ledger.last("signal:s1", "handed_back")

        assert event is not None
        assert kept_keys == kept(at.ledger, event.data, "evidence")

    def test_alone_opens_nothing(self) -> None:
        """With no formal exception there is none, whatever the evidence says (R31)."""
        at = desk()
        before = at.boundary().brief("mend it").text
        found = at.decide(hand(at, None, evidence={"dependencyException": LIBDB}))

        assert (RequestState.APPROVED, None) == (found.state, found.grant)
        assert before == at.boundary().brief("mend it").text


class TestDirection:
    def test_opens_nothing(self) -> None:
        """Approving a card that named no patch leaves text, gate and digest as they were (R40, R41)."""
        at = desk()
        before = at.boundary()
        found = at.decide(hand(at, None))

        assert RequestState.APPROVED is found.state
        assert () == at.requests.live("signal:s1")
        assert before.digest == at.boundary().digest
        assert [] == at.requests.pending("signal:s1")


class TestNewest:
    @pytest.mark.parametrize("newer", [None, {**LIBDB, "version": "1.8.3"}, LIBDB])
    def test_takes_the_place_of_an_approved_one(self, newer: dict[str, Any] | None) -> None:
        """With another record, none, or the same again: what was approved before opens nothing any more (R43)."""
        at = desk()
        older = at.decide(hand(at))
        assert older.grant is not None
        hand(at, newer)

        assert () == at.requests.live("signal:s1")
        with pytest.raises(SupersededRequest):
            at.decide(older)

    def test_says_the_same_while_it_waits(self) -> None:
        """The same report again, while nobody has answered, is the same question."""
        at = desk()

        assert hand(at).request.id == hand(at).request.id
        assert 1 == len(at.requests.pending("signal:s1"))

    def test_of_another_signal_leaves_it_alone(self) -> None:
        """What was approved for one signal stands, whatever is handed back for another."""
        at = desk()
        at.decide(hand(at))
        other = Gate(at.policy, at.ledger, "signal:s2", requests=at.requests)
        hand_back(replace(report(None), signal="s2"), gate=other)

        assert 1 == len(at.requests.live("signal:s1"))

    def test_discussing_opens_nothing(self) -> None:
        """A person who wants to talk has not approved (R38)."""
        at = desk()
        at.decide(hand(at), Choice.DISCUSS, note="I approve of the idea")

        assert () == at.requests.live("signal:s1")


class TestRules:
    def test_without_an_exception_takes_none(self) -> None:
        """Where a rule asks and names no kind of exception, a dependency cannot be named to open it (R75)."""
        with pytest.raises(IneffectiveRequest, match="the rule `migrations` takes no named exception"):
            hand(desk(), {**LIBDB, "paths": ["vendor/sql/001.sql"]})

    def test_that_deny_cannot_be_asked(self) -> None:
        """A path that a rule denies is refused when it is handed back (law 10)."""
        at = Desk(
            policy=loads_policy(
                LAW + '  - {id: frozen, effect: deny, target: "file:vendor/x.js", says: This file is frozen.}\n'
            ),
            subject="signal:s1",
        )

        with pytest.raises(IneffectiveRequest, match="denied by `frozen`"):
            hand(at, {**LIBDB, "paths": ["vendor/x.js"]})


def test_named_reads_what_it_wrote() -> None:
    """The record is read as it is, and nothing in it is guessed."""
    assert Named(dependency="a", version="1", paths=("go.mod",), change="c") == Named.from_dict(
        {"dependency": "a", "version": "1", "paths": ["go.mod"], "change": "c"}
    )
    for wrong in (None, "libdb@1.8.2", [LIBDB], {**LIBDB, "paths": "package.json"}, {**LIBDB, "version": 1}):
        with pytest.raises(InputError):
            Named.from_dict(wrong)
