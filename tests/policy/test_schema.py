from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indult.policy import find_errors, keys
from indult.policy.autofix_keys import AUTOFIX_KEYS, BUDGET_KEYS, TRIAGE_KEYS
from indult.policy.load import _LOADED_KEYS
from indult.policy.patterns import KINDS
from indult.policy.presets import _FOLDER
from indult.policy.reader import read

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parent.parent.parent
SCHEMA: dict[str, Any] = json.loads((ROOT / "src" / "indult" / "policy" / "schema.json").read_text(encoding="utf-8"))
GOOD = sorted(
    [
        *(ROOT / "tests" / "data" / "policy" / "good").glob("*.yaml"),
        *(ROOT / "examples").glob("*/indult.yaml"),
        *_FOLDER.glob("*.yaml"),
    ]
)
WORST = """
- {}
- {schema: 1}
- {schema: 2, rules: []}
- {schema: 1, rules: {}}
- {schema: 1, rulez: [], rules: []}
- {schema: 1, rules: [], default: allow}
- {schema: 1, rules: [], mode: "off"}
- {schema: 1, rules: [], limit: 1}
- {schema: 1, rules: [], approvers: {}}
- {schema: 1, extends: readonly-tools}
- {schema: 1, rules: [], context: {tool: string}}
- {schema: 1, rules: [], context: {a-b: string}}
- {schema: 1, rules: [], context: {a: 5}}
- {schema: 1, rules: [], context: {a: {}}}
- {schema: 1, rules: [], context: {a: {b: {c: int}}}}
- {schema: 1, rules: [{id: a}]}
- {schema: 1, rules: [{effect: allow}]}
- {schema: 1, rules: [{id: default, effect: allow}]}
- {schema: 1, rules: [{id: a b, effect: allow}]}
- {schema: 1, rules: [{id: a, effect: permit}]}
- {schema: 1, rules: [{id: a, effect: ask}]}
- {schema: 1, rules: [{id: a, effect: allow, downgrade: [{a: 1}]}]}
- {schema: 1, rules: [{id: a, effect: deny, says: x, downgrade: {a: 1}}]}
- {schema: 1, rules: [{id: a, effect: deny, says: x, downgrade: [{}]}]}
- {schema: 1, rules: [{id: a, effect: allow, target: src}]}
- {schema: 1, rules: [{id: a, effect: allow, match: []}]}
- {schema: 1, rules: [{id: a, effect: allow, limit: 1}]}
- {schema: 1, rules: [{id: a, effect: allow, record: some}]}
- {schema: 1, rules: [], approvers: {ann: ssh-rsa AAAA}}
- {schema: 1, rules: [], approvers: [ann]}
- {schema: 1, rules: [{id: a, effect: allow, approvals: 1}]}
- {schema: 1, rules: [{id: a, effect: deny, says: x, approval: any}]}
- {schema: 1, rules: [{id: a, effect: deny, says: x, says_opened: y}]}
- {schema: 1, rules: [{id: a, effect: ask, says: x, approvals: 0}]}
- {schema: 1, rules: [{id: a, effect: ask, says: x, approval: some}]}
- {schema: 1, rules: [{id: a, effect: ask, says: x, exception: y}]}
- {schema: 1, rules: [{id: a, effect: deny, says: x, exception: dependency}]}
- {schema: 1, rules: [{id: a, effect: allow, target: []}]}
- {schema: 1, rules: [{id: a, effect: allow, target: ["file:a", "file:a"]}]}
- {schema: 1, rules: [{id: a, effect: allow, target: ["file:a", "tool:a"]}]}
- {schema: 1, rules: [], checks: [make]}
- {schema: 1, extends: indult/repository@1, words: [repo.rest]}
- {schema: 1, extends: indult/repository@1, words: {repo.rest: {}}}
- {schema: 1, extends: indult/repository@1, words: {repo.rest: free}}
- {schema: 1, extends: indult/repository@1, words: {repo.rest: {effect: allow}}}
- {schema: 1, extends: indult/repository@1, words: {repo.rest: {says: ""}}}
- {schema: 1, rules: [], checks: {}}
- {schema: 1, rules: [], checks: {a: []}}
- {schema: 1, rules: [], checks: {a: [""]}}
- {schema: 1, rules: [], checks: {a b: [make]}}
- {schema: 1, rules: [], fixer: fix}
- {schema: 1, rules: [], fixer: []}
- {schema: 1, rules: [], fixer: [""]}
- {schema: 1, rules: [], autofix: []}
- {schema: 1, rules: [], autofix: {turn: 3}}
- {schema: 1, rules: [], autofix: {threshold: 0}}
- {schema: 1, rules: [], autofix: {turns: 1.5}}
- {schema: 1, rules: [], autofix: {patience: 1000001}}
- {schema: 1, rules: [], autofix: {cooldown: 24}}
- {schema: 1, rules: [], autofix: {cooldown: 1h30m}}
- {schema: 1, rules: [], autofix: {timeout: 0s}}
- {schema: 1, rules: [], autofix: {budget: {}}}
- {schema: 1, rules: [], autofix: {budget: {turns: 1}}}
- {schema: 1, rules: [], autofix: {budget: {tokens: 1.5}}}
- {schema: 1, rules: [], autofix: {budget: {cost: -1}}}
- {schema: 1, rules: [], autofix: {triage: []}}
- {schema: 1, rules: [], autofix: {triage: [{state: fix}]}}
- {schema: 1, rules: [], autofix: {triage: [{id: a}]}}
- {schema: 1, rules: [], autofix: {triage: [{id: a, state: new}]}}
- {schema: 1, rules: [], autofix: {triage: [{id: a, priority: 1, says: x}]}}
- {schema: 1, rules: [], autofix: {triage: [{id: a, state: ignored, threshold: 2}]}}
- {schema: 1, rules: [], autofix: {triage: [{id: a, priority: high}]}}
"""


def _value(text: str | bytes) -> Any:
    document = read(text, source="p")
    assert document.root is not None
    return document.json(document.root)


def _fits(value: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(value))


def test_the_schema_is_one() -> None:
    """The schema is valid JSON Schema of draft 2020-12."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_good_files_fit_the_schema(path: Path) -> None:
    """An editor finds no fault in a file that loads."""
    jsonschema.Draft202012Validator(SCHEMA).validate(_value(path.read_bytes()))


@pytest.mark.parametrize("value", _value(WORST), ids=str)
def test_what_the_schema_refuses_the_loader_refuses(value: Any, tmp_path: Path) -> None:
    """An editor and the loader agree about files that are in error."""
    file = tmp_path / "indult.yaml"
    file.write_text(json.dumps(value), encoding="utf-8")

    assert not _fits(value)
    assert find_errors(file)


def test_every_key_of_the_loader_is_in_the_schema() -> None:
    """The schema knows each key that the loader knows, and no other; those not available yet fit nothing."""
    rule = SCHEMA["$defs"]["rule"]["properties"]

    assert set(SCHEMA["properties"]) == {*keys.POLICY_KEYS, *_LOADED_KEYS}
    assert set(rule) == {*keys.RULE_KEYS, *keys.UNAVAILABLE["rule"]}
    refused = {name for name, about in (SCHEMA["properties"] | rule).items() if about.get("not") == {}}
    assert refused == keys.UNAVAILABLE["policy"] | keys.UNAVAILABLE["rule"]
    assert set(SCHEMA["$defs"]["examples"]["items"]["properties"]) == set(keys.EXAMPLE_KEYS)
    autofix = SCHEMA["properties"]["autofix"]["properties"]
    assert set(autofix) == {*AUTOFIX_KEYS, "budget", "triage"}
    assert set(autofix["budget"]["properties"]) == set(BUDGET_KEYS)
    assert set(SCHEMA["$defs"]["triage"]["properties"]) == set(TRIAGE_KEYS)


def test_every_key_has_a_description() -> None:
    """An editor can say of each key what it is for."""
    autofix = SCHEMA["properties"]["autofix"]["properties"]
    properties = SCHEMA["properties"] | SCHEMA["$defs"]["rule"]["properties"] | SCHEMA["$defs"]["triage"]["properties"]
    properties |= autofix | autofix["budget"]["properties"]

    assert [] == [name for name, about in properties.items() if not about.get("description")]


def test_the_schema_knows_the_kinds_of_targets_there_are() -> None:
    """The kinds of targets in the schema are those that the loader takes."""
    pattern = SCHEMA["$defs"]["target"]["pattern"]

    assert set(KINDS) - keys.UNAVAILABLE["target"] == set(pattern.removeprefix("^(").removesuffix("):.").split("|"))
