"""`indult approve`: open exactly what one request names."""

from __future__ import annotations

from typing import Any

import click

from indult.approvals import Choice
from indult.cli.deciding import decide, deciding
from indult.scopes import MAX_USES

__all__ = ["command"]


@click.command(
    name="approve",
    short_help="Open exactly what one request names.",
    help="Open exactly what the request ID names. On a terminal you are shown it and asked; elsewhere `--digest` says "
    "what you were shown, and another digest is refused as stale.",
)
@click.option("--uses", type=click.IntRange(1, MAX_USES), help="Approve no more uses than this.")
@click.option("--expires", metavar="TIME", help="Approve no longer than this: 30m, 2h, 7d, or a time as RFC 3339.")
@click.option("--note", default="", help="What you want to say to whoever asked.")
@deciding
def command(**given: Any) -> int | None:
    """Approve a request."""
    return decide(Choice.APPROVE, **given)
