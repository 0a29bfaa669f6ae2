"""What to do about a ship that cannot begin: a name that is no local branch, and a law that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from shlex import quote
from typing import Final

__all__ = ["LOCAL", "commit_law", "meant"]

LOCAL: Final = "local branches only: git branch NAME REVISION"
"""For what names something else than a branch."""

_HEADS: Final = "refs/heads/"
_REMOTES: Final = "refs/remotes/"
_ID: Final = re.compile(r"[0-9a-f]{7,64}")


def meant(branch: str, refs: Iterable[str]) -> str | None:
    """Return which branch may have been meant by a name that is none, or how to make one of what it names.

    `refs` are the full names of all refs of the repository.
    """
    known = list(refs)
    local = [ref.removeprefix(_HEADS) for ref in known if ref.startswith(_HEADS)]
    short = re.sub("^(refs/)?heads/", "", branch)
    if short != branch and short in local:
        return f"local branches only, by their name: `{short}`"
    remote = _remote(branch, known)
    if remote is not None:
        # The first word is the name of the remote.
        return f"local branches only: git branch {quote(remote.partition('/')[2])} {quote(remote)}"
    if branch == "HEAD" or _ID.fullmatch(branch) or {branch, f"refs/{branch}", f"refs/tags/{branch}"} & set(known):
        return f"local branches only: git branch NAME {quote(branch)}"
    from difflib import get_close_matches

    near = get_close_matches(branch, local)
    return f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else None


def commit_law(into: str, file: str, *, place: str | None) -> str:
    """Return how to give a branch its law; `place` is where a file of that name lies in the main work tree, if one does."""
    if place is not None:
        return f"`{place}` is there, and not committed to `{into}`: commit it to that branch"
    return f"commit `{file}` to `{into}`, for instance with these two lines:\nschema: 1\nextends: indult/repository@1"


def _remote(branch: str, refs: list[str]) -> str | None:
    """Return the remote branch, without `refs/remotes/`, that a name stands for, or that has it behind its remote's."""
    name = re.sub("^(refs/)?remotes/", "", branch)
    remotes = [ref.removeprefix(_REMOTES) for ref in refs if ref.startswith(_REMOTES) and not ref.endswith("/HEAD")]
    same = [one for one in remotes if one == name]
    return next(iter(same + [one for one in remotes if one.partition("/")[2] == name]), None)
