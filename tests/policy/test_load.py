from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indult.errors import PolicyError
from indult.policy import Effect, Mode, Policy, Record, Rule, find_errors, keys, load_policy, loads_policy, read_policy
from indult.policy.load import Loaded

ROOT = Path(__file__).parent.parent.parent
GOOD = sorted((ROOT / "tests" / "data" / "policy" / "good").glob("*.yaml"))
MIXER = ROOT / "examples" / "mixer" / "indult.yaml"


@pytest.mark.parametrize("path", [*GOOD, MIXER], ids=lambda path: path.name)
def test_good_files_load(path: Path) -> None:
    """A file without errors becomes a policy whose conditions compile."""
    policy = load_policy(path)

    assert [] == find_errors(path)
    for rule in policy.rules:
        policy.bucket(rule.tool.replace("*", "x")).decide("x", {}, "agent", lambda: "call:x", {})


def test_the_worked_example_is_the_design() -> None:
    """The park's policy is the four rules of the design, with a default that denies."""
    policy = load_policy(MIXER)

    assert {
        "blocked": ("deny", "args.participants.exists(p, p in world.blocked_ids)"),
        "cap_intensity": ("deny", "args.intensity > world.max_intensity"),
        "require_consent": ("ask", "world.require_consent && args.intensity >= 3"),
        "rest": ("allow", None),
    } == {rule.id: (rule.effect.value, rule.when) for rule in policy.rules}
    assert {"social_action"} == {rule.tool for rule in policy.rules}
    assert ({"type": "leave_a_note", "intensity": 2},) == policy.rule("cap_intensity").downgrade
    assert Effect.DENY is policy.default
    assert {
        "world": {"max_intensity": "int", "require_consent": "bool", "blocked_ids": "list(string)"}
    } == policy.context


def test_a_file_becomes_the_values_of_the_model() -> None:
    """Every key of a rule arrives in the model; `when` may be a bare word and `says` loses its line break."""
    policy = loads_policy(
        """
schema: 1
default: ask
mode: observe
context: {limit: int, world: {names: "map(string, int)"}}
rules:
  - id: a.b
    effect: deny
    tool: "pay_*"
    target: call:**
    when: true
    says: |
      Pay little.
      Or nothing.
    downgrade: [{amount: 1}]
    mode: observe
    record: digest
    match: [{target: "call:x"}]
  - {id: on, effect: allow, tool: no, says: yes}
"""
    )

    assert (
        Policy(
            default=Effect.ASK,
            mode=Mode.OBSERVE,
            context={"limit": "int", "world": {"names": "map(string, int)"}},
            rules=(
                Rule(
                    id="a.b",
                    effect=Effect.DENY,
                    tool="pay_*",
                    target="call:**",
                    when="true",
                    says="Pay little.\nOr nothing.",
                    downgrade=({"amount": 1},),
                    mode=Mode.OBSERVE,
                    record=Record.DIGEST,
                    match=({"target": "call:x"},),
                ),
                Rule(id="on", effect=Effect.ALLOW, tool="no", says="yes"),
            ),
        )
        == policy
    )


def test_the_default_denies() -> None:
    """A file that says nothing about the default denies what no rule matches."""
    assert Effect.DENY is loads_policy("schema: 1\nrules: []").default


def test_json_is_a_policy_file_too() -> None:
    """A policy written as JSON, with tabs and quotes, loads like its YAML."""
    policy = loads_policy('{"schema": 1,\n\t"rules": [{"id": "a", "effect": "allow", "when": "tool == \\"x\\""}]}')

    assert 'tool == "x"' == policy.rule("a").when


def test_layout_has_no_meaning() -> None:
    """Two files with the same rules in another order, style and with comments are the same policy."""
    one = "schema: 1\nrules:\n- {id: a, effect: allow, when: 'tool == \"x\"'}\n- {id: b, effect: allow}\n"
    two = (
        "# two\nrules:\n- id: b\n  effect: allow\n- when: |\n    tool == \"x\"\n  effect: 'allow'\n  id: a\nschema: 1\n"
    )

    assert loads_policy(one) == loads_policy(two)
    assert loads_policy(one).digest == loads_policy(two).digest


def test_a_preset_is_merged() -> None:
    """The rules of a preset stand beside those of the file, and are known not to be its own."""
    loaded = _loaded("schema: 1\nextends: [indult/readonly-tools@1]\nrules:\n- {id: a, effect: allow, tool: x}")

    assert ("indult/readonly-tools@1",) == loaded.extends
    assert {"a"} == loaded.own
    assert {"a", "readonly.mcp", "readonly.tools"} == {rule.id for rule in loaded.policy.rules}


def test_the_order_of_presets_has_no_meaning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Presets merge to the same policy in every order, their facts with those of the file."""
    _presets(monkeypatch, tmp_path, one="context: {n: int}\nrules: [{id: one, effect: allow, when: n > 1}]")
    _presets(monkeypatch, tmp_path, two="context: {n: int, m: int}\nrules: [{id: two, effect: allow, when: m > n}]")

    forth = loads_policy("schema: 1\nextends: [indult/one@1, indult/two@1]\ncontext: {n: int}")
    back = loads_policy("schema: 1\nextends: [indult/two@1, indult/one@1]")
    assert forth == back
    assert {"n": "int", "m": "int"} == back.context


@pytest.mark.parametrize(
    ("preset", "text", "error"),
    [
        ("rules: [{id: one, effect: allow}]", "extends: [indult/one@1, indult/two@1]", "p:2:10: `indult/one@1` and `indult/two@1` both have a rule `one`"),
        ("context: {n: string}\nrules: []", "extends: [indult/one@1, indult/two@1]", "indult/two@1:2:11: the fact `n` is declared in another way elsewhere"),
        ("default: ask\nrules: []", "extends: indult/two@1", "indult/two@1:2:1: unknown key `default` in a policy"),
        ("fixer: [fix]\nrules: []", "extends: indult/two@1", "indult/two@1:2:1: unknown key `fixer` in a policy"),
        ("autofix: {}\nrules: []", "extends: indult/two@1", "indult/two@1:2:1: unknown key `autofix` in a policy"),
        ("rules: [{id: x, effect: allow, when: nope}]", "extends: indult/two@1", "indult/two@1:2:38: unknown name `nope`"),
    ],
)  # fmt: skip
def test_presets_that_clash_are_refused(
    preset: str, text: str, error: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One id or one fact in two presets, and a preset that is in error, are errors at their place."""
    _presets(monkeypatch, tmp_path, one="context: {n: int}\nrules: [{id: one, effect: allow, when: n > 1}]", two=preset)

    with pytest.raises(PolicyError) as caught:
        loads_policy(f"schema: 1\n{text}", source="p")
    assert error == str(caught.value)


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM"


def test_checks_are_commands_with_a_name() -> None:
    """A check is a name and the words of a command, which are texts."""
    policy = loads_policy('schema: 1\nchecks: {unit: [make, test], types: [mypy, "--strict"]}\nrules: []')

    assert {"unit": ["make", "test"], "types": ["mypy", "--strict"]} == policy.checks
    assert policy == Policy.from_dict(policy.to_dict())


def test_a_file_may_reword_the_rules_of_a_preset() -> None:
    """Words replace the sentences of a preset's rule and nothing else of it."""
    plain = loads_policy("schema: 1\nextends: indult/repository@1")
    loaded = _loaded(
        """
schema: 1
extends: indult/repository@1
words:
  repo.dependencies: {says: Leave them alone., says_opened: "Only {title}."}
  repo.rest: {says: The rest is yours.}
"""
    )

    changed = {"repo.dependencies": {"says": "Leave them alone.", "says_opened": "Only {title}."}}
    changed["repo.rest"] = {"says": "The rest is yours."}
    expected = [replace(rule, **changed.get(rule.id, {})) for rule in plain.rules]  # type: ignore[arg-type]
    assert tuple(expected) == loaded.policy.rules
    assert frozenset() == loaded.own
    assert plain.digest != loaded.policy.digest


def test_an_ask_may_open_by_a_named_dependency() -> None:
    """The one exception that there is belongs to a rule that asks."""
    policy = loads_policy("schema: 1\nrules: [{id: a, effect: ask, says: Ask., exception: dependency}]")

    assert "dependency" == policy.rule("a").exception


def test_a_target_may_be_several_patterns_in_any_order() -> None:
    """A list of patterns means any of them; one in a list is that one, and their order has no meaning."""
    one = loads_policy('schema: 1\nrules: [{id: a, effect: allow, target: ["write:x", "file:**/y", "whole:z"]}]')
    other = loads_policy('schema: 1\nrules: [{id: a, effect: allow, target: ["whole:z", "write:x", "file:**/y"]}]')

    assert ("file:**/y", "whole:z", "write:x") == one.rule("a").target == one.rule("a").targets
    assert (one, one.digest) == (other, other.digest)
    assert one == Policy.from_dict(one.to_dict())
    assert "file:x" == loads_policy('schema: 1\nrules: [{id: a, effect: allow, target: ["file:x"]}]').rule("a").target


def test_approvers_and_what_they_are_asked_for() -> None:
    """Approvers keep their whole line, comment and all, and an ask says how many of them it takes and what then holds."""
    policy = loads_policy(
        f"""
schema: 1
approvers: {{ann: {KEY} ann@example.org, Bob B.: {OTHER}}}
rules:
  - {{id: a, effect: ask, says: Ask., approvals: 2, approval: signed, says_opened: "But {{title}}."}}
  - {{id: b, effect: ask, says: Ask., approval: any}}
"""
    )

    assert {"ann": f"{KEY} ann@example.org", "Bob B.": OTHER} == policy.approvers
    rule = policy.rule("a")
    assert (2, "signed", "But {title}.") == (rule.approvals, rule.approval, rule.says_opened)
    assert (1, "any", None) == (policy.rule("b").approvals, policy.rule("b").approval, policy.rule("b").says_opened)
    assert policy == Policy.from_dict(policy.to_dict())


def test_examples_meet_targets_as_actions_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an example as at the gate, a dynamic word of a command meets what denies and not what allows."""
    monkeypatch.setattr(keys, "UNAVAILABLE", {"policy": frozenset(), "rule": frozenset(), "target": frozenset()})
    target = "target: 'command:[\"git\",null]'"

    policy = loads_policy(
        f"""
schema: 1
rules:
  - {{id: a, effect: deny, says: No., target: "command:git push", match: [{{{target}}}]}}
  - {{id: b, effect: allow, target: "command:git push", no_match: [{{{target}}}]}}
"""
    )

    assert 2 == len(policy.rules)


SEEDS = [path.read_bytes() for path in (*GOOD, MIXER)]
PIECES = st.one_of(
    st.binary(min_size=1, max_size=4),
    st.sampled_from([b": ", b"\n", b"- ", b"*", b"&a ", b"!x ", b"{", b"}", b"[", b"]", b'"', b"'", b"|", b">", b"#"]),
    st.sampled_from(
        [b"\t", b"<<: ", b"on", b"017", b".nan", b"\xef\xbb\xbf", b"\x00", b"\\u202e", b"---\n", b"limit: 1\n"]
    ),
    st.sampled_from(
        [b"match:", b"args", b"world", b"extends: ", b"indult/readonly-tools@1", b"(", b")", b"matches('(')"]
    ),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_damage_to_a_file_gives_anything_but_a_policy_error(data: st.DataObject) -> None:
    """Deleting, doubling and replacing bytes anywhere leaves a policy or a policy error with a place in the file."""
    raw = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        end = min(len(raw), start + data.draw(st.integers(0, 30)))
        piece = data.draw(st.one_of(PIECES, st.just(raw[start:end] * 2), st.just(b"")))
        raw = raw[:start] + piece + raw[end:]

    policy, error = _attempt(raw)

    if policy is not None:
        assert policy == Policy.from_dict(policy.to_dict())
    if error is not None:
        assert "p" == error.source or str(error.source).startswith("indult/")
        assert error.line is not None
        assert 1 <= error.line <= raw.count(b"\n") + raw.count(b"\r") + 1
        assert error.message[:1] == error.message[:1].lower()
        assert not error.message.endswith(".")


def _attempt(raw: bytes) -> tuple[Policy | None, PolicyError | None]:
    try:
        return loads_policy(raw, source="p"), None
    except PolicyError as exc:
        return None, exc


def _loaded(text: str) -> Loaded:
    from indult.policy.load import _loaded

    return _loaded(text, "p")


def _presets(monkeypatch: pytest.MonkeyPatch, folder: Path, **texts: Any) -> None:
    from indult.policy import presets

    for name, text in texts.items():
        (folder / f"{name}@1.yaml").write_text(f"schema: 1\n{text}\n", encoding="utf-8")
    presets.preset.cache_clear()
    monkeypatch.setattr(presets, "_FOLDER", folder)


@pytest.fixture(autouse=True)
def _fresh_presets() -> Any:
    """Forget presets of a test before and after it."""
    from indult.policy import presets

    presets.preset.cache_clear()
    yield
    presets.preset.cache_clear()


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    """A path may be text or a path, and stands as the source of errors."""
    file = tmp_path / "x.yaml"
    file.write_text("schema: 1\nrules: []", encoding="utf-8")

    assert load_policy(file) == load_policy(str(file))
    assert frozenset() == read_policy(file).own
