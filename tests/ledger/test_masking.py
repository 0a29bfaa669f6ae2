from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.ledger.masking import _FINDERS, _NAMES, mask, mask_text, suspicious

A = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0cD2fG4hJ6kL8nP1rS3uV5wX7yZ9bC1eF3g"
HEX = "0123456789abcdef" * 4
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{A[:43]}"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nabc\n-----END OPENSSH PRIVATE KEY-----"

# Made up from the published shapes; none was ever valid. Joined so that no scanner takes this file for a leak.
SECRETS = {
    "github-token": ["ghp_" + A[:36], "gho_" + A[:36], "ghs_" + A[:36]],
    "github-pat": ["github_pat_" + A[:22] + "_" + A[:59]],
    "gitlab-token": ["glpat-" + A[:20]],
    "aws-key-id": ["AKIA" + "Q7RS2TUV3WXY4ZAB", "ASIA" + "Q7RS2TUV3WXY4ZAB"],
    "slack-token": ["xoxb-" + "123456789012-1234567890123-" + A[:24], "xapp-" + "1-A0123456789-" + A[:20]],
    "slack-webhook": ["https://hooks.slack.com/services/" + "T00000000/B00000000/" + A[:24]],
    "stripe-key": ["sk_live_" + A[:24], "rk_test_" + A[:24], "whsec_" + A[:32]],
    "anthropic-key": ["sk-ant-" + "api03-" + A],
    "openai-key": ["sk-proj-" + A],
    "api-key": ["sk-" + A[:48]],
    "google-key": ["AIza" + A[:35]],
    "google-token": ["ya29." + A],
    "google-secret": ["GOCSPX-" + A[:28]],
    "npm-token": ["npm_" + A[:36]],
    "pypi-token": ["pypi-" + "AgEIcHlwaS5vcmc" + A],
    "huggingface-token": ["hf_" + A[:34]],
    "sendgrid-key": ["SG." + A[:22] + "." + A[:43]],
    "digitalocean-token": ["dop_v1_" + HEX],
    "shopify-token": ["shpat_" + HEX[:32]],
    "linear-key": ["lin_api_" + A[:40]],
    "groq-key": ["gsk_" + A[:52]],
    "databricks-token": ["dapi" + HEX[:32]],
    "vault-token": ["hvs." + A[:24]],
    "age-key": ["AGE-SECRET-KEY-1" + (A * 2).upper()[:58]],
    "telegram-token": ["12345678:AA" + A[:33]],
    "jwt": [JWT],
    "private-key": [
        KEY,
        "-----BEGIN PRIVATE KEY-----\nMIIEvQ",
        KEY.replace("\n", "\\n"),
        KEY.replace("OPENSSH", "RSA"),
    ],
}


@pytest.mark.parametrize(("kind", "secret"), [(kind, one) for kind, some in SECRETS.items() for one in some])
def test_a_known_shape_is_masked(kind: str, secret: str) -> None:
    """A secret of a known shape is replaced wherever it stands in a text, and the text around it stays."""
    for before, after in (("", ""), ("see ", " here"), ('{"x": "', '"}'), ("(", ")"), ("a=", ""), ("é\n", "")):
        masked = mask_text(f"{before}{secret}{after}")

        assert f"[masked:{kind}]" in masked
        assert masked.startswith(before)
        assert secret[-12:] not in masked
        if not secret.endswith("MIIEvQ"):  # a key that was cut off goes to the end of the text
            assert masked.endswith(after)


GIVEN = {
    "password=hunter2": "password=[masked:password]",
    "export DB_PASSWORD='two words'": "export DB_PASSWORD='[masked:password]'",
    "PGPASSWORD=x psql": "PGPASSWORD=[masked:password] psql",
    "API_KEY=abc GO=1": "API_KEY=[masked:key] GO=1",
    '{"password": "hunter2", "n": 1}': '{"password": "[masked:password]", "n": 1}',
    '"{\\"api_key\\": \\"abc\\"}"': '"{\\"api_key\\": \\"[masked:key]\\"}"',
    "password: swordfish\nuser: x": "password: [masked:password]\nuser: x",
    "the token: a1b2c3d4 was used": "the token: [masked:token] was used",
    "https://x.example/?token=abc&page=2": "https://x.example/?token=[masked:token]&page=2",
    "X-Api-Key: 0a1b2c3d4e": "X-Api-Key: [masked:key]",
    "Server=db;User=sa;Pwd=hunter2;": "Server=db;User=sa;Pwd=[masked:pwd];",
    "mysql --password hunter2 -u root": "mysql --password [masked:password] -u root",
    "deploy --api-key=abc": "deploy --api-key=[masked:key]",
    "x --auth-token 'a b' y": "x --auth-token '[masked:token]' y",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG": "AWS_SECRET_ACCESS_KEY=[masked:key]",
    'secret := "abc"': 'secret := "[masked:secret]"',
    "client_secret => 'abc'": "client_secret => '[masked:secret]'",
    'password="cut off': 'password="[masked:password]',
    'password="cut off\nnext': 'password="[masked:password]\nnext',
    "curl -H 'Authorization: Bearer abcdef'": "curl -H 'Authorization: Bearer [masked:authorization]'",
    "Authorization: Basic dXNlcjpwYXNz": "Authorization: Basic [masked:authorization]",
    '"authorization":"token abcdef1"': '"authorization":"token [masked:authorization]"',
    f"Bearer {HEX[:32]}": "Bearer [masked:bearer]",
    "Cookie: session=abc; theme=dark": "Cookie: [masked:cookie]",
    "Set-Cookie: id=abc": "Set-Cookie: [masked:cookie]",
    "postgres://bob:hunter2@db/x": "postgres://bob:[masked:url-password]@db/x",
    "https://x-access-token:abc123def@host/x": "https://x-access-token:[masked:url-password]@host/x",
    f"https://x-access-token:ghp_{A[:36]}@host/x": "https://x-access-token:[masked:github-token]@host/x",
    "redis://:hunter2@db": "redis://:[masked:url-password]@db",
    "curl -u bob:hunter2 https://x.example": "curl -u bob:[masked:user-password] https://x.example",
    "sshpass -p hunter2 ssh x": "sshpass -p [masked:ssh-password] ssh x",
    "pässwörd İ password=hunter2": "pässwörd İ password=[masked:password]",
}


@pytest.mark.parametrize(("text", "masked"), GIVEN.items())
def test_a_value_under_a_telling_name_is_masked(text: str, masked: str) -> None:
    """What is given to a password, token, key, header, flag or URL is replaced; the name and the rest stay."""
    assert masked == mask_text(text)


HARMLESS = [
    "sha256:" + HEX,
    "token=sha256:" + HEX,
    str(uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)),
    "commit 3f2a9c1b7d5e8f60a1b2c3d4e5f60718293a4b5c",
    "The password must be long, and a token is not a password. Secrets are kept in the vault.",
    "the password: it must be long",
    "what is the secret? nobody knows",
    "tokens=12 total_tokens: 4096 token=12 max_tokens=100 token_count: 7",
    "a task-force of risk-averse desk-workers, ask-me-anything-about-it-please",
    "sk-learn-based-pipeline-with-many-options",
    "the key: value pairs of primary_key=5 and keyboard=qwerty",
    "authorization is required; the author is authorized",
    "export TOKEN=$GITHUB_TOKEN PASSWORD=${DB_PASSWORD} KEY={{ api_key }}",
    "password: ${{ secrets.DB_PASSWORD }}",
    "api_key = os.environ['API_KEY']",
    'token = get_token("x")',
    "def login(user: str, password: str, token: str | None = None) -> None:",
    "Client(token=self.token, secret=config.secret)",
    "password=<your password> --token-file /run/token secret=None",
    "PWD=/home/x pwd=/tmp",
    "https://x.example:8080/a@b and mailto:a@b.example",
    "git@github.com:owner/repo.git ssh://git@host/x",
    "docker run -u 1000:1000 image",
    "the bearer of this letter",
    "cookies are nice; a cookie: yes",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq4 bob@host",
    "bond:P1|P2 run:2026-08-20T09:00:00.000000Z write:package.json entry:bun.lock#left-pad@1.3.0",
    "npm_config_registry=x gh_repo sg.example.org hf_hub",
    "[masked:token] token=[masked:token]",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    """Digests, identifiers, prose, references to secrets and code that names them are kept as they are."""
    assert text == mask_text(text)


def test_masking_walks_values() -> None:
    """In a JSON value, strings, keys, values of telling keys and words after telling flags are masked; the rest stays."""
    token = SECRETS["github-token"][0]
    value: dict[str, Any] = {
        "argv": ["deploy", "--password", "hunter2", "--verbose", "-token", "$TOKEN", "--token", "--x", "plain"],
        "env": {
            "API_KEY": "abc",
            "MAX_TOKENS": "12",
            "token": 5,
            "secret": None,
            "password": "",
            "SECRET": ["a", token],
        },
        token: {"n": [1, 2.5, True, None]},
        "Authorization": "abc",
    }

    assert {
        "argv": [
            "deploy",
            "--password",
            "[masked:argument]",
            "--verbose",
            "-token",
            "$TOKEN",
            "--token",
            "--x",
            "plain",
        ],
        "env": {
            "API_KEY": "[masked:key]",
            "MAX_TOKENS": "12",
            "token": 5,
            "secret": None,
            "password": "",
            "SECRET": ["a", "[masked:github-token]"],
        },
        "[masked:github-token]": {"n": [1, 2.5, True, None]},
        "Authorization": "[masked:authorization]",
    } == mask(value)


def test_two_secret_keys_stay_two() -> None:
    """Two keys of an object that are masked alike do not become one."""
    value = {token: n for n, token in enumerate(SECRETS["github-token"])}

    assert [0, 1, 2] == list(mask(value).values())


def test_all_literals_can_be_suspected() -> None:
    """Each literal is found by the quick search when a secret of its shape is in the text."""
    for kind, some in SECRETS.items():
        for secret in some:
            found = suspicious(f"x {secret} y")
            assert found, kind
            assert set(found) <= set(_FINDERS)


_PIECES = [
    *(one[0] for one in SECRETS.values()),
    *GIVEN,
    *HARMLESS,
    *(
        "password=",
        '"',
        "\\",
        ": ",
        "\n",
        "--token ",
        "sk-",
        "eyJ",
        "://",
        "@",
        "-----BEGIN PRIVATE KEY-----",
        "]",
        "İ",
    ),
]


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=5)), max_size=8).map("".join))
def test_masking_twice_is_masking_once(text: str) -> None:
    """What was masked holds nothing more to mask."""
    masked = mask_text(text)

    assert masked == mask_text(masked)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(_PIECES),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*"abc", "token", "password"]), inner)
        ),
        max_leaves=8,
    )
)
def test_masking_keeps_the_shape(value: Any) -> None:
    """A masked value has the same lists, keys, numbers and so on; only texts may differ."""

    def shape(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: shape(item) for name, item in part.items()}
        return (
            [shape(item) for item in part] if isinstance(part, list) else str if isinstance(part, str) else repr(part)
        )

    assert shape(value) == shape(mask(value))


@pytest.mark.parametrize(
    "piece",
    [
        *_FINDERS,
        *(f"{name}{sign}" for name in _NAMES for sign in (":", '="')),
        *(f"-{name} " for name in _NAMES),
        "password='\\\"",
        "token: a",
        "token: a\n",
        "pwd=$",
        "--token ",
        "-eyJ",
        "eyJa.",
        "-eyJaaaaaaaa.",
        "authorization:$",
        "cookie:",
        "cookie:$=",
        "://a:",
        "Bearer a",
        "sk-a",
        "a",
        "_",
        "\\",
        "A",
        "-----BEGIN PRIVATE KEY-----",
        "token:" * 340 + ")" * 2048,
        "-eyJ" * 1000 + ".eyJ" + "a" * 8000 + " ",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """A long text that is made to be slow ends: its time grows with its length, not with its square."""
    text = piece * (200_000 // len(piece))

    assert "masked" in f"{mask_text(text)} masked"


def test_many_keys_that_are_masked_alike_end() -> None:
    """Thousands of secret keys of one object stay as many, and their names short."""
    masked = mask({f"ghp_{A[:30]}{at:06}": at for at in range(20_000)})

    assert list(range(20_000)) == list(masked.values())
    assert max(map(len, masked)) < 40


def test_a_jwt_stands_between_other_words() -> None:
    """A token of three parts is found after one that has only two, and in words that a hyphen begins."""
    token = f"eyJ{A[:20]}.eyJ{A[:20]}.{A[:20]}"

    assert f"eyJ{A[:20]}.eyJ{A[:20]} [masked:jwt]" == mask_text(f"eyJ{A[:20]}.eyJ{A[:20]} {token}")
    assert "-[masked:jwt]" == mask_text(f"-{token}")


def test_a_count_of_tokens_hides_no_secret_beside_it() -> None:
    """A number of tokens is no reason to look closer, and what stands beside it is looked at all the same."""
    from indult.ledger import Draft
    from indult.testing.memory import MemoryLedger

    ledger = MemoryLedger()
    secret = "ghp_" + "a1B2" * 9
    (event,) = ledger.append(Draft("s", "k", {"meter": {"tokens": 8100}, "note": f"token: {secret}", "tokens": secret}))

    assert secret not in str(event.data)
    assert {"tokens": 8100} == event.data["meter"]
