"""Every shape of each harness's hooks, and every way in which it would run a tool because its hook failed."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.obeying import OBEY

from indult.adapters.hooks import Answer, Event, Kind, Say, Wire
from indult.errors import InputError

if TYPE_CHECKING:
    from indult.adapters.hooks import Harness

CONTRACTS = Path(__file__).parents[1] / "contracts"
FILES = sorted(CONTRACTS.glob("*/*/*.json"))
EXPECTED = {
    "claude-code": {Say.NOTHING: "runs", Say.ALLOW: "allowed", Say.ASK: "asks", Say.DENY: "blocked"},
    "codex": {Say.NOTHING: "runs", Say.ALLOW: "runs", Say.ASK: "blocked", Say.DENY: "blocked"},
    "copilot": {Say.NOTHING: "runs", Say.ALLOW: "allowed", Say.ASK: "asks", Say.DENY: "blocked"},
}
"""What each answer to a call without a rewrite comes to."""

TEXTS = st.text(max_size=40) | st.sampled_from(["", " ", "\n", "\u202e", "x" * 5000])
ANSWERS = st.builds(
    Answer,
    say=st.sampled_from(Say),
    reason=TEXTS,
    args=st.none() | st.dictionaries(st.text(max_size=5), st.integers(-9, 9) | st.text(max_size=5), max_size=3),
    context=TEXTS,
    notice=TEXTS,
)


def module(harness: str) -> Harness:
    """Return the adapter of a harness."""
    found: Any = import_module(f"indult.adapters.{harness.replace('-', '_')}")
    return found  # type: ignore[no-any-return]


def raw(value: object) -> bytes:
    """Return what the harness writes: a text as it is, anything else as JSON."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def shown(wire: Wire) -> dict[str, Any]:
    """Return what a process did as the files have it: standard output as JSON where it is some."""
    try:
        out = json.loads(wire.stdout)
    except ValueError:
        out = wire.stdout
    return {"stdout": out, "stderr": wire.stderr, "exit": wire.exit_code}


def described(event: Event) -> dict[str, Any]:
    """Return an event as the files have it, without what is empty."""
    return {name: value for name, value in event._asdict().items() if value not in (None, "", {}, False)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_contract(path: Path) -> None:
    """What a harness sends is read as it is meant, and what it gets has exactly the shape that it understands."""
    case = json.loads(path.read_text(encoding="utf-8"))
    words = module(path.parts[-3])
    expected = {name: case[name] for name in ("stdout", "stderr", "exit")}

    if "refused" in case:
        with pytest.raises(InputError) as caught:
            words.read(raw(case["stdin"]))
        assert case["refused"] == caught.value.message
        assert expected == shown(words.failure("\n".join(caught.value.lines())))
    elif "failure" in case:
        event = None if case["stdin"] is None else words.read(raw(case["stdin"]))
        assert expected == shown(words.failure(case["failure"], event))
    else:
        event = words.read(raw(case["stdin"]))
        assert case["event"] == described(event)
        assert expected == shown(words.write(event, Answer.from_dict(case["answer"])))


@pytest.mark.parametrize("harness", EXPECTED)
def test_every_kind_of_event_has_a_file(harness: str) -> None:
    """No event that an adapter reads is without an example of its shape."""
    cases = [json.loads(path.read_text(encoding="utf-8")) for path in FILES if path.parts[-3] == harness]
    kinds = {case["event"]["kind"] for case in cases if "event" in case}

    assert set(Kind) - ({Kind.PERMISSION} if harness == "copilot" else set()) == kinds


@pytest.mark.parametrize("harness", EXPECTED)
@pytest.mark.parametrize("headless", [False, True])
@given(answer=ANSWERS)
def test_no_answer_is_misunderstood(harness: str, headless: bool, answer: Answer) -> None:
    """Whatever the answer, the harness does what it says, and never runs a tool because it did not understand."""
    event = Event(Kind.PRE, "s", "a", "/w", "Bash", {"command": "ls"}, headless=headless, form="PreToolUse")

    found = OBEY[harness](module(harness).write(event, answer))

    unheard = harness == "claude-code" and headless and answer.say is Say.ASK
    rewritten = harness == "codex" and answer.args is not None
    assert ("blocked" if unheard or rewritten else EXPECTED[harness][answer.say]) == found


@pytest.mark.parametrize("harness", EXPECTED)
@given(text=TEXTS)
def test_every_failure_blocks(harness: str, text: str) -> None:
    """A failure blocks the call, whatever its text and however much of the event could be read."""
    words = module(harness)
    event = Event(Kind.PRE, "s", "a", "/w", "Bash", {}, form="PreToolUse")

    for given_event in (None, event, event._replace(kind=Kind.PERMISSION)):
        assert OBEY[harness](words.failure(text, given_event)) == "blocked"


@pytest.mark.parametrize("harness", EXPECTED)
@pytest.mark.parametrize("kind", [Kind.SESSION, Kind.PROMPT, Kind.POST, Kind.STOP])
def test_nothing_else_is_blocked_by_a_failure(harness: str, kind: Kind) -> None:
    """A failure where nothing waits for the answer keeps nobody from stopping and loses no prompt."""
    wire = module(harness).failure("the ledger is busy", Event(kind, "s", "a", "/w", form="Stop"))

    assert wire.exit_code == 0
    assert "the ledger is busy" in wire.stdout + wire.stderr


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
@pytest.mark.parametrize(
    "result", ['"' + "x" * 1_000_001 + '"', "[NaN]", "9007199254740993", '{"a": 1, "a": 2}', '"\\ud800"']
)
def test_any_result_can_end_a_call(harness: str, result: str) -> None:
    """A result that would not be judged may end a call: it is not looked into. A call with such arguments is refused."""
    text = '{"session_id": "s", "cwd": "/w", "hook_event_name": "%s", "tool_name": "Read", "tool_use_id": "c", %s}'
    words = module(harness)

    event = words.read((text % ("PostToolUse", f'"tool_input": {{}}, "tool_response": {result}')).encode())

    assert (Kind.POST, "c") == (event.kind, event.call_id)
    assert event.result.startswith("sha256:")
    with pytest.raises(InputError):
        words.read((text % ("PreToolUse", f'"tool_input": {{"a": {result}}}')).encode())


@given(data=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@pytest.mark.parametrize("harness", EXPECTED)
def test_any_bytes_are_read_or_refused(harness: str, data: bytes) -> None:
    """Whatever comes on standard input is an event, or is refused in words."""
    try:
        event = module(harness).read(data)
    except InputError:
        return

    assert event.cwd
