"""Source text to tokens.

A token is `(kind, value, pos)`: kind is the operator itself, or one of `name`, `quoted`, `int`, `uint`, `double`,
`string`, `bytes`, `end`; value is already the Python value.
"""

from __future__ import annotations

import re
from typing import Any, Final

from indult.cel.values import MAX_INT, MAX_UINT, UInt
from indult.errors import ConditionError

__all__ = ["MAX_SOURCE", "Token", "fault", "tokenize"]

Token = tuple[str, Any, int]
"""Kind, value and offset."""

MAX_SOURCE: Final = 32_768
"""Longest expression, in characters; a longer one is refused before it is read."""

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\r\n\f]+|//[^\n]*)+)
  | (?P<string>[bB]?(?:
        [rR](?:'''[\s\S]*?'''|\"\"\"[\s\S]*?\"\"\"|'[^'\r\n]*'|"[^"\r\n]*")
      | '''(?:[^\\]|\\[\s\S])*?''' | \"\"\"(?:[^\\]|\\[\s\S])*?\"\"\"
      | '(?:[^'\\\r\n]|\\[^\r\n])*' | "(?:[^"\\\r\n]|\\[^\r\n])*"))
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<int>(?:0x[0-9a-fA-F]+|[0-9]+)[uU]?)
  | (?P<op>&&|\|\||[<>=!]=|[-+*/%<>!?:.,()\[\]{}])
  | (?P<quoted>`[A-Za-z0-9_./\ -]+`)
  | (?P<bad>[\s\S])
    """,
    re.VERBOSE,
)

_ESCAPE: Final = (
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]?))"
)
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def fault(source: str, pos: int, message: str, hint: str | None = None) -> ConditionError:
    """Return the error for offset `pos` of `source`, with line, column and the line itself."""
    start = source.rfind("\n", 0, pos) + 1
    end = source.find("\n", pos)
    excerpt = source[start : end if end >= 0 else len(source)].rstrip("\r")
    return ConditionError(
        message, hint=hint, line=source.count("\n", 0, pos) + 1, column=pos - start + 1, excerpt=excerpt
    )


def tokenize(source: str) -> list[Token]:
    """Return the tokens of `source`, the last one of kind `end`.

    Raises:
        ConditionError: A character, number or string that the language does not know.
    """
    if len(source) > MAX_SOURCE:
        raise ConditionError(f"expression is too long: {len(source)} characters, at most {MAX_SOURCE}")
    tokens: list[Token] = []
    for match in _TOKEN.finditer(source):
        kind, text, pos = match.lastgroup, match.group(), match.start()
        if kind == "space":
            continue
        if kind == "name":
            tokens.append(("name", text, pos))
        elif kind == "op":
            tokens.append((text, text, pos))
        elif kind == "string":
            tokens.append(_string(source, text, pos))
        elif kind == "quoted":
            tokens.append(("quoted", text[1:-1], pos))
        elif kind == "bad":
            raise _bad(source, text, pos)
        else:
            tokens.append(_number(source, text, pos))
    tokens.append(("end", None, len(source)))
    return tokens


def _bad(source: str, char: str, pos: int) -> ConditionError:
    if char in "'\"":
        return fault(source, pos, "string does not end", hint="a string over several lines needs three quotes")
    hint = {"=": "equality is `==`", "&": "and is `&&`", "|": "or is `||`"}.get(char)
    return fault(source, pos, f"unexpected character `{char}`", hint=hint)


def _number(source: str, text: str, pos: int) -> Token:
    # A digit or letter right behind a number is a typing slip ("1a", "0b1"), never two tokens.
    end = pos + len(text)
    if end < len(source) and (source[end].isalnum() or source[end] == "_"):
        raise fault(source, pos, f"malformed number `{text[:24]}{source[end]}`")
    if "x" not in text and ("." in text or "e" in text or "E" in text):
        return ("double", float(text), pos)
    unsigned = text[-1] in "uU"
    digits = text[:-1] if unsigned else text
    value = int(digits, 16) if digits.startswith("0x") else _decimal(digits)
    # One more than the largest int is let through: the parser accepts it behind a minus sign only.
    if value > (MAX_UINT if unsigned else MAX_INT + 1):
        raise fault(source, pos, f"number `{text[:24]}` does not fit 64 bits")
    return ("uint", UInt(value), pos) if unsigned else ("int", value, pos)


def _decimal(digits: str) -> int:
    # Python refuses to read thousands of digits at once; anything of this length is out of range anyway.
    return int(digits) if len(digits) < 40 else MAX_UINT + 1 + int(digits.strip("0") == "") * -(MAX_UINT + 1)


def _string(source: str, text: str, pos: int) -> Token:
    binary = text[0] in "bB"
    body = text[1:] if binary else text
    raw = body[0] in "rR"
    if raw:
        body = body[1:]
    width = 3 if len(body) >= 6 and body[:3] in ("'''", '"""') else 1
    inner = body[width:-width]
    start = pos + len(text) - len(body) + width
    if binary:
        return ("bytes", inner.encode() if raw else _unescape_bytes(source, inner, start), pos)
    return ("string", inner if raw or "\\" not in inner else _unescape(source, inner, start), pos)


def _unescape(source: str, inner: str, start: int) -> str:
    def one(match: re.Match[str]) -> str:
        simple, *numbers, octal, _ = match.groups()
        if simple:
            return _SIMPLE.get(simple, simple)
        digits = next((text for text in numbers if text), None)
        if digits is None and octal is None:
            raise fault(
                source, start + match.start(), f"unknown escape `{match.group()}`", hint='a raw string is r"..."'
            )
        code = int(digits, 16) if digits else int(octal, 8)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise fault(source, start + match.start(), f"`{match.group()}` is not a character")
        return chr(code)

    return re.sub(_ESCAPE, one, inner)


def _unescape_bytes(source: str, inner: str, start: int) -> bytes:
    out = bytearray()
    at = 0
    for match in re.finditer(_ESCAPE, inner):
        simple, hexa, short, long, octal, _ = match.groups()
        out += inner[at : match.start()].encode()
        at = match.end()
        if simple:
            out += _SIMPLE.get(simple, simple).encode()
        elif hexa or octal:
            out.append(int(hexa, 16) if hexa else int(octal, 8))
        else:
            what = "is not known in bytes" if short or long else "is not known"
            raise fault(source, start + match.start(), f"escape `{match.group()}` {what}")
    return bytes(out + inner[at:].encode())
