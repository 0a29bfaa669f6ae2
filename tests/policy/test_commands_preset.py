from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from indult.actions import Action
from indult.boundary import Boundary
from indult.decompose import decompose_with
from indult.judgements import Verdict
from indult.policy import loads_policy
from indult.testing.runners.shell import Disk

DATA = Path(__file__).parents[1] / "data" / "shell"
CASES = Path(os.environ.get("INDULT_CASES") or Path(__file__).parents[3] / "shared" / "cases") / "agent_commands.jsonl"

# The policy that `indult init` writes.
POLICY = loads_policy("schema: 1\ndefault: ask\nextends: [indult/repository@1, indult/commands@1]")


SECRETS = {"files": ["/repo/.env", "/repo/.git/HEAD", "/repo/src/a.py"]}
"""A repository with a file that may not be read."""


class Full(Disk):
    """A disk on which every file has a digest, so that nothing is let through for being absent."""

    def digest(self, path: str) -> str | None:
        """Return a digest for every path."""
        return f"sha256:{len(path):064x}"


class Sparse(Disk):
    """A disk on which a folder is there only where something lies in it, so that most of what is named is missing."""

    def folder(self, path: str) -> bool:
        """Tell whether something lies below a path."""
        return bool(self.entries(path))


def verdict(command: str, disk: Disk | None = None) -> Verdict:
    """Return what the gate says of a shell line in `/repo`."""
    decompose = decompose_with(disk or Disk({}), "/repo", "/home/dev")
    boundary = Boundary(policy=POLICY, decompose=decompose)
    return boundary.judge(Action(tool="Bash", args={"command": command}, cwd="/repo"), {}).verdict


@pytest.mark.parametrize("text", ["~/.npmrc", "$HOME/.config/x", "/srv/x/.m2/settings.xml", "/opt/a/.npmrc", "~/.*rc"])
def test_a_home_is_one_wherever_it_lies(text: str) -> None:
    """What lies hidden in it is asked about, and outside of the tree so is what holds a token by its name."""
    boundary = Boundary(policy=POLICY, decompose=decompose_with(Disk(SECRETS), "/repo", "/srv/x"))

    assert Verdict.ASK_USER is boundary.judge(Action(tool="Bash", args={"command": f"cat {text}"}), {}).verdict


def harmful() -> list[str]:
    """Return the commands of the list; a line that begins with a tab goes on with the one before."""
    commands: list[str] = []
    for line in (DATA / "harmful.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            commands[-1] += "\n" + line[1:]
        elif line and not line.startswith("#"):
            commands.append(line)
    return commands


@pytest.mark.parametrize("disk", [Disk(SECRETS), Full(SECRETS), Sparse(SECRETS)], ids=["bare", "full", "sparse"])
def test_nothing_harmful_is_let_through(disk: Disk) -> None:
    """Not one command of the list runs without a person, whatever lies on the disk."""
    commands = harmful()

    assert 150 <= len(set(commands)) == len(commands)
    assert [] == [command for command in commands if verdict(command, disk) is Verdict.APPROVE]


@pytest.mark.parametrize(
    "command",
    [
        "git switch main",
        "git merge feature",
        "git stash",
        "git revert HEAD",
        "git cherry-pick abc",
        "git reset HEAD src/a.py",
        "git worktree list",
        "git rm src/a.py",
        "git checkout -b fix",
        "cat src/billing/*.py",
        "git add src/*.py",
        "pytest tests/test_*.py",
        "ruff check src/*.py",
        "mypy src/*.py",
        "grep -n x src/*.py",
        "cat *.json",
        "wc -l *.txt",
        "for f in a b; do cat $f; done",
        "X=src; head $X/a.py",
        'for f in src/*.py; do wc -l "$f"; done',
        "find . -name '*.py' -print0 | xargs -0 grep -n x",
        "find . -name '*.php' | xargs wc -l",
        'while IFS= read -r line; do echo "$line"; done < a.txt',
        "git stash -u",
        "git tag --sort=-creatordate",
        "gh pr view 7 --comments",
        "gh run list --limit 5",
        "curl -s localhost:8000/health",
        "docker compose ps",
        "uv run python -m pytest -q",
        "split -b 10m a.bin part_",
        "head -n $((2+3)) a.txt",
        "tail -n +$((10)) a.txt",
        "cut -d , -f 1-$((n+1)) a.txt",
        'grep -rnA "$x" y src',
        "compgen -A function",
        "set -o vi",
    ],
)
def test_daily_work_is_free(command: str) -> None:
    """What comes from history, and globs of source code, are about nothing that is protected."""
    assert verdict(command) is Verdict.APPROVE


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git checkout other -- .env", Verdict.DENY),
        ("git checkout other .github", Verdict.DENY),
        ("git restore --source=other indult.yaml", Verdict.DENY),
        ("git mv a.yml .github/workflows", Verdict.DENY),
        ("git mv settings.json .claude", Verdict.DENY),
        ("git stash push .env", Verdict.DENY),
        ("git checkout other -- '*env'", Verdict.ASK_USER),
        ("git checkout other -- :/", Verdict.ASK_USER),
        ("git checkout other -- .", Verdict.ASK_USER),
        ("git checkout other --pathspec-from-file=a", Verdict.ASK_USER),
        ("git rm -r src", Verdict.ASK_USER),
        ("cat .e*", Verdict.ASK_USER),
        ("ruff check --fix src/*.py", Verdict.ASK_USER),
        ("cat src/.*.py", Verdict.ASK_USER),
        ("shopt -s dotglob; cat *.json", Verdict.ASK_USER),
        ("X=.env; cat $X", Verdict.DENY),
        ("for f in a .env; do cat $f; done", Verdict.DENY),
        ("X=a; read X; cat $X", Verdict.ASK_USER),
        ("for f in *.py; do cat $f; done", Verdict.ASK_USER),
        ("find . -name '*.py' | xargs cat", Verdict.ASK_USER),
        ("find ~ -print0 | xargs -0 cat", Verdict.ASK_USER),
        ("gh pr view 7 --json body --jq env.GH_TOKEN", Verdict.ASK_USER),
        ("gh pr list -R other.example/a/b", Verdict.ASK_USER),
        ("GH_HOST=other.example gh pr list", Verdict.ASK_USER),
        ("export GH_HOST=other.example && gh pr list", Verdict.ASK_USER),
        ("gh pr create --fill", Verdict.ASK_USER),
        ("curl localhost.other.example/", Verdict.ASK_USER),
        ("curl -w '%output{a}' localhost:8000", Verdict.ASK_USER),
        ("compgen -W '$(id)'", Verdict.ASK_USER),
        ("head -c -n $((2+3))", Verdict.ASK_USER),
        ("head -n 5 $((2+3))", Verdict.ASK_USER),
        ("head -n $x a.txt", Verdict.ASK_USER),
        ("cat a.txt | xargs -I{} head -n {} {}", Verdict.ASK_USER),
        ('head -- -n "$x"', Verdict.ASK_USER),
        ('head --lines -n "$x"', Verdict.ASK_USER),
        ('grep -e -A "$x"', Verdict.ASK_USER),
        ('grep -f "$x" a.txt', Verdict.ASK_USER),
        ("IFS=x id", Verdict.ASK_USER),
        ("g=push; git $g --force", Verdict.DENY),
    ],
)
def test_paths_that_are_named_are_judged(command: str, found: Verdict) -> None:
    """A path that a command takes out of history, or that a glob can find, is one like any other."""
    assert found is verdict(command)


class Checked(Disk):
    """A disk with one file."""

    def folder(self, path: str) -> bool:
        """Tell that only the root is a folder."""
        return path == "/repo"

    def digest(self, path: str) -> str | None:
        """Return a digest of the one file."""
        return "sha256:" + "0" * 64 if path == "/repo/a.py" else None


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git checkout main", Verdict.APPROVE),
        ("git checkout -", Verdict.APPROVE),
        ("git checkout a.py", Verdict.ASK_USER),
        ("cd sub && git checkout ../a.py", Verdict.ASK_USER),
        ("git checkout main a.py", Verdict.ASK_USER),
        ("git checkout -f main", Verdict.ASK_USER),
    ],
)
def test_a_checkout_is_free_where_no_file_has_the_name(command: str, found: Verdict) -> None:
    """To go to a branch is free, to take a file back is not, and which it is depends on what is there."""
    assert found is verdict(command, Checked({}))


class Package(Disk):
    """A disk with a package, a module, and a folder that is no package."""

    def digest(self, path: str) -> str | None:
        """Return a digest of the files that are there."""
        names = ("shop/__init__.py", "shop/__main__.py", "shop/cli.py", "till.py", "bare/__main__.py", "sub/x.py")
        return "sha256:" + "0" * 64 if path.removeprefix("/repo/") in names else None


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("python3 -m shop --help", Verdict.APPROVE),
        ("python -u -m shop.cli", Verdict.APPROVE),
        ("python3 -m till", Verdict.APPROVE),
        ("cd sub && python3 -m x", Verdict.APPROVE),
        ("python3 -m shop.other", Verdict.ASK_USER),
        ("python3 -m bare", Verdict.ASK_USER),
        ("python3 -m other", Verdict.ASK_USER),
        ("python3 -m other pytest -c till.py", Verdict.ASK_USER),
        ("cd /tmp && python3 -m till", Verdict.ASK_USER),
        ("cd sub; python3 -m till", Verdict.ASK_USER),
        ("python3 -I -m till", Verdict.ASK_USER),
        ("echo 1 > till.py; python3 -m till", Verdict.ASK_USER),
    ],
)
def test_a_module_of_the_repository_is_free(command: str, found: Verdict) -> None:
    """Python may run a module that lies in the folder in force, by which no installed one can stand."""
    assert found is verdict(command, Package({}))


def test_commands_of_coding_agents_are_rarely_asked_about() -> None:
    """Of what coding agents have run, at most 35 % is asked about and at most 10 % denied."""
    if not CASES.is_file():
        pytest.skip(f"there is no {CASES}: name its folder in INDULT_CASES")
    commands = [json.loads(line)["command"] for line in CASES.read_text(encoding="utf-8").splitlines()]
    known = {command: verdict(command) for command in set(commands)}
    found = Counter(known[command] for command in commands)

    assert 2_860 == len(commands)
    assert found[Verdict.ASK_USER] <= 0.35 * len(commands), found
    assert found[Verdict.DENY] <= 0.10 * len(commands), found
    assert set(found) <= {Verdict.APPROVE, Verdict.ASK_USER, Verdict.DENY}


FREE = """
git status
git diff --stat HEAD~1
git add -A && git commit -m "fix: one thing"
git --no-pager log --oneline -10
git -C sub status --short
git switch -c fix/x
git checkout -b fix/y
git restore --staged src/a.py
git tag
git stash list
ls -la src/ ~
cat src/main.py | head -50
grep -rn "TODO" --include='*.py' src
grep -rn "TODO" --include=*.py src
find . -name "*.py" -not -path "./node_modules/*" | head -20
find . -name "*.py" -exec grep -l foo {} +
diff <(sort a.txt) <(sort b.txt)
sed -n '1,80p' src/app.ts
sed -i 's/foo/bar/g' src/app.ts
awk '{total += $1} END {printf "%.2f", total/NR}' a.txt
npm test
npm run build 2>&1 | tail -20
pytest -x -q tests/test_a.py 2>&1 | tail -5
python -m pytest tests -k "a and b"
uv run pytest -q
cargo test --workspace && cargo build --release
go test ./... && go run ./cmd/x
make -j4 test
mkdir -p src/new && touch src/new/a.py
rm src/old.py
cp a.txt b.txt
tar czf /tmp/a.tgz src
tar tf a.tgz
echo "hello" > notes.txt
cd /repo/src && npm test
FOO=bar pytest
pytest tests/test_a.py::test_b
pytest -c /dev/null --junitxml /tmp/r.xml tests
python3 -m unittest discover -s tests
coverage run -m pytest && coverage html -d /tmp/c
cd tests && pytest test_a.py
make -C sub test
make DESTDIR=/tmp/i all
npm test -- src/a.test.js
npm run build && npm test
go build -o /tmp/app ./cmd/app
go run ./cmd/x /tmp/in.json
cargo run -- /tmp/in.txt
cmake -S . -B build && cmake --build build && ctest --test-dir build
eslint src --ext .ts --fix
mypy --cache-dir=/dev/null src
black src && isort src && flake8 src
bundle exec rspec spec/a_spec.rb:12
./gradlew test --tests a.B
git -C sub log
export FOO=bar && make
node scripts/build.js
./scripts/build.sh --fast
bash scripts/build.sh
source venv/bin/activate && pytest
docker ps
ps aux | grep node
which node && node --version
host 127.0.0.1
jq '.scripts' package.json
curl -s http://localhost:3000/health
python3 -c "print(sum(range(10)) ** 2)"
python3 -c 'print("".join(chr(ord(c) ^ 1) for c in "abc"))'
test -f a && echo yes
indult request --help
indult show r_1
# nothing runs here
""".strip().splitlines()


@pytest.mark.parametrize("command", FREE)
def test_everyday_work_is_free(command: str) -> None:
    """To look, to build, to test and to edit in the repository needs no approval."""
    assert Verdict.APPROVE is verdict(command)


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn foo src",
        "grep -rnE 'a|b' -A 3 src tests",
        "grep -rn foo --include=*.py .",
        "grep -rn foo . --include '*.py' --include='*.md'",
        "grep -rn foo --exclude='.env*' .",
        "grep -rn foo --exclude-dir=node_modules --exclude .env src",
        "rg foo",
        "rg -n foo -t py .",
        "rg -u foo",
        "rg --hidden -g '!.env*' foo",
        "rg --files --hidden",
        "git grep -n foo -- src",
        "git grep -n foo src",
        "ag foo",
        "find . -name '*.py' -exec grep -l foo {} +",
        "find . -type f",
        "tar czf /tmp/a.tgz src",
        "tar czf /tmp/a.tgz --exclude=.env .",
        "cat src/**/*.py",
        "diff -r src /tmp/x",
        "ls -R .",
        "cat a | grep foo",
        "cat .env.example",
    ],
)
def test_a_search_that_leaves_secrets_out_is_free(command: str) -> None:
    """Where a file that may not be read lies elsewhere, or is left out, to search is as free as it is without one."""
    assert Verdict.APPROVE is verdict(command, Disk(SECRETS))


@pytest.mark.parametrize(
    "command", ["grep -r foo .", "rg -uuu foo", "tar cf - .", "find . -exec cat {} +", "git grep foo"]
)
def test_a_search_of_a_tree_without_secrets_is_free(command: str) -> None:
    """It is what lies on the disk that is asked about: an example of such a file keeps nobody from anything."""
    disk = Disk({"files": ["/repo/.env.example", "/repo/.git/HEAD", "/repo/src/a.py", "/repo/data/a.csv"]})

    assert Verdict.APPROVE is verdict(command, disk)


def test_what_a_search_would_read_is_named() -> None:
    """Whoever is asked, or has to do without, is told which files it is about and what to do."""
    disk = Disk({"files": [f"/repo/{name}/.env" for name in "abcd"]})
    boundary = Boundary(policy=POLICY, decompose=decompose_with(disk, "/repo", "/home/dev"))
    found = boundary.judge(Action(tool="Bash", args={"command": "grep -r x ."}, cwd="/repo"), {})

    assert (Verdict.ASK_USER, ("repo.secrets",)) == (found.verdict, found.rules)
    assert "it would read `a/.env`, `b/.env`, `c/.env`: leave such files out" in found.reason


@pytest.mark.parametrize(
    ("tool", "args", "found"),
    [
        ("Write", {"file_path": "AGENTS.md", "content": "x"}, Verdict.ASK_USER),
        ("Edit", {"file_path": "/repo/sub/CLAUDE.md", "old_string": "a", "new_string": "b"}, Verdict.ASK_USER),
        ("Write", {"file_path": ".cursor/rules/a.mdc", "content": "x"}, Verdict.ASK_USER),
        ("Read", {"file_path": "AGENTS.md"}, Verdict.APPROVE),
        ("Write", {"file_path": "README.md", "content": "x"}, Verdict.APPROVE),
        ("Grep", {"pattern": "x"}, Verdict.ASK_USER),
        ("Grep", {"pattern": "x", "glob": "*.py"}, Verdict.APPROVE),
        ("Grep", {"pattern": "x", "glob": ".env*"}, Verdict.ASK_USER),
        ("Grep", {"pattern": "x", "path": "src"}, Verdict.APPROVE),
        ("Grep", {"pattern": "x", "path": ".env"}, Verdict.DENY),
        ("Glob", {"pattern": "**/*"}, Verdict.APPROVE),
        ("Read", {"file_path": ".env.example"}, Verdict.APPROVE),
        ("Read", {"file_path": ".env"}, Verdict.DENY),
    ],
)
def test_file_tools_are_judged_like_commands(tool: str, args: dict[str, str], found: Verdict) -> None:
    """What tells agents how to work is for a person to change, and a search of texts reads what is not ignored."""
    boundary = Boundary(policy=POLICY, decompose=decompose_with(Disk(SECRETS), "/repo", "/home/dev"))

    assert found is boundary.judge(Action(tool=tool, args=args, cwd="/repo"), {}).verdict


class Remote(Disk):
    """A disk with a repository whose remote has an address."""

    def __init__(self, url: str) -> None:
        super().__init__(SECRETS)
        self._url = url

    def content(self, path: str) -> bytes | None:
        """Return the settings of git."""
        return f'[remote "origin"]\n\turl = {self._url}\n'.encode() if path == "/repo/.git/config" else None


@pytest.mark.parametrize(
    "command",
    ["cat .git/config", "git remote -v", "cd src && git remote get-url origin", "git config --get remote.origin.url"],
)
@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://ada:pw@host.example/a.git", Verdict.ASK_USER),
        ("https://abc@host.example/a.git", Verdict.ASK_USER),
        ("ssh://git:pw@host.example/a.git", Verdict.ASK_USER),
        ("ssh://git@host.example/a.git", Verdict.APPROVE),
        ("git@host.example:a.git", Verdict.APPROVE),
        ("https://host.example/a.git", Verdict.APPROVE),
    ],
)
def test_settings_of_git_are_shown_where_no_password_stands_in_them(command: str, url: str, found: Verdict) -> None:
    """An address with a password or a token in it is asked about, and any other is free to be shown."""
    assert found is verdict(command, Remote(url))


KEYS = {"files": ["/repo/service-account-1.json", "/repo/src/a.json", "/repo/certs/a.pem"]}
"""A repository in which accounts and keys lie."""


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cat *.json", Verdict.ASK_USER),
        ("cat src/*.json", Verdict.APPROVE),
        ("cat certs/a.pem", Verdict.ASK_USER),
        ("ls certs", Verdict.APPROVE),
    ],
)
def test_a_key_is_asked_about_where_it_lies(command: str, found: Verdict) -> None:
    """A glob of data is about a key where one is found by it."""
    assert found is verdict(command, Sparse(KEYS))


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("find . -name '*.pyc' -delete", Verdict.APPROVE),
        ("find src -type f -name '*.log' -mtime +7 -delete", Verdict.APPROVE),
        ("find -name '*.bak' -delete", Verdict.ASK_USER),
        ("find .git -name '*.log' -delete", Verdict.DENY),
        ("find ../x -name '*.pyc' -delete", Verdict.ASK_USER),
        ('cd "$X" && find . -name "*.pyc" -delete', Verdict.ASK_USER),
        ("find . -name '*.pyc' -o -delete", Verdict.DENY),
        ("find . ! -name '*.pyc' -delete", Verdict.DENY),
        ("find . -name '*.py' -delete", Verdict.DENY),
        ("git clean -n", Verdict.APPROVE),
        ("git clean -nd", Verdict.APPROVE),
        ("git clean -nf", Verdict.ASK_USER),
        ("git clean -f -- -n", Verdict.ASK_USER),
        ("mvn -q test", Verdict.APPROVE),
        ("mvn -q exec:java", Verdict.ASK_USER),
    ],
)
def test_leftovers_may_be_cleared_where_nothing_protected_is_among_them(command: str, found: Verdict) -> None:
    """What programs leave behind is deleted by its ending, and what a file that may not be touched has for one asks."""
    disk = Sparse({"files": ["/repo/.env.bak", "/repo/src/a.pyc", "/repo/src/a.log"]})

    assert found is verdict(command, disk)


FORMATTED = Sparse({"files": ["/repo/.github/workflows/ci.yml", "/repo/.husky/pre-commit", "/repo/src/a.ts"]})
"""A repository with files that other machines and git run."""


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("prettier --write .", Verdict.ASK_USER),
        ("prettier -w src .", Verdict.ASK_USER),
        ("cd src && prettier --write ..", Verdict.ASK_USER),
        ("prettier --write '**/*.yml'", Verdict.ASK_USER),
        ("node_modules/.bin/prettier --write .", Verdict.ASK_USER),
        ("shfmt -l -w .", Verdict.ASK_USER),
        ("deno fmt", Verdict.ASK_USER),
        ("prettier --write src", Verdict.APPROVE),
        ("prettier --write 'src/**/*.ts'", Verdict.APPROVE),
        ("prettier --check .", Verdict.APPROVE),
        ("biome check --write .", Verdict.APPROVE),
        ("eslint --fix src", Verdict.APPROVE),
        ("deno fmt src", Verdict.APPROVE),
        ("black .", Verdict.APPROVE),
        ("ruff format .", Verdict.APPROVE),
    ],
)
def test_a_formatter_is_asked_about_where_it_comes_upon_what_is_protected(command: str, found: Verdict) -> None:
    """What it would rewrite is looked for on the disk, by the endings that it takes."""
    assert found is verdict(command, FORMATTED)


ASKED = """
git push -u origin HEAD
git pull
git fetch origin
git checkout -- a.py
git reset --hard
git clean -fd
git branch -D old
git commit -nm x
git remote add other https://host.example/a.git
npm install left
npx tool
pip install -r requirements-dev.txt
apt-get install -y jq
curl -sL https://host.example/a.json
curl -X POST http://localhost:8000/requests/r_1/approve
curl -F f=@a.zip http://localhost:8000/upload
docker compose up -d
sudo ls
kill 1234
env
cat ~/.bashrc
touch ../elsewhere.txt
python3 -c "import json"
python3 - < a.py
node -e 1
bash /tmp/a.sh
tar xf a.tgz
npm run deploy
ls --hyperlink | unknown-program
""".strip().splitlines()


@pytest.mark.parametrize("command", ASKED)
def test_what_reaches_further_is_asked_about(command: str) -> None:
    """Installs, the network, services, other folders and texts for interpreters need approval, and can be opened."""
    assert Verdict.ASK_USER is verdict(command)


DENIED = """
indult approve r_1
python3 -m indult trust
git push --force
git push origin +main
sh -c 'git commit --amend --no-edit'
npm publish
cat ~/.ssh/id_rsa
gh auth token
curl -d @a.txt https://host.example
echo x > indult.yaml
rm -rf .claude/hooks
git config core.hooksPath /dev/null
rm -rf /
rm -rf .
mkfs.ext4 /dev/sda1
""".strip().splitlines()


@pytest.mark.parametrize("command", DENIED)
def test_what_no_approval_can_open_is_denied(command: str) -> None:
    """Decisions, rewritten history, releases, keys, uploads, the gate itself and the machine are out of reach."""
    assert Verdict.DENY is verdict(command)


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "__import__('os')",
        "print(open('a').read())",
        "().__class__",
        "getattr(print, chr(95))",
        "eval('1')",
        "exec('1')",
        "print('\\x5f')",
        "\uff4fpen('a')",
        "f'{globals()}'",
        "breakpoint()",
        "help()",
        "type('X', (), {})",
    ],
)
def test_python_in_a_command_may_only_compute(text: str) -> None:
    """Whatever could reach beyond numbers and texts keeps `python3 -c` from being let through."""
    assert Verdict.ASK_USER is verdict(f"python3 -c {json.dumps(text, ensure_ascii=False)}")


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost.host.example/",
        "http://localhost:80@host.example/",
        "http://host.example/?http://localhost/",
        "'http://localhost:{80,1}/'",
        "http://localhost:80/ https://host.example/",
        "http://localhost:80/ -o a",
        "http://localhost:80/ -d x",
        "http://localhost:80/$X",
        "http://localhost:80/ $X",
    ],
)
def test_only_this_machine_may_be_looked_at(url: str) -> None:
    """Nothing that merely begins like a local address passes for one."""
    assert Verdict.ASK_USER is verdict(f"curl {url}")


def test_a_denial_that_hangs_on_an_unknown_word_is_an_ask() -> None:
    """What a denied command could turn out to be is asked about; what it is whatever the word, is denied."""
    assert [Verdict.ASK_USER, Verdict.ASK_USER, Verdict.DENY] == [
        verdict(command) for command in ('git commit "$x"', "git push $x", "git push -f $x")
    ]
