"""Scopes: the exact, finite set of targets that a human is asked to open.

Patterns live in rules, which are reviewed like code; a scope holds exact names and is a type of its own, so that no
approval can ever mean more than what was shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from indult.actions import Action
from indult.canonical import canonical, digest, parse_json
from indult.characters import misleading
from indult.errors import InputError, ScopeError

__all__ = ["MAX_SHOWN", "MAX_TARGETS", "MAX_USES", "Scope", "check_line", "dependency_path"]

MAX_USES: Final = 100
"""Most uses of one approval: enough for a batch, few enough to be counted by whoever approves."""

MAX_SHOWN: Final = 2000
"""Longest call or command in bytes that a person can be asked to open (design section 5)."""

MAX_TARGETS: Final = 200
MAX_LINE: Final = 500

_FILE_KINDS: Final = ("read", "write", "exec", "delete", "mode", "link", "gitlink", "edit")
_KINDS: Final = frozenset({*_FILE_KINDS, "entry", "script", "field", "commit", "command", "call", "tool"})
_SHOWN: Final = frozenset({"call"})
_OF_COMMAND: Final = frozenset({"argv", "cwd", "env", "files", "via"})
_RUN: Final = re.compile("  +")
_WORD: Final = re.compile(r"[\w.:/@+-]{1,100}\Z")
_OBJECT: Final = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\Z")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")

# The dependency classes of the protected list: manifests and locks by name at any depth, and whole folders of theirs.
_MANIFESTS: Final = frozenset(
    [
        "package.json",
        "bun.lock",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "uv.lock",
        "poetry.lock",
        "pdm.lock",
        "Cargo.toml",
        "Cargo.lock",
        "go.mod",
        "go.sum",
        "go.work",
    ]
)
# The names that package managers take, in the four ecosystems: none of them has other letters, which only look alike.
_NAME: Final = re.compile(r"[A-Za-z0-9@_][A-Za-z0-9@_.~/+-]*\Z")
_RANGE: Final = re.compile(r"[\^~<>!*|, ]")
_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+!-]*\Z")

_PYTHON: Final = frozenset(["pyproject.toml", "setup.py", "setup.cfg", "uv.lock", "poetry.lock", "pdm.lock"])
_REQUIREMENTS: Final = re.compile(r"(requirements|constraints)[^/]*\.txt\Z")
_FOLDERS: Final = frozenset({"vendor", "node_modules", "patches"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What one approval would open: `targets`, in the order in which they are shown, for `subject` and nobody else.

    `rules` are the ids of the ask rules that are opened, filled in when a request is opened. `change` says in one line
    what would be done. `shown` holds the text of targets whose name is a digest. Above one use an expiry is a must.

    Raises:
        ScopeError: A target is no exact name, a line is none, or uses and expiry do not fit.
    """

    subject: str
    title: str
    targets: tuple[str, ...]
    change: str
    rules: tuple[str, ...] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    max_uses: int = 1
    expires_at: str | None = None

    def __post_init__(self) -> None:
        """Refuse what could be read as more than it names."""
        if len(self.targets) > MAX_TARGETS:
            raise ScopeError(f"a scope names {len(self.targets)} targets", hint=f"at most {MAX_TARGETS}")
        if len(set(self.targets)) != len(self.targets):
            raise ScopeError("a scope names a target twice")
        for target in self.targets:
            _check_target(target)
        for name in ("subject", "title", "change"):
            check_line(getattr(self, name), name)
        for target in self.targets:
            if target.partition(":")[0] in _SHOWN and target not in self.shown:
                raise ScopeError(f"`{target}` is a digest and nothing says what of")
        for target, text in self.shown.items():
            if target not in self.targets:
                raise ScopeError(f"`{target}` is shown and not part of the scope")
            check_line(text, "shown target", most=MAX_SHOWN)
        if isinstance(self.max_uses, bool) or not isinstance(self.max_uses, int) or not 1 <= self.max_uses <= MAX_USES:
            raise ScopeError(f"a scope has `{self.max_uses}` uses", hint=f"1 to {MAX_USES}")
        if self.max_uses > 1 and self.expires_at is None:
            raise ScopeError("more than one use needs an expiry", hint="give `expires_at`")

    @classmethod
    def call(cls, action: Action, *, subject: str, title: str | None = None, change: str | None = None) -> Scope:
        """Return the scope of exactly this call: the same tool, arguments and folder.

        Raises:
            ScopeError: The call is longer than a person can be asked to read.
        """
        shown = canonical({"tool": action.tool, "args": action.args, "cwd": action.cwd})
        if len(shown.encode()) > MAX_SHOWN:
            raise ScopeError(f"the call takes {len(shown.encode())} bytes to show, at most {MAX_SHOWN}")
        target = action.target()
        return cls(
            subject=subject,
            title=title or (f"one call of {action.tool}" if _WORD.match(action.tool) else "one call"),
            targets=(target,),
            change=change or "call this tool with exactly these arguments",
            shown={target: _visible(shown)},
        )

    @classmethod
    def command(
        cls,
        argv: Iterable[str],
        *,
        subject: str,
        cwd: str | None,
        change: str,
        files: Mapping[str, str] | None = None,
    ) -> Scope:
        """Return the scope of exactly this command line, run in `cwd`.

        `files` are the files of the tree that it would run, each with the SHA-256 of what is in it.

        Raises:
            ScopeError: It is empty, or longer than a person can be asked to read.
        """
        words = list(argv)
        named = {"argv": words, "cwd": cwd, **({"files": dict(files)} if files else {})}
        target = f"command:{canonical(named)}"
        title = f"one command, {words[0]}" if words and _WORD.match(words[0]) else "one command"
        return cls(subject=subject, title=title, targets=(target,), change=change)

    @classmethod
    def parts(cls, targets: Iterable[str], *, subject: str, title: str) -> Scope:
        """Return the scope of exactly these parts of one call.

        Raises:
            ScopeError: One of them is no exact name, such as a command with a word that is not known beforehand.
        """
        return cls(
            subject=subject, title=title, targets=tuple(dict.fromkeys(targets)), change="do exactly what these name"
        )

    @classmethod
    def files(cls, paths: Iterable[str], *, subject: str, change: str, kind: str = "write") -> Scope:
        """Return the scope of exactly these files, to be written unless `kind` says otherwise.

        Raises:
            ScopeError: A path is a pattern, a folder, or leads out of the repository.
        """
        names = tuple(paths)
        if not names:
            raise ScopeError("a scope of files names 0 targets", hint="name each file")
        if kind not in _FILE_KINDS:
            raise ScopeError(f"files are not opened for `{kind}`", hint=", ".join(_FILE_KINDS))
        title = names[0] if len(names) == 1 else f"{len(names)} files"
        return cls(subject=subject, title=title, targets=tuple(f"{kind}:{name}" for name in names), change=change)

    @classmethod
    def dependency(cls, name: str, version: str, paths: Iterable[str], change: str, *, subject: str) -> Scope:
        """Return the scope of one dependency at one version: these files, and in manifests and locks its entry alone.

        The version `none` names its removal.

        Raises:
            ScopeError: No path is named or one is no exact dependency file, or name and version are none that a
                package can have.
        """
        for what, word, allowed in (("dependency", name, _NAME), ("version", version, _VERSION)):
            check_line(word, what)
            if what == "version" and _RANGE.search(word):
                raise ScopeError(
                    f"version `{word}` is a range, and an approval names one exact version",
                    hint="an exact one, such as `1.8.2`, or ask for the whole commit: `indult ship` with `--hold TEXT`",
                )
            if not allowed.match(word):
                raise ScopeError(f"{what} `{word}` is not one word of ASCII letters, digits and `@_.~/+-`")
        given = tuple(paths)
        if not given:
            raise ScopeError("exact dependency files only: none is named", hint="name each file in `paths`")
        bad = [path for path in given if not dependency_path(path)]
        if bad:
            names = ", ".join(f"`{path}`" for path in bad)
            raise ScopeError(f"exact dependency files only: {names}", hint=_hint(bad))
        entries = [f"entry:{path}#{_name_in(path, name)}@{version}" for path in given if _is_manifest(path)]
        writes = [f"write:{path}" for path in given]
        return cls(subject=subject, title=f"{name}@{version}", targets=(*writes, *entries), change=change)

    @classmethod
    def commit(cls, commit: str, *, subject: str, change: str, holds: str = "") -> Scope:
        """Return the scope of exactly this commit: whatever in it needs approval, and nothing once it is another one.

        `holds` says in a few words what that is; it stands in the title, behind the id.

        Raises:
            ScopeError: It is no full object id.
        """
        if not _OBJECT.match(commit):
            raise ScopeError(f"`{commit}` is no full object id")
        title = f"commit {commit[:12]}{f': {holds}' if holds else ''}"
        return cls(subject=subject, title=title, targets=(f"commit:{commit}",), change=change)

    @classmethod
    def nothing(cls, *, subject: str, title: str, change: str) -> Scope:
        """Return the scope of a question about a direction: whatever the answer is, nothing opens."""
        return cls(subject=subject, title=title, targets=(), change=change)

    @property
    def digest(self) -> str:
        """Return `sha256:` over the canonical JSON of the scope: what an approver approves."""
        return digest(self.to_dict())

    def covers(self, target: str, rule: str) -> bool:
        """Tell whether approving this scope opens `target` under the ask rule `rule`."""
        return target in self.targets and rule in self.rules

    def words(self) -> tuple[str, ...]:
        """Return the targets as they are shown to people and models: exact names, or the JSON that a digest is of."""
        return tuple(self.shown.get(target) or _words(target) for target in self.targets)

    def under(self, rules: Iterable[str]) -> Scope:
        """Return the same scope with the ask rules that it opens."""
        return replace(self, rules=tuple(sorted(set(rules))))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shown: dict[str, Any] = {
            "schema": 1,
            "subject": self.subject,
            "title": self.title,
            "targets": list(self.targets),
            "change": self.change,
            "rules": list(self.rules),
            "max_uses": self.max_uses,
            "expires_at": self.expires_at,
        }
        return {**shown, "shown": dict(self.shown)} if self.shown else shown

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scope:
        """Read what `to_dict` wrote, with all its checks.

        Raises:
            ScopeError: It is another schema, or no scope.
        """
        values = dict(data)
        if values.pop("schema", None) != 1:
            raise ScopeError("a scope of another schema", hint="written by another version of indult")
        try:
            for name in ("targets", "rules"):
                values[name] = tuple(values[name])
            return cls(**values)
        except (KeyError, TypeError) as exc:
            raise ScopeError(f"not a scope: {exc}") from exc


def check_line(text: object, what: str, *, most: int = MAX_LINE) -> None:
    """Refuse a text that is not one plain line: what a person reads must be what is there.

    Raises:
        ScopeError: It is empty, too long, or has characters that are invisible or change how the line reads.
    """
    if not isinstance(text, str) or not text.strip():
        raise ScopeError(f"a scope has no {what}")
    if len(text) > most:
        raise ScopeError(f"the {what} is {len(text)} characters long, at most {most}")
    if "  " in text and what != "shown target":
        # Padded with spaces a line wraps where its writer wants, onto what looks like a line of its own.
        raise ScopeError(f"the {what} holds a run of spaces")
    if text.isascii() and text.isprintable():
        return
    for char in text:
        if misleading(char):
            raise ScopeError(f"the {what} holds U+{ord(char):04X}, which is invisible or changes how the line reads")


def dependency_path(path: str) -> bool:
    """Tell whether a path is an exact dependency file of the protected list, at any depth."""
    if not _exact(path):
        return False
    *folders, name = path.split("/")
    return _is_manifest(path) or name == "build.rs" or bool(_FOLDERS & set(folders))


def _hint(bad: Iterable[str]) -> str:
    """Return what may have been meant by paths that are no exact dependency files, or what those are."""
    return next(filter(None, map(_meant, bad)), "manifests, locks, vendor/..., patches/...")


def _meant(path: str) -> str | None:
    from difflib import get_close_matches

    plain = path
    while plain.startswith("./"):
        plain = plain.removeprefix("./")
    if dependency_path(plain):
        return f"without `./`: `{plain}`"
    folder, sign, name = plain.rpartition("/")
    near = get_close_matches(name, [*sorted(_MANIFESTS), "build.rs", "constraints.txt", "requirements.txt"], 1, 0.8)
    meant = folder + sign + near[0] if near else ""
    return f"did you mean `{meant}`?" if dependency_path(meant) else None


def _is_manifest(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _MANIFESTS or _REQUIREMENTS.match(name) is not None


def _name_in(path: str, name: str) -> str:
    """Return the name of a dependency as the entries of a file carry it: Python's names are one name in many spellings.

    Source: PEP 503, normalized names.
    """
    base = path.rpartition("/")[2]
    python = base in _PYTHON or _REQUIREMENTS.match(base) is not None
    return re.sub(r"[-_.]+", "-", name).lower() if python else name


def _exact(path: str) -> bool:
    """Tell whether a path names one file inside the repository and can be read one way only."""
    if not path or path.startswith("/") or any(char in path for char in "*?[]{}\\") or any(map(misleading, path)):
        return False
    return all(part not in {"", ".", ".."} for part in path.split("/"))


def _check_target(target: object) -> None:
    if not isinstance(target, str):
        raise ScopeError(f"a target is a `{type(target).__name__}`")
    kind, sign, name = target.partition(":")
    if not sign or kind not in _KINDS:
        raise ScopeError(f"`{target}` is no target", hint=f"kinds: {', '.join(sorted(_KINDS))}")
    if kind in _SHOWN:
        if not _DIGEST.match(name):
            raise ScopeError(f"`{target}` is not `{kind}:` and a digest")
        return
    if kind == "command":
        _check_command(target, name)
        return
    path = name.partition("#")[0] if kind in {"entry", "script", "field"} else name
    if kind in {"commit", "tool"}:
        if not re.fullmatch(r"[\w./-]+", name):
            raise ScopeError(f"`{target}` is no exact name")
    elif not _exact(path):
        raise ScopeError(
            f"`{target}` is no exact file", hint="one file inside the repository: no patterns, folders, `..` or `\\`"
        )
    if any(map(misleading, name)) or "*" in name:
        raise ScopeError(f"`{target}` is no exact name")


def _check_command(target: str, name: str) -> None:
    """Refuse a command that is not told word for word, in the one form that it can have."""
    if len(name.encode()) > MAX_SHOWN:
        raise ScopeError(f"the command takes {len(name.encode())} bytes to show, at most {MAX_SHOWN}")
    try:
        value = parse_json(name)
    except InputError as exc:
        raise ScopeError(f"`{target}` is no exact command: {exc.message}") from exc
    argv = value.get("argv") if isinstance(value, dict) else None
    if not isinstance(argv, list) or not argv:
        raise ScopeError("a command has no words")
    if not set(value) <= _OF_COMMAND or canonical(value) != name:
        raise ScopeError(f"`{target}` is no exact command")
    if not all(isinstance(word, str) for word in argv) or ("null" in name and _holds_null(value)):
        raise ScopeError("something of the command is not known beforehand", hint="write it out, without variables")


def _holds_null(value: object) -> bool:
    """Tell whether anything in a JSON value is null, which stands for what nobody knows yet."""
    if isinstance(value, dict):
        return any(_holds_null(item) for item in value.values())
    if isinstance(value, list):
        return any(_holds_null(item) for item in value)
    return value is None


def _words(target: str) -> str:
    """Return a target as it is shown: a command may hold any characters, so those that mislead are spelled out."""
    kind, colon, name = target.partition(":")
    return kind + colon + _visible(name) if kind == "command" else target


def _visible(text: str) -> str:
    """Return JSON text with every character that could mislead a reader spelled out as an escape.

    Of a run of spaces all but the first are, since padding decides where a long line wraps.
    """
    seen = "".join(_escaped(char) if misleading(char) else char for char in text)
    return _RUN.sub(lambda run: " " + "\\u0020" * (len(run[0]) - 1), seen)


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[place] << 8 | units[place + 1]:04x}" for place in range(0, len(units), 2))
