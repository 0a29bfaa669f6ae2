"""The declared context: names and types of the facts that conditions may read besides the roots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from indult.cel import Env, RecordType, parse_type
from indult.errors import FactError, PolicyError

if TYPE_CHECKING:
    from indult.cel import Type

__all__ = ["ROOTS", "check_declared", "check_name", "environment", "fact_type"]

ROOTS: Final = {"tool": "string", "args": "map(string, dyn)", "actor": "string", "target": "string"}
"""What every condition may read besides the declared context, with the type of each."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII).fullmatch

# Words of CEL's grammar, and its names of types: a fact of such a name could not be read, or would hide what it names.
_WORDS: Final = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip
_TYPES: Final = frozenset({
    "bool", "bytes", "double", "duration", "dyn", "google", "int", "list", "map", "null_type", "string", "timestamp",
    "type", "uint",
})  # fmt: skip


def check_name(name: object, *, field: bool = False) -> None:
    """Refuse a name that no condition could read, or that already means something; a field hides nothing.

    Raises:
        PolicyError: The name is no identifier, a word of CEL, or taken.
    """
    if not isinstance(name, str) or not _NAME(name):
        raise PolicyError(f"`{name}` cannot be the name of a fact", hint="letters, digits and `_`, with no digit first")
    if name in _WORDS:
        raise PolicyError(f"`{name}` cannot be the name of a fact: it is a word of the condition language")
    if field:
        return
    if name in ROOTS:
        raise PolicyError(f"the fact `{name}` is taken: every condition can read `{name}` of the action already")
    if name in _TYPES:
        raise PolicyError(f"the fact `{name}` is taken: it is the name of a type")


def fact_type(text: object) -> Type:
    """Return the type that a declaration such as `list(string)` names.

    Raises:
        PolicyError: It names none.
    """
    if not isinstance(text, str):
        raise PolicyError(f"`{text}` is not the name of a type", hint="for instance `int`, `string` or `list(string)`")
    return parse_type(text)


def check_declared(context: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Refuse facts that a context does not declare: most of them are misspelled.

    Raises:
        FactError: With the names that are declared.
    """
    for name, value in facts.items():
        if name not in context:
            raise FactError(f"the policy declares no fact `{name}`", hint=f"facts: {', '.join(context) or 'none'}")
        fields = context[name]
        if isinstance(fields, Mapping) and isinstance(value, Mapping):
            unknown = next((key for key in value if key not in fields), None)
            if unknown is not None:
                raise FactError(
                    f"the policy declares no fact `{name}.{unknown}`", hint=f"facts of `{name}`: {', '.join(fields)}"
                )


def environment(context: Mapping[str, Any]) -> Env:
    """Return the types of all that conditions may read: the roots and the declared context.

    Raises:
        PolicyError: A name or a type that cannot be declared, or records nested more than one level.
    """
    types: dict[str, Type] = {name: parse_type(text) for name, text in ROOTS.items()}
    for name, declared in context.items():
        check_name(name)
        if not isinstance(declared, Mapping):
            types[name] = fact_type(declared)
            continue
        for key in declared:
            check_name(key, field=True)
        types[name] = RecordType({key: fact_type(item) for key, item in declared.items()})
    return Env(types)
