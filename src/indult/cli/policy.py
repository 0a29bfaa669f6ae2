"""`indult policy`: show a policy, find the errors of policy files, print the schema for editors."""

from __future__ import annotations

from importlib.resources import files
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

import click

from indult.canonical import canonical
from indult.cli.frame import emit, json_option, policy_option, printable
from indult.cli.plain import POLICY
from indult.errors import ConfigurationError
from indult.policy import Effect, Mode, dumps_policy, find_errors, read_policy
from indult.policy.autofix import TriageState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indult.policy import Loaded, Rule
    from indult.policy.autofix import Autofix, TriageRule

__all__ = ["command"]

_WIDTH: Final = 100


@click.group(name="policy", help="Show a policy, find errors in policy files, print their schema.")
def command() -> None:
    """Hold the verbs about policy files together."""


@command.command(name="show", help="Print the rules of a policy, strictest first.")
@policy_option
@click.option("--resolved", is_flag=True, help="Print the whole policy as YAML, presets included.")
@json_option
def show(*, policy: str, resolved: bool, as_json: bool) -> None:
    """Print a policy for a person, as a file that loads to the same policy, or as JSON."""
    loaded = read_policy(policy)
    if as_json:
        emit(_data(loaded, resolved=resolved))
    elif resolved:
        click.echo(f"# {loaded.policy.digest}\n{dumps_policy(loaded.policy)}", nl=False)
    else:
        click.echo("\n".join(_lines(loaded)))


@command.command(
    name="check",
    short_help="Print every error of policy files.",
    help="Print every error of policy files, with line and column; end with 3 if there is one. Without FILE that is "
    "`indult.yaml`.",
)
@click.argument("file", nargs=-1)
@json_option
def check(*, file: tuple[str, ...], as_json: bool) -> int | None:
    """Load files and print all that is wrong with them on standard output."""
    count = 0
    for name in file or (str(POLICY.default),):
        errors = find_errors(name)
        count += len(errors)
        for exc in errors:
            if as_json:
                emit({"file": name, "line": exc.line, "column": exc.column, "message": exc.message, "hint": exc.hint})
            else:
                click.echo("\n".join(printable(line) for line in exc.lines()))
        if not errors and not as_json:
            click.echo(f"{name}: ok")
    return ConfigurationError.exit_code if count else None


@command.command(name="schema", help="Print the JSON Schema of policy files, for editors.")
def schema() -> None:
    """Print the JSON Schema that ships with the package."""
    click.echo(files("indult.policy").joinpath("schema.json").read_text(encoding="utf-8"), nl=False)


def _data(loaded: Loaded, *, resolved: bool) -> dict[str, Any]:
    policy = loaded.policy.to_dict()
    if not resolved:
        policy["rules"] = [rule for rule in policy["rules"] if rule["id"] in loaded.own]
    return {"digest": loaded.policy.digest, "extends": list(loaded.extends), "policy": policy}


def _lines(loaded: Loaded) -> Iterator[str]:
    """Yield the policy for a person: what it is made of, then its rules from deny to allow."""
    policy = loaded.policy
    yield f"digest   {policy.digest}"
    for name in loaded.extends:
        yield f"extends  {name}"
    for name, declared in policy.context.items():
        yield f"context  {name}: {_declared(declared)}"
    for name, words in (policy.checks or {}).items():
        yield printable(f"check    {name}: {canonical(words)}")
    if policy.fixer:
        yield printable(f"fixer    {canonical(list(policy.fixer))}")
    if policy.autofix is not None:
        yield from _autofix(policy.autofix)
    if policy.mode is Mode.OBSERVE:
        yield "mode     observe: nothing is blocked"
    for effect in (Effect.DENY, Effect.ASK, Effect.ALLOW):
        for rule in policy.rules:
            if rule.effect is effect:
                yield from _rule(rule, own=rule.id in loaded.own)
    yield f"{policy.default:<8} everything else"


def _autofix(autofix: Autofix) -> Iterator[str]:
    """Yield what is not as it is by default, then the rules of triage in the order in which they beat each other."""
    given = autofix.to_dict()
    given.pop("triage", None)
    shown = [f"{name} {value if isinstance(value, (int, str)) else canonical(value)}" for name, value in given.items()]
    yield f"autofix  {', '.join(shown) or 'all as it is by default'}"
    ranks = [*TriageState, None]
    for rule in sorted(autofix.triage, key=lambda rule: ranks.index(rule.state)):
        yield from _triage(rule)


def _triage(rule: TriageRule) -> Iterator[str]:
    notes = [str(rule.state)] * (rule.state is not None)
    notes += [f"{name} {value}" for name in ("threshold", "priority") if (value := getattr(rule, name)) is not None]
    yield printable(f"triage   {rule.id}: {', '.join(notes)}")
    for name in ("when", "says"):
        value = getattr(rule, name)
        if value is not None:
            yield printable(f"         {name:<8} {' '.join(value.split())}")


def _declared(declared: Any) -> str:
    if isinstance(declared, dict):
        return "{" + ", ".join(f"{name}: {kind}" for name, kind in declared.items()) + "}"
    return str(declared)


def _rule(rule: Rule, *, own: bool) -> Iterator[str]:
    notes = [f"tool {rule.tool}"] + [f"target {target}" for target in rule.targets if len(rule.targets) == 1]
    notes += ["observed only"] * (not rule.enforced) + ["from a preset"] * (not own)
    yield printable(f"{rule.effect:<8} {rule.id} ({', '.join(notes)})")
    if len(rule.targets) > 1:
        lines = wrap(", ".join(rule.targets), _WIDTH, break_long_words=False, break_on_hyphens=False)
        yield from (printable(f"         {'' if at else 'targets':<8} {line}") for at, line in enumerate(lines))
    if rule.when is not None:
        yield printable("         when     " + " ".join(rule.when.split()))
    if rule.says is not None:
        yield printable("         says     " + " ".join(rule.says.split()))
    if rule.downgrade:
        yield printable("         instead  " + ", then ".join(_rung(rung) for rung in rule.downgrade))


def _rung(rung: dict[str, Any]) -> str:
    return canonical(rung)
