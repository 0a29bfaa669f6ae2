"""Masking: what looks like a secret is replaced by `[masked:KIND]` before anything is hashed or kept.

It is a net, not a wall: it knows the shapes of well-known tokens, private keys, credentials in URLs and headers, and
values that stand under a telling name (`password=...`, `{"api_key": ...}`, `--token ...`). A secret without any of these
is kept as it is. Digests, UUIDs, commit ids and references to secrets (`$TOKEN`, `${{ secrets.X }}`) stay.

Each shape has a literal of its own. A text is searched for the literals, which is quick, and a pattern is tried only
where its literal stands. Every repetition in a pattern is short, and what may be long is looked through once for all
the places that lead to it (`_Look`), so that no text takes long.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

__all__ = ["mask", "mask_text", "suspicious"]


class Span(NamedTuple):
    """The part of a text that is a secret."""

    start: int
    end: int
    kind: str


@functools.cache
def _re(rule: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern when it is first tried: most processes never meet a secret, and all must start quickly."""
    return re.compile(rule, flags)


class _Look:
    """A text that is looked through from many places and yet read once: it knows where the last looks ended."""

    __slots__ = ("_ends", "_marks", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._ends: dict[str, tuple[int, int]] = {}
        self._marks: dict[str, tuple[int, int]] = {}

    def end(self, chars: str, start: int, part: str = "") -> int:
        """Return where the run of `chars` (a class of a pattern) that holds `start` ends.

        Places in one run share the answer; `part` keeps apart the runs that one shape is made of.
        """
        key = part + chars if part else chars
        begun, end = self._ends.get(key, (0, -1))
        if not begun <= start <= end:
            match = _re(f"{chars}*", re.ASCII).match(self.text, start)
            end = start if match is None else match.end()
            self._ends[key] = start, end
        return end

    def find(self, mark: str, start: int) -> int:
        """Return where `mark` next stands, the length of the text where it does not."""
        begun, at = self._marks.get(mark, (0, -1))
        if not begun <= start <= at:
            at = self.text.find(mark, start)
            at = len(self.text) if at < 0 else at
            self._marks[mark] = start, at
        return at


Finder = Callable[[_Look, int], Span | None]
"""Looks for a secret in a text, given where the literal of its shape begins."""

_TOKENS: Final = {
    # kind: (literals it begins with, what follows)
    "github-token": ("ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,255}"),
    "github-pat": ("github_pat_", r"\w{22,255}"),
    "gitlab-token": ("glpat- glptt- gldt- glrt- glcbt- glsoat-", r"[\w-]{20,255}"),
    "aws-key-id": ("AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}"),
    "slack-token": ("xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9%-]{10,255}"),
    "stripe-key": ("sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[A-Za-z0-9+/]{16,255}"),
    "anthropic-key": ("sk-ant-", r"[\w-]{20,255}"),
    "openai-key": ("sk-proj- sk-svcacct- sk-admin- sk-or-v1-", r"[\w-]{20,255}"),
    "api-key": ("sk-", r"(?=[A-Za-z]{0,64}[0-9])[A-Za-z0-9]{20,255}"),
    "google-key": ("AIza", r"[\w-]{35}"),
    "google-token": ("ya29.", r"[\w-]{20,2048}"),
    "google-secret": ("GOCSPX-", r"[\w-]{20,64}"),
    "npm-token": ("npm_", r"[A-Za-z0-9]{36}"),
    "pypi-token": ("pypi-AgE", r"[\w-]{50,512}"),
    "huggingface-token": ("hf_", r"[A-Za-z0-9]{30,64}"),
    "sendgrid-key": ("SG.", r"[\w-]{16,32}\.[\w-]{16,64}"),
    "digitalocean-token": ("dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}"),
    "shopify-token": ("shpat_ shpca_ shppa_ shpss_", r"[0-9A-Fa-f]{32}"),
    "linear-key": ("lin_api_", r"[A-Za-z0-9]{32,64}"),
    "groq-key": ("gsk_", r"[A-Za-z0-9]{40,64}"),
    "databricks-token": ("dapi", r"[0-9a-f]{32}(?:-\d{1,2})?"),
    "vault-token": ("hvs. hvb.", r"[\w-]{20,255}"),
    "age-key": ("AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
}

_OWN: Final = {*_TOKENS, "jwt"}
"""Kinds that are known by the secret alone, wherever it stands."""

_PLACES: Final = {
    # kind: (literal, pattern tried from it; what is masked is the group `secret`)
    "telegram-token": (":aa", r"(?<=[0-9]{8}):(?P<secret>AA[\w-]{33})(?![\w-])"),
    "slack-webhook": ("hooks.slack.com/services/", r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/]{20,128})"),
    "url-password": ("://", r"://[^\s:@/?#\"'`<>\\\[]{0,256}:(?P<secret>[^\s@/\"'`<>\\]{1,256})@"),
    "bearer": ("bearer ", r"(?i:bearer) {1,8}(?P<secret>(?=[A-Za-z._~+/-]{0,64}[0-9])[\w.~+/-]{16,4096}=*)"),
    "user-password": ("-u ", r"(?<!\S)-u [\"']?[^\s:\"'\[]{1,128}:(?P<secret>(?!\d{1,8}(?!\S))[^\s\"'/]{1,256})"),
    "ssh-password": ("sshpass -p", r"sshpass -p ?[\"']?(?P<secret>[^\s\"']{1,256})"),
}

_AUTHORIZATION: Final = (
    r"(?i:authorization)\\{0,3}[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,3}[\"']?"
    r"(?:[A-Za-z][\w-]{1,30}[ \t]{1,8})?(?=[^\s\"'\\,]{6})"
)
_COOKIE: Final = r"(?i:cookie)\\{0,3}[\"']? {0,8}: {0,8}\\{0,3}[\"']?"

# fmt: off
_NAMES: Final = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "api_key", "api-key", "apikey", "access_key",
    "access-key", "accesskey", "secret_key", "secret-key", "secretkey", "private_key", "private-key", "privatekey",
    "encryption_key", "signing_key", "auth_key", "account_key", "accountkey", "credentials",
)
# fmt: on
"""Names that tell: a value given to one of them, or to a name that ends in one, is a secret."""

_TELLING: Final = (*_NAMES, "authorization")
_FLAG: Final = rf"--?(?:\w[\w-]{{0,64}}-)?(?:{'|'.join(map(re.escape, _NAMES))})$"

_LOWER: Final = {ord(upper): upper.lower() for upper in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_LONGEST: Final = 4096
_SHORTEST: Final = len("pwd=x")
_JWT_PART: Final = 8

# After a telling name: its own closing quote (escaped, in JSON inside a string), then `=` or `:`, then an opening quote.
_GIVEN: Final = (
    r"(?:\\{0,3}[\"'])?(?P<gap>[ \t]{0,8})(?P<sign>:=|=>|==?|:)(?P<space>[ \t]{0,8})(?P<quote>\\{0,3}[\"'])?"
)
_FLAGGED: Final = r"(?:^|.*\s)--?(?:\w[\w-]{0,64}-)?$"
_GAP: Final = r"[ \t]{1,8}(?P<quote>[\"'])?(?!-)"
_BARE: Final = r"[^\s\"'`,;&|<>\\]"

# Not secrets: a reference, a template, a placeholder, a digest, a word of a programming language, a call.
_HARMLESS: Final = (
    r"\$|<|%|\{|\[masked:|\.\.\.|\*+$|sha\d{1,3}:[0-9a-f]{32,128}$"
    r"|(?:self|this|os|process|args|config|settings|env|request|secrets|vault)\."
    r"|(?:none|null|nil|undefined|true|false|str|string|bytes|int|integer|bool|boolean|number|object|any|optional|required"
    r"|inherit|yes|no|unset)\b\W{0,4}$"
    r"|[A-Za-z_][\w.]{0,64}[(\[]"
)
_USERINFO: Final = r"://[\w.%-]{0,64}$"
_LINE_START: Final = r"[ \t-]{0,64}(?:[\"'][\w.-]{0,64}|[\w.][\w.-]{0,63})?$"


def mask(value: Any, among: Collection[str] | None = None) -> Any:
    """Return a copy of a JSON value in which what looks like a secret is replaced.

    `among` are the literals to look for, from `suspicious`; all of them by default.
    """
    return _walk(value, _LITERALS if among is None else among)


def mask_text(text: str) -> str:
    """Return `text` with what looks like a secret replaced."""
    return _masked(text, suspicious(text))


def suspicious(text: str) -> list[str]:
    """Return the literals of secrets that stand in `text`; without any there is nothing to mask."""
    low = text.lower()
    near = [literal for word, literals in _BY_WORD if word in low for literal in literals]
    near += [literal for sign, literals in _BY_SIGN if _re(sign).search(text) for literal in literals]
    return [literal for literal in near if literal in low]


def _walk(value: Any, among: Collection[str]) -> Any:
    kind = type(value)
    if kind is str:
        return _masked(value, among)
    if kind is dict:
        return _walk_dict(value, among)
    if kind is list or kind is tuple:
        return _walk_list(value, among)
    return value


def _walk_dict(value: dict[str, Any], among: Collection[str]) -> dict[str, Any]:
    copied: dict[str, Any] = {}
    alike: dict[str, int] = {}
    for key, item in value.items():
        name = alone = _masked(key, among)
        while name in copied:  # two secrets masked alike must not become one entry
            alike[alone] = alike.get(alone, 1) + 1
            name = f"{alone}'{alike[alone]}"
        telling = type(item) is str and item and key.lower().endswith(_TELLING)
        secret = telling and not _harmless(item)
        copied[name] = f"[masked:{_named_kind(key)}]" if secret else _walk(item, among)
    return copied


def _walk_list(value: list[Any] | tuple[Any, ...], among: Collection[str]) -> list[Any]:
    copied: list[Any] = []
    flagged = False
    for item in value:
        word = type(item) is str
        secret = flagged and word and item and item[0] != "-" and not _harmless(item)
        copied.append("[masked:argument]" if secret else _walk(item, among))
        flagged = word and item[:1] == "-" and _re(_FLAG, re.IGNORECASE).match(item) is not None
    return copied


def _masked(text: str, among: Collection[str]) -> str:
    if len(text) < _SHORTEST:
        return text
    look = _Look(text)
    low = text.lower() if text.isascii() else text.translate(_LOWER)  # `str.lower` may move what follows
    spans = [
        span
        for literal in among
        if literal in low
        for find in _FINDERS[literal]
        for span in _spans(look, low, literal, find)
    ]
    return _replaced(text, spans) if spans else text


def _spans(look: _Look, low: str, literal: str, find: Finder) -> list[Span]:
    found = []
    start = low.find(literal)
    while start >= 0:
        span = find(look, start)
        if span is not None:
            found.append(span)
        start = low.find(literal, start + 1 if span is None else max(span.end, start + 1))
    return found


def _replaced(text: str, spans: list[Span]) -> str:
    parts = []
    at = 0
    # Where two shapes begin at one place, the token's own says more than the place it stands in.
    for start, end, kind in sorted(spans, key=lambda span: (span.start, span.kind not in _OWN, span.kind)):
        if start >= at:
            parts += [text[at:start], f"[masked:{kind}]"]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def _token(kind: str, literal: str, rest: str) -> Finder:
    rule = rf"(?<![A-Za-z0-9_]){re.escape(literal)}{rest}(?![A-Za-z0-9_])"

    def find(look: _Look, start: int) -> Span | None:
        match = _re(rule, re.ASCII).match(look.text, start)
        return None if match is None else Span(start, match.end(), kind)

    return find


def _place(kind: str, rule: str) -> Finder:
    def find(look: _Look, start: int) -> Span | None:
        match = _re(rule, re.ASCII).match(look.text, start)
        if match is None or _harmless(match["secret"]):
            return None
        return Span(*match.span("secret"), kind)

    return find


def _jwt(look: _Look, start: int) -> Span | None:
    """Find three long words with a dot between them, of which the first two begin like the JSON of an object."""
    text = look.text
    if not text.startswith("eyJ", start) or _re(r"[A-Za-z0-9_]").match(text, start - 1 if start else len(text)):
        return None
    at = start
    for part in ("1", "2", "3"):
        end = look.end(r"[\w-]", at, part)
        if end - at < _JWT_PART or (part != "3" and not text.startswith("." if part == "2" else ".eyJ", end)):
            return None
        at = end + 1
    return Span(start, end, "jwt")


def _authorization(look: _Look, start: int) -> Span | None:
    match = _re(_AUTHORIZATION, re.ASCII).match(look.text, start)
    return None if match is None else _long(look, match.end(), r"[^\s\"'\\,]", "authorization")


def _cookie(look: _Look, start: int) -> Span | None:
    match = _re(_COOKIE, re.ASCII).match(look.text, start)
    if match is None:
        return None
    sign = look.end(r"[^\s\"'\\=]", match.end())
    if sign == match.end() or not _re(r"=[^\r\n\"'\\]").match(look.text, sign):
        return None
    return _long(look, match.end(), r"[^\r\n\"'\\]", "cookie")


def _long(look: _Look, start: int, chars: str, kind: str) -> Span | None:
    end = min(look.end(chars, start), start + _LONGEST)
    return None if _harmless(look.text[start:end]) else Span(start, end, kind)


def _harmless(found: str) -> bool:
    return _re(_HARMLESS, re.IGNORECASE).match(found) is not None


_KEY_BEGIN: Final = r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_END: Final = r"-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"


def _private_key(look: _Look, start: int) -> Span | None:
    """Find a private key up to its last line, or to the end of the text where that was cut off."""
    text = look.text
    if _re(_KEY_BEGIN).match(text, start) is None:
        return None
    end = _re(_KEY_END).search(text, start)
    return Span(start, len(text) if end is None else end.end(), "private-key")


def _named(name: str) -> Finder:
    kind = _named_kind(name)

    def find(look: _Look, start: int) -> Span | None:
        end = start + len(name)
        given = _re(_GIVEN).match(look.text, end) or _after_flag(look.text, start, end)
        value = None if given is None else _value(look, given.end(), given["quote"])
        if given is None or value is None or _stays(look, start, given, value, kind):
            return None
        return Span(value.start, value.end, kind)

    return find


def _after_flag(text: str, start: int, end: int) -> re.Match[str] | None:
    """Match the gap between a flag, of which a name from `start` to `end` is the last word, and its value."""
    if text[start - 1 : start] != "-" or not _re(_FLAGGED, re.DOTALL).match(text[max(0, start - 70) : start]):
        return None
    return _re(_GAP).match(text, end)


def _value(look: _Look, start: int, quote: str | None) -> Span | None:
    """Return where the value that begins at `start` stands, the end of its line standing in for a missing quote."""
    text, most = look.text, min(len(look.text), start + _LONGEST)
    if quote is None:
        end = min(look.end(_BARE, start), most)
        if text[end - 1] in ")]}":
            end = start + len(text[start:end].rstrip(")]}"))
        return None if end == start else Span(start, end, "")
    end = look.find(quote, start)
    if end >= most:
        end = min(look.find("\r", start), look.find("\n", start))
    return Span(start, min(end, most), "")


def _stays(look: _Look, name: int, given: re.Match[str], value: Span, kind: str) -> bool:
    """Tell whether a value given to a telling name is none of a secret's."""
    text = look.text
    bare = given["quote"] is None and "sign" in given.re.groupindex and given["sign"] == ":"
    # Prose has colons too: `the password: it must be long`. A value has a digit, or a line of its own.
    digit = bare and value.end - value.start >= 6 and look.end(r"[^0-9]", value.start) < value.end
    if bare and not digit and text[value.end : value.end + 1] not in {"", "\r", "\n"}:
        return True
    found = text[value.start : value.end]
    if not found or _harmless(found):
        return True
    if kind == "token" and len(found) < 8 and found.isdigit():
        return True  # a count of tokens
    if kind == "pwd" and found[0] in "/~.":
        return True  # a working directory
    if not bare:
        return False
    before = text[max(0, name - 130) : name]
    if "://" in before and _re(_USERINFO).search(before):
        return True  # `https://x-access-token:...@host`, which has a shape of its own
    line = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    return not digit and not _re(_LINE_START).match(line)


def _named_kind(name: str) -> str:
    low = name.lower()
    return next((word for word in _KINDS if word in low), "key").replace("_", "-")


_KINDS: Final = ("password", "passwd", "passphrase", "pwd", "token", "authorization", "credentials", "secret", "key")


def _finders() -> dict[str, list[Finder]]:
    found: dict[str, list[Finder]] = {
        "-----begin ": [_private_key],
        "eyj": [_jwt],
        "authorization": [_authorization],
        "cookie": [_cookie],
    }
    for kind, (literals, rest) in _TOKENS.items():
        for literal in literals.split():
            found.setdefault(literal.lower(), []).append(_token(kind, literal, rest))
    for kind, (literal, rule) in _PLACES.items():
        found.setdefault(literal, []).append(_place(kind, rule))
    for name in _NAMES:
        found.setdefault(name, []).append(_named(name))
    return found


_FINDERS: Final = _finders()
_LITERALS: Final = tuple(_FINDERS)

# Most texts have no secret, and a search for each literal would cost more than all the rest of an append. So a text is
# looked through for these words and signs first, and for literals only where one of theirs was found.
# fmt: off
_WORDS: Final = (
    "key", "pass", "pwd", "secret", "token", "credentials", "auth", "bearer", "cookie", "-----b", "://", ":aa", "-u",
    "eyj", "aiza", "dapi", "slack",
)
# fmt: on
_SIGNS: Final = (
    # what is in the literal, and what must follow it in the text
    ("_", r"_[A-Za-z0-9+/%]{16}"),
    ("-", r"-[A-Za-z0-9_%]{10}"),
    (".", r"\.[A-Za-z0-9_-]{16}"),
    ("", r"A[A-Z]{2}A[A-Z0-9]{16}"),
)


def _sorted() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the literals that come with each word, and all others with their sign."""
    words: dict[str, list[str]] = {word: [] for word in _WORDS}
    signs: dict[str, list[str]] = {rule: [] for _, rule in _SIGNS}
    for literal in _LITERALS:
        word = next((word for word in _WORDS if word in literal), None)
        found = signs[next(rule for sign, rule in _SIGNS if sign in literal)] if word is None else words[word]
        found.append(literal)
    return words, signs


_TABLES: Final = _sorted()
_BY_WORD: Final = tuple(_TABLES[0].items())
_BY_SIGN: Final = tuple(_TABLES[1].items())
