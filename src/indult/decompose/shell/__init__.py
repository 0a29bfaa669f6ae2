"""A shell line comes apart into every simple command that would run, its redirections, and the paths that it names.

`shfmt` parses and `tree` refuses what is not on a closed list; `walk` follows the statements with the folder in force
and the functions defined so far (`state`), `calls` sees through wrappers (`wrappers`) and texts for other shells;
`words` and `braces` tell what a program would get. `parts` turns what is found into exact names: `forms` are the other
spellings that deny and ask rules look at, `programs` says what happens to paths, `candidates` which pieces of a word are
one, `environment` which values of variables are, `searching` which folders are read as a whole, `repositories` what git
finds on the disk, `loaded` where code comes from, `fresh` what the line itself brings, and `hazards` (with `tasks`,
`scripts`, `variables`, `arithmetic`) what makes a program run code that the line does not name.
"""

from __future__ import annotations

import shlex

from indult.actions import Action
from indult.decompose import Part
from indult.decompose.paths import Places

__all__ = ["call_parts", "shell_parts"]


def call_parts(action: Action, cwd: str, places: Places) -> tuple[Part, ...]:
    """Return the parts of a call that carries a `command`: a text for the shell, or the words of one command."""
    command = action.args["command"]
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        command = shlex.join(command)
    if not isinstance(command, str):
        command = "\0"
    given = [action.args[key] for key in ("workdir", "cwd", "dir_path", "directory") if action.args.get(key)]
    if not all(isinstance(folder, str) for folder in given):
        command = "\0"
    # Whether the tool goes to the folder that the call names is not known, so that the line may run in each of them.
    folders = dict.fromkeys([cwd, *(places.join(cwd, folder) for folder in given if isinstance(folder, str))])
    found = (shell_parts(command, tool=action.tool, cwd=folder, places=places) for folder in folders)
    return tuple(part for parts in found for part in parts)


def shell_parts(text: str, *, tool: str, cwd: str, places: Places) -> tuple[Part, ...]:
    """Return the parts of a shell text; what cannot be read is a part that no rule allows. Never raises for a text."""
    parts, broken = _walked(text, tool, cwd, places, known=True)
    if broken:
        # A value that was relied on may be another one after all.
        parts, _ = _walked(text, tool, cwd, places, known=False)
    return parts


def _walked(text: str, tool: str, cwd: str, places: Places, *, known: bool) -> tuple[tuple[Part, ...], bool]:
    """Return the parts of a shell text, with the values of its variables where they are `known`, and whether one may be wrong."""
    from indult.decompose.shell.parts import Parts
    from indult.decompose.shell.shfmt import Unparsable
    from indult.decompose.shell.state import State
    from indult.decompose.shell.walk import Walk

    parts = Parts(tool, places)
    walk = Walk(places, parts, known=known)
    try:
        walk.text(text, State((places.normal(cwd),), {}))
        walk.finish()
    except Unparsable as exc:
        parts.unknown(f"a shell text cannot be read: {exc}", text)
    except RecursionError:
        parts.unknown("a shell text cannot be read: it is nested too deeply", text)
    if all(part.free for part in parts.found):
        # Nothing runs that a rule could be about: then the line as a whole needs one.
        parts.nothing(text)
    return parts.done(), walk.bindings.broken
