"""`indult test`: hold a policy against cases, or against an old ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import click

from indult.boundary import Boundary
from indult.cli.frame import emit, policy_option
from indult.errors import UsageError
from indult.policy import load_policy
from indult.testing.cases import CaseResult, Replay, load_cases, run_case

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["command"]


@click.command(name="test", help="Test a policy with cases from FILES, or with `--replay` against an old ledger.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--replay", "ledger", metavar="LEDGER", help="Judge this ledger again and list what would change.")
@click.option(
    "-o", "--output", type=click.Choice(["human", "json", "junit"]), default="human", show_default=True, help="Format."
)
@policy_option
def command(*, files: tuple[Path, ...], ledger: str | None, output: str, policy: str) -> int:
    """Run the cases and return 0 if all passed, or if a replay changes nothing; else 1."""
    boundary = Boundary(policy=load_policy(policy))
    if ledger is not None:
        if files or output == "junit":
            raise UsageError("`--replay` takes no case files and prints human or json")
        return _replay(boundary, ledger, as_json=output == "json")
    if not files:
        raise UsageError("no case files", hint="indult test cases.yaml, or --replay LEDGER")
    results = [run_case(boundary, case) for path in files for case in load_cases(path)]
    if output == "junit":
        click.echo(_junit(results))
    elif output == "json":
        for result in results:
            emit(result.to_dict())
        emit(_totals(results))
    else:
        for result in results:
            click.echo(f"test {result.name} ... {'ok' if result.passed else f'fail: {result.why}'}")
        click.echo(", ".join(f"{count} {name}" for name, count in _totals(results).items()))
    return 0 if all(result.passed for result in results) else 1


def _totals(results: Sequence[CaseResult]) -> dict[str, int]:
    """Count the results; what passed by a grant is counted apart from what the law allows by itself."""
    passed = sum(result.passed for result in results)
    granted = sum(bool(result.judgement.grants) for result in results)
    return {"tests": len(results), "passed": passed, "failed": len(results) - passed, "exceptions": granted}


def _junit(results: Sequence[CaseResult]) -> str:
    totals = _totals(results)
    suite = ET.Element("testsuite", name="indult", tests=str(totals["tests"]), failures=str(totals["failed"]))
    for result in results:
        case = ET.SubElement(suite, "testcase", classname="policy", name=result.name)
        if not result.passed:
            ET.SubElement(case, "failure", message=result.why)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def _replay(boundary: Boundary, path: str, *, as_json: bool) -> int:
    from indult.ledger import open_ledger

    if not Path(path).is_file():
        raise UsageError(f"there is no ledger `{path}`")
    counts = Replay()
    with open_ledger(path, read_only=True) as ledger:
        for change in counts.run(boundary, ledger):
            if as_json:
                emit(change.to_dict())
            else:
                where = f"{change.stream} at {change.position}"
                click.echo(f"{where}: `{change.tool}` {change.before} -> {change.after}: {change.reason}")
    if as_json:
        emit({"judged": counts.judged, "changed": counts.changed, "left_out": counts.left_out})
    else:
        left = "".join(f", {count} left out ({why})" for why, count in counts.left_out.items())
        click.echo(f"{counts.judged} judged again, {counts.changed} would change{left}")
    return 1 if counts.changed else 0
