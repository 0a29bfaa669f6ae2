from __future__ import annotations

import pytest

from indult.errors import PolicyError
from indult.policy import loads_policy
from indult.policy.presets import names, preset


@pytest.mark.parametrize("name", names())
def test_every_preset_loads_and_shows_what_it_means(name: str) -> None:
    """A shipped preset loads by itself, and each of its rules has a sentence and examples of both kinds."""
    policy = loads_policy(f"schema: 1\nextends: {name}")

    assert policy.rules
    for rule in policy.rules:
        assert rule.says
        assert rule.match
        assert rule.no_match
        assert name.startswith(f"indult/{rule.id.partition('.')[0]}")


def test_presets_are_named_with_their_version() -> None:
    """The presets of this version, by the names that `extends` takes."""
    assert ["indult/commands@1", "indult/readonly-tools@1", "indult/repository@1"] == names()


@pytest.mark.parametrize(
    "name", ["", "indult", "indult/x", "indult/readonly-tools", "indult/../x@1", "other/x@1", "indult/x@0"]
)
def test_an_unknown_preset_lists_those_there_are(name: str) -> None:
    """A name that is no preset is an error that names all presets, and never becomes a path."""
    with pytest.raises(PolicyError) as caught:
        preset(name)

    assert "there are `indult/commands@1`, `indult/readonly-tools@1`, `indult/repository@1`" == caught.value.hint


@pytest.mark.parametrize(
    ("tool", "allowed"),
    [
        ("get_weather", True),
        ("view_file", True),
        ("mcp__github__search_code", True),
        ("forget_all", False),
        ("get", False),
        ("getter", False),
        ("read_and_write_file", False),
        ("mcp__x__read_or_create", False),
        ("mcp__list_things__delete_things", False),
        ("get__mcp__get_x", False),
        ("GET_x", False),
    ],
)
def test_read_only_tools_are_told_by_their_first_word(tool: str, allowed: bool) -> None:
    """A tool is read-only if the first word of its own name is a verb of looking and no second verb follows."""
    bucket = loads_policy("schema: 1\nextends: indult/readonly-tools@1").bucket(tool)

    assert (2 if allowed else 3) == bucket.decide(tool, {}, "agent", lambda: "call:x", {})[0]


REPOSITORY = loads_policy("schema: 1\nextends: indult/repository@1")
MANIFESTS = [
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
    "requirements.txt",
    "requirements-dev.txt",
    "constraints.txt",
    "constraints_ci.txt",
    "Cargo.toml",
    "Cargo.lock",
    "go.mod",
    "go.sum",
    "go.work",
]
OTHERS = [
    "build.rs",
    "vendor/x.js",
    "node_modules/a/index.js",
    "patches/libdb@1.8.2.patch",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pnpmfile.mjs",
    "pnpm-workspace.yaml",
    "bunfig.toml",
    "uv.toml",
    ".cargo/config",
    ".cargo/config.toml",
    "bun.lockb",
]
CONTROL = [
    ".gitattributes",
    ".gitmodules",
    ".github/workflows/ci.yml",
    ".github/a.md",
    "indult.yaml",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks/check.sh",
    ".codex/config.toml",
    ".git/config",
    ".github",
    ".git",
    ".claude",
    ".codex",
]
SECRETS = [".env", ".env.local", ".envrc", ".env.d/key", "data/rows.csv", "data/a/b"]
WHOLE = ("write", "delete", "mode", "link", "gitlink")


def strictest(target: str) -> str:
    """Return the id of the rule that decides about a target; there is never more than one of its effect."""
    group = next(group for group in REPOSITORY.bucket("ship", target).rules if group)
    (rule,) = group
    return rule.id


@pytest.mark.parametrize("folder", ["", "a/", "a/b.c/"])
def test_a_repository_is_protected_at_any_depth(folder: str) -> None:
    """Whatever happens to a protected file as a whole, in whatever folder, is denied or asked about."""
    for rule, paths in {
        "repo.dependencies": (*MANIFESTS, *OTHERS),
        "repo.control": CONTROL,
        "repo.secrets": SECRETS,
    }.items():
        found = {strictest(f"{kind}:{folder}{path}") for kind in WHOLE for path in paths}
        assert {rule} == found


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("write:src/main.py", "repo.rest"),
        ("delete:README.md", "repo.rest"),
        ("mode:run.sh", "repo.rest"),
        ("link:docs/latest", "repo.rest"),
        ("write:src/data.py", "repo.rest"),
        ("write:package.json.md", "repo.rest"),
        ("write:my-package.json", "repo.rest"),
        ("write:vendored/x.js", "repo.rest"),
        ("write:docs/env.md", "repo.rest"),
        ("write:.claude/commands/a.md", "repo.control"),
        ("edit:package.json", "repo.rest"),
        ("edit:a/uv.lock", "repo.rest"),
        ("edit:.github/package.json", "repo.control"),
        ("edit:data/package.json", "repo.secrets"),
        ("edit:vendor/x/package.json", "repo.dependencies"),
        ("script:package.json#test", "repo.rest"),
        ("lifecycle:package.json#postinstall", "repo.lifecycle"),
        ("entry:a/package.json#libdb@1.8.3", "repo.dependencies"),
        ("field:package.json#/workspaces", "repo.dependencies"),
        ("change:package.json#libdb: alias", "repo.control"),
        ("link:data", "repo.secrets"),
        ("link:a/vendor", "repo.dependencies"),
    ],
)
def test_parts_of_a_branch_fall_under_one_rule_each(target: str, rule: str) -> None:
    """What is not protected is free to change, and of a manifest it is the parts that count."""
    assert rule == strictest(target)


@pytest.mark.parametrize(
    "path", ["Package.json", "a/CARGO.TOML", ".GITHUB/x", "Vendor/x", "package.json ", "p\u200cackage.json"]
)
def test_a_name_that_passes_for_a_protected_one_is_guarded(path: str) -> None:
    """Case, composition and what cannot be seen get nobody around the preset."""
    assert REPOSITORY.guards(path)
    assert not any(map(REPOSITORY.guards, ["package.json", ".github/CI.yml", "Cargo.toml", "src/Main.py", "caf\u00e9"]))


def test_only_dependencies_can_be_opened() -> None:
    """The preset has one rule that asks, and a person opens it by naming a dependency."""
    asks = [rule for rule in REPOSITORY.rules if rule.effect == "ask"]

    assert [("repo.dependencies", "dependency")] == [(rule.id, rule.exception) for rule in asks]


def test_calls_of_tools_are_left_to_other_rules() -> None:
    """The preset speaks of files and manifests; a call of a tool meets none of its rules."""
    assert ((), (), ()) == REPOSITORY.bucket("shell", "call:sha256:0").rules
