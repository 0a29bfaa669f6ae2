from __future__ import annotations

import pytest
from tests.decompose.shell.helpers import asks, parts, possible, touched

from indult.decompose.shell.variables import secret


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cp -b -S .yaml src/a.py indult", "indult.yaml"),
        ("cp -bS.yaml src/a.py indult", "indult.yaml"),
        ("mv --suf=.yaml src/a.py indult", "indult.yaml"),
        ("install -b --suffix .yaml src/a d", "d/a.yaml"),
        ("cp -b -S .yaml -t d src/indult", "d/indult.yaml"),
        ("sed -i.yaml p indult", "indult.yaml"),
        ("sed -Ei.yaml p d/indult", "d/indult.yaml"),
        ("sed --in-p=.yaml p indult", "indult.yaml"),
        ("sed '-ix_*' p d/indult", "d/x_indult"),
        ("sed '-i.github/*' p ci.yml", ".github/ci.yml"),
        ("cp --parents .github/workflows/ci.yml src", "src/.github/workflows/ci.yml"),
        ("cp --par workflows/ci.yml .github", ".github/workflows/ci.yml"),
    ],
)
def test_a_file_that_no_word_names_is_written(text: str, name: str) -> None:
    """A backup has a suffix, and a source may keep its folders below the target."""
    assert f"write:{name}" in touched(text)


@pytest.mark.parametrize(
    ("text", "glob"),
    [
        ("split -a1 --additional-suffix=ml src/a.py indult.y", "write:indult.y*"),
        ("split src/a.py", "write:x??"),
        ("csplit -fd/x src/a.py 1", "write:d/x??"),
        ("csplit -n3 --prefix=d/x src/a.py 1", "write:d/x*"),
        ("csplit -b /x src/a.py 1", "write:**"),
        ('split src/a.py "$X"', "write:**"),
        ('cp -b -S "$X" a b', "write:**"),
        ("tar cf indult --suffix=.yaml --backup=simple src", "write:**"),
    ],
)
def test_a_name_that_is_not_known_as_a_whole_is_a_glob(text: str, glob: str) -> None:
    """Pieces begin with a prefix, and a suffix may not be known."""
    assert glob in possible(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("yq -i '.a = 1' a.yml", True),
        ("yq e -Pi '.a = 1' a.yml", True),
        ("yq --inplace '.a = 1' a.yml", True),
        ("yq --in-place '.a = 1' a.yml", True),
        ("yq -o=ini .a a.yml", False),
        ("yq .a a.yml", False),
    ],
)
def test_yq_writes_in_place_alone(text: str, written: bool) -> None:
    """Without the option it only reads; a letter behind one that takes a value is none."""
    assert written == ("write:a.yml" in touched(text))


@pytest.mark.parametrize("text", ["yq -s .a a.yml", "yq --split-exp=.a a.yml", 'yq "$X" a.yml'])
def test_yq_may_split_a_file_into_any(text: str) -> None:
    """The names of the pieces come from an expression."""
    assert "write:**" in possible(text)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("zip -@ a.zip", {"read"}),
        ("zip -m@ a.zip", {"read", "delete"}),
        ("tar czfT a.tgz names", {"read"}),
        ("tar -c -f a.tar --files-f=names", {"read"}),
        ("tar -c -f a.tar -T names --remove-files", {"read", "delete"}),
        ("sort --files0-from=-", {"read"}),
        ("xz --files", {"read", "write", "delete"}),
        ("strings @a", {"read"}),
        ("objdump -s @a", {"read"}),
        ("git hash-object -w --stdin-paths", {"read"}),
        ("git rm --pathspec-from-file=a", {"write", "delete"}),
    ],
)
def test_a_list_of_names_may_hold_any(text: str, kinds: set[str]) -> None:
    """What stands in a list is not known."""
    assert {f"{kind}:**" for kind in kinds} <= set(possible(text))


@pytest.mark.parametrize(
    "text", ["cp a b", "sed -n -e p a", "sed -i p a", "sort -f a", "tar cf a.tar src", "zip a.zip a"]
)
def test_what_names_its_files_leaves_nothing_open(text: str) -> None:
    """Without a list, a suffix or a prefix the words are all there is."""
    assert "write:**" not in possible(text)
    assert "read:**" not in possible(text)


@pytest.mark.parametrize(
    "text",
    [
        "gcc -E -xc -",
        "clang -xc /dev/stdin",
        "gcc @a",
        "gcc -Bx a.c",
        "clang -fplugin=x a.c",
        "jq 'import \"a\" as $a; .' b",
        "jq -f /tmp/a b",
        "jq -f",
        "jq -L x . b",
        "yq 'system(\"id\")' b",
        "yq 'eval(.a)' b",
        "yq --from-file=x b",
        "export --",
        "declare +p",
        "declare +x",
        "readonly -p",
        "readonly",
        "declare -n a=b",
        "npm test -C /tmp/x",
        "npm test --prefix ../x",
        "pre-commit run --config",
    ],
)
def test_what_brings_code_or_shows_variables_asks(text: str) -> None:
    """Words of a program's own language can bring what no word names."""
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "gcc -E a.c",
        "jq .import a",
        "yq .systems a",
        "yq eval .a b",
        "jq -f a.jq b",
        "export A=1",
        "declare -A a",
        "declare -f",
        "readonly A",
        "npm test",
    ],
)
def test_everyday_uses_of_them_do_not(text: str) -> None:
    """A source, a program and a name that are given are judged by the rules."""
    assert [] == asks(text)


@pytest.mark.parametrize("text", ["gcc -E -include.env a.c", "gcc -imacros.env a.c", "clang --include=.env a.c"])
def test_a_file_behind_an_option_of_a_compiler_is_read(text: str) -> None:
    """The name of the file may stand in the word of the option."""
    assert "read:.env" in touched(text)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("GITHUB_TOKEN", True),
        ("db_password", True),
        ("OPENAI_KEY", True),
        ("GH_PAT", True),
        ("SENTRY_DSN", True),
        ("NPM_AUTH", True),
        ("DATABASE_URL", True),
        ("APP_REDIS_URI", True),
        ("AZURE_STORAGE_CONNECTION_STRING", True),
        ("sort_key", False),
        ("KEY", False),
        ("API_URL", False),
        ("PWD", False),
        ("AUTHOR", False),
    ],
)
def test_a_variable_is_secret_by_its_name(name: str, found: bool) -> None:
    """Endings count in capitals alone, as the environment has them."""
    assert found is secret(name)


@pytest.mark.parametrize(
    "text", ["echo $A_TOKEN", "eval 'echo $A_TO''KEN'", "bash -c 'echo ${A_TO''KEN}'", "echo $A_TO\\\nKEN"]
)
def test_a_variable_that_may_be_secret_is_a_part(text: str) -> None:
    """The name counts as the shell reads it, in texts within texts too."""
    assert 'command:{"argv":[],"parameter":"A_TOKEN"}' in [part.target() for part in parts(text)]
