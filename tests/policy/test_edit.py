from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult import loads_policy
from indult.errors import PolicyError
from indult.policy.edit import add_approver, remove_approver

ANN = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"
BOB = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID1AF8PoQ4laknK3Cqc00bfrybyYLM8uxJaMwM1V8Sr0"

PLAIN = """\
# who may do what
schema: 1   # the format
default: ask

# facts
context: {n: int}
rules:
  - {id: a, effect: ask, says: Ask.}  # a rule
"""


class TestAdd:
    """Putting an approver in."""

    def test_first(self) -> None:
        """The first approver comes behind the head of the file; every other line stays as it was."""
        changed = add_approver(PLAIN, "ann", f"{ANN} ann@example.org")
        head, new, rest = changed.partition(f"approvers:\n  ann: {ANN} ann@example.org\n")

        assert PLAIN == head + rest
        assert head.endswith("default: ask\n")
        assert new

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("schema: 1\nrules: []\n", f"schema: 1\napprovers:\n  ann: {ANN}\nrules: []\n"),
            ("rules: []\nschema: 1", f"rules: []\nschema: 1\napprovers:\n  ann: {ANN}\n"),
            ("schema: 1\r\nrules: []\r\n", f"schema: 1\r\napprovers:\r\n  ann: {ANN}\r\nrules: []\r\n"),
            ("\ufeffschema: 1\nrules: []\n", f"\ufeffschema: 1\napprovers:\n  ann: {ANN}\nrules: []\n"),
            ("---\nschema: 1\nrules: []\n", f"---\nschema: 1\napprovers:\n  ann: {ANN}\nrules: []\n"),
            (
                f"schema: 1\napprovers:\n    bob: {BOB}  # Bob\n\n# rules\nrules: []\n",
                f"schema: 1\napprovers:\n    bob: {BOB}  # Bob\n    ann: {ANN}\n\n# rules\nrules: []\n",
            ),
            (f"schema: 1\nrules: []\napprovers:\n  bob: {BOB}", f"schema: 1\nrules: []\napprovers:\n  bob: {BOB}\n  ann: {ANN}\n"),
            (f'schema: 1\napprovers:\n  bob: "{BOB}"\nrules: []\n', f'schema: 1\napprovers:\n  bob: "{BOB}"\n  ann: {ANN}\nrules: []\n'),
            (f"schema: 1\napprovers:\n  bob: >\n    {BOB}\nrules: []\n", f"schema: 1\napprovers:\n  bob: >\n    {BOB}\n  ann: {ANN}\nrules: []\n"),
            (f"schema: 1\napprovers: {{bob: {BOB}}}\nrules: []\n", f"schema: 1\napprovers: {{bob: {BOB}, ann: {ANN}}}\nrules: []\n"),
            (f"schema: 1\napprovers: {{\n  bob: {BOB},\n}}\nrules: []\n", f"schema: 1\napprovers: {{\n  bob: {BOB}, ann: {ANN},\n}}\nrules: []\n"),
            (f'schema: 1\napprovers: {{"b b": "{BOB}" }}\nrules: []\n', f'schema: 1\napprovers: {{"b b": "{BOB}", ann: {ANN} }}\nrules: []\n'),
            ("schema: 1\napprovers: {}\nrules: []\n", f"schema: 1\napprovers: {{ann: {ANN}}}\nrules: []\n"),
        ],
    )  # fmt: skip
    def test_forms(self, text: str, wanted: str) -> None:
        """Whatever the file looks like, one approver more is all that changes."""
        assert wanted == add_approver(text, "ann", ANN)

    def test_file_that_waits_for_an_approver(self) -> None:
        """A file that is in error for want of an approver is put right by one."""
        text = "schema: 1\nrules:\n  - {id: a, effect: ask, says: Ask., approval: signed}\n"

        assert {"ann": ANN} == loads_policy(add_approver(text, "ann", ANN)).approvers

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (f"schema: 1\napprovers: {{ann: {BOB}}}\nrules: []\n", "2:13: `ann` is an approver already"),
            (f"schema: 1\napprovers: {{bob: {ANN}}}\nrules: []\n", "`ann` has the key of `bob`"),
            ("{schema: 1, rules: []}\n", "1:1: the file is one mapping between braces"),
            ("schema: 1\napprovers: [ann]\nrules: []\n", "2:12: expected names and keys, not a list"),
            ("schema: 1\nrulez: []\n", "the policy has no `rules`"),
            ("", "this is no policy yet"),
            ("- a\n", "this is no policy yet"),
            ("schema: [\n", "not YAML"),
        ],
    )
    def test_refused(self, text: str, message: str) -> None:
        """What cannot be added to is refused with its place, and so is what would not load."""
        with pytest.raises(PolicyError) as caught:
            add_approver(text, "ann", ANN)

        assert message in str(caught.value)

    @given(name=st.text(min_size=1, max_size=20))
    def test_any_name(self, name: str) -> None:
        """A name is either refused or comes out of the file as it went in."""
        try:
            changed = add_approver(PLAIN, name, ANN)
        except PolicyError:
            return

        assert {name: ANN} == loads_policy(changed).approvers

    @pytest.mark.parametrize(
        "name", ["no", "NULL", "1", "1:30", "a b", "Zo\u00eb", "- a", "a: b", "{", '"', "ann@x.org"]
    )
    def test_names(self, name: str) -> None:
        """Names that YAML would take for something else are put in quotes."""
        assert {name: ANN} == loads_policy(add_approver(PLAIN, name, ANN)).approvers


class TestRemove:
    """Taking an approver out."""

    @pytest.mark.parametrize("name", ["ann", "bob", "cy"])
    def test_undoes_adding(self, name: str) -> None:
        """Taking out what was put in gives the file as it was."""
        other = f"schema: 1\napprovers:\n  # first\n  dee: {ANN}\nrules: []\n"

        assert other == remove_approver(add_approver(other, name, BOB), name)
        assert PLAIN == remove_approver(add_approver(PLAIN, name, BOB), name)

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            (f"schema: 1\napprovers: {{ann: {ANN}, bob: {BOB}}}\nrules: []\n", f"schema: 1\napprovers: {{bob: {BOB}}}\nrules: []\n"),
            (f"schema: 1\napprovers: {{bob: {BOB}, ann: {ANN}}}\nrules: []\n", f"schema: 1\napprovers: {{bob: {BOB}}}\nrules: []\n"),
            (f"schema: 1\napprovers: {{ann: {ANN}}}\nrules: []\n", "schema: 1\nrules: []\n"),
            (f"schema: 1\nrules: []\napprovers:\n  ann: {ANN}", "schema: 1\nrules: []\n"),
            (f"schema: 1\napprovers:\n  ann: {ANN}\n\n# rules\nrules: []\n", "schema: 1\n\n# rules\nrules: []\n"),
            (f"schema: 1\napprovers:\n  ann: >\n    {ANN}\n  bob: {BOB}\nrules: []\n", f"schema: 1\napprovers:\n  bob: {BOB}\nrules: []\n"),
            (f"schema: 1\napprovers:\n  bob: {BOB}\n  ann: {ANN} # x\nrules: []\n", f"schema: 1\napprovers:\n  bob: {BOB}\nrules: []\n"),
        ],
    )  # fmt: skip
    def test_forms(self, text: str, wanted: str) -> None:
        """One approver less is all that changes; with the last one goes the key."""
        assert wanted == remove_approver(text, "ann")

    def test_unknown(self) -> None:
        """Who is no approver cannot be taken out."""
        for text in (PLAIN, f"schema: 1\napprovers: {{bob: {BOB}}}\nrules: []\n"):
            with pytest.raises(PolicyError, match="`ann` is no approver"):
                remove_approver(text, "ann")

    def test_who_is_needed(self) -> None:
        """An approver without whom a rule could not be opened stays."""
        text = f"schema: 1\napprovers: {{ann: {ANN}}}\nrules: [{{id: a, effect: ask, says: Ask., approval: signed}}]\n"
        with pytest.raises(PolicyError, match="takes signed approvals"):
            remove_approver(text, "ann")


def test_what_would_change_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should the text come out as another policy, whatever the reason, the file is left to a person."""
    other = PLAIN.replace("ask", "deny") + f"approvers: {{ann: {ANN}}}\n"
    monkeypatch.setattr("indult.policy.edit._Edit.inserted", lambda *_: other)
    with pytest.raises(PolicyError, match="cannot be put in without changing more"):
        add_approver(PLAIN, "ann", ANN)
