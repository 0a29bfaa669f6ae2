from __future__ import annotations

from typing import Any

import pytest

from indult import Action
from indult.errors import InputError


class TestAction:
    def test_is_not_changed_through_the_arguments_it_was_made_of(self) -> None:
        """What was judged is what runs: later changes of the caller's objects do not reach the action."""
        args: dict[str, Any] = {"paths": ["a"]}
        action = Action(tool="read", args=args)
        args["paths"].append("b")

        assert {"paths": ["a"]} == action.args

    def test_a_digest_is_never_older_than_the_arguments(self) -> None:
        """Arguments that somebody changed in place are another call, whatever was asked for before."""
        action = Action(tool="send", args={"to": "max"})
        before = action.digest
        action.args["to"] = "eve"

        assert before != action.digest == Action(tool="send", args={"to": "eve"}).digest

    def test_digest_is_of_tool_arguments_and_folder(self) -> None:
        """Who proposes and under which call id does not change the digest; tool, args and cwd do."""
        action = Action(tool="read", args={"path": "a"}, actor="x", call_id="1")

        assert action.digest == Action(tool="read", args={"path": "a"}, actor="y", call_id="2").digest
        assert action.digest != Action(tool="read", args={"path": "b"}).digest
        assert action.digest != Action(tool="read", args={"path": "a"}, cwd="/srv").digest

    def test_digest_is_the_sha256_of_canonical_json(self) -> None:
        """The digest is the one that any RFC 8785 implementation gives; computed here with the system's sha256sum."""
        # printf '{"args":{"a":1},"cwd":null,"tool":"t"}' | sha256sum
        expected = "sha256:e294bf1d6b83fe65e311ad7133e12aabb190606bbd57bcebf410dfb8ebdb10ec"

        assert expected == Action(tool="t", args={"a": 1}).digest

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({}, "action has no `tool`"),
            ({"tool": ""}, "action has no `tool`"),
            ({"tool": 3}, "action has no `tool`"),
            ({"tool": "t", "actor": ""}, "action has no `actor`"),
            ({"tool": "t", "args": []}, "action has `args` of type `list`"),
            ({"tool": "t", "args": {"n": float("nan")}}, "args holds `nan`"),
            ({"tool": "t", "args": {1: 2}}, "which is not a string"),
            ({"tool": "t", "cwd": 1}, "action has `cwd` of type `int`"),
            ({"tool": "t" * 1001}, "action has `tool` of 1001 characters: at most 1000"),
            ({"tool": "t", "actor": "a\x1b[2J"}, "action has `actor` that holds U\\+001B"),
            ({"tool": "t", "call_id": "\ud800"}, "action has `call_id` that holds U\\+D800"),
            ({"tool": "t", "cwd": "/a\nb"}, "action has `cwd` that holds U\\+000A"),
            ({"tool": "t", "verdict": "APPROVE"}, "action has the unknown key `verdict`"),
            ([], "action is a `list`"),
        ],
    )
    def test_refuses_what_is_no_action(self, data: Any, message: str) -> None:
        """A malformed action is refused with what is wrong with it; a forged verdict is an unknown key."""
        with pytest.raises(InputError, match=message):
            Action.from_dict(data)

    def test_cannot_be_changed(self) -> None:
        """An action is frozen."""
        with pytest.raises(AttributeError):
            Action(tool="t").tool = "u"  # type: ignore[misc]

    def test_survives_its_json_form(self) -> None:
        """An action is the same after its JSON form."""
        action = Action(tool="t", args={"a": [1, None, "x"]}, actor="me", call_id="c", cwd="/srv")

        assert action == Action.from_dict(action.to_dict())
