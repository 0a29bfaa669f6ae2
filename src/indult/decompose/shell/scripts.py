"""The small languages of `sed` and `awk`, as far as it takes to see whether a script runs a program or writes a file."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["awk_runs", "sed_runs"]

_PLAIN: Final = frozenset("{}=dDgGhHlnNpPqQxzF")
_ADDRESS: Final = re.compile(r"\s*(?:\d+(?:~\d+)?|\$|[+~]\d+)[IM]*")

_STRING: Final = re.compile(r'"(?:\\.|[^"\\\n])*"', re.DOTALL)
_REGEX: Final = re.compile(r"/(?:\\.|[^/\\\n\[]|\[\^?\]?[^\]/\n]*\])+/", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z_]\w*|[0-9.][\w.]*")
_TESTS: Final = frozenset({"if", "while", "for"})
_KEYWORDS: Final = _TESTS | frozenset(
    {"print", "printf", "return", "else", "do", "in", "case", "exit", "delete", "BEGIN", "END"}
)
_PRINTS: Final = re.compile(r"\bprintf?\b[^;}\n]*>")


def awk_runs(program: str) -> str:
    """Return why a program of awk may run another one or write a file, empty where it does neither."""
    bare = _without_texts(program)
    if bare is None or any(mark in bare for mark in '"#\\'):
        return "the program of `awk` cannot be read"
    # Behind these, a line goes on.
    bare = re.sub(r"(,|&&|\|\||\?|:|\b(?:do|else)\b)\s+", r"\1 ", bare).replace("||", " ")
    for word in ("system", "getline", "@", "|", "close", "popen", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "PROCINFO"):
        if word in bare:
            return f"the program of `awk` holds `{word}`, which can run code"
    if _PRINTS.search(bare) or ">>" in bare:
        return "the program of `awk` may write a file"
    return ""


def _without_texts(program: str) -> str | None:
    """Return a program without its strings and regular expressions, none where it cannot be told where those end.

    A slash divides behind what has a value, and begins a regular expression anywhere else; `length` may have one or not.
    """
    out: list[str] = []
    opened: list[bool] = []
    at, valued, word = 0, False, ""
    while at < len(program):
        char = program[at]
        if char == "/" and word == "length":
            return None
        if char == '"' or (char == "/" and not valued):
            found = (_STRING if char == '"' else _REGEX).match(program, at)
            if found is None:
                return None
            out.append(" 0 ")
            at, valued, word = found.end(), True, ""
            continue
        found = _WORD.match(program, at)
        if found:
            word = found[0]
            at, valued = found.end(), word not in _KEYWORDS
            out.append(word)
            continue
        if char == "(":
            opened.append(word in _TESTS)
        if char == ")":
            valued = not (opened.pop() if opened else False)
        elif char == "]":
            valued = True
        elif (
            char not in " \t"
            and program[at : at + 2] not in {"++", "--"}
            and program[at - 1 : at + 1] not in {"++", "--"}
        ):
            valued = False
        if char not in " \t":
            word = ""
        out.append(char)
        at += 1
    return "".join(out)


class _Unread(Exception):
    """The script is none that is read here."""


def sed_runs(script: str) -> str:
    """Return why a script of sed may run a program or write a file, empty where it does neither."""
    try:
        return _Sed(script).run()
    except _Unread:
        return "the script of `sed` cannot be read"


class _Sed:
    """One pass over a script: addresses and commands, and nothing of what they mean."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def run(self) -> str:
        """Return what is wrong with the script."""
        while self._skip(" \t\n;"):
            if self._text[self._at] == "#":
                self._line()
                continue
            if self._text[self._at] != "}":
                self._addresses()
            why = self._command()
            if why:
                return why
        return ""

    def _skip(self, chars: str) -> bool:
        while self._at < len(self._text) and self._text[self._at] in chars:
            self._at += 1
        return self._at < len(self._text)

    def _take(self) -> str:
        if self._at >= len(self._text):
            raise _Unread
        self._at += 1
        return self._text[self._at - 1]

    def _line(self) -> str:
        end = self._text.find("\n", self._at)
        end = len(self._text) if end < 0 else end
        line, self._at = self._text[self._at : end], end
        return line

    def _addresses(self) -> None:
        while self._skip(" \t,!"):
            found = _ADDRESS.match(self._text, self._at)
            if found:
                self._at = found.end()
            elif self._text[self._at] in "/\\":
                mark = self._take()
                self._until(self._take() if mark == "\\" else mark)
                while self._at < len(self._text) and self._text[self._at] in "IM":
                    self._at += 1
            else:
                return

    def _until(self, mark: str) -> str:
        """Take the text up to a mark; a set of characters may hold the mark in some versions, so none may be there."""
        if mark in "\n\\":
            raise _Unread
        start = self._at
        while True:
            char = self._take()
            if char == "\\":
                self._take()
            elif char == mark:
                text = self._text[start : self._at - 1]
                if re.search(r"\[[^\]]*\Z", re.sub(r"\\.", "", text)):
                    raise _Unread
                return text

    def _command(self) -> str:
        self._skip(" \t")
        command = self._take()
        if command in _PLAIN:
            self._skip("0123456789 \t" if command in "lqQ" else "")
            return ""
        if command == "s":
            return self._substitution()
        if command == "y":
            mark = self._take()
            self._until(mark)
            self._until(mark)
            return ""
        if command in "btT:":
            # In some versions a label ends at a blank, and another command may follow.
            self._skip(" \t")
            while self._at < len(self._text) and self._text[self._at] not in " \t;\n}":
                self._at += 1
            return ""
        if command in "aic":
            while self._line().endswith("\\"):
                self._skip("\n")
            return ""
        if command in "rRwW":
            return "the script of `sed` names a file"
        if command == "e":
            return "the script of `sed` runs a program"
        raise _Unread

    def _substitution(self) -> str:
        mark = self._take()
        self._until(mark)
        self._until(mark)
        while self._at < len(self._text) and self._text[self._at] in "gpiImM0123456789ew":
            flag = self._take()
            if flag == "e":
                return "the script of `sed` runs a program"
            if flag == "w":
                return "the script of `sed` names a file"
        return ""
