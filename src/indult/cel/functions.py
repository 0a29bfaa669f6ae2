"""The functions of the language on values of known types: arithmetic, conversions, size, encoders.

Each one takes exactly the Python types that its overload in `library` names; `library` picks by type. All raise
`EvaluationError` where CEL says there is no value.
"""

from __future__ import annotations

import binascii
import math
import re
from typing import Final

from indult.cel.times import Timestamp
from indult.cel.values import MAX_INT, MAX_UINT, MIN_INT, UInt
from indult.errors import EvaluationError

__all__ = [
    "add_int",
    "add_uint",
    "bool_of_string",
    "bytes_of_string",
    "decode_base64",
    "divide_double",
    "divide_int",
    "divide_uint",
    "double_of_string",
    "double_text",
    "encode_base64",
    "int_of_double",
    "int_of_string",
    "int_of_timestamp",
    "int_of_uint",
    "modulo_int",
    "modulo_uint",
    "multiply_int",
    "multiply_uint",
    "negate_int",
    "string_of_bytes",
    "subtract_int",
    "subtract_uint",
    "timestamp_of_int",
    "uint_of_double",
    "uint_of_int",
    "uint_of_string",
]

_INTEGER: Final = r"[+-]?[0-9]{1,20}"
_NATURAL: Final = r"[0-9]{1,20}"
_DOUBLE: Final = r"(?i)[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf|infinity|nan)"
_TRUE: Final = frozenset({"1", "t", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "false", "FALSE", "False"})


def _int(value: int) -> int:
    if MIN_INT <= value <= MAX_INT:
        return value
    raise EvaluationError("int overflow")


def _uint(value: int) -> UInt:
    if 0 <= value <= MAX_UINT:
        return UInt(value)
    raise EvaluationError("uint overflow")


def add_int(a: int, b: int) -> int:
    """Return `a + b` within 64 bits."""
    return _int(a + b)


def subtract_int(a: int, b: int) -> int:
    """Return `a - b` within 64 bits."""
    return _int(a - b)


def multiply_int(a: int, b: int) -> int:
    """Return `a * b` within 64 bits."""
    return _int(a * b)


def divide_int(a: int, b: int) -> int:
    """Return `a / b` cut towards zero."""
    if b == 0:
        raise EvaluationError("division by zero")
    quotient = abs(a) // abs(b)
    return _int(quotient if (a < 0) == (b < 0) else -quotient)


def modulo_int(a: int, b: int) -> int:
    """Return the rest of `a / b`, with the sign of `a`."""
    if b == 0:
        raise EvaluationError("modulus by zero")
    if a == MIN_INT and b == -1:
        raise EvaluationError("int overflow")
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def negate_int(a: int) -> int:
    """Return `-a` within 64 bits."""
    return _int(-a)


def add_uint(a: UInt, b: UInt) -> UInt:
    """Return `a + b` within 64 bits without sign."""
    return _uint(int(a) + int(b))


def subtract_uint(a: UInt, b: UInt) -> UInt:
    """Return `a - b`, which must not be negative."""
    return _uint(int(a) - int(b))


def multiply_uint(a: UInt, b: UInt) -> UInt:
    """Return `a * b` within 64 bits without sign."""
    return _uint(int(a) * int(b))


def divide_uint(a: UInt, b: UInt) -> UInt:
    """Return `a / b` without its rest."""
    if b == 0:
        raise EvaluationError("division by zero")
    return UInt(int(a) // int(b))


def modulo_uint(a: UInt, b: UInt) -> UInt:
    """Return the rest of `a / b`."""
    if b == 0:
        raise EvaluationError("modulus by zero")
    return UInt(int(a) % int(b))


def divide_double(a: float, b: float) -> float:
    """Return `a / b` as IEEE 754 has it: nothing is an error."""
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def int_of_uint(value: UInt) -> int:
    """Return a uint as an int."""
    return _int(int(value))


def int_of_double(value: float) -> int:
    """Return a double cut towards zero; both ends of the range are excluded, as in the specification."""
    if -(2.0**63) < value < 2.0**63:
        return int(value)
    raise EvaluationError("double is out of the range of int")


def int_of_string(text: str) -> int:
    """Return the int that decimal digits name."""
    if re.fullmatch(_INTEGER, text) is None:
        raise EvaluationError(f"not an int: `{text[:64]}`")
    return _int(int(text))


def int_of_timestamp(value: Timestamp) -> int:
    """Return the seconds from 1970 to an instant."""
    return value.nanos // 10**9


def uint_of_int(value: int) -> UInt:
    """Return an int as a uint."""
    return _uint(value)


def uint_of_double(value: float) -> UInt:
    """Return a double without its fraction."""
    if 0 <= value < 2.0**64:
        return UInt(value)
    raise EvaluationError("double is out of the range of uint")


def uint_of_string(text: str) -> UInt:
    """Return the uint that decimal digits name."""
    if re.fullmatch(_NATURAL, text) is None:
        raise EvaluationError(f"not a uint: `{text[:64]}`")
    return _uint(int(text))


def double_of_string(text: str) -> float:
    """Return the double that a decimal text names."""
    if len(text) > 1_024 or re.fullmatch(_DOUBLE, text) is None:
        raise EvaluationError(f"not a double: `{text[:64]}`")
    return float(text)


def double_text(value: float) -> str:
    """Return the shortest digits that read back as `value`, with an exponent below 1e-4 and from 1e+06 on."""
    if not math.isfinite(value):
        return str(value)
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0"
    digits, point = _digits(abs(value))
    if not -4 <= point - 1 < 6:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{rest}e{'-' if point < 1 else '+'}{abs(point - 1):02}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    whole = digits[:point].ljust(point, "0")
    return f"{sign}{whole}.{digits[point:]}" if point < len(digits) else sign + whole


def _digits(value: float) -> tuple[str, int]:
    """Return the shortest digits of a positive double and where the point stands in them."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or "0") - (len(whole + fraction) - len(digits))
    return digits.rstrip("0"), point


def string_of_bytes(value: bytes) -> str:
    """Return bytes read as UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError as exc:
        raise EvaluationError("bytes are not UTF-8") from exc


def bytes_of_string(text: str) -> bytes:
    """Return a text in UTF-8."""
    return text.encode()


def bool_of_string(text: str) -> bool:
    """Return the bool that a word such as `true` or `f` names."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise EvaluationError(f"not a bool: `{text[:64]}`")


def timestamp_of_int(seconds: int) -> Timestamp:
    """Return the instant that many seconds after 1970."""
    return Timestamp(seconds * 10**9)


def encode_base64(value: bytes) -> str:
    """Return bytes in base64 with padding."""
    return binascii.b2a_base64(value, newline=False).decode()


def decode_base64(text: str) -> bytes:
    """Return the bytes of a base64 text; padding may be left out, white space is skipped."""
    text = "".join(text.split(None)) if text.isascii() else text
    try:
        padding = "" if "=" in text else "=" * (-len(text) % 4)
        return binascii.a2b_base64(text + padding, strict_mode=True)
    except (ValueError, UnicodeError) as exc:
        raise EvaluationError(f"not base64: `{text[:64]}`") from exc
