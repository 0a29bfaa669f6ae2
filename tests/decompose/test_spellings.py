from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from indult.actions import Action
from indult.boundary import Boundary
from indult.decompose import decompose_with
from indult.judgements import Verdict
from indult.policy import Effect, Policy, Rule
from indult.testing.runners.shell import Disk

FOLDER, NAME = "conf/deep", "guarded.yaml"
FS = {
    "symlinks": {
        "/repo/link": "conf/deep",
        "/repo/file": "/repo/conf/deep/guarded.yaml",
        "/srv/repo": "/repo",
        "/repo/up": "link/..",
        "/home/dev/srv": "/repo",
    }
}
PATHS = [
    "conf/deep/guarded.yaml",
    "./conf//deep/./guarded.yaml",
    "conf/x/../deep/guarded.yaml",
    "/repo/conf/deep/guarded.yaml",
    "//repo/conf/deep/guarded.yaml",
    "../repo/conf/deep/guarded.yaml",
    "link/guarded.yaml",
    "file",
    "up/deep/guarded.yaml",
    "/srv/repo/conf/deep/guarded.yaml",
    "/home/dev/srv/link/guarded.yaml",
]
DENIES = [
    "file:conf/deep/guarded.yaml",
    "file:**/guarded.yaml",
    "file:conf/**",
    "whole:**/deep/*",
    "write:**/guarded.*",
]
ALLOW = Rule(id="all", effect=Effect.ALLOW)


def quoted(path: str) -> str:
    """Return a path in single quotes, needed or not."""
    return shlex.quote(path) if shlex.quote(path) != path else f"'{path}'"


SPELLINGS: list[Callable[[str], str]] = [
    lambda path: path,
    quoted,
    lambda path: f'"{path}"',
    lambda path: "\\" + "\\".join(path) if path[0] != "~" else path,
    lambda path: "$'" + "".join(f"\\x{ord(char):02x}" for char in path) + "'",
    "''".join,
    lambda path: path.replace("a", "{a,b}", 1),
    lambda path: path.replace("a", "[a]", 1),
    lambda path: path.replace("a", "?", 1),
    lambda path: path.replace("yaml", "*"),
    lambda path: path.replace("/repo", "$PWD") if path.startswith("/repo") else path,
    lambda path: path.replace("/home/dev", "~") if path.startswith("/home/dev") else path,
    lambda path: path.replace("/home/dev", "${HOME}") if path.startswith("/home/dev") else path,
    lambda path: '"$X"' + path[:0],
    lambda path: f'"$(echo {path})"',
]
WRITES = [
    "echo x > {}",
    "echo x >> {}",
    "echo x >| {}",
    "echo x &> {}",
    "echo x <> {}",
    "> {}",
    "{{ echo x; }} > {}",
    "exec 3> {}",
    "cat <<'E' > {}\nx\nE",
    "echo x | tee {}",
    "echo x | tee -a y {}",
    "cp y {}",
    "mv y {}",
    "ln -sf y {}",
    "install -m 644 y {}",
    "sed -i s/a/b/ {}",
    "dd if=y of={}",
    "truncate -s 0 {}",
    "touch {}",
    "rm -f {}",
    "mv {} y",
    "curl -o {} example.org",
    "curl --output={} example.org",
    "wget -O {} example.org",
    "rsync y {}",
    "sort -o {} y",
    "git checkout main -- {}",
    "python3 tool.py --out {}",
    "some-unknown-tool {}",
    "sh -c {!q}",
    "env A=1 tee {}",
    "timeout 5 nice tee {}",
    "command tee {}",
    "eval tee {}",
    "f() {{ tee {}; }}; f",
    "trap 'tee {}' EXIT",
    "x=$(tee {})",
    "echo y | xargs -I@ cp @ {}",
    "find . -name y -exec cp y {} ';'",
    "if true; then :; else tee {}; fi",
    "chmod 600 {}",
]
FROM_BESIDE = [
    "cd conf/deep && tee guarded.yaml",
    "cd conf; cd deep; echo x > guarded.yaml",
    "(cd link && echo x > guarded.yaml)",
    "cd -P link/.. && echo x > deep/guarded.yaml",
    "pushd conf/deep && touch guarded.yaml",
    "env -C conf/deep tee guarded.yaml",
    "git -C conf/deep checkout guarded.yaml",
    "cp /tmp/guarded.yaml conf/deep",
    "cp -t conf/deep /tmp/guarded.yaml",
    "mv /tmp/guarded.yaml conf/deep/",
    "rm -rf conf",
    "mv conf old",
    "ln -s conf x && echo x > x/deep/guarded.yaml",
    "ln conf/deep/guarded.yaml x && echo x > x",
    "find conf -type f -exec tee {} ';'",
    "find . -name guarded.yaml -delete",
    "find conf -type f | xargs rm",
    "for f in conf/deep/*; do echo x > $f; done",
    "while read -r f; do echo x > $f; done < list",
    'cd "$X" && echo x > guarded.yaml',
    "tar -xf a.tar",
    "tar -C conf -xf a.tar",
    "unzip a.zip",
    "patch -p1 < x.diff",
    "git apply x.diff",
    "git reset --hard HEAD~1",
    "git stash pop",
    "sed -i s/a/b/ conf/*/*",
    "awk '{ print > \"conf/deep/guarded.yaml\" }' y",
    "sed 'w conf/deep/guarded.yaml' y",
]
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("Write", {"content": "x"}),
    ("Edit", {"old_string": "a", "new_string": "b"}),
    ("MultiEdit", {"edits": [{"old_string": "a", "new_string": "b"}]}),
    ("NotebookEdit", {"new_source": "x"}),
    ("write_file", {"content": "x"}),
    ("create", {"file_text": "x"}),
]


def verdict(deny: str, tool: str, args: dict[str, Any]) -> Verdict:
    """Judge a call under a policy that allows everything but one file."""
    policy = Policy(rules=(ALLOW, Rule(id="deny", effect=Effect.DENY, target=deny, says="No.")), default=Effect.ASK)
    boundary = Boundary(policy=policy, decompose=decompose_with(Disk(FS), "/repo", "/home/dev"))
    return boundary.judge(Action(tool=tool, args=args, cwd="/repo"), {}).verdict


def line(write: str, path: str, spelling: int) -> str:
    """Return a shell line that writes a path in one spelling."""
    word = SPELLINGS[spelling](path)
    if "{!q}" in write:
        return f"sh -c {shlex.quote(f'echo x > {word}')}"
    return write.format(word)


@given(st.sampled_from(DENIES), st.sampled_from(WRITES), st.sampled_from(PATHS), st.integers(0, len(SPELLINGS) - 1))
@example(DENIES[0], WRITES[0], PATHS[0], 0)
def test_no_spelling_of_a_write_to_a_denied_file_is_approved(deny: str, write: str, path: str, spelling: int) -> None:
    """However a shell line writes a file that a rule denies, it is not approved."""
    if deny.startswith("write:") and write in {"rm -f {}", "mv {} y", "chmod 600 {}"}:
        return
    text = line(write, path, spelling)

    assert Verdict.APPROVE is not verdict(deny, "Bash", {"command": text}), text


def test_no_other_way_to_write_a_denied_file_is_approved() -> None:
    """Neither by way of folders, links, archives and patches nor by what nobody knows beforehand."""
    for text in FROM_BESIDE:
        for deny in DENIES[:4]:
            assert Verdict.APPROVE is not verdict(deny, "Bash", {"command": text}), (deny, text)


def test_no_file_tool_writes_a_denied_file() -> None:
    """Every file tool is denied every spelling of the path, and so is a patch."""
    for deny in DENIES:
        for path in PATHS:
            for tool, args in TOOLS:
                assert Verdict.DENY is verdict(deny, tool, {"file_path": path, **args}), (deny, tool, path)
            patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch"
            assert Verdict.DENY is verdict(deny, "apply_patch", {"input": patch}), (deny, path)


def test_what_is_not_denied_is_approved() -> None:
    """The policy of these tests allows the same lines for another file, so that they show something."""
    for write in WRITES:
        if not any(word in write for word in ("checkout", "xargs", "find")):
            text = line(write, "other/place.txt", 0)
            assert Verdict.APPROVE is verdict(DENIES[0], "Bash", {"command": text}), text
