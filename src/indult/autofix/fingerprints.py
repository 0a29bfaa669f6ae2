"""Fingerprints: what is the same about two sightings of one fault.

What differs from one run to the next is taken out of the text: numbers, durations, times, addresses, digests, UUIDs and
names of temporary files. All of them become the same sign, since one run may show as a number what the next shows as
hex. Digits that belong to a name stay: `test_v1` and `test_v2` are two tests, and `TS2322` is not `TS2345`.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import normalize

from indult.canonical import digest_text
from indult.characters import misleading

__all__ = ["fingerprint", "normalised", "one_line", "signal_id"]

SIGN: Final = "#"
"""What stands for whatever differs from one run to the next."""

TEMPORARY: Final = "<tmp>"
"""What stands for a folder of temporary files."""

MOST: Final = 20_000
"""How many characters of a key count."""

_ID: Final = 12

_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY: Final = r"(?:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)"
_CLOCK: Final = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
_ZONE: Final = r"(?:\ ?(?:Z|UTC|GMT|[AP]M|[-+][0-9]{2}:?[0-9]{2})\b)?"
_UNIT: Final = (
    r"(?:nanoseconds?|microseconds?|milliseconds?|seconds?|minutes?|hours?|days?|[nuµm]s|secs?|mins?|hrs?|[smhd]"
    r"|bytes|[KMGT]i?B|B)"
)

# The first that fits at a place counts. Every repetition is short, or over a class that nothing after it shares.
_VARYING: Final = re.compile(
    rf"""
    (?P<colour> \x1b\[[0-9;?]{{0,20}}[A-Za-z] )
  | (?P<place>
        (?<![\w.])(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s'"`<>|:,;()\[\]{{}}]+
      | \b[A-Za-z]:\\(?:Users\\[^\\\s]{{1,60}}\\AppData\\Local\\|Windows\\)?Te?mp\\[^\s'"`<>|:,;()\[\]{{}}]+ )
  | (?P<code> (?<![A-Za-z0-9_-])(?:CVE|CWE|ORA|PEP|RFC)-[0-9]{{1,6}}(?:-[0-9]{{1,7}})?(?![\w-]) )
  | (?P<varying>
        (?<![A-Za-z0-9])[0-9A-Fa-f]{{8}}-(?:[0-9A-Fa-f]{{4}}-){{3}}[0-9A-Fa-f]{{12}}(?![A-Za-z0-9])
      | (?<![A-Za-z0-9])(?:{_DAY},?\ )?
        (?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}} | [0-9]{{1,2}}[-/\ ]{_MONTH}[-/\ ][0-9]{{4}}
          | {_MONTH}\ [0-9]{{1,2}}(?:,?\ [0-9]{{4}}\b)?(?!\w))
        (?:[T:\ ,]\ ?{_CLOCK}{_ZONE})?(?:\ [0-9]{{4}}\b)?
      | (?<![\w:.]){_CLOCK}{_ZONE}(?![\w:])
      | (?<![\w:])(?:[0-9A-Fa-f]{{1,4}}:){{5,7}}[0-9A-Fa-f]{{1,4}}(?![\w:])
      | (?<![\w:])(?=[A-Fa-f:]{{0,30}}[0-9])(?:[0-9A-Fa-f]{{1,4}}:){{1,6}}(?::[0-9A-Fa-f]{{1,4}}){{1,6}}(?![\w:])
      | (?<![A-Za-z0-9])0[xX][0-9A-Fa-f]{{1,64}}(?![A-Za-z0-9])
      | (?<![A-Za-z0-9])(?:(?=[A-Fa-f]{{0,8}}[0-9])[0-9A-Fa-f]{{7,4096}}|[0-9A-Fa-f]{{9,4096}})(?![A-Za-z0-9])
      | (?<![A-Za-z0-9_])[0-9][0-9_]{{0,40}}(?:[.,:][0-9]{{1,40}}){{0,9}}
        (?:[eE][-+]?[0-9]{{1,4}})?(?:%|\ ?{_UNIT})?(?![A-Za-z0-9_])
      | (?<=[A-Za-z_])[0-9]{{5,40}}(?![A-Za-z0-9_]) )
    """,
    re.VERBOSE,
)

# `-5` is a number, `thread-5` is not one below zero.
_SIGNED: Final = re.compile(r"(?<![\w#>])[-+](?=#)")
_RANDOM: Final = re.compile(r"tmp|\.")


def fingerprint(kind: str, key: str) -> str:
    """Return the digest under which all sightings of one fault are found."""
    text = f"{kind}\n{normalised(key)}"
    return digest_text(text.encode("utf-8", "replace").decode())


def signal_id(fingerprint: str) -> str:
    """Return the id of the signal with a fingerprint: `s_` and its first twelve hex digits."""
    return f"s_{fingerprint.removeprefix('sha256:')[:_ID]}"


def normalised(text: str) -> str:
    """Return a text without what differs from one run to the next, its white space folded."""
    folded = " ".join(normalize("NFC", text[:MOST]).split())
    return " ".join(_SIGNED.sub("", _VARYING.sub(_replaced, folded)).split())


def one_line(text: str, most: int) -> str:
    """Return a text as one plain line: cut, white space folded, and spelled out what could mislead a reader.

    It is what `indult.scopes.check_line` takes, or empty.
    """
    words = " ".join(re.sub(r"\x1b\[[0-9;?]{0,20}[A-Za-z]", "", text[: most * 8]).split())
    plain = words.isascii() and words.isprintable()
    line = words if plain else "".join(_spelled(char) if misleading(char) else char for char in words)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _replaced(match: re.Match[str]) -> str:
    found = match[0]
    match match.lastgroup:
        case "colour":
            return ""
        case "code":
            return found
        case "place":
            return _temporary(found)
    return SIGN


def _temporary(path: str) -> str:
    """Return a temporary path without its folders; the name of a file in them tells one fault from another."""
    end = path[len(path.rstrip(".")) :]
    parts = re.split(r"[/\\]", path.rstrip("."))
    name = parts[-1]
    deep = len(parts) > (4 if path.startswith(("/var", "/private", "/dev")) else 3)
    if not deep or "." not in name or _RANDOM.match(name):
        return TEMPORARY + end
    return f"{TEMPORARY}/{_VARYING.sub(_replaced, name)}{end}"


def _spelled(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
