from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indult.cli import VERBS
from indult.policy import load_policy

if TYPE_CHECKING:
    from tests.conftest import Run

pytestmark = pytest.mark.skipif("policy" not in VERBS, reason="the verb stands in the table of verbs")

MIXER = str(Path(__file__).parent.parent.parent / "examples" / "mixer" / "indult.yaml")


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    """Return a policy file of one own rule and a preset."""
    file = tmp_path / "indult.yaml"
    file.write_text(
        "schema: 1\nextends: indult/readonly-tools@1\nmode: observe\ncontext: {limit: int}\n"
        "rules:\n- {id: pay, effect: deny, tool: 'pay_*', when: args.n > limit, says: Pay little., downgrade: [{n: 1}]}\n",
        encoding="utf-8",
    )
    return file


def test_show_prints_the_rules_strictest_first(indult: Run) -> None:
    """The worked example is shown with its facts, denies, asks and allows, and the default last."""
    ran = indult("policy", "show", "--policy", MIXER)

    assert 0 == ran.exit_code
    lines = ran.stdout.splitlines()
    assert f"digest   {load_policy(MIXER).digest}" == lines[0]
    assert "context  world: {max_intensity: int, require_consent: bool, blocked_ids: list(string)}" in lines
    heads = [line.split(" (")[0] for line in lines if not line.startswith(" ")][2:]
    assert ["deny     blocked", "deny     cap_intensity", "ask      require_consent", "allow    rest"] == heads[:-1]
    assert "deny     everything else" == lines[-1]
    assert '         instead  {"intensity":2,"type":"leave_a_note"}' in lines


def test_show_tells_presets_and_modes(indult: Run, file: Path) -> None:
    """What a policy extends, that it only observes and which rules come from a preset is said."""
    ran = indult("policy", "show", "--policy", str(file))

    assert "extends  indult/readonly-tools@1" in ran.stdout
    assert "mode     observe: nothing is blocked" in ran.stdout
    assert "allow    readonly.tools (tool *, from a preset)" in ran.stdout


def test_show_lists_targets_and_checks(indult: Run, tmp_path: Path) -> None:
    """Several targets of a rule stand on lines of their own, one stands behind the rule, and checks are shown."""
    file = tmp_path / "p.yaml"
    file.write_text(
        """
schema: 1
checks: {unit: [make, test]}
rules:
  - {id: a, effect: allow, target: "file:src/**"}
  - {id: b, effect: allow, target: ["file:a b/**", "script:**"], tool: ship}
""",
        encoding="utf-8",
    )

    lines = indult("policy", "show", "--policy", str(file)).stdout.splitlines()

    assert 'check    unit: ["make","test"]' in lines
    assert "allow    a (tool *, target file:src/**)" in lines
    at = lines.index("allow    b (tool ship)")
    assert "         targets  file:a b/**, script:**" == lines[at + 1]


def test_show_tells_who_fixes_what(indult: Run, tmp_path: Path) -> None:
    """Fixer and autofix are shown as far as they are not as by default, and rules of triage strictest first."""
    file = tmp_path / "p.yaml"
    file.write_text(
        """
schema: 1
fixer: [claude, -p]
autofix:
  cooldown: 24h
  timeout: 45m
  turns: 7
  budget: {tokens: 1000}
  triage:
    - {id: a, priority: 3, threshold: 2}
    - {id: b, state: ignored, when: signal.kind == "log"}
    - {id: c, state: needs-human, says: By hand.}
rules: []
""",
        encoding="utf-8",
    )

    ran = indult("policy", "show", "--policy", str(file))

    assert [
        'fixer    ["claude","-p"]',
        'autofix  turns 7, timeout 45m, budget {"tokens":1000}',
        "triage   c: needs-human",
        "         says     By hand.",
        "triage   b: ignored",
        '         when     signal.kind == "log"',
        "triage   a: threshold 2, priority 3",
        "deny     everything else",
    ] == ran.stdout.splitlines()[1:]
    file.write_text("schema: 1\nautofix: {}\nrules: []\n", encoding="utf-8")
    assert "autofix  all as it is by default" in indult("policy", "show", "--policy", str(file)).stdout


def test_the_resolved_policy_is_a_policy_file(indult: Run, file: Path, tmp_path: Path) -> None:
    """What `--resolved` prints loads to a policy with the same digest, presets included."""
    ran = indult("policy", "show", "--policy", str(file), "--resolved")
    again = tmp_path / "again.yaml"
    again.write_text(ran.stdout, encoding="utf-8")

    assert load_policy(file) == load_policy(again)
    assert ran.stdout.startswith(f"# {load_policy(file).digest}\n")


def test_json_has_own_or_all_rules(indult: Run, file: Path) -> None:
    """The JSON holds the file's own rules, with `--resolved` those of its presets too."""
    own = indult("policy", "show", "--policy", str(file), "--json").json
    whole = indult("policy", "show", "--policy", str(file), "--json", "--resolved").json

    assert ["pay"] == [rule["id"] for rule in own[0]["policy"]["rules"]]
    assert ["pay", "readonly.mcp", "readonly.tools"] == [rule["id"] for rule in whole[0]["policy"]["rules"]]
    assert {"digest": load_policy(file).digest, "extends": ["indult/readonly-tools@1"]}.items() <= own[0].items()


def test_check_prints_every_error_and_ends_with_3(indult: Run, file: Path, tmp_path: Path) -> None:
    """All errors of all files are printed with their place, and the exit code is that of an invalid policy."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("schema: 2\nrulez: []\nrules: [{id: a, effect: alow}]\n", encoding="utf-8")

    ran = indult("policy", "check", str(file), str(bad), "nope.yaml")

    assert 3 == ran.exit_code
    places = [line.split(": ")[0] for line in ran.stdout.splitlines() if not line.startswith((" ", "hint"))]
    assert [str(file), f"{bad}:1:9", f"{bad}:2:1", f"{bad}:3:25", "nope.yaml"] == places


def test_check_as_json(indult: Run, tmp_path: Path) -> None:
    """Each error is one line of JSON with file, line, column, message and hint."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("schema: 1\nrulez: []\nrules: []\n", encoding="utf-8")

    ran = indult("policy", "check", str(bad), "--json")

    message, hint = "unknown key `rulez` in a policy", "did you mean `rules`?"
    assert [{"file": str(bad), "line": 2, "column": 1, "message": message, "hint": hint}] == ran.json


def test_check_of_good_files_ends_with_0(indult: Run, file: Path) -> None:
    """Files without errors are named, and the exit code is 0."""
    ran = indult("policy", "check", MIXER, str(file))

    assert (0, f"{MIXER}: ok\n{file}: ok\n") == (ran.exit_code, ran.stdout)


def test_check_without_a_file(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no file is named, it is `indult.yaml` of this folder that is checked."""
    monkeypatch.chdir(tmp_path)
    assert 3 == indult("policy", "check").exit_code
    (tmp_path / "indult.yaml").write_text("schema: 1\nrules: []\n", encoding="utf-8")
    ran = indult("policy", "check")

    assert (0, "indult.yaml: ok\n") == (ran.exit_code, ran.stdout)


def test_an_error_cannot_move_the_cursor(indult: Run, tmp_path: Path) -> None:
    """Control characters of a file are spelled out when an error shows its line."""
    bad = tmp_path / "bad.yaml"
    bad.write_text('schema: 1\n"\\e[2K": 1\nrules: []\n', encoding="utf-8")

    ran = indult("policy", "check", str(bad))

    assert "unknown key `\\x1b[2K` in a policy" in ran.stdout
    assert "\x1b" not in ran.stdout


def test_schema_prints_the_shipped_schema(indult: Run) -> None:
    """The schema that is printed is the one that ships."""
    shipped = Path(__file__).parent.parent.parent / "src" / "indult" / "policy" / "schema.json"

    assert json.loads(shipped.read_text(encoding="utf-8")) == json.loads(indult("policy", "schema").stdout)


def test_a_policy_in_error_ends_with_3(indult: Run) -> None:
    """A policy that cannot be shown is an error with the exit code of an invalid policy."""
    ran = indult("policy", "show", "--policy", "nope.yaml")

    assert (3, "") == (ran.exit_code, ran.stdout)
    assert "nope.yaml: there is no such policy file" in ran.stderr
