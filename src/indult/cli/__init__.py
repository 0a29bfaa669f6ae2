"""The command line: `main` and the table of verbs, one module per verb, imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from indult import __version__
from indult.cli.frame import Verbs, invoke

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["VERBS", "main", "root"]

VERBS: Final[dict[str, tuple[str, str]]] = {
    "mixer": ("indult.cli.mixer", "Run the worked example: five agents in a park under one policy."),
    "check": ("indult.cli.check", "Judge one action and end with the verdict's exit code."),
    "brief": ("indult.cli.brief", "Print the text that a proposer reads of a policy."),
    "policy": ("indult.cli.policy", "Show a policy, find the errors of policy files, print their schema."),
    "test": ("indult.cli.test", "Hold a policy against cases, or against an old ledger."),
    "request": ("indult.cli.request", "Ask a person to open exactly one call."),
    "requests": ("indult.cli.requests", "List the questions that wait for a person."),
    "show": ("indult.cli.show", "Show a request or a grant in full, and what approving it changes."),
    "approve": ("indult.cli.approve", "Open exactly what one request names."),
    "discuss": ("indult.cli.discuss", "Answer a request with words, and leave it open."),
    "reject": ("indult.cli.reject", "Answer a request with no."),
    "grants": ("indult.cli.grants", "List what is open now."),
    "revoke": ("indult.cli.revoke", "Take a grant back."),
    "approver": ("indult.cli.approver", "Say whose signed decisions count under a policy."),
    "trust": ("indult.cli.trust", "Trust a policy file as it is now, after seeing what changed."),
    "run": ("indult.cli.run", "List, show and resume the runs in a ledger."),
    "log": ("indult.cli.log", "Read the ledger, check it, anchor it, and forget what must not be kept."),
}
"""Verb -> its module and one line of help, so that `indult --help` imports no verb."""

root = Verbs(
    VERBS,
    name="indult",
    help="AI agents act on their own under a declared law: every action is judged before it runs, graded and remembered.",
    epilog="Exit codes: 0 approved or ok, 1 error, 2 denied, 3 invalid policy or value, 4 waiting for a person, "
    "5 downgraded or stopped short.",
    no_args_is_help=True,
)
click.version_option(__version__, message="indult %(version)s")(root)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line `args` (that of the process by default) and return the exit code."""
    return invoke(root, args)
