"""Everything in a repository and around it that makes git show, or run, something else than what the commits hold.

Each lie is told in one of two repositories that are otherwise the same, commit by commit: what the ship gate sees of
both must be the same, and a program that the lie names must never run.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.ship.repos import Repo

from indult.decompose.changes import parts
from indult.errors import ShipError
from indult.ship.git import Repository

Lie = Callable[[Repo, str], None]

HOOKS = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "post-index-change",
]
ALL_ATTRIBUTES = "* -diff -text filter=lie merge=lie diff=lie export-ignore export-subst ident eol=crlf\n"


class Canary:
    """A program that says when it was run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.sang = folder / "sang"
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self.sang}'\n", encoding="ascii")
        self.program.chmod(0o755)

    def silent(self) -> bool:
        """Tell whether it was never run."""
        return not self.sang.exists()


@pytest.fixture(name="canary")
def _canary(tmp_path: Path) -> Canary:
    return Canary(tmp_path / "canary")


@pytest.fixture(name="repo")
def _repo(tmp_path: Path) -> Repo:
    return Repo.forked(tmp_path / "repo")


def seen(folder: Path, out: Path) -> dict[str, Any]:
    """Do all that a ship does, and return what was seen."""
    with Repository.open(folder) as opened:
        opened.check()
        main, fix = opened.head("main"), opened.head("fix")
        tree, conflicts = opened.merged(main, fix)
        changed = opened.diff(main, tree)
        commit = opened.commit(tree, (main, fix), "Land\n\nKey: value", author_of=fix)
        opened.export(tree, str(out))
        return {
            "heads": (main, fix),
            "base": opened.base(main, fix),
            "merged": (tree, conflicts),
            "changed": changed,
            "content": opened.read([one.new for one in changed]),
            "links": opened.links(tree),
            "file": opened.file(main, "vendor/keep.js"),
            "checkout": {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()},
            "contains": [opened.contains(commit, one) for one in (main, fix)],
            "commit": commit,
            "dirty": [opened.dirty(str(folder), ["src/app.js"]) if opened.worktrees("main") else ()],
            "moved": opened.move("main", commit, main, {"fix": fix}),
            "trailer": opened.trailer(commit, "Key", "value"),
        }


def setting(name: str, value: str = "CANARY") -> Lie:
    """Return the lie that a setting of the repository is."""

    def lie(repo: Repo, program: str) -> None:
        repo.git("config", name, value.replace("CANARY", program))

    return lie


def attributes(*settings: str) -> Lie:
    """Return the lie that attributes of the repository are, with what they need."""

    def lie(repo: Repo, program: str) -> None:
        repo.write(".git/info/attributes", ALL_ATTRIBUTES)
        for name in settings:
            repo.git("config", name, program)

    return lie


def hooks(repo: Repo, program: str) -> None:
    """Let every hook be the program."""
    for name in HOOKS:
        (repo.folder / ".git/hooks").mkdir(exist_ok=True)
        (repo.folder / ".git/hooks" / name).unlink(missing_ok=True)
        (repo.folder / ".git/hooks" / name).symlink_to(program)


def hooks_elsewhere(repo: Repo, program: str) -> None:
    """The same, in a folder that the configuration names."""
    hooks(repo, program)
    (repo.folder / ".git/hooks").rename(repo.folder / ".git/others")
    repo.git("config", "core.hooksPath", str(repo.folder / ".git/others"))


def included(repo: Repo, program: str) -> None:
    """Include a file of settings."""
    repo.write(".git/more", f"[diff]\n\texternal = {program}\n[core]\n\tfsmonitor = {program}\n\tpager = {program}\n")
    repo.git("config", "include.path", "more")
    repo.git("config", "includeIf.gitdir:**.path", "more")


def of_work_tree(repo: Repo, program: str) -> None:
    """Set something for one work tree alone."""
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.fsmonitor", program)
    repo.git("config", "--worktree", "diff.external", program)


def order(repo: Repo, program: str) -> None:
    """Let files come in another order."""
    repo.write(".git/order", "vendor/*\nsrc/new.js\n")
    repo.git("config", "diff.orderFile", ".git/order")


def other_attributes(repo: Repo, program: str) -> None:
    """Name a file of attributes elsewhere, with drivers."""
    repo.write(".git/attrs", ALL_ATTRIBUTES)
    repo.git("config", "core.attributesFile", str(repo.folder / ".git/attrs"))
    for name in ("filter.lie.clean", "filter.lie.smudge", "diff.lie.textconv", "diff.lie.command", "merge.lie.driver"):
        repo.git("config", name, program)


def promised(repo: Repo, program: str) -> None:
    """Let what is missing be fetched by a program."""
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.partialClone", "origin")
    for name, value in {
        "url": str(repo.folder),
        "uploadpack": program,
        "promisor": "true",
        "partialclonefilter": "blob:none",
    }.items():
        repo.git("config", f"remote.origin.{name}", value)


def graph(repo: Repo, program: str) -> None:
    """Say falsely which commits there are."""
    repo.write(".git/objects/info/commit-graph", "no graph")


def fake_shallow_below(repo: Repo, program: str) -> None:
    """Cut the history off where nobody looks: the file says so, and all commits are there."""
    repo.write(".git/shallow", repo.id("main") + "\n")


def packed(repo: Repo, program: str) -> None:
    """Pack refs and objects."""
    repo.git("pack-refs", "--all", "--prune")
    repo.git("repack", "-adq", "--write-bitmap-index")


SILENT: dict[str, Lie] = {
    "core.fsmonitor": setting("core.fsmonitor"),
    "core.hooksPath": hooks_elsewhere,
    "core.attributesFile": other_attributes,
    "core.excludesFile": setting("core.excludesFile", "/dev/full"),
    "core.pager": setting("core.pager"),
    "core.editor": setting("core.editor"),
    "core.askPass": setting("core.askPass"),
    "core.sshCommand": setting("core.sshCommand"),
    "core.gitProxy": setting("core.gitProxy"),
    "core.alternateRefsCommand": setting("core.alternateRefsCommand"),
    "core.worktree": setting("core.worktree", "/nowhere"),
    "core.quotePath": setting("core.quotePath", "true"),
    "core.autocrlf": setting("core.autocrlf", "true"),
    "core.ignoreCase": setting("core.ignoreCase", "true"),
    "core.fileMode": setting("core.fileMode", "false"),
    "core.symlinks": setting("core.symlinks", "false"),
    "core.bigFileThreshold": setting("core.bigFileThreshold", "1"),
    "core.logAllRefUpdates": setting("core.logAllRefUpdates", "always"),
    "core.abbrev": setting("core.abbrev", "4"),
    "core.warnAmbiguousRefs": setting("core.warnAmbiguousRefs", "true"),
    "core.preferSymlinkRefs": setting("core.preferSymlinkRefs", "true"),
    "core.useReplaceRefs": setting("core.useReplaceRefs", "true"),
    "diff.external": setting("diff.external"),
    "diff.renames": setting("diff.renames", "copies"),
    "diff.noprefix": setting("diff.noprefix", "true"),
    "diff.ignoreSubmodules": setting("diff.ignoreSubmodules", "all"),
    "diff.orderFile": order,
    "diff.relative": setting("diff.relative", "true"),
    "log.showSignature": setting("log.showSignature", "true"),
    "log.follow": setting("log.follow", "true"),
    "gpg.program": setting("gpg.program"),
    "commit.gpgSign": setting("commit.gpgSign", "true"),
    "merge.renames": setting("merge.renames", "false"),
    "merge.directoryRenames": setting("merge.directoryRenames", "true"),
    "merge.default": setting("merge.default", "lie"),
    "merge.lie.driver": attributes("merge.lie.driver"),
    "diff.lie.textconv": attributes("diff.lie.textconv", "diff.lie.command"),
    "filter": attributes("filter.lie.clean", "filter.lie.smudge", "filter.lie.process"),
    "info/attributes": attributes(),
    "alias": setting("alias.cat-file", "!CANARY"),
    "alias.diff-tree": setting("alias.diff-tree", "!CANARY"),
    "pager.log": setting("pager.log"),
    "i18n": setting("i18n.logOutputEncoding", "UTF-16"),
    "i18n.commitEncoding": setting("i18n.commitEncoding", "UTF-16"),
    "include": included,
    "worktreeConfig": of_work_tree,
    "promisor": promised,
    "credential.helper": setting("credential.helper", "!CANARY"),
    "submodule.recurse": setting("submodule.recurse", "true"),
    "trailer.separators": setting("trailer.separators", "%"),
    "trailer.command": setting("trailer.key.command"),
    "user": setting("user.useConfigOnly", "true"),
    "hooks": hooks,
    "commit-graph": graph,
    "shallow file": fake_shallow_below,
    "packed": packed,
}


@pytest.mark.parametrize("name", SILENT)
def test_without_effect(name: str, repo: Repo, canary: Canary, tmp_path: Path) -> None:
    """What a repository configures, hooks and attributes included, changes nothing of what is seen, and runs nothing."""
    expected = seen(repo.folder, tmp_path / "out")
    lied = Repo.forked(tmp_path / "lied")
    SILENT[name](lied, str(canary.program))
    canary.sang.unlink(missing_ok=True)

    assert expected == seen(lied.folder, tmp_path / "lied out")
    assert canary.silent()


def test_canary_sings(repo: Repo, canary: Canary) -> None:
    """The canary does run where git has its way, so its silence says something."""
    attributes("filter.lie.clean", "diff.lie.textconv")(repo, str(canary.program))
    hooks(repo, str(canary.program))
    repo.git("config", "core.fsmonitor", str(canary.program))
    repo.git("config", "diff.external", str(canary.program))

    heard = []
    for words in (["status"], ["diff", "main~1", "main"], ["update-ref", "refs/heads/x", "main"], ["add", "."]):
        canary.sang.unlink(missing_ok=True)
        repo.write("README", "changed\n")
        repo.git(*words, check=False)
        heard.append(not canary.silent())

    assert [True, True, True, True] == heard


class TestEnvironment:
    """What the caller's environment says to git."""

    @pytest.mark.parametrize(
        "given",
        [
            {"GIT_DIR": "ELSE/.git"},
            {"GIT_DIR": "ELSE/.git", "GIT_WORK_TREE": "ELSE", "GIT_INDEX_FILE": "ELSE/.git/index"},
            {"GIT_COMMON_DIR": "ELSE/.git"},
            {"GIT_OBJECT_DIRECTORY": "ELSE/.git/objects"},
            {"GIT_ALTERNATE_OBJECT_DIRECTORIES": "ELSE/.git/objects", "GIT_QUARANTINE_PATH": "ELSE"},
            {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "CANARY"},
            {"GIT_CONFIG_PARAMETERS": "'core.fsmonitor=CANARY'"},
            {"GIT_CONFIG_COUNT": "nonsense"},
            {"GIT_CONFIG": "ELSE/.gitconfig", "GIT_CONFIG_GLOBAL": "ELSE/.gitconfig"},
            {"GIT_CONFIG_NOSYSTEM": "0", "GIT_CONFIG_SYSTEM": "ELSE/.gitconfig"},
            {"HOME": "ELSE", "XDG_CONFIG_HOME": "ELSE/xdg"},
            {"GIT_REPLACE_REF_BASE": "refs/heads/", "GIT_NO_REPLACE_OBJECTS": ""},
            {"GIT_GRAFT_FILE": "ELSE/grafts"},
            {"GIT_SHALLOW_FILE": "ELSE/shallow"},
            {"GIT_EXTERNAL_DIFF": "CANARY", "GIT_DIFF_OPTS": "-u0"},
            {"GIT_PAGER": "CANARY", "PAGER": "CANARY", "GIT_EDITOR": "CANARY", "EDITOR": "CANARY"},
            {"GIT_SSH_COMMAND": "CANARY", "GIT_ASKPASS": "CANARY", "GIT_PROXY_COMMAND": "CANARY"},
            {"GIT_EXEC_PATH": "ELSE"},
            {"GIT_TEMPLATE_DIR": "ELSE"},
            {"GIT_NAMESPACE": "other"},
            {"GIT_CEILING_DIRECTORIES": "ELSE/.."},
            {"GIT_DEFAULT_HASH": "sha256", "GIT_DEFAULT_REF_FORMAT": "reftable"},
            {"GIT_ATTR_SOURCE": "main", "GIT_LITERAL_PATHSPECS": "1", "GIT_ICASE_PATHSPECS": "1"},
            {"GIT_AUTHOR_NAME": "someone", "GIT_COMMITTER_DATE": "1 +0000", "EMAIL": "some@example.com"},
            {"GIT_TRACE": "2", "GIT_TRACE2_EVENT": "2", "GIT_FLUSH": "0"},
            {"GIT_REF_PARANOIA": "1", "GIT_ALLOW_PROTOCOL": "ext:file"},
            {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"},
        ],
        ids=",".join,
    )
    def test_without_effect(
        self, given: dict[str, str], repo: Repo, canary: Canary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No variable of the caller changes what is seen, and no program that one names is run."""
        expected = seen(repo.folder, tmp_path / "out")
        again = Repo.forked(tmp_path / "again")
        other = Repo.make(tmp_path / "else")
        other.commit({"other": "other\n"})
        hostile = f"[core]\n\tfsmonitor = {canary.program}\n[diff]\n\texternal = {canary.program}\n"
        for place in (".gitconfig", "xdg/git/config"):
            other.write(place, hostile)
        other.write("grafts", f"{again.id('fix')}\n")
        other.write("shallow", f"{again.id('fix')}\n")
        for name, value in given.items():
            monkeypatch.setenv(name, value.replace("ELSE", str(other.folder)).replace("CANARY", str(canary.program)))

        assert expected == seen(again.folder, tmp_path / "again out")
        assert canary.silent()


class TestReplaced:
    """Objects that stand in for others."""

    @pytest.mark.parametrize("kind", ["fix", "fix^{tree}", "fix:src/app.js"])
    def test_replace_refs(self, repo: Repo, kind: str) -> None:
        """A replaced object is refused by name, and is not believed by anyone who forgets to look."""
        honest = repo.id(kind)
        with Repository.open(repo.folder) as opened:
            expected = opened.diff(repo.id("main"), repo.id("fix"))
        repo.git("replace", honest, repo.id(kind.replace("fix", "main")))

        with Repository.open(repo.folder) as opened:
            with pytest.raises(ShipError, match=f"replaces objects: `refs/replace/{honest}`") as caught:
                opened.check()
            assert expected == opened.diff(repo.git("rev-parse", "refs/heads/main"), opened.head("fix"))
            assert b"two\n" == opened.file(opened.head("fix"), "src/app.js")
        assert (caught.value.hint or "").startswith("git replace -d")

    def test_packed_replace_refs(self, repo: Repo) -> None:
        """A replace ref that is packed is found too."""
        repo.git("replace", repo.id("fix"), repo.id("main"))
        repo.git("pack-refs", "--all", "--prune")

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="replaces objects"):
            opened.check()

    def test_grafts(self, repo: Repo) -> None:
        """A grafts file is refused, and has no say in where branches part."""
        main, fix = repo.id("main"), repo.id("fix")
        repo.write(".git/info/grafts", f"{fix} {main}\n")

        with Repository.open(repo.folder) as opened:
            with pytest.raises(ShipError, match="has grafts"):
                opened.check()
            assert (repo.id("main~1"), False) == (opened.base(main, fix), opened.contains(fix, main))


class TestShallow:
    """Histories that are cut off."""

    def clone(self, repo: Repo, folder: Path, depth: int) -> Repo:
        """Clone so many commits of each branch."""
        url = f"file://{repo.folder}"
        repo.git("clone", "--quiet", f"--depth={depth}", "--no-single-branch", url, str(folder))
        found = Repo(folder)
        found.git("branch", "--quiet", "fix", "origin/fix")
        return found

    @pytest.mark.parametrize("depth", [1, 2])
    def test_at_or_above_the_base(self, tmp_path: Path, depth: int) -> None:
        """Where the branches part is not guessed when the history is cut off there or before."""
        first = Repo.make(tmp_path / "first")
        first.commit({"a": "a"})
        first.commit({"a": "b"})
        first.git("branch", "fix")
        first.commit({"b": "b"})
        first.git("switch", "--quiet", "fix")
        first.commit({"c": "c"})
        first.git("switch", "--quiet", "main")
        repo = self.clone(first, tmp_path / "cut", depth)

        with Repository.open(repo.folder) as opened:
            for call in (opened.base, opened.merged):
                with pytest.raises(ShipError, match=r"the history is cut off \(shallow\)") as caught:
                    call(opened.head("main"), opened.head("fix"))
            assert "git fetch --unshallow" == caught.value.hint

    def test_below_the_base(self, tmp_path: Path) -> None:
        """What is cut off below the base does not matter, but nobody can tell what trailers stood there."""
        first = Repo.make(tmp_path / "first")
        for number in range(4):
            first.commit({"a": str(number)})
        first.git("branch", "fix")
        first.commit({"b": "b"})
        first.git("switch", "--quiet", "fix")
        landed = first.commit({"c": "c"}, "c\n\nKey: value")
        first.git("switch", "--quiet", "main")
        repo = self.clone(first, tmp_path / "cut", 3)

        with Repository.open(repo.folder) as opened:
            main, fix = opened.head("main"), opened.head("fix")
            assert repo.id("main~1") == opened.base(main, fix)
            assert () == opened.merged(main, fix)[1]
            assert landed == opened.trailer(fix, "Key", "value")
            with pytest.raises(ShipError, match="cut off"):
                opened.trailer(main, "Key", "value")
            assert not opened.contains(main, fix)


class TestObjects:
    """Objects that are not what they should be."""

    def test_wrong_content(self, repo: Repo) -> None:
        """An object whose content is that of another one is not believed, whether blob, tree or commit."""
        main = repo.id("main")
        for name, other in (("fix:src/app.js", "main:vendor/keep.js"), ("fix^{tree}", "main^{tree}"), ("fix", "main")):
            oid, kind = repo.id(name), repo.git("cat-file", "-t", name)
            content = repo.git("cat-file", kind, other) if kind != "tree" else ""
            raw = b"" if kind == "tree" else content.encode() + b"\n"
            place = repo.folder / ".git/objects" / oid[:2] / oid[2:]
            honest = place.read_bytes()
            place.chmod(0o644)
            place.write_bytes(zlib.compress(b"%s %d\0%s" % (kind.encode(), len(raw), raw)))
            with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match=f"the object {oid} is damaged"):
                opened.diff(main, oid) if kind != "blob" else opened.read([oid])
            place.write_bytes(honest)

    def test_missing_of_a_partial_clone(self, repo: Repo, canary: Canary) -> None:
        """An object that git would fetch is missing, and what would fetch it does not run."""
        promised(repo, str(canary.program))
        oid = repo.id("fix:src/app.js")
        (repo.folder / ".git/objects" / oid[:2] / oid[2:]).unlink()
        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="lacks the object"):
            opened.read([oid])
        assert canary.silent()

        repo.git("cat-file", "-p", oid, check=False)
        assert not canary.silent()

    def test_alternates(self, repo: Repo, tmp_path: Path) -> None:
        """Objects that a repository borrows from another one are read."""
        expected = seen(repo.folder, tmp_path / "out")
        again = Repo.forked(tmp_path / "again")
        again.git("clone", "--quiet", "--shared", ".", str(tmp_path / "borrows"))
        Repo(tmp_path / "borrows").git("branch", "--quiet", "fix", "origin/fix")

        assert expected == seen(tmp_path / "borrows", tmp_path / "borrows out")

    def test_sha256(self, tmp_path: Path) -> None:
        """A repository with longer ids is read like any other."""
        repo = Repo.forked(tmp_path / "long", "--object-format=sha256")
        found = seen(repo.folder, tmp_path / "out")

        assert {64} == {len(found["commit"]), *(len(one.new) for one in found["changed"])}
        assert [b"src/app.js", b"src/new.js"] == [one.path for one in found["changed"]]
        assert (b"two\n", True) == (found["checkout"]["src/app.js"], found["moved"])

    def test_linked_work_tree(self, repo: Repo, tmp_path: Path) -> None:
        """What is seen from a linked work tree is what is seen from the main one."""
        expected = seen(repo.folder, tmp_path / "out")
        again = Repo.forked(tmp_path / "again")
        again.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "fix")
        found = seen(tmp_path / "linked", tmp_path / "linked out")

        assert expected | {"dirty": None} == found | {"dirty": None}

    def test_attributes_in_the_tree(self, tmp_path: Path, canary: Canary) -> None:
        """Attributes that a branch brings along do not change what is merged, compared or checked out."""
        text = "$Format:%H$ $Id$\n"
        repo = Repo.make(tmp_path / "repo")
        for name in (
            "filter.lie.smudge",
            "filter.lie.clean",
            "filter.lie.process",
            "merge.lie.driver",
            "diff.lie.command",
        ):
            repo.git("config", name, str(canary.program))
        first = repo.commit({"a.js": f"1\n2\n3\n4\n5\n{text}"})
        attrs = repo.blob(ALL_ATTRIBUTES + "*.js working-tree-encoding=UTF-16LE\n")
        for branch, content in (("fix", f"one\n2\n3\n4\n5\n{text}"), ("main", f"1\n2\n3\n4\nfive\n{text}")):
            entries = (("100644", b".gitattributes", attrs), ("100644", b"a.js", repo.blob(content)))
            repo.git("update-ref", f"refs/heads/{branch}", repo.commit_tree(repo.tree(*entries), first))
        canary.sang.unlink(missing_ok=True)

        with Repository.open(repo.folder) as opened:
            tree, conflicts = opened.merged(opened.head("main"), opened.head("fix"))
            opened.export(tree, str(tmp_path / "out"))
            changed = opened.diff(opened.head("main"), tree)
        assert () == conflicts
        assert f"one\n2\n3\n4\nfive\n{text}".encode() == (tmp_path / "out/a.js").read_bytes()
        assert [b"a.js"] == [one.path for one in changed]
        assert canary.silent()


ODD = [b".git", b".GIT", b".Git", b"git~1", b"GIT~2", b".git ", b".git.", b".g\xe2\x80\x8cit", b"..", b".", b"a\\b"]
ODD += [
    b"a\nb",
    b"a\tb",
    b"\xff",
    b"caf\xe9",
    b"\xed\xa0\x80",
    b".git::$INDEX_ALLOCATION",
    b"a::$DATA",
    b"\xe2\x80\xae",
]


class TestOddTrees:
    """Trees that git itself would not write."""

    @pytest.mark.parametrize("name", ODD)
    @pytest.mark.parametrize("inside", [True, False])
    def test_odd_names(self, repo: Repo, name: bytes, inside: bool, tmp_path: Path) -> None:
        """A name that some system reads as another one is told as that, as a file and as a folder."""
        blob = repo.blob("x\n")
        entry = ("40000", name, repo.tree(("100644", b"f", blob))) if inside else ("100644", name, blob)
        with Repository.open(repo.folder) as opened:
            tree = repo.tree(entry)
            changed = opened.diff(repo.tree(), tree)
            found = [part.target() for part in parts(changed, read=opened.read, links={}, guards=lambda _: False)]
            assert [name + b"/f" if inside else name] == [one.path for one in changed]
            assert ["write", "change"] == sorted({target.partition(":")[0] for target in found}, reverse=True)
            if name.lower().rstrip(b" .") in {b".git", b""}:
                with pytest.raises(ShipError, match="cannot be checked out"):
                    opened.export(tree, str(tmp_path / "out" / "deep"))
                assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]

    @pytest.mark.parametrize(
        ("entries", "why"),
        [
            ([("100644", b"a"), ("100644", b"a")], "two entries of one name"),
            ([("100644", b"a"), ("40000", b"a")], "two entries of one name"),
            ([("100644", b"b"), ("100644", b"a")], "not in order"),
            ([("40000", b"a"), ("100644", b"a.b")], "not in order"),
            ([("100644", b"a/b")], "a slash in its name"),
            ([("100644", b"../b")], "a slash in its name"),
            ([("100000", b"a")], "of the mode 100000"),
            ([("20000", b"a")], "of the mode 20000"),
            ([("1006440000", b"a")], "of the mode 1006440000"),
            ([("100644", b"")], "cannot be read"),
        ],
    )
    @pytest.mark.parametrize("deep", [True, False])
    def test_two_readings(self, repo: Repo, entries: list[tuple[str, bytes]], why: str, deep: bool) -> None:
        """A tree that could be read two ways is refused wherever it is looked at."""
        blob, below = repo.blob("x\n"), repo.tree()
        tree = repo.tree(*((mode, name, below if mode == "40000" else blob) for mode, name in entries))
        tree = repo.tree(("40000", b"d", tree)) if deep else tree

        with Repository.open(repo.folder) as opened:
            for call in (
                lambda: opened.diff(below, tree),
                lambda: opened.links(tree),
                lambda: opened.file(tree, "d/x"),
            ):
                with pytest.raises(ShipError, match=why):
                    call()
                if not deep:
                    break

    @pytest.mark.parametrize(("old", "new"), [("100664", "100644"), ("100775", "100755"), ("040000", "040000")])
    def test_old_modes(self, repo: Repo, old: str, new: str) -> None:
        """Modes of old versions of git are what git takes them for."""
        below = repo.tree(("100644", b"f", repo.blob("x")))
        tree = repo.tree((old, b"a", below if old == "040000" else repo.blob("x")))

        with Repository.open(repo.folder) as opened:
            (found,) = opened.diff(repo.tree(), tree)
        assert ("100644" if old == "040000" else new) == found.new_mode

    @pytest.mark.parametrize("raw", [b"100644 a", b"100644 a\0short", b"\0", b"junk" * 10])
    def test_damaged(self, repo: Repo, raw: bytes) -> None:
        """A tree that ends early or is none is refused."""
        tree = repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)

        with Repository.open(repo.folder) as opened, pytest.raises(ShipError, match="cannot be read"):
            opened.diff(repo.tree(), tree)

    def test_wrong_kind(self, repo: Repo) -> None:
        """An entry whose object is of another kind than its mode is refused."""
        with Repository.open(repo.folder) as opened:
            with pytest.raises(ShipError, match="is a blob, not a tree"):
                opened.diff(repo.tree(), repo.tree(("40000", b"a", repo.blob("x"))))
            with pytest.raises(ShipError, match="neither a commit nor a tree"):
                opened.diff(repo.tree(), repo.blob("x"))


class TestWorkTree:
    """What a work tree's own configuration does when the work tree is brought up to date."""

    def land(self, repo: Repo) -> tuple[bool, str]:
        """Move `main` to `fix` and bring the work tree up to date; return whether it was, and what is there."""
        with Repository.open(repo.folder) as opened:
            old, new = opened.head("main"), opened.head("fix")
            dirty = opened.dirty(str(repo.folder), ["src/app.js", "src/new.js"])
            assert ((), True) == (dirty, opened.move("main", new, old, {"fix": new}))
            found = opened.sync(str(repo.folder), old, new)
        return found, (repo.folder / "src/app.js").read_text("ascii")

    @pytest.mark.parametrize(
        "name",
        [
            "hooks",
            "core.hooksPath",
            "core.fsmonitor",
            "core.worktree",
            "promisor",
            "worktreeConfig",
            "include",
            "info/attributes",
        ],
    )
    def test_brought_up_to_date(self, repo: Repo, canary: Canary, name: str) -> None:
        """Hooks, monitors and a work tree named elsewhere have no say, and nothing is run."""
        repo.git("reset", "--quiet", "--hard", "main~1")
        SILENT[name](repo, str(canary.program))
        canary.sang.unlink(missing_ok=True)

        assert (True, "two\n") == self.land(repo)
        assert canary.silent()

    @pytest.mark.parametrize(
        "lie", [attributes("filter.lie.smudge"), attributes("filter.lie.process"), other_attributes]
    )
    def test_filters(self, repo: Repo, canary: Canary, lie: Lie) -> None:
        """Where a filter is configured the work tree is left as it is, and the filter is not run even to look."""
        repo.git("update-index", "--refresh")
        lie(repo, str(canary.program))
        canary.sang.unlink(missing_ok=True)
        old, new = repo.id("main~1"), repo.id("fix")

        with Repository.open(repo.folder) as opened:
            (repo.folder / "src/app.js").touch()
            assert ((), False) == (
                opened.dirty(str(repo.folder), ["src/app.js"]),
                opened.sync(str(repo.folder), old, new),
            )
        assert "one\n" == (repo.folder / "src/app.js").read_text("ascii")
        assert canary.silent()

    def test_missing_of_a_partial_clone(self, repo: Repo, canary: Canary) -> None:
        """A work tree for which git would have to fetch is left as it is, and nothing is fetched."""
        oid = repo.id("fix:src/new.js")
        old, new = repo.id("main~1"), repo.id("fix")
        repo.git("reset", "--quiet", "--hard", old)
        promised(repo, str(canary.program))
        (repo.folder / ".git/objects" / oid[:2] / oid[2:]).unlink()

        with Repository.open(repo.folder) as opened:
            assert not opened.sync(str(repo.folder), old, new)
        assert "one\n" == (repo.folder / "src/app.js").read_text("ascii")
        assert canary.silent()
