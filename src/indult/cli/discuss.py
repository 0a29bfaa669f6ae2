"""`indult discuss`: answer a request with words, and leave it open."""

from __future__ import annotations

from typing import Any

import click

from indult.approvals import Choice
from indult.cli.deciding import decide, deciding

__all__ = ["command"]


@click.command(
    name="discuss",
    short_help="Answer a request with words, and leave it open.",
    help="Answer the request ID with words; nothing opens, and whoever asked is told.",
)
@click.option("--note", required=True, help="What you want to say to whoever asked.")
@deciding
def command(**given: Any) -> None:
    """Discuss a request."""
    decide(Choice.DISCUSS, **given)
