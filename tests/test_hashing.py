from __future__ import annotations

import hashlib

import pytest

from indult.hashing import LONG, sha256


@pytest.mark.parametrize("size", [0, 1, 55, 56, 64, LONG - 1, LONG, LONG + 1, 1_000_000])
def test_is_what_hashlib_gives(size: int) -> None:
    """Short and long texts have the hash that everybody computes."""
    data = bytes(number % 251 for number in range(size))

    assert hashlib.sha256(data).hexdigest() == sha256(data).hexdigest()
