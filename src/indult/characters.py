"""Which characters of what an agent wrote could mislead a person who reads it, and which names are one to some disk."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["fold", "misleading"]

# What Windows drops at the end of a name.
_ENDS: Final = r"[. ]+(?=/|\Z)"

# Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt) as far as it counts as printable, and the blank of
# the Braille block, which has no dots.
_IGNORABLE: Final = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0x1BCA0, 0x1BCA3),
    (0x1D159, 0x1D159),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)


def misleading(char: str) -> bool:
    """Tell whether a character cannot be seen or moves others: control, format, separators, fillers, selectors.

    What Python calls not printable are the general categories Other and Separator, the plain space aside.
    """
    code = ord(char)
    return not char.isprintable() or (code > 0x7F and any(first <= code <= last for first, last in _IGNORABLE))


def fold(path: str) -> str:
    """Return what a path comes to where names are compared least exactly: two that fold alike may be one file.

    Case, composition and what cannot be seen are as on macOS; dots and spaces at the end of a name are dropped as on
    Windows. Folding what is folded changes nothing.
    """
    if path.isascii() and path.isprintable():
        text = path.lower()
    else:
        from unicodedata import normalize

        # What cannot be seen goes first: it stands between a letter and its accent, and hides that they compose.
        text = "".join(char for char in path if not misleading(char))
        text = normalize("NFC", normalize("NFC", text).casefold())
    return re.sub(_ENDS, "", text) if text.endswith((".", " ")) or "./" in text or " /" in text else text
