from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from indult import load_policy, loads_policy, open_ledger
from indult.autofix.signals import Sighting, Signal, SignalState, find, ingest, move
from indult.errors import LedgerBusy
from indult.places import repository_ledger
from indult.testing.branches import Branches, git
from indult.trust import record_trust

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ran, Run

LAW = "schema: 1\nextends: indult/repository@1\n"
NAMED = "--signal ID --relaxes-constraint --dependency libdb --version 1.8.3"
HINT = "to ask a person for exactly this commit: --hold TEXT"

MANIFEST = '{"name": "demo", "dependencies": {"libdb": "1.8.2", "other": "1.0.0"}}\n'
BASE = {"package.json": MANIFEST, "src/app.js": "run();\n"}


def write(path: str, content: str = "new\n") -> dict[str, Any]:
    """Return the operation that writes a file."""
    return {"op": "write", "path": path, "content": content}


PLAIN = (write("src/app.js"), write("docs/a.md"))
PATCH = (write("package.json", MANIFEST.replace("1.8.2", "1.8.3")), write("src/app.js"))
DENIED = (write(".env"), write("vendor/other.js"))


def noticed(state: SignalState) -> str:
    """Notice something, put its signal into a state, and return its id."""
    with open_ledger() as ledger:
        (name,) = ingest(ledger, [Sighting(kind="test", summary="the value is wrong")]).ids
        move(ledger, name, state, reason="r")
    return name


def read(name: str) -> Signal:
    """Return a signal as it is now."""
    with open_ledger() as ledger:
        return find(ledger, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dock:
    """A repository with a branch `fix` that is to land in `main`, and a ledger."""

    folder: Path
    branches: Branches
    indult: Run

    def __call__(self, *words: str) -> Ran:
        """Ship the branch."""
        return self.indult("ship", "fix", "--into", "main", *words)

    def row(self, *words: str) -> dict[str, Any]:
        """Ship the branch and return what is said of that in JSON."""
        (found,) = self("--json", *words).json
        return dict(found)

    def approve(self, name: str) -> None:
        """Approve a request as it is shown."""
        (shown,) = self.indult("show", name, "--json").json
        assert 0 == self.indult("approve", name, "--digest", shown["digest"], "--by", "max").exit_code

    def named(self, *paths: str, signal: str = "s1") -> str:
        """Have a patch of libdb approved, and return the id of its request."""
        words = [word for path in paths for word in ("--path", path)]
        ran = self.indult(
            "report", "--signal", signal, "--by", "fixer", "--relaxes-constraint", "--dependency", "libdb",
            "--version", "1.8.3", "--change", "1.8.3 resets the counter", *words,
        )  # fmt: skip
        name = ran.stdout.split()[0]
        self.approve(name)
        return name

    def tip(self, branch: str = "main") -> str:
        """Return the commit that a branch is at."""
        return git(self.branches.folder, "rev-parse", branch).decode().strip()

    def events(self) -> int:
        """Return how many events the ledger holds."""
        with open_ledger() as ledger:
            return sum(1 for _ in ledger.events())


@pytest.fixture(name="dock")
def _dock(indult: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what makes a repository with these changes on its branch, and is in its folder then."""

    def make(*changes: dict[str, Any], law: str = LAW, **base: str) -> Dock:
        branches = Branches(tmp_path / "repository", {**BASE, "indult.yaml": law, **base}, changes)
        monkeypatch.chdir(branches.folder)
        return Dock(folder=tmp_path, branches=branches, indult=indult)

    return make


class TestLanding:
    def test_says_what_landed(self, dock: Any) -> None:
        """A branch of plain changes lands: commit, target and sorted files are printed, and the work tree shows it."""
        ship = dock(*PLAIN)
        ran = ship()

        assert (0, "") == (ran.exit_code, ran.stderr)
        assert [f"landed {ship.tip()} in main: 2 files", "  docs/a.md", "  src/app.js"] == ran.stdout.splitlines()
        assert "new\n" == (ship.branches.folder / "docs" / "a.md").read_text(encoding="utf-8")

    def test_says_it_in_json(self, dock: Any) -> None:
        """With `--json` one line holds all of it."""
        ship = dock(write("docs/a.md"))
        row = ship.row()

        assert {"result": "landed", "commit": ship.tip(), "files": ["docs/a.md"], "grants": [], "behind": []} == row

    def test_lists_fifty_files(self, dock: Any) -> None:
        """Of many files the first fifty are listed, and how many more there are; JSON has all of them."""
        files = [f"docs/{number:02}.md" for number in range(52)]
        ship = dock(*map(write, files))
        expected = [": 52 files", *(f"  {name}" for name in files[:50]), "  and 2 more"]
        row = ship.row("--dry-run")

        for ran in (ship("--dry-run"), ship()):
            first, *rest = ran.stdout.splitlines()
            assert expected == [first[-10:], *rest]
        assert files == row["files"]

    def test_nothing_to_land(self, dock: Any) -> None:
        """A branch that the target has already is no error."""
        ship = dock(write("docs/a.md"))
        assert "1 file\n" in ship().stdout
        landed = ship.tip()
        ran = ship()

        assert (0, "nothing to land: main has all of fix\n") == (ran.exit_code, ran.stdout)
        assert (0, landed) == (ship("--dry-run").exit_code, ship.tip())
        assert "empty" == ship.row()["result"]

    def test_a_named_exception_is_used_up(self, dock: Any) -> None:
        """What a person approved for the signal lands once; the commit names the grant, and the ship prints it."""
        ship = dock(*PATCH)
        name = ship.named("package.json")
        (grant,) = ship.indult("grants", "--json").json
        ran = ship("--signal", "s1")
        message = git(ship.branches.folder, "log", "-1", "--format=%B", "main").decode()

        assert (0, [f"used {grant['id']}"]) == (ran.exit_code, ran.stdout.splitlines()[-1:])
        assert f"\nIndult-Grant: {grant['id']} {grant['at']}\n" in message
        assert "spent" == ship.indult("show", name, "--json").json[0]["state"]

    def test_another_subject(self, dock: Any) -> None:
        """`--subject` names whose approvals count, also behind signals that have none."""
        ship = dock(*PATCH)
        ship.named("package.json")

        assert [4, 4, 0] == [
            ship(*words).exit_code
            for words in ((), ("--subject", "signal:s2"), ("--signal", "s2", "--subject", "signal:s1"))
        ]

    def test_from_a_work_tree_of_the_branch(self, dock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It can be shipped from a linked work tree, and the one that has the target checked out shows it."""
        ship = dock(write("docs/a.md"))
        git(ship.branches.folder, "worktree", "add", "-q", str(tmp_path / "linked"), "fix")
        monkeypatch.chdir(tmp_path / "linked")

        assert 0 == ship().exit_code
        assert (ship.branches.folder / "docs" / "a.md").exists()

    def test_a_work_tree_that_stays_behind(self, dock: Any) -> None:
        """A work tree in which a filter would have to run is left alone, and the ship says so."""
        ship = dock(write("docs/a.md"))
        git(ship.branches.folder, "config", "filter.x.smudge", "cat")
        ran = ship()

        assert (0, f"not brought up to date, since changes or filters are in the way: {ship.branches.folder}") == (
            ran.exit_code,
            ran.stdout.splitlines()[-1],
        )
        assert not (ship.branches.folder / "docs" / "a.md").exists()

    def test_changes_in_the_way(self, dock: Any) -> None:
        """Where the target is checked out with changes in what would land, nothing lands."""
        ship = dock(write("docs/a.md"))
        before = ship.tip()
        (ship.branches.folder / "docs").mkdir()
        (ship.branches.folder / "docs" / "a.md").write_text("mine\n", encoding="utf-8")
        ran = ship()

        assert (1, "", before) == (ran.exit_code, ran.stdout, ship.tip())
        assert ran.stderr.endswith(
            " with changes in what would land: `docs/a.md`\nhint: commit, stash or move them, and ship again\n"
        )

    def test_from_elsewhere(self, dock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """`--repository` names the repository, and `--policy-file` where the policy lies in the target."""
        ship = dock(write("docs/a.md"), law="schema: 2\n", **{"ci/law.yaml": LAW})
        monkeypatch.chdir(tmp_path)
        words = ("--repository", "repository", "--policy-file", "ci/law.yaml")
        assert "hint: leave the option out, or run `indult trust ci/law.yaml`\n" in ship(*words).stderr
        trusted = tmp_path / "repository" / "ci" / "law.yaml"
        with open_ledger(repository_ledger(str(tmp_path / "repository"))) as ledger:
            record_trust(trusted, loads_policy(LAW), ledger, by="max")

        assert 0 == ship(*words).exit_code


class TestRefusing:
    def test_each_fault_has_a_line(self, dock: Any) -> None:
        """A refusal names each path with its rule; it ends with 4 where a person could open all of it."""
        ship = dock(*PATCH, write("vendor/other.js"))
        before = ship.tip()
        ran = ship()

        assert (4, "", before) == (ran.exit_code, ran.stderr, ship.tip())
        assert [
            "refused",
            "  may only change package.json scripts, not libdb@1.8.3 [repo.dependencies]",
            "  may not change vendor/other.js [repo.dependencies]",
            "  hand back and name the one change that is needed: dependency_exception {dependency, version, paths, change}",
            f"  as a command: indult report {NAMED} --path package.json --path vendor/other.js --change TEXT",
            "nothing was handed back for branch:fix",
            HINT,
        ] == ran.stdout.splitlines()

    @pytest.mark.parametrize(
        ("given", "named"), [(["s1"], "s1"), (["s1", "s1"], "s1"), (["s1", "s2"], "ID"), ([], "ID")]
    )
    def test_the_command_names_the_one_signal(self, dock: Any, given: list[str], named: str) -> None:
        """The command that would ask names the signal of the ship, where that is exactly one."""
        ran = dock(*PATCH)(*(word for name in given for word in ("--signal", name)))

        assert f"  as a command: indult report --signal {named} --relaxes-constraint " in ran.stdout

    def test_what_is_denied_counts_most(self, dock: Any) -> None:
        """With one denied change a ship ends with 2, whatever else needs an approval."""
        ran = dock(*DENIED)()

        assert (2, True) == (ran.exit_code, "  may not change .env [repo.secrets]\n" in ran.stdout)
        assert HINT not in ran.stdout

    def test_where_an_approval_ends(self, dock: Any) -> None:
        """Beside an approved patch nothing else opens, the refusal says what is covered, and the approval stays."""
        ship = dock(*PATCH, write("vendor/other.js"))
        ship.named("package.json", "patches/a.patch")
        ran = ship("--signal", "s1")

        assert (4, ["refused", "  may not change vendor/other.js [repo.dependencies]"]) == (
            ran.exit_code,
            ran.stdout.splitlines()[:2],
        )
        assert "  the named exception libdb@1.8.3 covers only package.json, patches/a.patch\n" in ran.stdout
        assert 1 == len(ship.indult("grants", "--json").json)

    def test_in_json(self, dock: Any) -> None:
        """Each fault is a record with target, path, verdict and rules."""
        row = dock(write(".env")).row()

        assert ("refused", "DENY", ["repo.secrets"]) == (row["result"], row["verdict"], row["rules"])
        assert [{"target": "write:.env", "path": ".env", "verdict": "DENY", "rules": ["repo.secrets"]}] == row["faults"]

    def test_names_cannot_mislead(self, dock: Any) -> None:
        """What a branch calls its files cannot move the cursor or turn a line around."""
        assert dock(write("vendor/\x1b[2J\u202e.js"))().stdout.replace("\n", "").isprintable()

    def test_the_branch_brings_no_law(self, dock: Any) -> None:
        """The policy is that of the target: a branch that allows itself everything is refused for trying."""
        law = 'schema: 1\nrules: [{id: all, effect: allow, target: "file:**"}]\n'

        assert 2 == dock(write("indult.yaml", law), write("vendor/x.js"))().exit_code


class TestForeseeing:
    @pytest.mark.parametrize(("changes", "code"), [(PLAIN, 0), (DENIED, 2), (PATCH, 4)])
    def test_leaves_no_trace(self, dock: Any, changes: tuple[dict[str, Any], ...], code: int) -> None:
        """A dry run ends as the ship would; nothing moves, and the ledger holds what it held."""
        ship = dock(*changes)
        ship.named("patches/a.patch")
        before = (ship.tip(), ship.events())
        ran = ship("--dry-run")

        assert (code, before) == (ran.exit_code, (ship.tip(), ship.events()))

    def test_says_what_would_happen(self, dock: Any) -> None:
        """It names what would land, the grants it would use and the checks that would run first."""
        ship = TestChecks.trusted(dock(*PATCH, law=LAW + "checks: {unit: [make, test]}\n"))
        ship.named("package.json")
        (grant,) = ship.indult("grants", "--json").json
        ran = ship("--signal", "s1", "--dry-run")

        assert [
            f"would land {ship.tip('fix')} in main: 2 files",
            "  package.json",
            "  src/app.js",
            f"would use {grant['id']}",
            "would run the check unit first",
        ] == ran.stdout.splitlines()
        assert ("would land", [grant["id"]], ["unit"]) == tuple(
            ship.row("--signal", "s1", "--dry-run")[key] for key in ("result", "grants", "checks")
        )

    def test_says_why_it_would_be_refused(self, dock: Any) -> None:
        """A refusal reads the same as the real one."""
        ship = dock(*PATCH)

        assert ship().stdout == ship("--dry-run").stdout


class TestHolding:
    def test_asks_for_exactly_the_commit(self, dock: Any) -> None:
        """A held commit becomes a request with what is asked about on its card; approved, that commit lands."""
        ship = dock(*PATCH, write("vendor/other.js"))
        ran = ship("--hold", "both are needed")
        name = ran.stdout.splitlines()[-1].split()[0]
        shown = ship.indult("show", name).stdout

        assert (4, f"{name} asks for exactly this commit: indult show {name}") == (
            ran.exit_code,
            ran.stdout.splitlines()[-1],
        )
        assert f"  opens      commit:{ship.tip('fix')}\n" in shown
        assert "  change     both are needed\n" in shown
        title = f"commit {ship.tip('fix')[:12]}: libdb@1.8.3 in package.json; vendor/other.js"
        assert f"  title      {title}\n" in shown
        assert title in ship.indult("requests").stdout
        assert f"  card       look: git diff main...{ship.tip('fix')}\n" in shown
        assert "  card       asked: write:vendor/other.js\n" in shown
        ship.approve(name)
        assert 0 == ship().exit_code

    def test_not_for_the_next_commit(self, dock: Any) -> None:
        """One more commit on the branch is another one, and was not approved."""
        ship = dock(*PATCH)
        ship.approve(ship.row("--hold", "it is needed")["held"]["id"])
        ship.branches.add([write("vendor/other.js")])

        assert 4 == ship().exit_code

    def test_what_is_denied_is_not_asked_for(self, dock: Any) -> None:
        """With a denied change nobody is asked, and the refusal says so."""
        ship = dock(*DENIED)
        ran = ship("--hold", "please")

        assert (2, "") == (ran.exit_code, ship.indult("requests").stdout)
        assert "nobody was asked: what is denied cannot be held" == ran.stdout.splitlines()[-1]
        assert "nobody was asked" not in ship().stdout

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "`--hold` takes a line that tells a person why\nhint: --hold "),
            ("  ", "`--hold` takes a line that tells a person why\nhint: --hold "),
            ("a\nb", "the text of `--hold` holds U+000A"),
        ],
    )
    def test_a_question_that_is_none(self, dock: Any, text: str, message: str) -> None:
        """What nobody could be asked is refused before the branch is judged, and nothing is recorded."""
        ship = dock(*PATCH)
        ran = ship("--hold", text)

        assert (1, "", True) == (ran.exit_code, ran.stdout, ran.stderr.startswith(f"error: {message}"))
        assert 0 == ship.events()

    def test_without_its_text(self, dock: Any) -> None:
        """An option without its value points at the help of the verb."""
        ran = dock(*PATCH)("--hold")

        assert (1, "error: option `--hold` requires an argument\nhint: see `indult ship --help`\n") == (
            ran.exit_code,
            ran.stderr,
        )

    def test_what_is_allowed_lands(self, dock: Any) -> None:
        """Where nothing needs an approval there is nothing to ask."""
        ship = dock(*PLAIN)

        assert (0, "") == (ship("--hold", "please").exit_code, ship.indult("requests").stdout)

    def test_no_dry_run(self, dock: Any) -> None:
        """To ask is to record something, so it does not go with a dry run."""
        ran = dock(*PATCH)("--hold", "please", "--dry-run")

        assert (1, True) == (ran.exit_code, "`--dry-run` records nothing" in ran.stderr)


class TestChecks:
    @staticmethod
    def trusted(ship: Dock) -> Dock:
        """Trust the policy in the work tree of the target."""
        with open_ledger() as ledger:
            record_trust("indult.yaml", load_policy("indult.yaml"), ledger, by="max")
        return ship

    def test_a_check_that_fails(self, dock: Any) -> None:
        """What fails a check does not land: the check, why, the command and its output are told."""
        command = ["sh", "-c", "cat docs/a.md; exit 3"]
        ship = self.trusted(dock(*PLAIN, law=LAW + f"checks: {{unit: {command}}}\n"))
        before = ship.tip()
        ran = ship()

        assert (1, before) == (ran.exit_code, ship.tip())
        assert [
            "refused",
            "  the check `unit` did not pass: ended with 3",
            "  $ sh -c 'cat docs/a.md; exit 3'",
            "  | new",
        ] == ran.stdout.splitlines()
        assert {"name": "unit", "command": command, "why": "ended with 3", "output": "new\n"} == ship.row()["check"]

    def test_a_check_that_nobody_trusts(self, dock: Any) -> None:
        """A policy that nobody trusts runs no program."""
        ran = dock(*PLAIN, law=LAW + "checks: {unit: [touch, ran]}\n")()

        assert (1, "") == (ran.exit_code, ran.stdout)
        assert "`indult.yaml` of `main` names checks, and nobody trusts it as it is" in ran.stderr

    def test_a_branch_that_moves_meanwhile(self, dock: Any, tmp_path: Path) -> None:
        """What was not judged does not land: a branch that moves while its checks run is refused."""
        move = f"git -C {tmp_path / 'repository'} update-ref refs/heads/fix refs/heads/main"
        ship = self.trusted(dock(*PLAIN, law=LAW + f"checks: {{unit: [sh, -c, '{move}']}}\n"))
        before = ship.tip()
        ran = ship()

        assert (1, before) == (ran.exit_code, ship.tip())
        assert "  `fix` or `main` moved after it was judged" == ran.stdout.splitlines()[1]


class TestErrors:
    LAW = LAW + "context: {frozen: bool}\nrules: [{id: freeze, effect: deny, when: frozen, says: Nothing lands now.}]\n"

    @pytest.mark.parametrize(
        ("words", "code", "message"),
        [
            ((), 3, "the policy declares the fact `frozen`, which is not given"),
            (("--facts", '{"frozen": 1}'), 2, ""),
            (("--facts", '{"frozen": true, "other": 1}'), 3, "`other`"),
            (("--facts", '{"frozen": true}'), 2, ""),
            (("--facts", '{"frozen": false}'), 0, ""),
        ],
    )
    def test_facts(self, dock: Any, words: tuple[str, ...], code: int, message: str) -> None:
        """Facts that the target's policy declares are given, and decide."""
        ran = dock(*PLAIN, law=self.LAW)(*words)

        assert (code, True) == (ran.exit_code, message in ran.stderr)

    @pytest.mark.parametrize(
        ("words", "code", "message"),
        [
            (("ship", "fix", "--into", "nowhere"), 1, "there is no branch `nowhere`"),
            (("ship", "nowhere", "--into", "main"), 1, "there is no branch `nowhere`"),
            (("ship", "fix", "--into", "main", "--policy-file", "law.yaml"), 3, "there is no `law.yaml` in it"),
            (("ship", "fix", "--into", "main", "--repository", os.sep), 1, ""),
            (("ship", "fix", "--into", "main", "--signal", "a\nb"), 1, "the signal holds U+000A"),
            (("ship", "fix", "--into", "main", "--signal", "signal:s1"), 1, "hint: leave it out: `s1`"),
            (("ship", "fxi", "--into", "main"), 1, "there is no branch `fxi`\nhint: did you mean `fix`?"),
            (("ship", "fix~1", "--into", "main"), 1, "hint: local branches only: git branch NAME REVISION"),
            (
                ("ship", "fix", "--into", "main", "--policy-file", "law.yaml"),
                3,
                "hint: commit `law.yaml` to `main`, for instance with these two lines:\nschema: 1\n",
            ),
            (("ship", "fix"), 1, "missing option `--into`"),
        ],
    )
    def test_what_is_not_there(self, dock: Any, words: tuple[str, ...], code: int, message: str) -> None:
        """A branch, a repository or a policy that is not there is an error on standard error."""
        ship = dock(*PLAIN)
        ran = ship.indult(*words)

        assert (code, "", True) == (ran.exit_code, ran.stdout, message in ran.stderr)
        assert ran.stderr.startswith("error: ")

    def test_a_law_that_nobody_committed(self, dock: Any) -> None:
        """A policy that only lies in the work tree is no law, and the error says where it is and what to do."""
        ship = dock(*PLAIN)
        git(ship.branches.folder, "rm", "--quiet", "--cached", "indult.yaml")
        git(
            ship.branches.folder, "-c", "user.name=a", "-c", "user.email=a@shop.example", "commit", "--quiet", "-m", "b"
        )
        ran = ship()
        place = ship.branches.folder / "indult.yaml"

        assert (3, "") == (ran.exit_code, ran.stdout)
        assert f"hint: `{place}` is there, and not committed to `main`: commit it to that branch\n" in ran.stderr


class TestSignals:
    """What becomes of a signal whose repair a person shipped."""

    def test_it_landed(self, dock: Any) -> None:
        """The signal is landed with its commit, once the landing was said, and what was asked for it is withdrawn."""
        ship = dock(*PLAIN)
        name = noticed(SignalState.NEEDS_HUMAN)
        request = ship.indult("report", "--signal", name, "--by", "fixer", "--change", "which one?").stdout.split()[0]
        ran = ship("--signal", name)
        found = read(name)

        assert (0, "") == (ran.exit_code, ran.stderr)
        assert f"landed {ship.tip()} in main: 2 files" == ran.stdout.splitlines()[0]
        assert f"the signal {name} is landed, 1 question withdrawn" == ran.stdout.splitlines()[-1]
        assert (SignalState.LANDED, f"landed {ship.tip()} in main") == (found.state, found.reason)
        (shown,) = ship.indult("show", request, "--json").json
        assert ("withdrawn", f"its repair landed as {ship.tip()}") == (shown["state"], shown["withdrawn"])

    def test_in_json(self, dock: Any) -> None:
        """As JSON the signal is a line of its own behind that of the landing."""
        ship = dock(*PLAIN)
        name = noticed(SignalState.NEW)
        first, second = ship("--signal", name, "--signal", name, "--json").json

        assert "landed" == first["result"]
        assert {"signal": name, "state": "landed", "withdrawn": 0} == second

    def test_under_a_fixer(self, dock: Any) -> None:
        """A signal that a fixer is at work on stays with it, which is said, and the ship went well."""
        ship = dock(*PLAIN)
        name = noticed(SignalState.FIXING)
        ran = ship("--signal", name)

        assert (0, ship.tip()) == (ran.exit_code, ran.stdout.split()[1])
        assert f"the signal {name} stays fixing: a fixer is at work on it" == ran.stdout.splitlines()[-1]
        assert SignalState.FIXING is read(name).state

    def test_by_a_fixer(self, dock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever is at work says of no signal that it is repaired."""
        ship = dock(*PLAIN)
        name = noticed(SignalState.NEEDS_HUMAN)
        monkeypatch.setenv("INDULT_ACTOR", "fixer")
        landed, kept = ship("--signal", name, "--json").json

        assert ("landed", "needs-human") == (landed["result"], kept["state"])
        assert kept["error"].startswith("`fixer` is at work here")
        assert SignalState.NEEDS_HUMAN is read(name).state

    def test_an_error_is_told(self, dock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the signal cannot be moved the branch has landed all the same, and the error is told behind that."""
        ship = dock(*PLAIN)
        name = noticed(SignalState.FIX)

        def busy(*args: Any, **options: Any) -> None:
            raise LedgerBusy("the ledger is locked")

        monkeypatch.setattr("indult.cli.ship.move", busy)
        ran = ship("--signal", name)

        assert (0, ship.tip()) == (ran.exit_code, ran.stdout.split()[1])
        assert f"the signal {name} stays fix: the ledger is locked" == ran.stdout.splitlines()[-1]

    def test_nothing_landed(self, dock: Any) -> None:
        """A branch that is refused, only foreseen or has nothing to land moves no signal."""
        ship = dock(*PLAIN)
        name = noticed(SignalState.FIX)
        ship("--signal", name, "--dry-run")
        assert SignalState.FIX is read(name).state
        ship()
        assert "nothing to land" in ship("--signal", name).stdout
        assert SignalState.FIX is read(name).state

    def test_refused(self, dock: Any) -> None:
        """A branch that is denied moves no signal."""
        ship = dock(*DENIED)
        name = noticed(SignalState.FIX)
        assert 2 == ship("--signal", name).exit_code
        assert SignalState.FIX is read(name).state
