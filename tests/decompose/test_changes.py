from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from indult.decompose.changes import Changed, parts

NONE, FILE, PROGRAM, LINK, MODULE = "000000", "100644", "100755", "120000", "160000"


def change(path: str | bytes, old: str = FILE, new: str = FILE, *, same: bool = False) -> Changed:
    """Return a change of one path between two modes, its content changed unless it is the `same`."""
    name = path.encode() if isinstance(path, str) else path
    return Changed(name, old, new, "0" * 40 if old == NONE else "a" * 40, "a" * 40 if same else "b" * 40)


def read(content: Mapping[str, bytes] | None = None) -> Callable[[Sequence[str]], Mapping[str, bytes]]:
    """Return what reads objects; without content nothing may be read."""
    return lambda ids: {oid: (content or {})[oid] for oid in ids}


def targets(
    *changed: Changed,
    links: Mapping[str, str] | None = None,
    content: Mapping[str, bytes] | None = None,
    guards: Callable[[str], bool] = lambda _: False,
    files: Sequence[str] = (),
) -> list[str]:
    """Return the targets of what changed in a tree of these files."""

    def below(path: str) -> list[str]:
        return [file for file in files if file.startswith(path + "/")]

    found = parts(changed, read=read(content), links=links or {}, guards=guards, below=below)
    return [part.target() for part in found]


class TestFiles:
    """Ordinary files, modes, deletions, links and submodules by their modes."""

    @pytest.mark.parametrize(
        ("old", "new", "same", "expected"),
        [
            (FILE, FILE, False, ["write:a"]),
            (PROGRAM, PROGRAM, False, ["write:a"]),
            (NONE, FILE, False, ["write:a"]),
            (NONE, PROGRAM, False, ["write:a", "mode:a"]),
            (FILE, PROGRAM, False, ["write:a", "mode:a"]),
            (PROGRAM, FILE, True, ["mode:a"]),
            (FILE, NONE, False, ["delete:a"]),
            (LINK, NONE, False, ["delete:a"]),
            (LINK, FILE, False, ["write:a", "mode:a", "link:a"]),
            (LINK, PROGRAM, True, ["write:a", "mode:a", "link:a"]),
            (NONE, MODULE, False, ["gitlink:a", "change:a#gitlink"]),
            (MODULE, MODULE, False, ["gitlink:a", "change:a#gitlink"]),
            (MODULE, NONE, False, ["delete:a", "gitlink:a", "change:a#gitlink"]),
            (MODULE, FILE, False, ["write:a", "mode:a", "gitlink:a", "change:a#gitlink"]),
            (FILE, MODULE, False, ["mode:a", "gitlink:a", "change:a#gitlink"]),
        ],
    )
    def test_modes(self, old: str, new: str, same: bool, expected: list[str]) -> None:
        """What a change is follows from the two modes, and from the content where they are those of files."""
        assert expected == targets(change("a", old, new, same=same))

    @pytest.mark.parametrize("old", [FILE, LINK, MODULE, NONE])
    def test_link(self, old: str) -> None:
        """A link is told with what it leads to, and as another kind of thing where something else was there."""
        expected = ["link:b", "link:b/"]
        found = targets(change("a", old, LINK), links={"a": "b"})

        assert expected == [target for target in found if target.startswith("link:b")]
        assert "link:a" in found
        assert (old in {FILE, MODULE}) == ("mode:a" in found)

    def test_parts(self) -> None:
        """Each part says where it comes from, which whole it belongs to, and that it is of a ship."""
        (part,) = parts([change("src/a")], read=read(), links={}, guards=lambda _: False, within="commit:1")

        assert ("ship", "write:src/a", "src/a", "commit:1") == (part.tool, part.target(), part.origin, part.within)

    def test_order(self) -> None:
        """Parts come in the order of the changes, none twice."""
        assert ["write:b", "delete:a"] == targets(change("b"), change("a", FILE, NONE))


OLD = b'{"name": "p", "dependencies": {"libdb": "1.0.0"}, "scripts": {"test": "a"}}'
NEW = b'{"name": "p", "dependencies": {"libdb": "1.0.1"}, "scripts": {"test": "b"}}'
BOTH = {"a" * 40: OLD, "b" * 40: NEW}


class TestManifests:
    """Manifests and locks."""

    def test_edit(self) -> None:
        """A manifest that was modified is an edit and the entries that changed in it."""
        found = targets(change("packages/a/package.json"), content=BOTH)

        assert "edit:packages/a/package.json" == found[0]
        assert {"entry:packages/a/package.json#libdb@1.0.1", "script:packages/a/package.json#test"} == set(found[1:])

    def test_layout(self) -> None:
        """A manifest in which only the layout changed still has one part."""
        assert ["edit:package.json"] == targets(change("package.json"), content={"a" * 40: OLD, "b" * 40: OLD + b"\n"})

    def test_added(self) -> None:
        """A new manifest is written as a whole and has every entry."""
        found = targets(change("package.json", NONE), content=BOTH)

        assert "write:package.json" == found[0]
        assert {"entry:package.json#libdb@1.0.1", "script:package.json#test"} < set(found)

    def test_not_taken_apart(self) -> None:
        """A manifest that is deleted, has another mode, or is somebody else's, is not read."""
        assert ["delete:package.json"] == targets(change("package.json", FILE, NONE))
        assert ["mode:package.json"] == targets(change("package.json", FILE, PROGRAM, same=True))
        assert ["write:vendor/x/package.json"] == targets(change("vendor/x/package.json"))
        assert ["write:node_modules/x/package.json"] == targets(change("node_modules/x/package.json"))

    def test_mode_too(self) -> None:
        """A manifest whose mode changed with its content is both."""
        found = targets(change("package.json", FILE, PROGRAM), content=BOTH)

        assert ["edit:package.json", "mode:package.json"] == found[:2]

    def test_from_a_link(self) -> None:
        """A manifest in place of a link is compared with nothing."""
        found = targets(change("package.json", LINK, FILE), content=BOTH)

        assert ["write:package.json", "mode:package.json", "link:package.json"] == found[:3]
        assert "entry:package.json#libdb@1.0.1" in found

    def test_unreadable(self) -> None:
        """A manifest that cannot be read is a change that nobody can name further."""
        found = targets(change("package.json"), content={"a" * 40: OLD, "b" * 40: b"{"})

        assert "edit:package.json" == found[0]
        assert found[1].startswith("change:package.json#not readable")

    def test_number_sign(self) -> None:
        """A manifest below a folder with `#` in its name is not taken apart: its entries could be those of another."""
        assert ["write:a#b/package.json", "change:a#b/package.json#a manifest with `#` in its path"] == targets(
            change("a#b/package.json")
        )

    def test_batches(self) -> None:
        """Many manifests are read a few at a time, each side once."""
        asked: list[int] = []

        def reading(ids: Sequence[str]) -> dict[str, bytes]:
            asked.append(len(ids))
            return dict.fromkeys(ids, OLD)

        changed = [Changed(b"p%d/package.json" % n, FILE, FILE, f"{n:040x}", f"{n + 500:040x}") for n in range(150)]
        found = parts(changed, read=reading, links={}, guards=lambda _: False)

        assert (150, 300, True) == (len(found), sum(asked), max(asked) < 150)

    def test_no_more_at_once(self) -> None:
        """Manifests of which only some are read at once are all taken apart, and no more are kept than were read."""
        changed = [Changed(b"p%d/package.json" % n, FILE, FILE, f"{n:040}", f"{n:039}b") for n in range(200)]
        content = {one.old: OLD for one in changed} | {one.new: NEW for one in changed}
        asked = []

        def some(ids: Sequence[str]) -> Mapping[str, bytes]:
            asked.append(len(ids))
            return {oid: content[oid] for oid in ids[:3]}

        found = [part.target() for part in parts(changed, read=some, links={}, guards=lambda _: False)]

        assert found == [target for one in changed for target in targets(one, content=content)]
        assert max(asked) <= 128


class TestNames:
    """Names that could be taken for other ones."""

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            (b"vendor/\xff.js", "vendor/\\xff.js"),
            ("a\\b", "a\\b"),
            ("package\u200c.json", "package\u200c.json"),
            ("a\u202eb", "a\u202eb"),
            ("a\tb", "a\tb"),
            ("x/.git/config", "x/.git/config"),
            ("x/.GIT/config", "x/.GIT/config"),
            (".git", ".git"),
            (".git. ./x", ".git. ./x"),
            ("git~1/config", "git~1/config"),
            ("GITMOD~1", "GITMOD~1"),
            ("gi7eba~1", "gi7eba~1"),
            ("PACKAG~1.JSO", "PACKAG~1.JSO"),
            ("NODE_M~1/x", "NODE_M~1/x"),
            ("a/INDULT~1.YAM", "a/INDULT~1.YAM"),
            ("foo~12", "foo~12"),
            ("ßßßß~1.x", "ßßßß~1.x"),
            ("a::$DATA", "a::$DATA"),
            (".git:x", ".git:x"),
            ("../x", "../x"),
            ("a/./x", "a/./x"),
            ("a//x", "a//x"),
        ],
    )
    def test_misread(self, name: str | bytes, shown: str) -> None:
        """Such a name is written, and a change besides that says what is wrong with it."""
        found = targets(change(name))

        assert f"write:{shown}" == found[0]
        assert found[1].startswith(f"change:{shown}#")

    @pytest.mark.parametrize(
        "name",
        [
            "src/app.js",
            ".gitignore",
            "a b/c d",
            "digit~x",
            "longname~1",
            "a~1.html",
            "a.txt~1~",
            "v1~rc1",
            "gîte/é.txt",
            "e\u0301",
            "日本/語",
            "a:b",
            "a.b..c",
            "it's",
            "-x",
        ],
    )
    def test_plain(self, name: str) -> None:
        """A name that is merely unusual is none of them."""
        assert [f"write:{name}"] == targets(change(name))

    def test_guarded(self) -> None:
        """A name that could be taken for a guarded one is a change, under its own name and through a link."""
        why = "the name could be taken for a guarded one"

        assert ["write:PACKAGE.JSON", f"change:PACKAGE.JSON#{why}"] == targets(
            change("PACKAGE.JSON"), guards=lambda path: path == "PACKAGE.JSON"
        )
        assert f"change:l#leads to `Data/x`: {why}" in targets(
            change("l", NONE, LINK), links={"l": "Data/x"}, guards=lambda path: path == "Data/x"
        )
        assert f"change:src/a#also `Data/a`: {why}" in targets(
            change("src/a"), links={"Data": "src"}, guards=lambda path: path == "Data/a"
        )

    def test_unreadable_name_is_no_manifest(self) -> None:
        """A manifest below a folder that is not UTF-8 is not read."""
        assert ["write:\\xff/package.json", "change:\\xff/package.json#the name is not UTF-8"] == targets(
            change(b"\xff/package.json")
        )


class TestLinks:
    """Links: what a new one leads to."""

    @pytest.mark.parametrize(
        ("links", "expected"),
        [
            ({"l": "bun.lock"}, ["link:bun.lock", "link:bun.lock/"]),
            ({"l": "./a//b/../c/"}, ["link:a/b/", "link:a/c", "link:a/c/"]),
            ({"l": "m/x", "m": "data"}, ["link:m", "link:data/x", "link:data/x/"]),
            ({"l": "m", "m": "n", "n": "data"}, ["link:m", "link:n", "link:data", "link:data/"]),
            ({"l": "m/../x", "m": "deep/er"}, ["link:m", "link:deep/er/", "link:deep/x", "link:deep/x/"]),
            ({"l": "."}, ["change:l#link to the whole repository"]),
            ({"l": "a/.."}, ["link:a/", "change:l#link to the whole repository"]),
            ({"l": ".."}, ["change:l#link leaves the repository"]),
            ({"l": "a/../../x"}, ["link:a/", "change:l#link leaves the repository"]),
            ({"l": "/etc/passwd"}, ["change:l#link leaves the repository"]),
            ({"l": "C:/x"}, ["change:l#link leaves the repository"]),
            ({"l": "..\\x"}, ["change:l#link leaves the repository"]),
            ({"l": ""}, ["change:l#link leaves the repository"]),
            ({"l": "m", "m": "../x"}, ["link:m", "change:l#link leaves the repository"]),
            ({"l": "l"}, ["change:l#link in a loop"]),
            ({"l": "l/x"}, ["change:l#link in a loop"]),
            ({"l": "m", "m": "l"}, ["link:m", "change:l#link in a loop", "change:m#link in a loop"]),
            ({}, ["change:l#link that cannot be followed"]),
        ],
    )
    def test_followed(self, links: dict[str, str], expected: list[str]) -> None:
        """Every path that a link leads to or through is told; what leads nowhere in the repository is a change."""
        assert ["link:l", *expected] == targets(change("l", NONE, LINK), links=links)

    def test_from_a_folder(self) -> None:
        """A link is followed from the folder that it lies in."""
        assert ["link:src/lock", "link:bun.lock", "link:bun.lock/"] == targets(
            change("src/lock", NONE, LINK), links={"src/lock": "../bun.lock"}
        )

    def test_to_another_name_of_git(self) -> None:
        """What a link leads to is read as carefully as a name."""
        found = targets(change("l", NONE, LINK), links={"l": "x/.Git/hooks"})

        assert "link:x/.Git/hooks" in found
        assert any(target.startswith("change:l#leads to `x/.Git/hooks`") for target in found)


class TestElsewhere:
    """Files that are reached under other names too."""

    def test_file(self) -> None:
        """A file that a link leads to is written under the name of the link too."""
        (one, two) = parts([change("shared/x")], read=read(), links={"vendor/x": "../shared/x"}, guards=lambda _: False)

        assert ("write:shared/x", "write:vendor/x") == (one.target(), two.target())
        assert ("shared/x", "shared/x") == (one.origin, two.origin)

    @pytest.mark.parametrize(
        ("links", "expected"),
        [
            ({"data": "src"}, ["data/sub/a"]),
            ({"data": "src/sub"}, ["data/a"]),
            ({"data": "src", "one/two": "../data/sub"}, ["data/sub/a", "one/two/a"]),
            ({"data": "other", "src/suba": "x"}, []),
            ({"all": "."}, ["all/src/sub/a"]),
            ({"src/sub/self": "."}, ["src/sub/self/a"]),
            ({"gone": "../src"}, []),
        ],
    )
    @pytest.mark.parametrize(("new", "kind"), [(FILE, "write"), (NONE, "delete")])
    def test_folders(self, links: dict[str, str], expected: list[str], new: str, kind: str) -> None:
        """A file below a folder that links lead to is told under each name, whatever was done to it."""
        found = targets(change("src/sub/a", FILE, new), links=links)

        assert f"{kind}:src/sub/a" == found[0]
        assert {f"{kind}:{name}" for name in expected} == set(found[1:])

    def test_manifest(self) -> None:
        """A manifest is an edit under another name of the same kind, and written as a whole under any other."""
        links = {
            "a/package.json": "../package.json",
            "b/lock": "../package.json",
            "vendor/package.json": "../package.json",
        }
        found = targets(change("package.json"), content=BOTH, links=links)

        assert {"edit:package.json", "edit:a/package.json", "write:b/lock", "write:vendor/package.json"} == {
            target for target in found if target.startswith(("edit:", "write:"))
        }

    def test_too_many_names(self) -> None:
        """Links that make names without end are a change instead."""
        links = {f"d/l{number}": "." for number in range(12)}

        assert ["write:d/a", "change:d/a#reached under too many names"] == targets(change("d/a"), links=links)

    def test_too_many_in_all(self) -> None:
        """Many links to a folder of many files do not make names without end: beyond some, a change stands for them."""
        links = {f"l{number}": "t" for number in range(900)}
        found = targets(*(change(f"t/f{number}") for number in range(3000)), links=links)

        assert len(found) < 60_000
        assert ["write:t/f2999", "change:t/f2999#reached under too many names"] == found[-2:]

    def test_too_many_links_on_the_way(self) -> None:
        """A chain of many links is told as far as it can be listed."""
        links = {f"l{number}": f"l{number + 1}" for number in range(5000)}
        found = targets(*(change(link, NONE, LINK) for link in links), links=links)

        assert len(found) < 120_000
        assert "change:l4000#one of too many links" in found


class TestEntered:
    """What a new or changed link gives another name."""

    FILES = ("fixtures/evil/package.json", "fixtures/evil/lib/x.js", "fixtures/other")

    def test_below(self) -> None:
        """Whatever lies below the end of a link is told under the name that it gets, from the link."""
        found = parts(
            [change("packages/evil", NONE, LINK)],
            read=read(),
            links={"packages/evil": "../fixtures/evil"},
            guards=lambda _: False,
            below=lambda path: [file for file in self.FILES if file.startswith(path + "/")],
        )

        wanted = {"write:packages/evil/package.json", "write:packages/evil/lib/x.js"}
        assert wanted == {part.target() for part in found if part.target().startswith("write:")}
        assert {"packages/evil"} == {part.origin for part in found}

    @pytest.mark.parametrize(
        ("links", "changed", "expected"),
        [
            # By another name of the link itself, or of a folder above it.
            ({"a/l": "../src", "b": "a"}, "a/l", ["a/l/x", "b/l/x"]),
            # By a link that lies below the end.
            ({"l": "src", "src/in": "../deep"}, "l", ["l/in/sub/z", "l/in/y", "l/x"]),
            # A link that was there leads through the one that changed.
            ({"old": "m/sub", "m": "deep"}, "m", ["m/sub/z", "m/y", "old/z"]),
            ({"l": "src", "src/in": "."}, "l", ["l/x"]),
        ],
    )
    def test_on_the_way(self, links: dict[str, str], changed: str, expected: list[str]) -> None:
        """Other links on the way to it and from it count as well."""
        found = targets(change(changed, NONE, LINK), links=links, files=["src/x", "deep/y", "deep/sub/z"])

        assert expected == sorted(target[6:] for target in found if target.startswith("write:"))

    def test_leads_through_it(self) -> None:
        """A link that leads through one that changed is told like that one."""
        found = targets(change("m", FILE, LINK), links={"package.json": "m/file", "m": "evil"})

        assert {"link:package.json", "link:evil/file"} <= set(found)

    def test_guarded(self) -> None:
        """A name that could be taken for a guarded one is a change."""
        found = targets(change("l", NONE, LINK), links={"l": "src"}, files=["src/X"], guards=lambda path: path == "l/X")

        assert "change:l#also `l/X`: the name could be taken for a guarded one" in found

    def test_only_what_changed(self) -> None:
        """A link that was there and leads where it led is not told."""
        assert ["write:y"] == targets(change("y"), links={"l": "src"}, files=["src/x", "y"])

    def test_too_many(self) -> None:
        """Beyond some names a change stands for them."""
        files = [f"src/{number}" for number in range(50_001)]
        found = targets(change("l", NONE, LINK), links={"l": "src"}, files=files)

        assert "change:l#gives too many paths another name" == found[-1]
        assert len(found) < 50_010
