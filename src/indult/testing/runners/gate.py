"""Runs the workloads of `gate_workloads.json`: a policy and many actions in, the verdict of each out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from indult.actions import Action
from indult.boundary import Boundary
from indult.errors import InputError
from indult.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["policy_of", "run"]


def run(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the verdicts of each workload, in the order of its actions.

    Raises:
        InputError: The file holds something else than workloads.
    """
    workloads = json.loads(path.read_text(encoding="utf-8"))
    for name, workload in workloads.items():
        try:
            boundary = Boundary(policy=policy_of(workload))
            verdicts = [
                str(boundary.judge(Action(tool=one["tool"], args=one["args"]), {"world": one["world"]}).verdict)
                for one in workload["actions"]
            ]
        except (KeyError, TypeError) as exc:
            raise InputError(f"`{name}` is not a workload: {type(exc).__name__}: {exc}") from exc
        yield {"workload": name, "verdicts": verdicts}


def policy_of(workload: dict[str, Any]) -> Policy:
    """Return the policy of a workload; its rules say nothing, so they get a sentence here."""
    rules = [{"says": f"Mind the rule {rule['id']}.", **rule} for rule in workload["rules"]]
    return Policy.from_dict(
        {"schema": 1, "default": workload["default"], "context": workload["context"], "rules": rules}
    )
