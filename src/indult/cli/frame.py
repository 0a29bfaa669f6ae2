"""What the verbs share that click reads: late import, options, and click's complaints in our words.

A verb is a module `indult.cli.<verb>` with a click command named `command`. Its function returns its exit code
(`None` for 0), raises `IndultError` for what a person can put right, and prints through `emit`, `say` or `click.echo`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from indult import __version__
from indult.cli import VERBS
from indult.cli.edge import deliver, emit, interrupted, printable, read_input
from indult.cli.plain import DATABASE, DB, JSON, LAW, POLICY, Option, Verb
from indult.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "Verbs",
    "command_of",
    "db_option",
    "emit",
    "invoke",
    "json_option",
    "law_option",
    "option",
    "policy_option",
    "printable",
    "read_input",
    "root",
    "run",
]

FC = TypeVar("FC", bound="Callable[..., Any] | click.Command")


def option(declared: Option, *, envvar: str | None = None) -> Callable[[FC], FC]:
    """Return the click decorator of an option, with the variable that it is read from where it is not given."""
    return click.option(
        declared.flag,
        declared.name,
        metavar=declared.metavar,
        default=False if declared.is_flag else declared.default,
        is_flag=declared.is_flag,
        show_default=not declared.is_flag and declared.default is not None,
        envvar=envvar,
        help=declared.help,
    )


def command_of(verb: Verb) -> click.Command:
    """Return the click command of a verb that can be read without click."""
    command = click.command(name=verb.name, short_help=verb.short_help, help=verb.help)(verb.run)
    name, default = verb.argument
    command = click.argument(name, default=default)(command)
    for declared in verb.options:
        command = option(declared)(command)
    return command


json_option = option(JSON)
"""The `--json` of every verb; the function gets it as `as_json`."""

db_option = option(DB, envvar=DATABASE)
"""The `--db` of every verb that reads or writes a ledger."""

policy_option = option(POLICY)
"""The `--policy` of every verb that needs a policy file."""

law_option = option(LAW)
"""The `--policy` of a verb that works under what is in force where no file is named."""


class Verbs(click.Group):
    """A group whose commands are imported when they run; `table` gives their modules and one-line helps."""

    def __init__(self, table: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of one verb."""
        del ctx
        if cmd_name not in self.table:
            return None
        command: click.Command = import_module(self.table[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing one."""
        del ctx
        if self.table:
            with formatter.section("Verbs"):
                formatter.write_dl([(verb, about) for verb, (_, about) in self.table.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; a complaint about its command line names its help, not that of the whole."""
        try:
            return super().invoke(ctx)
        except click.UsageError as exc:
            # What the parser itself refuses, such as an option without its value, comes without a context.
            verb = self.get_command(ctx, ctx.invoked_subcommand or "")
            if exc.ctx is None and verb is not None:
                exc.ctx = click.Context(verb, info_name=verb.name, parent=ctx)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb that the first word names, or say which one may have been meant."""
        verb = args[0]
        if verb not in self.table and not verb.startswith("-"):
            raise UsageError(f"no such verb: `{verb}`", hint=_near(verb, self.table) or "see `indult --help`")
        return super().resolve_command(ctx, args)


def invoke(group: click.Group, args: Sequence[str] | None) -> int:
    """Run a command line of a click group and return its exit code."""
    return deliver(lambda: run(group, args))


def run(group: click.Group, args: Sequence[str] | None) -> object:
    """Run a command line of a click group and return what its verb returned.

    Raises:
        UsageError: One of click's own complaints, in our words.
    """
    try:
        return group.main(args=args, prog_name="indult", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as exc:
        click.echo(exc.message, err=True)
        return 1
    except click.ClickException as exc:
        raise _usage(exc) from exc
    except click.Abort:
        # click has begun a new line.
        return interrupted()


def _usage(exc: click.ClickException) -> UsageError:
    """Put one of click's own complaints into our words."""
    ctx = exc.ctx if isinstance(exc, click.UsageError) else None
    hint = f"see `{ctx.command_path if ctx else 'indult'} --help`"
    match exc:
        case click.NoSuchOption():
            return UsageError(f"no such option: `{exc.option_name}`", hint=_near_of(exc.possibilities) or hint)
        case click.MissingParameter():
            return UsageError(f"missing {_kind(exc.param)} `{_name(exc.param)}`", hint=hint)
        case click.BadParameter() if exc.param is not None:
            return UsageError(f"{_kind(exc.param)} `{_name(exc.param)}`: {_lowered(exc.message)}", hint=hint)
    return UsageError(_lowered(exc.format_message()), hint=hint)


def _kind(param: click.Parameter | None) -> str:
    return "argument" if isinstance(param, click.Argument) else "option"


def _name(param: click.Parameter | None) -> str:
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return "" if param is None else param.human_readable_name


def _lowered(message: str) -> str:
    """Turn a sentence of click's into one of ours: lower case, no full stop, user input in backticks."""
    words = message.rstrip(".").replace("'", "`")
    return words[:1].lower() + words[1:]


def _near(word: str, words: Mapping[str, object]) -> str | None:
    from difflib import get_close_matches

    return _near_of(get_close_matches(word, words))


def _near_of(near: Sequence[str] | None) -> str | None:
    return "did you mean {}?".format(" or ".join(f"`{word}`" for word in near)) if near else None


root: Final = Verbs(
    VERBS,
    name="indult",
    help="AI agents act on their own under a declared law: every action is judged before it runs, graded and remembered.",
    epilog="Exit codes: 0 approved or ok, 1 error, 2 denied, 3 invalid policy or value, 4 waiting for a person, "
    "5 downgraded or stopped short.",
    no_args_is_help=True,
)
click.version_option(__version__, message="indult %(version)s")(root)
