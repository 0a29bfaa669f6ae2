"""Objects of a repository: each read once, in full, and only believed when its content has the id that was asked for.

Trees are taken apart here rather than by git, which shows a damaged or forged one as if nothing were wrong with it. One
`git cat-file` answers everything, a batch at a time.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import select
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from indult.characters import fold
from indult.decompose.changes import Changed
from indult.errors import ShipError
from indult.ship.process import late

if TYPE_CHECKING:
    from indult.ship.process import Git

__all__ = ["FILE", "GITLINK", "LINK", "MOST", "NONE", "PROGRAM", "TREE", "Entry", "Objects"]

NONE: Final = "000000"
TREE: Final = "040000"
FILE: Final = "100644"
PROGRAM: Final = "100755"
LINK: Final = "120000"
GITLINK: Final = "160000"

MOST: Final = 32 * 1024 * 1024 + 1
"""How many bytes of a blob are kept; of a longer one these, so that whoever reads it sees that it is too long."""

_LONGEST_LINK: Final = 4096
"""How long the target of a link may be where links are looked up; no system follows a longer one."""

# Requests and answers go through two pipes. So many requests fit into one whole, whatever git does meanwhile, and no
# more are sent before they are answered; otherwise both sides could wait for each other for ever.
_BATCH: Final = 100

_MODES: Final = {b"100644": FILE, b"100755": PROGRAM, b"120000": LINK, b"160000": GITLINK, b"40000": TREE}

# What git itself writes no longer but reads, as git reads it.
_TREE: Final = b"40000"
_LINK: Final = b"120000"
_GITLINK: Final = b"160000"
_TREES: Final = frozenset({_TREE, b"040000"})
_OLD_MODES: Final = {b"040000": b"40000", b"100664": b"100644", b"100600": b"100644", b"100775": b"100755"}

_MOST_TREES: Final = 20_000
"""How many trees are kept taken apart."""

# A few small objects can stand for paths without end: a tree of ten times the same tree, and so on.
_MOST_PATHS: Final = 1_000_000
_MOST_CHANGED: Final = 200_000
_MOST_TEXT: Final = 256 * 1024 * 1024
_MOST_AT_ONCE: Final = 128 * 1024 * 1024
"""How many bytes of trees are taken apart at once: those that lie equally deep."""

SECONDS: Final = 120.0
"""How long git may be silent when it is asked for an object."""


class Entry(NamedTuple):
    """One entry of a tree: its mode as git shows it, and the id of its object."""

    mode: str
    oid: str


Row = tuple[bytes, bytes, bytes]
"""One entry as a tree holds it: mode, name, and the bytes of the id."""

Tree = dict[bytes, Row]


class Walk:
    """Counts what is seen on a way through trees, and ends it where there is too much."""

    def __init__(self) -> None:
        self._paths = 0
        self._text = 0

    def into(self, lead: bytes, tree: Tree) -> None:
        """Count the entries of a tree whose paths begin so.

        Raises:
            ShipError: They are too many, or their paths too long.
        """
        self._paths += len(tree)
        self._text += len(lead) * len(tree) + sum(map(len, tree))
        if self._paths > _MOST_PATHS:
            raise ShipError(f"a tree holds more than {_MOST_PATHS:,} paths", hint=_TOO_LARGE)
        if self._text > _MOST_TEXT:
            raise ShipError(f"the paths of a tree are longer than {_MOST_TEXT:,} bytes together", hint=_TOO_LARGE)


_TOO_LARGE: Final = "a branch can be judged only as far as it can be listed; a person has to look at what it holds"


class Objects:
    """Reads objects through one `git cat-file`; `environment` says of which git directory."""

    def __init__(self, git: Git, environment: Mapping[str, str], *, algorithm: str) -> None:
        self._git = git
        self._environment = environment
        self._algorithm = algorithm
        size = hashlib.new(algorithm, usedforsecurity=False).digest_size
        self._entry = re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % size, re.DOTALL)
        self._full = re.compile(rf"[0-9a-f]{{{2 * size}}}")
        self._size = size
        self._nothing = Entry(NONE, "0" * (2 * size))
        self._process: subprocess.Popen[bytes] | None = None
        self._out: IO[bytes] | None = None
        self._trees: dict[str, Tree] = {}
        self._old_modes: set[str] = set()

    def close(self) -> None:
        """End the process that reads."""
        process, self._process, self._out = self._process, None, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:
                        continue  # what was still to be sent goes nowhere

    def each(self, ids: Iterable[str], *, most: int = MOST) -> Iterator[tuple[str, str, bytes]]:
        """Yield id, kind and content of each object in order; of a content longer than `most` bytes, so many.

        Raises:
            ShipError: An object is missing, or is not what its id says.
        """
        wanted = list(ids)
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            yield from self._answers(batch, most)

    def kind(self, oid: str, kind: str) -> bytes:
        """Return the content of one object that must be of this kind.

        Raises:
            ShipError: It is missing, of another kind, or not what its id says.
        """
        ((_, found, content),) = self.each([oid])
        if found != kind:
            raise ShipError(f"`{oid}` is a {found}, not a {kind}")
        return content

    def has(self, *ids: str) -> bool:
        """Tell whether there is an object of each of these ids."""
        return not self.missing(ids)

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Return those of the ids of which there is no object."""
        return [oid for oid, header in self._all_headers(ids) if header is None]

    def long(self, ids: Sequence[str], most: int) -> set[str]:
        """Return those of the ids whose objects are longer than so many bytes."""
        return {oid for oid, header in self._all_headers(ids) if header is not None and header[1] > most}

    def pour(self, oid: str) -> Iterator[bytes]:
        """Yield the content of a blob in pieces.

        Raises:
            ShipError: It is missing, no blob, or at its end not what its id says: what was yielded is not to be used.
        """
        out = self._ask("contents", [oid])
        done = False
        try:
            kind, size = self._found(out, oid)
            if kind != "blob":
                raise ShipError(f"`{oid}` is a {kind}, not a file")
            yield from self._pieces(out, oid, kind, size)
            done = True
        finally:
            if not done:
                self.close()  # the rest of the answer is no longer wanted

    def tree_of(self, oid: str) -> str:
        """Return the id of the tree of a commit, or of the tree itself."""
        ((_, kind, content),) = self.each([oid])
        if kind == "tree":
            return oid
        if kind != "commit":
            raise ShipError(f"`{oid}` is a {kind}, neither a commit nor a tree")
        found = re.match(rb"tree ([0-9a-f]+)\n", content)
        if found is None:
            raise ShipError(f"the commit {oid} names no tree")
        return found[1].decode()

    def entry(self, oid: str, name: bytes) -> Entry | None:
        """Return the entry of a tree that has this name."""
        self._load([oid])
        row = self._trees[oid].get(name)
        return None if row is None else _entry(row)

    def diff(self, old: str, new: str) -> list[Changed]:
        """Return every path that differs between two trees, sorted; never a rename, always both sides."""
        found: list[Changed] = []
        walk = Walk()
        pairs: list[tuple[bytes, str | None, str | None]] = [(b"", old, new)]
        while pairs:
            self._load(oid for _, *both in pairs for oid in both if oid is not None)
            below: list[tuple[bytes, str | None, str | None]] = []
            for lead, *both in pairs:
                one, other = map(self._entries, both)
                walk.into(lead, one)
                walk.into(lead, other)
                self._compare(lead, one, other, found, below)
                if len(found) > _MOST_CHANGED:
                    raise ShipError(f"more than {_MOST_CHANGED:,} paths change", hint=_TOO_LARGE)
            pairs = below
        found.sort()
        return found

    def files(self, oid: str) -> Iterator[tuple[bytes, Entry]]:
        """Yield path and entry of everything below a tree but trees, in no order."""
        for lead, tree in self._walk(oid):
            for mode, name, raw in tree.values():
                if mode != _TREE:
                    yield lead + name, Entry(_MODES[mode], raw.hex())

    def links(self, oid: str) -> dict[bytes, bytes]:
        """Return every symlink below a tree with what it holds."""
        places = {}
        for lead, tree in self._walk(oid):
            for mode, name, raw in tree.values():
                if mode == _LINK:
                    places[lead + name] = raw.hex()
        content = {one: text for one, _, text in self.each(set(places.values()), most=_LONGEST_LINK)}
        return {path: content[one] for path, one in places.items()}

    def below(self, oid: str) -> set[str]:
        """Return the id of a tree and of everything below it."""
        return {oid}.union(*({row[2].hex() for row in tree.values()} for _, tree in self._walk(oid)))

    def fresh(self, oid: str, others: Iterable[str], seen: dict[str, str]) -> None:
        """Add to `seen` every object below a tree, itself included, that none of the other trees has in the same place.

        What is in `seen` already is not looked into again; an object is there with its kind.

        Raises:
            ShipError: A tree among them is none that git would write.
        """
        walk = Walk()
        level = [(oid, list(others))]
        while level:
            level = [(new, olds) for new, olds in level if new not in olds and new not in seen]
            self._load(one for new, olds in level for one in (new, *olds))
            below: list[tuple[str, list[str]]] = []
            for new, olds in level:
                # The same tree in another place is looked into once.
                if new not in seen:
                    seen[new] = "tree"
                    walk.into(b"", self._checked(new))
                    self._new_entries(self._trees[new], [self._trees[old] for old in olds], seen, below)
            level = below

    def _new_entries(
        self, new: Tree, olds: list[Tree], seen: dict[str, str], below: list[tuple[str, list[str]]]
    ) -> None:
        """Add the files of a tree that none of the others has to `seen`, and the trees in it to `below`."""
        for name, row in new.items():
            before = [old[name] for old in olds if name in old]
            if row[0] == _GITLINK or row in before:
                continue
            oid = row[2].hex()
            if row[0] == _TREE:
                below.append((oid, [one[2].hex() for one in before if one[0] == _TREE]))
            if seen.setdefault(oid, "blob") != "blob" if row[0] != _TREE else seen.get(oid, "tree") != "tree":
                raise ShipError(f"`{oid}` is an entry of two kinds")

    def _checked(self, oid: str) -> Tree:
        """Return a tree that git itself could have written."""
        if oid in self._old_modes:
            raise ShipError(f"the tree {oid} holds a mode that git writes no longer", hint="commit it again")
        tree = self._trees[oid]
        for name in tree:
            if name in {b".", b".."} or (name[:1] == b"." and fold(name.decode(errors="replace")) == ".git"):
                raise ShipError(f"the tree {oid} holds an entry `{name.decode(errors='backslashreplace')}`")
        return tree

    def _walk(self, oid: str) -> Iterator[tuple[bytes, Tree]]:
        """Yield every tree below a tree, itself included, with what the paths in it begin with; the upper ones first."""
        walk = Walk()
        level = [(b"", oid)]
        while level:
            self._load(tree for _, tree in level)
            # Taken now: whoever is told of one may have other trees taken apart in between.
            here = [(lead, self._trees[tree]) for lead, tree in level]
            level = []
            for lead, tree in here:
                walk.into(lead, tree)
                level += [(b"%s%s/" % (lead, name), raw.hex()) for mode, name, raw in tree.values() if mode == _TREE]
                yield lead, tree

    def _entries(self, oid: str | None) -> Tree:
        return {} if oid is None else self._trees[oid]

    def _compare(
        self,
        lead: bytes,
        old: Tree,
        new: Tree,
        found: list[Changed],
        below: list[tuple[bytes, str | None, str | None]],
    ) -> None:
        """Add what differs between two trees to `found`, and the trees in them that differ to `below`."""
        for name, after in new.items():
            before = old.get(name)
            if before == after:
                continue
            if before is not None and before[0] != _TREE and after[0] != _TREE:
                hexes = (before[2].hex(), after[2].hex())
                found.append(Changed(lead + name, _MODES[before[0]], _MODES[after[0]], *hexes))
            else:
                self._differ(lead + name, before, after, found, below)
        for name in old.keys() - new.keys():
            self._differ(lead + name, old[name], None, found, below)

    def _differ(
        self,
        path: bytes,
        before: Row | None,
        after: Row | None,
        found: list[Changed],
        below: list[tuple[bytes, str | None, str | None]],
    ) -> None:
        """Add two entries of one name, one of which may be a tree, or not be there."""
        one, two = (self._nothing if row is None else _entry(row) for row in (before, after))
        if TREE in {one.mode, two.mode}:
            trees = (one.oid if one.mode == TREE else None, two.oid if two.mode == TREE else None)
            below.append((path + b"/", *trees))
            one, two = (self._nothing if each.mode == TREE else each for each in (one, two))
        if one != two:
            found.append(Changed(path, one.mode, two.mode, one.oid, two.oid))

    def _load(self, ids: Iterable[str]) -> None:
        """Take trees apart that were not taken apart yet."""
        needed = set(ids)
        if len(self._trees) + len(needed) > _MOST_TREES:
            self._trees = {oid: self._trees[oid] for oid in needed & self._trees.keys()}
        size = 0
        for oid, kind, content in self.each(needed - self._trees.keys()):
            if kind != "tree":
                raise ShipError(f"`{oid}` is a {kind}, not a tree")
            size += len(content)
            if size > _MOST_AT_ONCE:
                raise ShipError(f"the folders of a tree are longer than {_MOST_AT_ONCE:,} bytes", hint=_TOO_LARGE)
            self._trees[oid] = self._parse(oid, content)

    def _parse(self, oid: str, content: bytes) -> Tree:
        """Return the entries of a tree that can be read one way only."""
        rows: list[Row] = self._entry.findall(content)
        modes, names = {row[0] for row in rows}, [row[1] for row in rows]
        if sum(map(len, (row[0] for row in rows))) + sum(map(len, names)) + len(rows) * (2 + self._size) != len(
            content
        ):
            raise ShipError(f"the tree {oid} cannot be read")
        if not modes <= _MODES.keys():
            rows = [(_mode(oid, mode), name, raw) for mode, name, raw in rows]
            self._old_modes.add(oid)
        order = (
            names if modes.isdisjoint(_TREES) else [name + b"/" if mode in _TREES else name for mode, name, _ in rows]
        )
        if order != sorted(order):
            raise ShipError(f"the entries of the tree {oid} are not in order")
        tree = dict(zip(names, rows, strict=True))
        if len(tree) != len(rows):
            raise ShipError(f"the tree {oid} holds two entries of one name")
        if b"/" in b"".join(names):
            raise ShipError(f"the tree {oid} holds an entry with a slash in its name")
        return tree

    def _answers(self, batch: list[str], most: int) -> Iterator[tuple[str, str, bytes]]:
        out = self._ask("contents", batch)
        for done, oid in enumerate(batch):
            try:
                answer = self._answer(out, oid, most)
            except BaseException:
                self.close()  # what else it would answer is no longer wanted
                raise
            try:
                yield oid, *answer
            except GeneratorExit:
                if done + 1 < len(batch):
                    self.close()
                raise

    def _answer(self, out: IO[bytes], oid: str, most: int) -> tuple[str, bytes]:
        """Read one answer and check that the content has the id that was asked for."""
        kind, size = self._found(out, oid)
        kept: list[bytes] = []
        left = most
        for piece in self._pieces(out, oid, kind, size):
            if left > 0:
                kept.append(piece[:left])
                left -= len(piece)
        return kind, kept[0] if len(kept) == 1 else b"".join(kept)

    def _pieces(self, out: IO[bytes], oid: str, kind: str, size: int) -> Iterator[bytes]:
        """Yield the content of one answer piece by piece, and check it at the end."""
        check = hashlib.new(self._algorithm, b"%s %d\0" % (kind.encode(), size), usedforsecurity=False)
        left = size
        while left > 0:
            piece = out.read(min(left, 1 << 20))
            if not piece:
                raise ShipError("git ended while it was read")
            check.update(piece)
            left -= len(piece)
            yield piece
        if out.read(1) != b"\n":
            raise ShipError("git ended while it was read")
        if check.hexdigest() != oid:
            raise ShipError(f"the object {oid} is damaged: its content is not that of its oid", hint="git fsck")

    def _found(self, out: IO[bytes], oid: str) -> tuple[str, int]:
        """Read the beginning of an answer about an object that must be there."""
        header = self._header(out, oid)
        if header is None:
            hint = "fetch the whole repository: `git fetch --refetch`, `git fetch --unshallow`"
            raise ShipError(f"the repository lacks the object {oid}", hint=hint)
        return header

    def _all_headers(self, ids: Sequence[str]) -> Iterator[tuple[str, tuple[str, int] | None]]:
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            out = self._ask("info", batch)
            try:
                headers = [self._header(out, oid) for oid in batch]
            except BaseException:
                self.close()
                raise
            yield from zip(batch, headers, strict=True)

    def _header(self, out: IO[bytes], oid: str) -> tuple[str, int] | None:
        line = out.readline()
        if line == b"%s missing\n" % oid.encode():
            return None
        found = re.fullmatch(rb"([0-9a-f]+) (\w+) (\d+)\n", line)
        if found is None or found[1].decode() != oid:
            raise ShipError(f"git does not tell what {oid} is: {line.decode(errors='backslashreplace').strip()}")
        return found[2].decode(), int(found[3])

    def _ask(self, command: str, ids: Sequence[str]) -> IO[bytes]:
        """Send requests, all of which git answers at once, and return where the answers come from."""
        for oid in ids:
            if not self._full.fullmatch(oid):
                raise ShipError(f"`{oid}` is no full object id")
        process = self._process or self._start()
        assert process.stdin is not None
        assert self._out is not None
        try:
            process.stdin.write("".join(f"{command} {oid}\n" for oid in ids).encode() + b"flush\n")
            process.stdin.flush()
        except OSError as exc:
            self.close()
            raise ShipError(f"git ended while it was read: {exc.strerror}") from exc
        return self._out

    def _start(self) -> subprocess.Popen[bytes]:
        command = [self._git.program, "--no-pager", "cat-file", "--batch-command", "--buffer"]
        try:
            process = subprocess.Popen(
                command,
                env=self._git.environment(self._environment),
                cwd=self._git.home,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as exc:
            raise ShipError(f"git cannot be started: {exc.strerror}") from exc
        assert process.stdout is not None
        self._process = process
        self._out = io.BufferedReader(_Answers(process.stdout), 1 << 16)
        return process


class _Answers(io.RawIOBase):
    """What a process writes, waited for as long as git may be silent."""

    def __init__(self, out: IO[bytes]) -> None:
        super().__init__()
        self._file = out.fileno()
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLIN)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what there is, as soon as there is something."""
        if not self._poll.poll(SECONDS * 1000):
            raise late(SECONDS)
        return os.readv(self._file, [buffer])


def _entry(row: Row) -> Entry:
    return Entry(_MODES[row[0]], row[2].hex())


def _mode(oid: str, mode: bytes) -> bytes:
    """Return a mode as git writes it today."""
    found = mode if mode in _MODES else _OLD_MODES.get(mode)
    if found is None:
        raise ShipError(f"the tree {oid} holds an entry of the mode {mode.decode()}")
    return found
