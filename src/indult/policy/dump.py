"""Policies as text: YAML that loads to the same policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from indult.errors import PolicyError
from indult.policy.scalars import json_scalar, misleading

if TYPE_CHECKING:
    from indult.policy.model import Policy

__all__ = ["dumps_policy"]

_FIRST: Final = ("id", "effect", "tool", "target", "when", "says")


def dumps_policy(policy: Policy) -> str:
    """Return the YAML of a resolved policy, which `loads_policy` reads back as an equal one."""
    data = policy.to_dict()
    rules = data.pop("rules")
    data["rules"] = [
        {name: rule[name] for name in sorted(rule, key=lambda name: _FIRST.index(name) if name in _FIRST else 9)}
        for rule in rules
    ]
    return _yaml(data)


def _yaml(data: Any) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes what our reader would take for something else, or refuse."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            del indentless
            super().increase_indent(flow, False)

    def represent(dumper: Any, text: str) -> Any:
        style = "|" if "\n" in text else None if _stays(text) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    options: dict[str, Any] = {"Dumper": Dumper, "sort_keys": False, "width": 110}
    text: str = yaml.dump(data, **options, allow_unicode=True)
    return yaml.dump(data, **options) if misleading(text) else text


def _stays(text: str) -> bool:
    """Tell whether our reader takes a scalar without quotes for this very text."""
    try:
        return bool(json_scalar(text, plain=True) == text)
    except PolicyError:
        return False
