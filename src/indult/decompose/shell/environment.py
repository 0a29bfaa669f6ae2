"""What programs take from variables: files to write and to load, and options, in the value of one that nobody has heard of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from indult.decompose.shell.arithmetic import nodes
from indult.decompose.shell.variables import hands_options, sensitive

__all__ = ["ALWAYS", "decides", "exported_in", "pieces"]

ALWAYS: Final = frozenset({"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
"""Variables that are handed to programs whether or not a text says so, since they are there before it."""

_HARMLESS: Final = re.compile(
    r"LC_[A-Z]+|LANG|LANGUAGE|TZ|CI|DEBUG|VERBOSE|QUIET|(?:\w+_)?(?:ENV|ENVIRONMENT|VERSION|PORT|LEVEL|COLORS?|LOG_LEVEL)"
    r"|FORCE_COLOR|NO_COLOR|CLICOLOR(?:_FORCE)?|TERM|COLORTERM|COLUMNS|LINES|RUST_LOG|RUST_BACKTRACE|GOOS|GOARCH|GOARM"
    r"|GOMAXPROCS|CGO_ENABLED|(?:HTTP_|API_|BASE_)?(?:URL|HOST)|USER|SEED|JOBS|DEBIAN_FRONTEND|SOURCE_DATE_EPOCH|IFS"
)
"""Variables that name neither a file nor an option."""

_DECLARES: Final = frozenset({"export", "declare", "typeset"})
_TEMPORARY: Final = frozenset({"/tmp", "/private/tmp", "/var/tmp"})  # noqa: S108 - they are compared, not used
_ADDRESS: Final = re.compile(r"(?<![\w+.-])(?!file:|sqlite)[A-Za-z][\w+.-]*://\S*")
_FILED: Final = re.compile(r"file:(?://)?|sqlite[\w+]*:(?:///)?")


def pieces(env: Mapping[str, str | None]) -> Iterator[str | None]:
    """Yield what may name a file in the values of variables, none for a value that is not known."""
    for name, value in env.items():
        if _is_harmless(name, value):
            continue
        if value is None:
            yield None
            continue
        rest = _ADDRESS.sub("", value)
        if rest.rstrip("/") in _TEMPORARY:
            continue
        bare = _FILED.sub("", rest)
        yield from dict.fromkeys(one for one in (value if bare == value else "", *re.split(r"[\s=:,;]+", bare)) if one)


def decides(env: Mapping[str, str | None]) -> str:
    """Return why the values of variables may make a program do something else, empty where they do not."""
    for name, value in env.items():
        if value is not None and not _is_harmless(name, value) and hands_options(name, value):
            return f"`{name}` may hand options to a program"
    return ""


def exported_in(tree: Any) -> set[str]:
    """Return the variables that a text hands on to the programs it runs, as far as it names them."""
    found: set[str] = set()
    for one in nodes(tree):
        if one.get("Type") == "DeclClause" and _hands_on(one):
            found.update(str((arg.get("Name") or {}).get("Value", "")) for arg in one.get("Args", ()))
        elif one.get("Type") == "CallExpr":
            texts = {str(lit.get("Value")) for arg in one.get("Args", ()) for lit in nodes(arg) if lit.get("Value")}
            if not _DECLARES.isdisjoint(texts):
                found.update(text.partition("=")[0] for text in texts)
    return found


def _hands_on(node: dict[str, Any]) -> bool:
    options = [str(lit.get("Value")) for arg in node.get("Args", ()) if not arg.get("Name") for lit in nodes(arg)]
    return node["Variant"]["Value"] == "export" or any("x" in text for text in options)


def _is_harmless(name: str, value: str | None) -> bool:
    if sensitive(name):
        # It is asked about for its name.
        return True
    return bool(_HARMLESS.fullmatch(name)) and not (value and (value.startswith(("/", "-")) or ".." in value))
