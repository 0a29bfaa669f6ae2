from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ran, Run

LAW = "schema: 1\nextends: indult/repository@1\n"

NAMED: dict[str, Any] = {
    "dependency": "libdb",
    "version": "1.8.2",
    "paths": ["package.json", "patches/libdb@1.8.2.patch"],
    "change": "reset the retry counter",
}
REPORT: dict[str, Any] = {
    "signal": "s1",
    "by": "fixer",
    "relaxes_constraint": True,
    "card": {"title": "the retries", "question": "May libdb be patched?"},
    "dependency_exception": NAMED,
    "evidence": {"log": "retries = 7"},
}
OPTIONS = (
    "--signal", "s1", "--by", "fixer", "--relaxes-constraint", "--title", "the retries",
    "--question", "May libdb be patched?", "--dependency", "libdb", "--version", "1.8.2",
    "--path", "package.json", "--path", "patches/libdb@1.8.2.patch", "--change", "reset the retry counter",
    "--evidence", '{"log": "retries = 7"}',
)  # fmt: skip
PATCH = (
    "libdb@1.8.2: reset the retry counter (only package.json, patches/libdb@1.8.2.patch may change);"
    " all other dependency changes stay forbidden"
)
EFFECT = "the next fix is allowed only this one dependency patch"
OPENS = ["write:package.json", "write:patches/libdb@1.8.2.patch", "entry:package.json#libdb@1.8.2"]
INCOMPLETE = "`dependency_exception` is not {dependency, version, paths, change}"
ASK_AGAIN = "nothing: no exception is named, so whatever the answer is, name the one change and ask again"

NOTHING = "nothing: no exception is named, so the answer only says which way to go"


@pytest.fixture(name="report")
def _report(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Be in a folder with the law of repositories and a ledger, and return what runs commands there."""
    (tmp_path / "indult.yaml").write_text(LAW, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDULT_DB", str(tmp_path / "ledger.db"))
    return indult


def row(ran: Ran) -> dict[str, Any]:
    """Return the one JSON line that a command printed."""
    (found,) = ran.json
    return dict(found)


class TestAsking:
    def test_says_what_would_open_and_how_to_answer(self, report: Run) -> None:
        """A named exception is shown with its one line, each target, the rule and the verbs that answer."""
        ran = report("report", json.dumps(REPORT))
        name = ran.stdout.split()[0]
        digest = row(report("show", name, "--json"))["digest"]

        assert (4, "") == (ran.exit_code, ran.stderr)
        assert [
            f"{name}  open",
            f"  card     effect, approve: {EFFECT}",
            f"  card     patch: {PATCH}",
            "  card     question: May libdb be patched?",
            "  card     title: the retries",
            *(f"  opens    {target}" for target in OPENS),
            "  under    repo.dependencies",
            f"  digest   {digest}",
            f"  look     indult show {name}",
            f"  answer   indult approve {name}",
            f"           indult discuss {name} --note TEXT",
            f"           indult reject {name}",
        ] == ran.stdout.splitlines()

    @pytest.mark.parametrize("how", ["argument", "file", "input", "default"])
    def test_reads_json(self, report: Run, tmp_path: Path, how: str) -> None:
        """A report comes as an argument, from a file or on standard input, and is the same each time."""
        text = json.dumps(REPORT)
        (tmp_path / "report.json").write_text(text, encoding="utf-8")
        words = {"argument": [text], "file": ["@report.json"], "input": ["-"], "default": []}[how]
        found = row(report("report", *words, "--json", stdin=text if how in {"input", "default"} else ""))

        assert ("signal:s1", OPENS) == (found["subject"], found["request"]["scope"]["targets"])

    def test_options_say_the_same(self, report: Run) -> None:
        """All that JSON can say of a report, options can: the second way finds the request of the first."""
        first = row(report("report", json.dumps(REPORT), "--json"))
        second = row(report("report", *OPTIONS, "--json"))

        assert first["request"] == second["request"]

    def test_an_agent_hands_back_unless_somebody_else_is_named(self, report: Run) -> None:
        """Without `--by` it is the agent who asks, as with `indult ship`."""
        named = [word for word in OPTIONS if word not in {"--by", "fixer"}]
        found = row(report("report", *named, "--json"))

        assert ("agent", OPENS) == (found["request"]["requested_by"], found["request"]["scope"]["targets"])

    def test_a_newer_report_takes_the_place_of_an_approved_one(self, report: Run) -> None:
        """What was approved is closed by the next hand-back of the signal, which says so."""
        first = row(report("report", *OPTIONS, "--json"))
        report("approve", first["id"], "--digest", first["digest"], "--by", "max")
        ran = report("report", "--signal", "s1", "--by", "fixer")

        assert f"  closes   {first['id']}\n" in ran.stdout
        assert "superseded" == row(report("show", first["id"], "--json"))["state"]
        assert "" == report("grants").stdout

    def test_without_an_exception_the_change_is_that_of_the_card(self, report: Run) -> None:
        """`--change` says what the hand-back is about where no exception is named."""
        found = row(report("report", "--signal", "s1", "--by", "fixer", "--change", "drop the cache", "--json"))

        assert ("drop the cache", []) == (found["request"]["scope"]["change"], found["request"]["scope"]["targets"])


class TestUnnamed:
    def test_opens_nothing_and_says_so(self, report: Run) -> None:
        """A hand-back that names no exception says that it opens nothing, and whoever asked what to do: name it."""
        ran = report("report", "--signal", "s1", "--by", "fixer", "--relaxes-constraint")
        name = ran.stdout.split()[0]
        shown = report("show", name).stdout

        assert (4, True) == (ran.exit_code, f"  opens    {ASK_AGAIN}\n" in ran.stdout)
        assert f"  opens      {NOTHING}\n" in shown
        assert ["the brief is the same without it and with it"] == [
            line for line in shown.splitlines() if line.startswith("the brief")
        ]

    def test_has_neither_line_of_an_exception(self, report: Run) -> None:
        """The card of a hand-back without an exception has no `patch` and no `effect`, even if it brings them along."""
        card = {"patch": "other@2.0.0", "effect": {"approve": "anything"}, "note": "kept"}
        found = row(report("report", json.dumps({"signal": "s1", "by": "fixer", "card": card}), "--json"))

        assert {"note": "kept"} == found["request"]["card"]

    def test_approving_it_says_that_nothing_opened(self, report: Run) -> None:
        """The answer to a direction is recorded, and nothing is open afterwards."""
        found = row(report("report", "--signal", "s1", "--by", "fixer", "--json"))
        ran = report("approve", found["id"], "--digest", found["digest"], "--by", "max")

        assert [f"approved {found['id']} by max (unsigned)", f"opens {NOTHING}"] == ran.stdout.splitlines()[:2]


class TestShown:
    def test_the_card_names_all_that_opens(self, report: Run) -> None:
        """A person sees dependency, version, change and every path, and what approving does."""
        found = row(report("report", *OPTIONS, "--json"))
        lines = report("show", found["id"]).stdout.splitlines()

        assert [f"  card       effect, approve: {EFFECT}", f"  card       patch: {PATCH}"] == [
            line for line in lines if line.startswith(("  card       patch", "  card       effect"))
        ]
        assert [f"  opens      {target}" for target in OPENS] == [line for line in lines if line.startswith("  opens")]

    def test_a_manifest_is_not_opened_whole(self, report: Run) -> None:
        """Below a file of which only an entry opens it says so, and below a patch file it does not."""
        found = row(report("report", *OPTIONS, "--json"))
        lines = report("show", found["id"]).stdout.splitlines()
        note = "             at a ship, in it only the entry below and what needs no approval"

        assert ["  opens      write:package.json", note, f"  opens      {OPENS[1]}", f"  opens      {OPENS[2]}"] == [
            line for line in lines if line.startswith("  opens") or line == note
        ]

    def test_a_question_has_no_uses(self, report: Run) -> None:
        """What opens nothing has nothing to use."""
        asked, named = (row(report("report", *words, "--json"))["id"] for words in (("--signal", "s2"), OPTIONS))

        assert "  uses " not in report("show", asked).stdout
        assert "  uses       1 of 1 left\n" in report("show", named).stdout


class TestRefused:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"dependency_exception": {**NAMED, "paths": ["src/app.js"]}}, "exact dependency files only: `src/app.js`"),
            ({"dependency_exception": {**NAMED, "paths": []}}, "exact dependency files only: none is named"),
            ({"relaxes_constraint": False}, "goes with relaxes_constraint"),
            ({"dependency_exception": {"dependency": "libdb"}}, "is not {dependency, version, paths, change}"),
            ({"dependency_exception": {**NAMED, "change": "a\nb"}}, "the change holds U+000A"),
            ({"signal": None}, "a report has no `signal`"),
            ({"nonsense": 1}, "unknown key `nonsense`"),
        ],
    )
    def test_what_is_no_report(self, report: Run, changes: dict[str, Any], message: str) -> None:
        """What is no exact report is refused by name, and no request opens."""
        ran = report("report", json.dumps({**REPORT, **changes}))

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert message in ran.stderr
        assert "" == report("requests").stdout

    def test_json_and_options_together(self, report: Run) -> None:
        """A report is given in one way, so that neither says what the other does not."""
        ran = report("report", json.dumps(REPORT), "--by", "somebody")

        assert (1, "error: `--by` goes with no REPORT\nhint: all in the JSON, or all in options\n") == (
            ran.exit_code,
            ran.stderr,
        )

    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            ("--dependency libdb --relaxes-constraint", "a report has no `signal`", "--signal ID"),
            (
                "--signal s1 --relaxes-constraint --dependency libdb --version 1.8.2 --path bun.lock",
                f"{INCOMPLETE}: `change` missing",
                "--change TEXT",
            ),
            (
                "--signal s1 --relaxes-constraint --dependency libdb",
                f"{INCOMPLETE}: `version`, `paths`, `change` missing",
                "--version VERSION --path PATH --change TEXT",
            ),
            (
                "--signal s1 --relaxes-constraint --path bun.lock --change c",
                f"{INCOMPLETE}: `dependency`, `version` missing",
                "--dependency NAME --version VERSION",
            ),
            (
                "--signal s1 --dependency libdb --version 1.8.2 --path bun.lock --change c",
                "`dependency_exception` goes with relaxes_constraint: only a person can open anything",
                "--relaxes-constraint",
            ),
        ],
    )
    def test_options_that_are_missing(self, report: Run, words: str, message: str, hint: str) -> None:
        """Where an option is missing, the error says what the report lacks and the hint which option gives it."""
        ran = report("report", *words.split())

        assert (1, "", f"error: {message}\nhint: {hint}\n") == (ran.exit_code, ran.stdout, ran.stderr)
        assert "" == report("requests").stdout

    @pytest.mark.parametrize(
        ("given", "hint"),
        [
            ("report.json", "`@report.json` for a file, `-` for standard input, or options: "),
            ("bug-17", "`@FILE` for a file, `-` for standard input, or options: "),
            ("{", None),
        ],
    )
    def test_what_is_no_json(self, report: Run, given: str, hint: str | None) -> None:
        """A word that is no JSON may be a file whose `@` was forgotten, and the hint says so."""
        ran = report("report", given)

        assert (1, True) == (ran.exit_code, ran.stderr.startswith("error: report is not JSON: line 1 column "))
        assert (f"hint: {hint}see `indult report --help`" if hint else None) == next(
            iter(ran.stderr.splitlines()[1:]), None
        )

    @pytest.mark.parametrize(
        ("signal", "hint"), [("signal:bug-17", "leave it out: `bug-17`"), ("signal:", "leave it out")]
    )
    def test_the_subject_in_place_of_the_signal(self, report: Run, signal: str, hint: str) -> None:
        """`signal:ID` would be the signal `signal:ID`, and nothing that is approved for it would count for `ID`."""
        expected = (1, f"error: the signal `{signal}` begins with `signal:`\nhint: {hint}\n")
        for ran in (report("report", "--signal", signal), report("report", json.dumps({**REPORT, "signal": signal}))):
            assert expected == (ran.exit_code, ran.stderr)

    @pytest.mark.parametrize(
        ("path", "hint"),
        [
            ("./package.json", "without `./`: `package.json`"),
            ("pyproject.tml", "did you mean `pyproject.toml`?"),
            ("./app/packge.json", "did you mean `app/package.json`?"),
            ("src/app.js", "manifests, locks, vendor/..., patches/..."),
        ],
    )
    def test_a_path_that_is_nearly_one(self, report: Run, path: str, hint: str) -> None:
        """A path that is no dependency file is refused, with the one that may have been meant."""
        ran = report("report", *OPTIONS, "--path", path)

        assert (1, f"error: exact dependency files only: `{path}`\nhint: {hint}\n") == (ran.exit_code, ran.stderr)

    def test_a_rule_that_takes_no_exception(self, report: Run, tmp_path: Path) -> None:
        """A limit whose rule declares no exception cannot be named, only talked about."""
        (tmp_path / "indult.yaml").write_text(
            'schema: 1\nrules: [{id: dep, effect: ask, target: ["file:**", "entry:**"], says: Ask.}]\n', "utf-8"
        )
        ran = report("report", *OPTIONS)

        assert (1, True) == (ran.exit_code, "the rule `dep` takes no named exception" in ran.stderr)
