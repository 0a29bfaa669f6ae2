"""The command line: `main` and the table of verbs, one module per verb, imported when it runs."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indult.cli.plain import Verb

__all__ = ["VERBS", "main"]

VERBS: Final[dict[str, tuple[str, str]]] = {
    "mixer": ("indult.cli.mixer", "Run the worked example: five agents in a park under one policy."),
    "check": ("indult.cli.check", "Judge one action and end with the verdict's exit code."),
    "init": ("indult.cli.init", "Set indult up in this repository: policy, hooks, ledger, trust."),
    "doctor": ("indult.cli.doctor", "Prove that the hooks of this repository block what they must."),
    "lint": ("indult.cli.lint", "Find instructions that say something else than the gate answers."),
    "hook": ("indult.cli.hook", "Answer a coding agent's hook: judge its call before it runs."),
    "brief": ("indult.cli.brief", "Print the text that a proposer reads of a policy, or write it into files."),
    "policy": ("indult.cli.policy", "Show a policy, find the errors of policy files, print their schema."),
    "test": ("indult.cli.test", "Hold a policy against cases, or against an old ledger."),
    "request": ("indult.cli.request", "Ask a person to open exactly one call."),
    "report": ("indult.cli.report", "Hand a signal back to a person, naming what would have to be opened."),
    "requests": ("indult.cli.requests", "List the questions that wait for a person."),
    "show": ("indult.cli.show", "Show a request or a grant in full, and what approving it changes."),
    "approve": ("indult.cli.approve", "Open exactly what one request names."),
    "discuss": ("indult.cli.discuss", "Answer a request with words, and leave it open."),
    "reject": ("indult.cli.reject", "Answer a request with no."),
    "grants": ("indult.cli.grants", "List what is open now."),
    "revoke": ("indult.cli.revoke", "Take a grant back."),
    "approver": ("indult.cli.approver", "Say whose signed decisions count under a policy."),
    "trust": ("indult.cli.trust", "Trust a policy file as it is now, after seeing what changed."),
    "signal": ("indult.cli.signal", "Tell what goes wrong, and see what is made of it."),
    "watch": ("indult.cli.watch", "Run a command, and make a signal of its failure."),
    "ship": ("indult.cli.ship", "Land a branch if the gate allows every change in it."),
    "autofix": ("indult.cli.autofix", "Repair what is noticed: fix, land or hand back, until it stops."),
    "run": ("indult.cli.run", "List, show and resume the runs in a ledger."),
    "log": ("indult.cli.log", "Read the ledger, check it, anchor it, and forget what must not be kept."),
}
"""Verb -> its module and one line of help, so that `indult --help` imports no verb."""

QUICK: Final = frozenset({"check", "hook"})
"""Verbs of which a plain command line is read without click (`indult.cli.plain`)."""

BLOCKS: Final = 2
"""What `indult hook` ends with whatever goes wrong: a harness takes any other code but this as leave to run the tool."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line `args` (that of the process by default) and return the exit code."""
    if args is None:
        # What start-up makes stays to the end. To search it for garbage, many times on the way and once more at the exit,
        # would take a sixth of a check.
        gc.set_threshold(100_000)
    from indult.cli.edge import deliver

    given = sys.argv[1:] if args is None else list(args)
    code = deliver(lambda: _run(given))
    if code and given[:1] == ["hook"]:
        code = BLOCKS
    if args is None:
        gc.freeze()
    return code


def _run(args: list[str]) -> object:
    if args and args[0] in QUICK:
        from indult.cli.plain import plain

        verb: Verb = import_module(VERBS[args[0]][0]).VERB
        values = plain(verb, args[1:])
        if values is not None:
            return verb.run(**values)
    from indult.cli.frame import root, run

    return run(root, args)
