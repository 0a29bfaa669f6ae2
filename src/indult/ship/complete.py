"""Everything that would land is there, whole, and in the repository's own store, before the target moves.

A push is looked at like this by whoever receives it. A branch of the same repository never was: it can lead to objects
that are missing, damaged or borrowed from a folder that is gone tomorrow, and the target could no longer be cloned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from indult.errors import ShipError

if TYPE_CHECKING:
    from indult.ship.history import History
    from indult.ship.objects import Objects

__all__ = ["complete"]

_PERSON: Final = rb" [^<>\n\0]*<[^<>\n\0]*> \d{1,20} [+-]\d{4}\n"
_WHOLE: Final = re.compile(
    rb"tree [0-9a-f]+\n(?:parent [0-9a-f]+\n)*author%scommitter%s(?:[^\n\0]+\n)*(?:\n[^\0]*)?\Z" % (_PERSON, _PERSON)
)


def complete(history: History, objects: Objects, own: Objects, onto: str, head: str, tree: str | None = None) -> None:
    """See that every commit, tree and file is there that `head` and `tree` lead to and the commit `onto` does not.

    `objects` reads all that the repository has, `own` only what lies in its own store. What the target has is taken for
    granted, wherever it lies.

    Raises:
        ShipError: An object is missing, borrowed, damaged, of another kind, or none that git would write.
    """
    trees: dict[str, str] = {}
    parents: dict[str, tuple[str, ...]] = {}
    for commit in history.walk(head, [onto]):
        if not _WHOLE.match(commit.content):
            raise ShipError(f"the commit {commit.oid} is none that git would write", hint="commit it again")
        trees[commit.oid], parents[commit.oid] = commit.tree, commit.parents
    ends = {head}.union(*parents.values()) - trees.keys()
    history.within(onto, ends)
    old = {oid: objects.tree_of(oid) for oid in {onto, *ends}}
    seen = dict.fromkeys(trees, "commit")
    for oid, own_tree in trees.items():
        objects.fresh(own_tree, [trees.get(one) or old[one] for one in parents[oid]], seen)
    if tree is not None:
        objects.fresh(tree, [old[onto], trees.get(head) or old[head]], seen)
    _lie_in(own, objects, seen, set(old.values()))


def _lie_in(own: Objects, objects: Objects, seen: dict[str, str], old: Iterable[str]) -> None:
    """Read every new object from the store itself; what the target's own trees hold may be borrowed as they are."""
    lacking = set(own.missing(list(seen)))
    if lacking:
        missing = objects.missing(sorted(lacking))
        if missing:
            hint = "fetch the whole repository, or make the branch anew"
            raise ShipError(f"the repository lacks the object {missing[0]}", hint=hint)
        borrowed = lacking.difference(*(objects.below(tree) for tree in old))
        if borrowed:
            hint = "bring it into this one: `git repack -a -d`"
            raise ShipError(f"the object {min(borrowed)} is only in a repository that this one borrows from", hint=hint)
    for oid, kind, _ in own.each((oid for oid in seen if oid not in lacking), most=0):
        if kind != seen[oid]:
            raise ShipError(f"`{oid}` is a {kind}, not a {seen[oid]}")
