from __future__ import annotations

import pytest

from indult import Verdict, loads_policy
from indult.boundary import Fault
from indult.scopes import Scope
from indult.ship.words import MOST_PATHS, in_short, refusal

LAW = loads_policy("schema: 1\nextends: indult/repository@1\n")
LIBDB = Scope.dependency(
    "libdb", "1.8.2", ["package.json", "bun.lock", "patches/libdb@1.8.2.patch"], "reset", subject="signal:s1"
)
COVERS = "the named exception libdb@1.8.2 covers only package.json, bun.lock, patches/libdb@1.8.2.patch"


def said_of(faults: list[Fault], scope: Scope | None = None) -> str:
    """Return what is said of a refusal, on one line."""
    return "; ".join(refusal(faults, LAW, scope))


def asks(target: str, origin: str) -> Fault:
    """Return a part that the preset asks about."""
    return Fault(target, origin, Verdict.ASK_USER, ("repo.dependencies",))


class TestRefusal:
    def test_of_a_file_beside_the_exception(self) -> None:
        """The path at fault is named, and so is all that the exception covers, in the order of the record (R62, R64)."""
        faults = [asks("write:vendor/other.js", "vendor/other.js")]

        assert f"may not change vendor/other.js [repo.dependencies]; {COVERS}" == said_of(faults, LIBDB)

    def test_of_another_entry_in_a_listed_manifest(self) -> None:
        """What may change in the manifest is said, and what else did (R61)."""
        faults = [asks("entry:package.json#other@2.0.0", "package.json")]

        assert (
            "may only change package.json scripts and the entries of libdb, not other@2.0.0 [repo.dependencies];"
            f" {COVERS}" == said_of(faults, LIBDB)
        )

    def test_of_an_entry_in_a_manifest_that_is_not_listed(self) -> None:
        """Where the record does not list the manifest, its baseline stays: scripts only (R57, R60)."""
        scope = Scope.dependency("libdb", "1.8.2", ["bun.lock"], "reset", subject="signal:s1")
        said = said_of([asks("entry:package.json#libdb@1.8.2", "package.json")], scope)

        assert said.startswith("may only change package.json scripts, not libdb@1.8.2 [repo.dependencies]; ")

    def test_of_a_manifest_without_scripts(self) -> None:
        """A lock has no part that is free, so the words do not speak of one."""
        assert said_of([asks("entry:bun.lock#tool@2.0.1", "bun.lock")]).startswith(
            "may not change bun.lock: tool@2.0.1 [repo.dependencies]"
        )

    def test_of_another_entry_in_a_listed_lock(self) -> None:
        """In a lock nothing is free but what the record names."""
        said = said_of([asks("entry:bun.lock#other@2.0.0", "bun.lock")], LIBDB)

        assert said.startswith(
            "may only change the entries of libdb in bun.lock, not other@2.0.0 [repo.dependencies]; "
        )

    def test_of_a_patch_that_an_entry_names(self) -> None:
        """A manifest that names a patch file beside the record is told as its other parts are."""
        faults = [
            asks("entry:package.json#libdb@1.8.2", "package.json"),
            asks("write:patches/libdb@1.8.2.patch", "package.json"),
        ]

        assert said_of(faults).startswith(
            "may only change package.json scripts, not libdb@1.8.2, patches/libdb@1.8.2.patch [repo.dependencies]; "
        )

    def test_says_how_a_file_changed(self) -> None:
        """What cannot be seen from the path alone is said: removed, another mode, a link, and where it leads."""
        faults = [
            asks("delete:bun.lock", "bun.lock"),
            asks("mode:vendor/a", "vendor/a"),
            asks("link:bun.lock", "src/lock"),
            Fault("change:libs/x#gitlink", "libs/x", Verdict.DENY, ("repo.control",)),
        ]

        assert [
            "may not change bun.lock (deleted) [repo.dependencies]",
            "may not change vendor/a (mode) [repo.dependencies]",
            "may not change src/lock (leads to bun.lock) [repo.dependencies]",
            "may not change libs/x (gitlink) [repo.control]",
        ] == list(refusal(faults, LAW, LIBDB)[:4])

    def test_names_every_path(self) -> None:
        """Not only the first: nobody should find out one by one."""
        faults = [asks(f"write:vendor/{n}.js", f"vendor/{n}.js") for n in range(100)]
        said = said_of(faults)

        assert all(f"may not change vendor/{n}.js" in said for n in range(100))

    def test_stops_where_nobody_reads_on(self) -> None:
        """A branch of a hundred thousand faults makes no message of megabytes."""
        faults = [asks(f"write:vendor/{n}.js", f"vendor/{n}.js") for n in range(MOST_PATHS + 7)]

        assert "and 7 more paths" in said_of(faults)

    def test_without_an_exception_says_how_to_name_one(self) -> None:
        """Whoever is refused learns what a person could approve (R47, R52)."""
        said = said_of([asks("write:vendor/a", "vendor/a")])

        assert "dependency_exception {dependency, version, paths, change}" in said
        assert "covers only" not in said

    def test_of_what_no_exception_opens_does_not_offer_one(self) -> None:
        """A denied path is no matter for a named exception, and neither is what asks beside it."""
        denied = Fault("write:.env", ".env", Verdict.DENY, ("repo.secrets",))

        assert (
            "may not change .env [repo.secrets]; no approval opens what is denied [repo.secrets]: take it off the branch"
            == said_of([denied])
        )
        assert "hand back" not in said_of([denied, asks("write:vendor/a", "vendor/a")])

    @pytest.mark.parametrize(
        "target", ["write:.npmrc", "field:package.json#/version", "delete:bun.lock", "mode:vendor/a"]
    )
    def test_offers_no_exception_that_could_not_be_named(self, target: str) -> None:
        """What no record can name is not asked to be named."""
        assert "hand back" not in said_of([asks(target, "x")])

    def test_gives_the_command_that_would_ask(self) -> None:
        """With one dependency at fault, the words are there to copy, quoted for a shell."""
        faults = [
            asks("entry:package.json#@scope/a@1.2.3", "package.json"),
            asks("entry:a b/package-lock.json#@scope/a@1.2.3", "a b/package-lock.json"),
        ]

        assert (
            "as a command: indult report --signal ID --relaxes-constraint --dependency @scope/a --version 1.2.3"
            " --path package.json --path 'a b/package-lock.json' --change TEXT" in refusal(faults, LAW)
        )
        assert not any("as a command" in line for line in refusal([*faults, asks("entry:go.mod#b@v1", "go.mod")], LAW))

    def test_the_command_names_the_signal(self) -> None:
        """Where it is known for which signal the branch is, the command says so, quoted for a shell."""
        faults = [asks("entry:package.json#a@1.2.3", "package.json")]

        (line,) = (line for line in refusal(faults, LAW, signal="bug 17") if line.startswith("as a command"))
        assert "indult report --signal 'bug 17' --relaxes-constraint --dependency a --version 1.2.3" in line


class TestInShort:
    @pytest.mark.parametrize(
        ("targets", "expected"),
        [
            (
                ["entry:package.json#lodash@4.17.21", "write:a.js", "entry:package-lock.json#lodash@4.17.21"],
                "lodash@4.17.21 in package.json, package-lock.json; a.js",
            ),
            (["entry:package.json#@types/node@^20.1"], "@types/node@^20.1 in package.json"),
            (["script:package.json#test", "write:package.json"], "package.json"),
            (["write:a", "delete:b", "write:c", "write:d", "mode:e"], "a; b; c; 2 more"),
            ([], ""),
        ],
    )
    def test_names_what_comes_first(self, targets: list[str], expected: str) -> None:
        """Dependencies come with the files that they stand in, and of many things it is said how many more there are."""
        assert expected == in_short(targets)

    @pytest.mark.parametrize("name", ["a.md, and nothing else", "\u0430.md", "a\u200b.md", "x" * 61, "a;b", ""])
    def test_a_name_that_could_be_more_is_not_repeated(self, name: str) -> None:
        """One name that could read as a sentence, or as another name, leaves all of them to the card."""
        assert "" == in_short(["write:a.md", f"write:{name}"])
        assert "" == in_short(["write:a.md", f"entry:{name}#a@1.0"])
