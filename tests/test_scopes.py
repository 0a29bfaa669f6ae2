from __future__ import annotations

from typing import Any

import pytest

from indult import Action
from indult.errors import ScopeError
from indult.scopes import MAX_SHOWN, MAX_USES, Scope


def files(*paths: str) -> Scope:
    """Return the scope of some files."""
    return Scope.files(paths, subject="run:1", change="mend it")


def dependency(*paths: str, name: str = "libdb", version: str = "1.8.2", change: str = "reset the counter") -> Scope:
    """Return the scope of a patch of one dependency."""
    return Scope.dependency(name, version, paths, change, subject="run:1")


class TestExactNames:
    @pytest.mark.parametrize(
        "path",
        [
            "",
            "/etc/passwd",
            "..",
            "../a",
            "a/../b",
            "a/..",
            "./a",
            "a//b",
            "a/",
            "vendor/",
            "*",
            "src/*.py",
            "src/**",
            "a?b",
            "a[b]",
            "{a,b}",
            "a\\b",
            "a\nb",
            "a\x1b[2Jb",
            "a\u202eb",
            "a\u200bb",
            "a\ufeffb",
            "a\u00a0b",
            "a\u3164b",
            "a\u115fb",
            "a\u2800b",
            "a\ufe0fb",
            "a\U000e0101b",
            "a\ue000b",
        ],
    )
    def test_refuses_what_is_no_single_file(self, path: str) -> None:
        """Patterns, folders, ways out, backslashes and characters that mislead are no exact names."""
        with pytest.raises(ScopeError, match="no exact file"):
            files(path)

    @pytest.mark.parametrize("path", ["a", "src/a b.py", "größe/ß.txt", "-rf", ".env", "a.b/c..d"])
    def test_takes_any_other_file(self, path: str) -> None:
        """A file inside the repository may have any name that reads one way."""
        assert (f"write:{path}",) == files(path).targets

    def test_one_bad_path_is_enough(self) -> None:
        """A scope is taken or refused as a whole."""
        with pytest.raises(ScopeError):
            files("good.txt", "bad/")

    def test_no_target_stands_twice(self) -> None:
        """Two names that are one would hide how much is opened."""
        with pytest.raises(ScopeError, match="names a target twice"):
            files("a", "a")

    def test_a_scope_names_something(self) -> None:
        """A scope of nothing is none."""
        with pytest.raises(ScopeError, match="names 0 targets"):
            files()

    def test_only_targets_of_a_known_kind(self) -> None:
        """A word that is no kind of target opens nothing."""
        with pytest.raises(ScopeError, match="`everything:all` is no target"):
            Scope(subject="s", title="t", targets=("everything:all",), change="c")


class TestDependency:
    def test_holds_the_files_and_the_entries_of_manifests(self) -> None:
        """Every path is opened for writing, and in manifests and locks the entry of the dependency at its version."""
        expected = (
            "write:package.json",
            "write:bun.lock",
            "write:patches/libdb@1.8.2.patch",
            "entry:package.json#libdb@1.8.2",
            "entry:bun.lock#libdb@1.8.2",
        )

        assert expected == dependency("package.json", "bun.lock", "patches/libdb@1.8.2.patch").targets

    @pytest.mark.parametrize(
        "path",
        ["src/index.ts", "vendor", "vendor/", "patches/", "patches/*.patch", "../package.json", "a\\package.json"],
    )
    def test_takes_exact_dependency_files_only(self, path: str) -> None:
        """Source files, folders and patterns are refused with the words of the seed, and nothing of the rest is kept."""
        with pytest.raises(ScopeError, match="exact dependency files only") as caught:
            dependency("package.json", path)

        assert f"`{path}`" in caught.value.message
        assert "`package.json`" not in caught.value.message

    @pytest.mark.parametrize("path", ["packages/a/package.json", "tools/requirements-dev.txt", "a/vendor/b/c.js"])
    def test_takes_them_at_any_depth(self, path: str) -> None:
        """A nested manifest or vendored file may be named exactly."""
        assert f"write:{path}" in dependency(path).targets

    @pytest.mark.parametrize("word", ["", "two words", "a#b", "lib*", "lib\ndb", "l\u0456bdb", "-r", "lib\u200bdb"])
    def test_name_and_version_are_one_word(self, word: str) -> None:
        """A name or version that could hold more than one is refused."""
        with pytest.raises(ScopeError):
            dependency("package.json", name=word)
        with pytest.raises(ScopeError):
            dependency("package.json", version=word)

    @pytest.mark.parametrize("version", ["^4.17.21", "~1.0", ">=2.31,<3", "*", "1 || 2", "!=1.0"])
    def test_a_range_is_no_version(self, version: str) -> None:
        """A range is refused as one, with the two ways that there are."""
        with pytest.raises(ScopeError, match="is a range, and an approval names one exact version") as caught:
            dependency("package.json", version=version)

        assert f"`{version}`" in caught.value.message
        assert "`indult ship` with `--hold TEXT`" in str(caught.value.hint)

    def test_without_a_path_it_is_none(self) -> None:
        """A dependency that may change nowhere is no exception."""
        with pytest.raises(ScopeError, match="exact dependency files only"):
            dependency()

    def test_python_names_are_one_name_in_many_spellings(self) -> None:
        """In Python's files the entry carries the normalised name, in those of others the name as it is."""
        targets = dependency("uv.lock", "package.json", name="Http_Kit", version="2.1.1").targets

        assert "entry:uv.lock#http-kit@2.1.1" in targets
        assert "entry:package.json#Http_Kit@2.1.1" in targets

    @pytest.mark.parametrize(
        "name", ["@scope/pkg", "github.com/acme/wire", "git.sr.ht/~who/pkg", "serde_json", "zope.interface"]
    )
    def test_takes_the_names_of_all_ecosystems(self, name: str) -> None:
        """Scoped packages, modules by host and dotted names are single words."""
        assert f"entry:go.mod#{name}@v1.4.1" in dependency("go.mod", name=name, version="v1.4.1").targets

    def test_the_change_is_one_line(self) -> None:
        """What the patch does is said in one line, so that no card can show more than there is."""
        with pytest.raises(ScopeError, match="change holds U\\+000A"):
            dependency("package.json", change="reset\nAnd everything else")


class TestCommit:
    def test_names_one_object(self) -> None:
        """A held commit is opened by its full id alone: a short one could come to mean another."""
        oid = "0123456789abcdef0123456789abcdef01234567"

        assert (f"commit:{oid}",) == Scope.commit(oid, subject="s", change="c").targets
        for name in (oid[:12], "main", oid.upper(), f"{oid}^"):
            with pytest.raises(ScopeError, match="no full object id"):
                Scope.commit(name, subject="s", change="c")


class TestNothing:
    def test_opens_nothing(self) -> None:
        """The scope of a question about a direction has no target, so no answer covers any."""
        scope = Scope.nothing(subject="s", title="a direction", change="none yet").under(["ask"])

        assert () == scope.targets
        assert not scope.covers("write:package.json", "ask")
        assert scope == Scope.from_dict(scope.to_dict())


class TestCall:
    def test_is_shown_as_canonical_json(self) -> None:
        """A person reads the call itself, not the digest that stands for it."""
        scope = Scope.call(Action(tool="send", args={"to": "x", "n": 1}), subject="run:1")

        assert ('{"args":{"n":1,"to":"x"},"cwd":null,"tool":"send"}',) == scope.words()

    def test_spells_out_what_would_mislead(self) -> None:
        """A character that turns the line around is shown as its escape."""
        (words,) = Scope.call(Action(tool="send", args={"to": "a\u202eb"}), subject="s").words()

        assert "\\u202e" in words
        assert "\u202e" not in words

    def test_a_call_that_nobody_could_read_is_refused(self) -> None:
        """Above 2 kB a call is no scope."""
        with pytest.raises(ScopeError, match=f"at most {MAX_SHOWN}"):
            Scope.call(Action(tool="send", args={"text": "x" * MAX_SHOWN}), subject="s")

    def test_covers_that_call_under_its_rules_alone(self) -> None:
        """Another call, or the same under another rule, is not covered."""
        action = Action(tool="send", args={"to": "x"})
        scope = Scope.call(action, subject="s").under(["ask"])

        assert scope.covers(action.target(), "ask")
        assert not scope.covers(action.target(), "other")
        assert not scope.covers(Action(tool="send", args={"to": "y"}).target(), "ask")

    def test_padding_decides_nothing(self) -> None:
        """A run of spaces, which would wrap a long line where its writer wants, is spelled out or refused."""
        (words,) = Scope.call(Action(tool="send", args={"to": "a" + " " * 80 + "digest"}), subject="s").words()

        assert "  " not in words
        assert "a \\u0020" in words
        with pytest.raises(ScopeError, match="run of spaces"):
            Scope.call(Action(tool="send"), subject="s", title="one call" + " " * 60 + "opens nothing")

    def test_a_tool_with_an_odd_name_gives_no_title(self) -> None:
        """The name of a tool is the agent's own word, so only a plain one stands in the title."""
        odd = Scope.call(Action(tool="send_mail, and all mail to anybody"), subject="s")

        assert "one call" == odd.title
        assert "one call of send_mail" == Scope.call(Action(tool="send_mail"), subject="s").title


class TestCommand:
    def test_is_exact_in_words_and_folder(self) -> None:
        """The same words in another folder, or split another way, are another target."""
        scopes = [
            Scope.command(words, subject="s", cwd=cwd, change="c").targets
            for words, cwd in ((["rm", "a b"], "/x"), (["rm", "a", "b"], "/x"), (["rm", "a b"], "/y"))
        ]

        assert 3 == len(set(scopes))

    def test_names_what_it_would_run(self) -> None:
        """A script of the tree is part of the name, so that a changed script is another command."""
        before, after = (
            Scope.command(["sh", "a.sh"], subject="s", cwd="/x", change="c", files={"a.sh": content}).targets
            for content in ("sha256:1", "sha256:2")
        )

        assert before != after

    def test_shows_what_would_mislead_as_escapes(self) -> None:
        """The target holds the very words, and a person reads them spelled out."""
        scope = Scope.command(["echo", "a\u202eb"], subject="s", cwd="/x", change="c")

        assert "\u202e" in scope.targets[0]
        assert "\u202e" not in scope.words()[0]
        assert "\\u202e" in scope.words()[0]

    @pytest.mark.parametrize(
        "name",
        [
            "",
            "ls -l",
            "[]",
            '{"argv":[],"cwd":"/x"}',
            '{"argv":["ls",null],"cwd":"/x"}',
            '{"argv":["ls"],"cwd":null}',
            '{"argv":["ls"],"cwd":"/x","env":{"A":null}}',
            '{"argv": ["ls"],"cwd":"/x"}',
            '{"cwd":"/x","argv":["ls"]}',
            '{"argv":["ls"],"cwd":"/x","anything":1}',
            '{"argv":["ls","' + "x" * MAX_SHOWN + '"],"cwd":"/x"}',
        ],
    )
    def test_is_told_word_for_word(self, name: str) -> None:
        """What is not canonical, holds a word that nobody knows yet, or is too long to read, is no scope."""
        with pytest.raises(ScopeError):
            Scope(subject="s", title="t", targets=(f"command:{name}",), change="c")


class TestLimits:
    @pytest.mark.parametrize("uses", [0, -1, MAX_USES + 1, 1.5, True, "3"])
    def test_uses_can_be_counted_by_a_person(self, uses: Any) -> None:
        """Uses are a whole number from 1 to 100."""
        with pytest.raises(ScopeError, match="uses"):
            Scope(subject="s", title="t", targets=("write:a",), change="c", max_uses=uses, expires_at="2026")

    def test_more_than_one_use_needs_an_end(self) -> None:
        """An approval of several uses without an expiry is refused."""
        with pytest.raises(ScopeError, match="needs an expiry"):
            Scope(subject="s", title="t", targets=("write:a",), change="c", max_uses=2)


class TestJson:
    def test_survives_the_ledger(self) -> None:
        """A scope is the same after its JSON form, and so is its digest."""
        scope = Scope.call(Action(tool="send"), subject="s").under(["ask"])

        assert scope == Scope.from_dict(scope.to_dict())
        assert scope.digest == Scope.from_dict(scope.to_dict()).digest

    def test_is_checked_when_it_is_read(self) -> None:
        """What was edited into a pattern on its way is refused."""
        data = {**files("a").to_dict(), "targets": ["write:**"]}
        with pytest.raises(ScopeError):
            Scope.from_dict(data)

    def test_refuses_another_schema(self) -> None:
        """A record of a newer version is not guessed at."""
        with pytest.raises(ScopeError, match="another schema"):
            Scope.from_dict({**files("a").to_dict(), "schema": 2})

    def test_every_part_is_in_the_digest(self) -> None:
        """A change of anything that a person was shown is another digest."""
        first = files("a")
        others = [
            files("b"),
            Scope.files(["a"], subject="run:2", change="mend it"),
            Scope.files(["a"], subject="run:1", change="break it"),
            first.under(["ask"]),
        ]

        assert 5 == len({scope.digest for scope in (first, *others)})
