from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.canonical import canonical, digest, parse_json
from indult.errors import InputError
from indult.ledger import GENESIS, Body, Draft, utc_now
from indult.ledger.streams import check_at, content_hash, data_text, log_digest
from indult.testing.memory import MemoryLedger

AT = "2026-08-20T09:00:00.000000Z"


def test_the_hash_of_a_known_event() -> None:
    """The format does not change: this event has had this hash since the first version."""
    (event,) = MemoryLedger(clock=lambda: AT).append(Draft("run:1", "step", {"b": [1, 0.5, "ü"], "a": None}))

    assert "sha256:beda4da1caec42125ee7b2c96ce875cdcd53bf1afb8a40c95adbb3c9ba23b714" == event.hash
    assert "sha256:4325d56e6950605e3f3e326deea0abf310e09a042edcae0a4f0ae5b6e33401d7" == log_digest(GENESIS, event.hash)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e300, 1e300) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(max_size=3), _json, max_size=4),
    st.text(min_size=1, max_size=9),
    st.text(min_size=1, max_size=9),
    st.integers(1, 2**40),
)
def test_the_hash_is_over_the_canonical_event(data: dict[str, Any], stream: str, kind: str, version: int) -> None:
    """The hash, put together around the data, is that of the canonical JSON of all fields but the position."""
    text = canonical(data)
    fields = {"stream": stream, "version": version, "kind": kind, "at": AT, "data": data, "prev": GENESIS}

    assert digest(fields) == content_hash(stream=stream, version=version, kind=kind, at=AT, text=text, prev=GENESIS)


def test_a_body_is_masked_before_its_digest() -> None:
    """The digest of a body is that of the text that is kept, which holds no secret."""
    body = Body("password=hunter2")

    assert ("password=[masked:password]", Body("password=[masked:password]").digest) == (body.text, body.digest)


def test_a_body_of_json_is_masked_inside_its_strings() -> None:
    """What begins like a secret in one string of JSON takes nothing of the next with it, and the JSON stays JSON."""
    text = canonical({"mails": [{"to": "max", "why": "pwd: '"}, {"to": "eve", "why": "'"}]})
    key = {"a": "-----BEGIN PRIVATE KEY-----", "to": "eve"}

    assert text == Body(text).text
    assert {**key, "a": "[masked:private-key]"} == parse_json(Body(canonical(key)).text)
    assert "{password=[masked:password]" == Body("{password=hunter2").text


def test_data_names_its_bodies_once() -> None:
    """The digests of the bodies stand in the data, sorted and each once, and the draft is left as it was."""
    bodies = (Body("b"), Body("a"), Body("b"))
    draft = Draft("a", "step", {"n": 1}, bodies)

    assert canonical({"n": 1, "bodies": sorted({body.digest for body in bodies})}) == data_text(draft)
    assert {"n": 1} == draft.data


def test_time_is_utc_with_microseconds() -> None:
    """The clock gives what the ledger accepts, and the ledger accepts nothing else."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", check_at(utc_now()))
    for bad in ("now", "2026-08-20T09:00:00Z", "2026-08-20T09:00:00.000000+00:00", "", 5):
        with pytest.raises(InputError, match="no time of a ledger"):
            MemoryLedger(clock=lambda bad=bad: bad).append(Draft("a", "step", {}))  # type: ignore[misc]
