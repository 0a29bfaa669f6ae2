from __future__ import annotations

import pytest
import yaml

from indult.policy import loads_policy
from indult.ship.hints import commit_law, meant

REFS = (
    "refs/heads/fix",
    "refs/heads/main",
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/fix",
    "refs/remotes/origin/late/one",
    "refs/remotes/origin/a;b",
    "refs/tags/v1",
)


class TestMeant:
    @pytest.mark.parametrize(
        ("branch", "hint"),
        [
            ("fxi", "did you mean `fix`?"),
            ("mian", "did you mean `main`?"),
            ("refs/heads/fix", "local branches only, by their name: `fix`"),
            ("heads/fix", "local branches only, by their name: `fix`"),
            ("origin/fix", "local branches only: git branch fix origin/fix"),
            ("refs/remotes/origin/fix", "local branches only: git branch fix origin/fix"),
            ("late/one", "local branches only: git branch late/one origin/late/one"),
            ("a;b", "local branches only: git branch 'a;b' 'origin/a;b'"),
            ("v1", "local branches only: git branch NAME v1"),
            ("refs/tags/v1", "local branches only: git branch NAME refs/tags/v1"),
            ("HEAD", "local branches only: git branch NAME HEAD"),
            ("51c460d", "local branches only: git branch NAME 51c460d"),
            ("refs/heads/nothing", None),
            ("docs", None),
        ],
    )
    def test_a_name_that_is_no_branch(self, branch: str, hint: str | None) -> None:
        """A remote branch, a full ref, a tag or a commit is told how to become a branch, and a slip which one it is near."""
        assert hint == meant(branch, REFS)


class TestLaw:
    def test_can_be_copied(self) -> None:
        """The two lines of the hint are a policy."""
        first, *lines = commit_law("main", "indult.yaml", place=None).splitlines()

        assert "commit `indult.yaml` to `main`, for instance with these two lines:" == first
        assert {"schema": 1, "extends": "indult/repository@1"} == yaml.safe_load("\n".join(lines))
        assert loads_policy("\n".join(lines)).rules

    def test_that_lies_there(self) -> None:
        """A file that is there is to be committed, and no other one is shown."""
        hint = commit_law("main", "indult.yaml", place="/shop/indult.yaml")

        assert "`/shop/indult.yaml` is there, and not committed to `main`: commit it to that branch" == hint
