"""`indult reject`: answer a request with no."""

from __future__ import annotations

from typing import Any

import click

from indult.approvals import Choice
from indult.cli.deciding import decide, deciding

__all__ = ["command"]


@click.command(
    name="reject",
    short_help="Answer a request with no.",
    help="Answer the request ID with no; an approval that still stood is taken back with it.",
)
@click.option("--note", default="", help="What you want to say to whoever asked.")
@deciding
def command(**given: Any) -> None:
    """Reject a request."""
    decide(Choice.REJECT, **given)
