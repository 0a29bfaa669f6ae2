from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

LAW = """
schema: 1
default: deny
context: {world: {cap: int}}
rules:
  - {id: cap, tool: move, effect: deny, when: args.n > world.cap, says: Stay low., downgrade: [{n: 1}]}
  - {id: ask, tool: send, effect: ask, says: Sending needs a person.}
  - {id: move, tool: move, effect: allow}
"""
FACTS = '{"world": {"cap": 4}}'


@pytest.fixture(name="law")
def _law(tmp_path: Path) -> str:
    """Write a small policy and return its path."""
    path = tmp_path / "law.yaml"
    path.write_text(LAW, encoding="utf-8")
    return str(path)


class TestVerdict:
    @pytest.mark.parametrize(
        ("action", "code", "verdict"),
        [
            ({"tool": "move", "args": {"n": 3}}, 0, "APPROVE"),
            ({"tool": "move", "args": {"n": 9}}, 5, "DOWNGRADE"),
            ({"tool": "move", "args": {"n": "9"}}, 2, "DENY"),
            ({"tool": "send"}, 4, "ASK_USER"),
            ({"tool": "other"}, 2, "DENY"),
        ],
    )
    def test_ends_with_the_code_of_the_verdict(
        self, indult: Run, law: str, action: dict[str, Any], code: int, verdict: str
    ) -> None:
        """The exit code tells the verdict: 0 approve, 2 deny, 4 ask, 5 downgrade."""
        ran = indult("check", json.dumps(action), "--policy", law, "--facts", FACTS)

        assert (code, verdict) == (ran.exit_code, ran.stdout.splitlines()[0])

    def test_prints_what_may_run_instead(self, indult: Run, law: str) -> None:
        """A downgrade shows the action that would run, as JSON."""
        ran = indult("check", '{"tool": "move", "args": {"n": 9, "to": "x"}}', "--policy", law, "--facts", FACTS)

        assert 'instead: {"args":{"n":1,"to":"x"},"tool":"move"}' in ran.stdout

    def test_gives_the_whole_judgement_as_json(self, indult: Run, law: str) -> None:
        """With `--json` the judgement is one line, with the facts that were read."""
        (row,) = indult("check", '{"tool": "move", "args": {"n": 9}}', "--policy", law, "--facts", FACTS, "--json").json

        assert {"world.cap": 4} == row["read"]
        assert ["cap"] == row["rules"]
        assert {"n": 1} == row["instead"]["args"]

    def test_reads_standard_input_and_files(self, indult: Run, law: str, tmp_path: Path) -> None:
        """The action may come on standard input and the facts from a file."""
        facts = tmp_path / "facts.json"
        facts.write_text(FACTS, encoding="utf-8")

        assert (
            0
            == indult(
                "check", "--policy", law, "--facts", f"@{facts}", stdin='{"tool": "move", "args": {"n": 1}}'
            ).exit_code
        )

    def test_leaves_no_trace(self, indult: Run, law: str, data_home: Path) -> None:
        """A plain check records nothing."""
        indult("check", '{"tool": "send"}', "--policy", law, "--facts", FACTS)

        assert not data_home.exists()

    def test_explains_every_rule(self, indult: Run, law: str) -> None:
        """With `--explain` each rule is listed with whether it matched and why."""
        ran = indult("check", '{"tool": "move", "args": {"n": 9}}', "--policy", law, "--facts", FACTS, "--explain")

        assert "deny  cap: `args.n > world.cap` is true" in ran.stdout
        assert "ask   ask: `move` is not `send`" in ran.stdout
        assert "allow move: matches every `move`" in ran.stdout

    def test_an_observing_policy_never_blocks(self, indult: Run, tmp_path: Path) -> None:
        """Under `mode: observe` the verdict is printed and the exit code lets the action through."""
        path = tmp_path / "law.yaml"
        path.write_text("schema: 1\nmode: observe\ndefault: deny\nrules: []\n", encoding="utf-8")
        ran = indult("check", '{"tool": "x"}', "--policy", str(path))

        assert (0, "DENY (observed only: this policy blocks nothing)") == (ran.exit_code, ran.stdout.splitlines()[0])


class TestBadInput:
    @pytest.mark.parametrize(
        ("action", "message"),
        [
            ("{", "action is not JSON: line 1 column 2"),
            ('{"tool": "move", "tool": "send"}', "action has the key `tool` twice in one object"),
            ('{"tool": "move", "args": {"n": NaN}}', "`NaN` is not a JSON number"),
            ('{"tool": "move", "args": {"n": 1e999}}', "action holds `inf`, which is not a JSON number"),
            ('{"tool": "move", "args": {"n": 9007199254740993}}', "not every reader keeps exactly"),
            ('{"tool": "move", "args": {"n": "\\ud800"}}', "lone surrogate"),
            ('{"tool": "move", "args": ' + '{"n": ' * 101 + "1" + "}" * 101 + "}", "nested over 100 deep"),
            ('{"tool": "move", "args": ' + "[" * 90_000 + "]" * 90_000 + "}", "nested over 100 deep"),
            ('{"tool": "move", "args": {"n": "' + "x" * 1_000_000 + '"}}', "action is too large"),
            ('{"tool": "move", "verdict": "APPROVE"}', "action has the unknown key `verdict`"),
            ("[]", "action is a `list`, not an object"),
            ("", "action is not JSON"),
        ],
    )
    def test_one_clear_error(self, indult: Run, law: str, action: str, message: str) -> None:
        """Input that readers could take two ways, or that is too large or too deep, is one error on standard error."""
        ran = indult("check", "--policy", law, "--facts", FACTS, stdin=action)

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert ran.stderr.startswith("error: ")
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr

    def test_invalid_utf_8_is_an_error(self, indult: Run, law: str) -> None:
        """Bytes that are not UTF-8 are named by their place."""
        ran = indult("check", "--policy", law, "--facts", FACTS, stdin=b'{"tool": "\xff"}')

        assert (1, "error: action is not UTF-8: byte 10\n") == (ran.exit_code, ran.stderr)

    @pytest.mark.parametrize(
        ("facts", "message"),
        [
            (None, "the policy declares the fact `world`, which is not given"),
            ("{}", "the policy declares the fact `world`, which is not given"),
            ('{"world": {"cap": 4}, "moon": 1}', "the policy declares no fact `moon`"),
            ("[]", "facts are a `list`, not an object"),
        ],
    )
    def test_facts_are_those_that_the_policy_declares(
        self, indult: Run, law: str, facts: str | None, message: str
    ) -> None:
        """A declared fact that is not given, or a given one that is not declared, ends with 3 and its name."""
        given = [] if facts is None else ["--facts", facts]
        ran = indult("check", '{"tool": "move"}', "--policy", law, *given)

        assert 3 == ran.exit_code
        assert message in ran.stderr

    def test_a_missing_file_is_an_error(self, indult: Run, law: str) -> None:
        """A file of facts that is not there is named."""
        ran = indult("check", '{"tool": "move"}', "--policy", law, "--facts", "@nowhere.json")

        assert (1, "error: cannot read `nowhere.json`: no such file or directory\n") == (ran.exit_code, ran.stderr)

    def test_a_broken_policy_ends_with_3(self, indult: Run, tmp_path: Path) -> None:
        """A policy that cannot be loaded is no verdict: exit code 3, with file, line and column."""
        path = tmp_path / "law.yaml"
        path.write_text("schema: 1\ndefault: deny\nrules:\n  - {id: a, effect: denie}\n", encoding="utf-8")
        ran = indult("check", '{"tool": "move"}', "--policy", str(path))

        assert 3 == ran.exit_code
        assert f"{path}:4:" in ran.stderr


def test_a_plain_check_loads_no_ledger(law: str) -> None:
    """Without a subject nothing of the ledger or of approvals is imported, so that a check stays quick."""
    code = (
        "import sys; from indult.cli import main; main(sys.argv[1:]);"
        " print([name for name in ('sqlite3', 'indult.ledger', 'indult.gate', 'asyncio') if name in sys.modules])"
    )
    args = ["check", '{"tool": "send"}', "--policy", law, "--facts", FACTS]
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.splitlines()[-1]


class TestSubject:
    def test_an_ask_opens_one_request(self, indult: Run, law: str) -> None:
        """With a subject an ask opens a request and names it; the next ask for the same call finds it."""
        first = indult("check", '{"tool": "send"}', "--policy", law, "--facts", FACTS, "--subject", "s")
        (second,) = indult(
            "check", '{"tool": "send"}', "--policy", law, "--facts", FACTS, "--subject", "s", "--json"
        ).json

        assert 4 == first.exit_code
        assert f"request: {second['request']}" == first.stdout.splitlines()[-1]

    def test_an_approval_names_the_grant_and_uses_it(self, indult: Run, law: str) -> None:
        """A grant is named and used once; then the same call asks again."""
        given = ["--policy", law]
        (row,) = indult("request", '{"tool": "send"}', "--facts", FACTS, "--subject", "s", "--json", *given).json
        (after,) = indult("approve", row["id"], "--digest", row["digest"], "--json", *given).json
        check = ["check", '{"tool": "send"}', "--facts", FACTS, "--subject", "s", *given]
        ran = indult(*check, "--explain")

        assert (0, "APPROVE") == (ran.exit_code, ran.stdout.splitlines()[0])
        assert f"grant: {after['grant']['id']}" in ran.stdout.splitlines()
        assert "  ask   ask: matches every `send`" in ran.stdout
        assert 4 == indult(*check).exit_code

    def test_records_the_judgement(self, indult: Run, law: str, data_home: Path) -> None:
        """The judgement stands in the stream of the subject."""
        indult("check", '{"tool": "move"}', "--policy", law, "--facts", FACTS, "--subject", "s")
        (event,) = indult("log", "--json", "--stream", "s").json

        assert ("judgement", "DENY") == (event["kind"], event["data"]["judgement"]["verdict"])

    def test_a_ledger_goes_with_a_subject(self, indult: Run, law: str, tmp_path: Path) -> None:
        """`--db` without a subject would record nothing, so it is refused; the variable alone is not."""
        ran = indult("check", '{"tool": "send"}', "--policy", law, "--facts", FACTS, "--db", str(tmp_path / "x.db"))

        assert (1, "error: `--db` goes with `--subject`\nhint: without a subject nothing is recorded\n") == (
            ran.exit_code, ran.stderr,
        )  # fmt: skip

    @pytest.mark.parametrize("name", ["", "ledger", "request:r_1", "requests:s"])
    @pytest.mark.parametrize("verb", ["check", "request"])
    def test_records_of_the_ledger_are_no_subjects(self, indult: Run, law: str, verb: str, name: str) -> None:
        """A subject cannot be a stream in which requests are kept."""
        ran = indult(verb, '{"tool": "send"}', "--policy", law, "--facts", FACTS, "--subject", name)

        assert (1, f"error: `{name}` cannot be a subject") == (ran.exit_code, ran.stderr.splitlines()[0])
