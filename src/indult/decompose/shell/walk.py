"""Walks a parsed text as the shell would run it, and finds every simple command that can run."""

from __future__ import annotations

import re
from typing import Any, Final

from indult.decompose.paths import Places
from indult.decompose.shell.arithmetic import Numbers, nodes
from indult.decompose.shell.bindings import Bindings, assigned_in, bound, bound_to, without
from indult.decompose.shell.calls import Calls
from indult.decompose.shell.environment import ALWAYS, exported_in
from indult.decompose.shell.literal import here_text, plain_word, shown_text
from indult.decompose.shell.parts import Parts
from indult.decompose.shell.piped import handed
from indult.decompose.shell.posix import check_portable
from indult.decompose.shell.shfmt import Unparsable, parse
from indult.decompose.shell.state import MOST_BASES, Ends, State, both, joined
from indult.decompose.shell.tree import check, is_quoted
from indult.decompose.shell.variables import secret, sensitive
from indult.decompose.shell.words import NUMBER, QUOTED, Word, values, words
from indult.decompose.shell.wrappers import RUNNERS

__all__ = ["Walk"]

_MOST_STEPS: Final = 2_000
_MOST_TEXTS: Final = 12
_MOST_CHOICES: Final = 12
_MOST_ROUNDS: Final = 40
_WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_FEEDS: Final = frozenset({"<", "<>", "<<", "<<-", "<<<", "<&"})
_INTERACTIVE: Final = frozenset({"sbt"})
"""Programs that run their words, and then ask for more where something fails."""
_HERE: Final = frozenset({"<<", "<<-", "<<<"})
_ARITHMETIC_TESTS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_NUMBERS: Final = frozenset({"$", "?", "#", "PPID", "UID", "EUID", "RANDOM", "SECONDS", "LINENO", "BASHPID"})
_OPERATORS: Final = frozenset({"Excl", "Index", "Slice", "Repl", "Names", "Exp"})
_CHANGES: Final = frozenset({"eval", "source", ".", "trap", "alias", "enable", "hash", "builtin"})
_SETS: Final = frozenset({"declare", "typeset", "export", "readonly", "local", "let", "set", "unset", "shopt", "read"})
_MOVES: Final = frozenset({"cd", "pushd", "popd"})
_EXECUTES: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})


class Walk:
    """One walk over a text and the texts within it."""

    def __init__(self, places: Places, parts: Parts, *, known: bool = True) -> None:
        self.places = places
        self.parts = parts
        self.numbers = Numbers()
        self.bindings = Bindings(known=known)
        self.calls = Calls(self)
        self._steps = 0
        self._texts = 0
        self._rounds = 0
        self._handed: dict[int, Word] = {}
        self._fed: set[int] = set()
        self._running: list[str] = []
        self._called: dict[tuple[object, ...], State] = {}
        self._later: list[tuple[Any, State]] = []
        self._traps: list[dict[str, Any]] = []
        self._bases: dict[str, None] = {}
        self._lost = False
        self._exported = set(ALWAYS)
        self.unsets = False
        self.changes = False
        """Whether the text may make a name stand for another program than at its start."""
        """Whether functions may be unset in what is run again."""

    def text(self, text: str, state: State, *, shell: str = "bash") -> Ends:
        """Walk a text in a state; what cannot be read becomes a part that nothing allows."""
        try:
            tree = self._parsed(text)
            if shell != "bash":
                check_portable(tree, shell)
            return self.run(tree.get("Stmts", []), state)
        except Unparsable as exc:
            self.parts.unknown(f"a shell text cannot be read: {exc}", text)
        except RecursionError:
            self.parts.unknown("a shell text cannot be read: it is nested too deeply", text)
        return both(state)

    def _parsed(self, text: str) -> dict[str, Any]:
        self._texts += 1
        if self._texts > _MOST_TEXTS:
            raise Unparsable(f"it holds over {_MOST_TEXTS} shell texts")
        tree = parse(text)
        check(tree, text)
        self._learn(tree)
        return tree

    def _learn(self, tree: dict[str, Any]) -> None:
        self.numbers.learn(tree)
        self._exported |= exported_in(tree)
        for one in nodes(tree):
            used = one.get("Param")
            if one.get("Type") == "ParamExp" and isinstance(used, dict) and secret(str(used.get("Value", ""))):
                self.parts.parameter(used["Value"])
        self.changes = self.changes or any(
            one.get("Type") == "FuncDecl" or (isinstance(one.get("Value"), str) and one["Value"] in _CHANGES)
            for one in nodes(tree)
        )
        again = (node for node in nodes(tree) if node.get("Type") in {"WhileClause", "ForClause", "FuncDecl"})
        self.unsets = self.unsets or any(one.get("Value") == "unset" for node in again for one in nodes(node))

    def finish(self) -> None:
        """Walk what may run at any time: functions, and texts of traps; in every folder that was in force."""
        while self._later:
            stmts, state = self._later.pop()
            bases = tuple(dict.fromkeys((*state.bases, *self._bases)))
            lost = state.lost or self._lost or len(bases) > MOST_BASES
            self.run(stmts, state.at(bases[:MOST_BASES], lost=lost))

    def later(self, stmts: Any, state: State) -> None:
        """Note what may run at any time from here on."""
        self._later.append((stmts, state))

    def later_text(self, text: str, state: State, *, last: bool) -> State:
        """Note a text that may run at any time from here on, or at the `last`; return the state from here on."""
        try:
            tree = self._parsed(text)
            self.later(tree.get("Stmts", []), state)
            if last:
                return state
            self._traps.append(tree)
            return self._trapped(state)
        except Unparsable as exc:
            self.parts.unknown(f"a shell text cannot be read: {exc}", text)
        return state

    def _trapped(self, state: State) -> State:
        """Return the state in which traps may have run: where one changes the shell, nothing is known of it anymore."""
        for tree in self._traps:
            after = self.run(tree.get("Stmts", []), state).after(state)
            if after != state or any(one.get("Assigns") or one.get("Value") in _SETS for one in nodes(tree)):
                return State((), {}, lost=True)
        return state

    def run(self, stmts: list[dict[str, Any]], state: State) -> Ends:
        """Walk statements one after the other."""
        ends = both(state)
        for stmt in stmts:
            state = ends.after(state)
            ends = self.stmt(stmt, state)
        return ends

    def subshell(self, stmts: list[dict[str, Any]], state: State) -> None:
        """Walk statements that leave the shell as it is."""
        self.run(stmts, state)

    def stmt(self, stmt: dict[str, Any], state: State) -> Ends:
        """Walk one statement with its redirections."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise Unparsable("it takes too many steps")
        if len(self._bases) <= MOST_BASES:
            self._bases.update(dict.fromkeys(state.bases))
        self._lost = self._lost or state.lost
        for redirect in stmt.get("Redirs", ()):
            self._redirect(redirect, state)
        command = stmt.get("Cmd")
        ends = both(state) if command is None else self._command(command, state, stmt)
        if stmt.get("Background") or stmt.get("Coprocess"):
            return both(state)
        return Ends(ends.failed, ends.done) if stmt.get("Negated") else ends

    def _command(self, node: dict[str, Any], state: State, stmt: dict[str, Any]) -> Ends:
        kind = node["Type"]
        if kind == "BinaryCmd":
            return self._binary(node, state)
        if kind == "CallExpr":
            return self._call(node, state, stmt)
        if kind == "Block":
            return self.run(node.get("Stmts", []), state)
        if kind == "Subshell":
            self.subshell(node.get("Stmts", []), state)
            return both(state)
        if kind == "IfClause":
            return self._if(node, state)
        if kind in {"WhileClause", "ForClause"}:
            return self._loop(node, state)
        if kind == "CaseClause":
            return self._case(node, state)
        if kind == "FuncDecl":
            return self._function(node, state)
        if kind == "TimeClause":
            self.parts.command([Word("time")], state, via=[], env={}, free=True, opens=False)
            return self.stmt(_timed(node["Stmt"]), state) if node.get("Stmt") else both(state)
        if kind == "CoprocClause":
            self.bindings.unsure(str((node.get("Name") or {}).get("Value", "")))
            self.inside(node.get("Name"), state)
            self.stmt(node["Stmt"], state)
            return both(state)
        if kind == "DeclClause":
            return self._declare(node, state)
        self.inside(node, state)
        if kind == "LetClause":
            self.bindings.doubt()
            self.parts.command([Word("let"), Word(None)], state, via=[], env={})
        return both(state)

    def _binary(self, node: dict[str, Any], state: State) -> Ends:
        """Walk a list; it leans to the left and may be long, so it is taken apart first."""
        chain: list[tuple[str, dict[str, Any]]] = []
        left = node
        while True:
            chain.append((left["Op"], left["Y"]))
            inner = left["X"]
            plain = not (inner.get("Redirs") or inner.get("Negated") or inner.get("Background"))
            if not plain or inner.get("Cmd", {}).get("Type") != "BinaryCmd":
                break
            left = inner["Cmd"]
        pipe = chain[-1][0] in {"|", "|&"}
        before = [inner]
        ends = self.stmt(inner, state)
        if pipe:
            ends = both(state)
        for op, right in reversed(chain):
            if op in {"|", "|&"}:
                self._hand(before if op == "|" else [], right, state)
                before.append(right)
                self.stmt(right, state)
                ends = both(state)
            elif op == "&&":
                after = self.stmt(right, ends.done or state)
                ends = Ends(after.done, joined(ends.failed, after.failed)) if ends.done else Ends(None, ends.failed)
            elif op == "||":
                after = self.stmt(right, ends.failed or state)
                ends = Ends(joined(ends.done, after.done), after.failed) if ends.failed else Ends(ends.done, None)
            else:
                raise Unparsable(f"it holds the operator `{op}`, which is not read")
        return ends

    def _hand(self, before: list[dict[str, Any]], right: dict[str, Any], state: State) -> None:
        """Note which names the commands before it hand to the command at the end of a pipe, if that can be told."""
        command = right.get("Cmd") or {}
        self._fed.add(id(command))
        texts = [plain_word(arg) for arg in command.get("Args", ())]
        reads = any(one.get("Op") not in _WRITES | {">&"} or one.get("Op") == "<>" for one in right.get("Redirs", ()))
        self._handed.pop(id(command), None)
        if not before or command.get("Type") != "CallExpr" or texts[:1] != ["xargs"] or reads or state.functions:
            return
        bare = state._replace(variables={})
        argvs = [
            [word for arg in (one.get("Cmd") or {}).get("Args", ()) for word in self.words(arg, bare)] for one in before
        ]
        names = handed(before, argvs)
        if names is not None:
            self._handed[id(command)] = names

    def _if(self, node: dict[str, Any], state: State) -> Ends:
        test = self.run(node["Cond"], state) if node.get("Cond") else both(state)
        then = self.run(node.get("Then", []), test.done or state)
        if node.get("Else"):
            other = self._if(node["Else"], test.failed or state)
        else:
            other = Ends(test.failed, None) if node.get("Cond") else Ends(None, None)
        return Ends(joined(then.done, other.done), joined(then.failed, other.failed))

    def _loop(self, node: dict[str, Any], state: State) -> Ends:
        loop = node.get("Loop", {})
        self.inside(loop, state)
        name = loop.get("Name", {}).get("Value")
        if name is not None and self.decides(name):
            self.parts.setting(name, None)
        if name is not None and node.get("Select"):
            self.bindings.unsure(name)
        # What an earlier round assigned holds in the next one.
        state = without(state, assigned_in(node))
        choices = [] if name is None or node.get("Select") else self._choices(loop, state)
        once = self._each(node, state, name, choices)
        if once.bases != state.bases or once.lost != state.lost:
            twice = self._each(node, once, name, choices)
            if set(twice.bases) - set(once.bases):
                # Each round leads to another folder.
                once = self._each(node, once._replace(lost=True), name, choices)._replace(lost=True)
        return both(once)

    def _choices(self, loop: dict[str, Any], state: State) -> list[Word]:
        """Return the words that a loop goes over, none where they cannot be told or are too many to look at each."""
        found = [word for item in loop.get("Items", ()) for word in self.words(item, state)]
        self._rounds += len(found)
        told = all(word.text is not None or word.glob is not None for word in found)
        return found if told and len(found) <= _MOST_CHOICES and self._rounds <= _MOST_ROUNDS else []

    def _each(self, node: dict[str, Any], state: State, name: str | None, choices: list[Word]) -> State:
        """Walk a loop once for each word that it goes over; return the state before or after it."""
        after: State | None = None
        for word in choices if self.bindings.known else ():
            after = joined(after, self._round(node, bound_to(state, name or "", word)))
        return without(after or self._round(node, state), [name or ""])

    def _round(self, node: dict[str, Any], state: State) -> State:
        """Walk a loop once; return the state before or after it."""
        start = self.run(node["Cond"], state).after(state) if node.get("Cond") else state
        return joined(joined(state, start), self.run(node.get("Do", []), start).after(start)) or state

    def _case(self, node: dict[str, Any], state: State) -> Ends:
        self.inside(node.get("Word"), state)
        after = state
        for item in node.get("Items", ()):
            self.inside(item.get("Patterns"), state)
            after = joined(after, self.run(item.get("Stmts", []), after).after(after)) or after
        return both(after)

    def _function(self, node: dict[str, Any], state: State) -> Ends:
        name = node["Name"]["Value"]
        self.bindings.doubt()
        state = state._replace(functions={**state.functions, name: node["Body"]})
        self.later([node["Body"]], state)
        # A trap that was set before may call it.
        return both(self._trapped(state))

    def call_function(self, name: str, state: State) -> Ends:
        """Walk the body of a function where it is called."""
        if name in self._running or len(self._running) > 20:
            self.parts.reason("a function calls itself")
            return both(state._replace(lost=True) if _moves(state.functions[name]) else state)
        body = state.functions[name]
        key = (name, state.bases, state.lost, frozenset((one, id(other)) for one, other in state.functions.items()))
        found = self._called.get(key)
        if found is None:
            self._running.append(name)
            try:
                # `exit` in it ends the text, `return` only the body: both are taken for going on.
                found = self.stmt(body, state).after(state)
            finally:
                self._running.pop()
            self._called[key] = found
        return both(found)

    def _call(self, node: dict[str, Any], state: State, stmt: dict[str, Any]) -> Ends:
        self.inside(node, state)
        env: dict[str, str | None] = {}
        after = state
        for assign in node.get("Assigns", ()):
            name = assign["Name"]["Value"]
            env[name] = self._assigned(assign, after)
            after = bound(after, name, env[name])
        argv: list[Word] = []
        asks = ""
        # The word that says which program runs, and what another program runs, is not known when it is a variable.
        bare = state._replace(variables={})
        told = bare if _runs_others(node) else state
        for arg in node.get("Args", ()):
            found = self.words(arg, told if argv else bare)
            if not argv and (len(found) > 1 or (found and _braces(arg))):
                asks = "braces make the word that says which program runs"
            argv += found
        if not argv:
            for name, value in env.items():
                if sensitive(name):
                    self.parts.setting(name, value)
                elif name in self._exported:
                    self.parts.assigned(name, value, state)
            return both(after)
        fed = id(node) in self._fed or any(one.get("Op") in _FEEDS for one in stmt.get("Redirs", ()))
        if fed and (argv[0].text or "").rpartition("/")[2] in _INTERACTIVE:
            asks = asks or f"`{argv[0].text}` takes commands from what it is fed"
        # Some shells keep what stands before some builtins.
        self.bindings.unsure(*env)
        return self.calls.run(
            argv, state, env=env, asks=asks, given=here_text(stmt), piped=self._handed.pop(id(node), None)
        )

    def _assigned(self, assign: dict[str, Any], state: State) -> str | None:
        if assign.get("Append") or assign.get("Index") or assign.get("Array"):
            self.bindings.unsure(assign["Name"]["Value"])
            return None
        value = assign.get("Value")
        if value is None:
            return ""
        return values(
            value.get("Parts", ()), lambda part: self._value(part, state), lambda text: self._home(text, state)
        ).text

    def _declare(self, node: dict[str, Any], state: State) -> Ends:
        self.inside(node, state)
        variant = node["Variant"]["Value"]
        argv, asks = [Word(variant)], ""
        sets: dict[str, str | None] = {}
        plain = variant == "export" and all(arg.get("Name") and not arg.get("Naked") for arg in node.get("Args", ()))
        for arg in node.get("Args", ()):
            name = arg.get("Name", {}).get("Value")
            if name is not None:
                value = None if arg.get("Naked") else self._assigned(arg, state)
                if not arg.get("Naked"):
                    sets[name] = value
                elif name in state.variables:
                    sets[name] = state.variables[name][0]
                if plain:
                    state = bound(state, name, value)
                else:
                    self.bindings.unsure(name)
                argv.append(Word(name) if arg.get("Naked") else Word(None if value is None else f"{name}={value}"))
                asks = asks or (f"`{name}` decides which code runs" if sensitive(name) else "")
                continue
            for word in self.words(arg["Value"], state):
                argv.append(word)
                asks = asks or _declared(variant, word)
        if not plain:
            self.bindings.ran(variant, argv)
        hands_on = variant == "export" or any(word.text is None or re.match("-.*x", word.text) for word in argv[1:])
        sets = {name: value for name, value in sets.items() if hands_on or name in self._exported}
        self.parts.command(argv, state, via=[], env={}, asks=asks, sets=sets)
        return both(state)

    def decides(self, name: str) -> bool:
        """Tell whether a variable decides what runs, or is handed to what runs afterwards."""
        return sensitive(name) or name in self._exported

    def words(self, word: dict[str, Any], state: State) -> list[Word]:
        """Return the words that a word comes to in a state."""
        return words(word.get("Parts", ()), lambda part: self._value(part, state), lambda text: self._home(text, state))

    def _value(self, part: dict[str, Any], state: State) -> tuple[str, int] | None:
        """Return what is known of a parameter: home and the folder in force, and of some that they are numbers.

        Of a substitution it is the text that `cat` is given as it stands, as in `"$(cat <<'EOF'`.
        """
        if part["Type"] == "CmdSubst":
            text = None if self.changes else shown_text(part)
            return None if text is None else (text, QUOTED)
        name = part.get("Param", {}).get("Value", "")
        if part.get("Length"):
            return "", NUMBER
        if any(part.get(key) for key in _OPERATORS):
            return None
        if name in _NUMBERS:
            return "", NUMBER
        known = self.bindings.value(name, state)
        if known is not None:
            return known
        if name == "HOME" and self.places.home is not None:
            return self.places.home, QUOTED
        if name == "PWD" and len(state.bases) == 1 and not state.lost:
            return state.bases[0], QUOTED
        return None

    def _home(self, prefix: str, state: State) -> str | None:
        if prefix == "~":
            return self.places.home
        return state.bases[0] if prefix == "~+" and len(state.bases) == 1 and not state.lost else None

    def _redirect(self, redirect: dict[str, Any], state: State) -> None:
        op, word = redirect["Op"], redirect.get("Word")
        name = redirect.get("N", {}).get("Value", "")
        if name.startswith("{"):
            self.bindings.unsure(name.strip("{}"))
            if sensitive(name.strip("{}")):
                self.parts.setting(name.strip("{}"), None)
        self.inside(word, state)
        if op in _HERE:
            if op == "<<<" or not is_quoted(word or {}):
                self.inside(redirect.get("Hdoc"), state)
            return
        parts = (word or {}).get("Parts", ())
        if len(parts) == 1 and parts[0]["Type"] == "ProcSubst":
            return
        found = self.words(word or {}, state)
        one = found[0] if len(found) == 1 else None
        if op in {">&", "<&"}:
            text = one.text if one is not None else None
            if (text is not None and text.removesuffix("-").isdigit()) or text == "-":
                return
            if op == "<&" or (one is None or text is None):
                self.parts.redirected("write", None, state)
                return
        elif op == "<":
            self.parts.redirected("read", one, state)
            return
        elif op not in _WRITES:
            raise Unparsable(f"it holds the redirection `{op}`, which is not read")
        if op == "<>":
            self.parts.redirected("read", one, state)
        self.parts.redirected("write", one, state)

    def inside(self, node: Any, state: State) -> None:
        """Walk the substitutions within words and expressions, and mind what expanding them sets or evaluates."""
        if isinstance(node, list):
            for item in node:
                self.inside(item, state)
            return
        if not isinstance(node, dict):
            return
        kind = node.get("Type")
        if kind in {"CmdSubst", "ProcSubst"}:
            self.subshell(node.get("Stmts", []), state)
            return
        if kind == "ParamExp":
            self._parameter(node)
        elif kind in {"ArithmExp", "ArithmCmd", "CStyleLoop", "LetClause"}:
            self._arithmetic(node)
        elif kind == "BinaryTest" and node.get("Op") in _ARITHMETIC_TESTS:
            self._arithmetic([node.get("X"), node.get("Y")])
        elif kind == "UnaryTest" and node.get("Op") in {"-v", "-R"}:
            self._subscripted(node.get("X"))
        if node.get("Index") is not None:
            self._index(node["Index"])
        for value in node.values():
            self.inside(value, state)

    def _parameter(self, node: dict[str, Any]) -> None:
        name = node.get("Param", {}).get("Value", "")
        op = node.get("Exp", {}).get("Op", "")
        if op in {"=", ":="}:
            self.bindings.unsure(name)
            if node.get("Excl"):
                self.bindings.doubt()
        if op in {"=", ":="} and (self.decides(name) or node.get("Excl")):
            self.parts.setting(name, None)
        if op == "@":
            self.parts.reason("`@` in a parameter expansion can run code")
        if node.get("Slice"):
            self._arithmetic(node["Slice"])
        if node.get("Excl") and node.get("Names") is None:
            # The name may be one with a subscript, which is evaluated.
            why = self.numbers.why({"Type": "ParamExp", "Param": {"Value": name}})
            if why:
                self.parts.reason(why)

    def _arithmetic(self, node: Any) -> None:
        why = self.numbers.why(node)
        self.bindings.counted(node)
        if why:
            self.parts.reason(why)
        for one in nodes(node):
            if one.get("Type") in {"BinaryArithm", "UnaryArithm"}:
                left = one.get("X", {})
                name = "".join(part.get("Value", "") for part in left.get("Parts", ()) if part.get("Type") == "Lit")
                if name and not name.isdigit() and sensitive(name):
                    self.parts.setting(name, None)

    def _index(self, node: dict[str, Any]) -> None:
        text = "".join(part.get("Value", "?") for part in node.get("Parts", ()))
        if text not in {"@", "*"}:
            self._arithmetic(node)

    def _subscripted(self, node: Any) -> None:
        if any(
            one.get("Type") in {"ParamExp", "CmdSubst"} or "[" in str(one.get("Value", "")) for one in nodes(node or {})
        ):
            self.parts.reason("a subscript is evaluated, which can run code")


def _timed(stmt: dict[str, Any]) -> dict[str, Any]:
    """Return what `time` runs; to the parser an option of `time` that it does not know is the command."""
    args = (stmt.get("Cmd") or {}).get("Args") or ()
    if args and _literal(args[0]).startswith("-"):
        raise Unparsable("`time` has an option that is not read")
    return stmt


def _runs_others(node: dict[str, Any]) -> bool:
    """Tell whether a command may run another one that its words say, as wrappers, shells and some searches do."""
    texts = [plain_word(arg) for arg in node.get("Args", ())]
    name = (texts[0] or "").rpartition("/")[2] if texts else ""
    if name in {"find", "fd", "fdfind"}:
        return not _EXECUTES.isdisjoint(texts)
    return not name or "\\" in name or name in RUNNERS


def _literal(word: dict[str, Any]) -> str:
    return "".join(one["Value"] for one in nodes(word) if isinstance(one.get("Value"), str))


def _braces(word: dict[str, Any]) -> bool:
    text = "".join(part.get("Value", "") for part in word.get("Parts", ()) if part["Type"] == "Lit")
    return "{" in text and ("," in text or ".." in text)


def _declared(variant: str, word: Word) -> str:
    """Return why a word of a declaration needs approval."""
    text = word.text
    if text is None:
        return f"what `{variant}` sets is not known"
    if text.startswith(("-", "+")):
        letters = set(text[1:])
        return f"`{variant} {text}` changes how values are read" if letters & set("ni") and variant != "export" else ""
    name = text.partition("=")[0].removesuffix("+")
    return f"`{name}` decides which code runs" if sensitive(name) else ""


def _moves(node: Any) -> bool:
    return any(one.get("Type") == "Lit" and one.get("Value") in _MOVES for one in nodes(node))
