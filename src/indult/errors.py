"""Every error that indult raises, as one tree.

    IndultError                     exit 1
        UsageError                  exit 1   the command line asks for something that does not exist
        InputError                  exit 1   JSON, an action or an argument that cannot be read one way only
        MissingExtra                exit 1   an optional part is not installed
        EvaluationError             exit 1   a condition met a value that it cannot judge
        RunError                    exit 1   a run cannot be started, resumed or found
        ShipError                   exit 1   a branch or its repository is not what a ship needs
        UnknownSignal               exit 1   there is no signal of that id
        ScopeError                  exit 1   what should be opened is no exact, finite set of names
        ApprovalError               exit 1   a request cannot be opened, or a decision does not count
            IneffectiveRequest      exit 1   approving it would not open what it names
            UnknownRequest          exit 1
            StaleDecision           exit 1   it names another digest than the request has
            OvertakenDecision       exit 1   somebody decided since the decider looked
            SupersededRequest       exit 1   a newer request took its place
            ExpiredRequest          exit 1
            ReplayedDecision        exit 1   its grant is used up, or it was made before
            RevokedGrant            exit 1
            WithdrawnRequest        exit 1   what it is about came to its end without an answer
            SelfMadeDecision        exit 1   whoever asked cannot answer
            UnentitledApprover      exit 1   not one of the approvers that the policy declares
            BadSignature            exit 1   missing where it must be, or not that of the approver
            ForgedRecord            exit 1   a record of an approval is not what its chain says
        ConfigurationError          exit 3   what a person declared is wrong
            PolicyError             exit 3   the policy file, with file, line and column
                ConditionError      exit 3   a condition of it, with the position inside the condition
            FactError               exit 3   a fact that the policy declares is absent or of another type
            WorldError              exit 3   a value that a world does not know
        LedgerError                 exit 1
            LedgerBusy              exit 1   another process holds the ledger
            LedgerReadOnly          exit 1
            LedgerFull              exit 1   no space left
            LedgerCorrupt           exit 1   not a ledger, or damaged
            LedgerNewer             exit 1   written by a newer indult
            LedgerConflict          exit 1   a stream moved on since it was read
            ChainBroken             exit 1   the chain does not verify

A message is lower case without a full stop, shows user input in backticks and puts the cause behind a colon; what would
work stands apart in `hint`.
"""

from __future__ import annotations

__all__ = [
    "ApprovalError",
    "BadSignature",
    "ChainBroken",
    "ConditionError",
    "ConfigurationError",
    "EvaluationError",
    "ExpiredRequest",
    "FactError",
    "ForgedRecord",
    "IndultError",
    "IneffectiveRequest",
    "InputError",
    "LedgerBusy",
    "LedgerConflict",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerFull",
    "LedgerNewer",
    "LedgerReadOnly",
    "MissingExtra",
    "OvertakenDecision",
    "PolicyError",
    "ReplayedDecision",
    "RevokedGrant",
    "RunError",
    "ScopeError",
    "SelfMadeDecision",
    "ShipError",
    "StaleDecision",
    "SupersededRequest",
    "UnentitledApprover",
    "UnknownRequest",
    "UnknownSignal",
    "UsageError",
    "WithdrawnRequest",
    "WorldError",
]


class IndultError(Exception):
    """Something that indult was asked to do was refused; `exit_code` is what a command ends with."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def lines(self) -> list[str]:
        """Return the text for a person: the message, then the hint on its own line."""
        return [self.message] if self.hint is None else [self.message, f"hint: {self.hint}"]


class UsageError(IndultError):
    """The command line names an option or a thing that does not exist."""


class InputError(IndultError):
    """JSON, an action or an argument was malformed, too large, too deep or readable two ways."""


class MissingExtra(IndultError):
    """An optional part of indult is needed and not installed."""


class EvaluationError(IndultError):
    """A condition met a value that it cannot judge; the gate counts it against approval."""


class RunError(IndultError):
    """A run cannot be started, found or resumed."""


class ShipError(IndultError):
    """A branch cannot be judged or landed: git is missing, or the repository is not one that can be trusted to be read."""


class UnknownSignal(IndultError):
    """There is no signal of that id."""


class ScopeError(IndultError):
    """What should be opened is no exact, finite set of names that a person can read."""


class ApprovalError(IndultError):
    """A request cannot be opened, or a decision on one does not count."""


class IneffectiveRequest(ApprovalError):
    """Approving the request would not open what it names, so nobody is asked."""


class UnknownRequest(ApprovalError):
    """There is no request or grant of that name."""


class StaleDecision(ApprovalError):
    """The decision names another digest than the request has: it was shown something else."""


class OvertakenDecision(ApprovalError):
    """Somebody decided since the decider looked at the request."""


class SupersededRequest(ApprovalError):
    """A newer request of the same subject and kind took its place."""


class ExpiredRequest(ApprovalError):
    """The time to decide, or to use what was decided, is over."""


class ReplayedDecision(ApprovalError):
    """The decision was made before, or its grant is used up."""


class RevokedGrant(ApprovalError):
    """The grant was taken back."""


class WithdrawnRequest(ApprovalError):
    """What the request is about came to its end without an answer, so whoever asked took it back."""


class SelfMadeDecision(ApprovalError):
    """Whoever asked cannot be the one who answers."""


class UnentitledApprover(ApprovalError):
    """The decider is not among the approvers that the policy declares."""


class BadSignature(ApprovalError):
    """A signature is missing where one must be, or is not that of the approver over this decision."""


class ForgedRecord(ApprovalError):
    """A record of an approval is not what the chain of its stream says; nothing is opened by it."""


class ConfigurationError(IndultError):
    """What a person declared, in a policy or an option, is wrong."""

    exit_code = 3


class PolicyError(ConfigurationError):
    """A policy file cannot be loaded.

    `source` is the file's name, `line` and `column` count from 1, `excerpt` is the offending line.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.source = source
        self.line = line
        self.column = column
        self.excerpt = excerpt

    def lines(self) -> list[str]:
        """Return `file:line:column: message`, the offending line with a caret under the column, and the hint."""
        place = ":".join(str(part) for part in (self.source, self.line, self.column) if part is not None)
        shown = [f"{place}: {self.message}" if place else self.message]
        if self.excerpt is not None:
            shown.append(f"    {self.excerpt}")
            if self.column is not None:
                lead = "".join("\t" if char == "\t" else " " for char in self.excerpt[: self.column - 1])
                shown.append(f"    {lead}^")
        if self.hint is not None:
            shown.append(f"hint: {self.hint}")
        return shown

    def __str__(self) -> str:
        return self.lines()[0]


class ConditionError(PolicyError):
    """A condition does not parse or does not type-check; `line` and `column` count inside the condition's text."""


class FactError(ConfigurationError):
    """A fact that the policy declares is absent, or is not of its declared type."""


class WorldError(ConfigurationError):
    """A world was given a value that it does not know."""


class LedgerError(IndultError):
    """The ledger could not do what was asked; nothing of the failed write was kept."""


class LedgerBusy(LedgerError):
    """Another process holds the ledger for longer than the time-out."""


class LedgerReadOnly(LedgerError):
    """The ledger, its folder or its file system cannot be written."""


class LedgerFull(LedgerError):
    """There is no space left to write the ledger."""


class LedgerCorrupt(LedgerError):
    """The file is not a ledger, or is damaged."""


class LedgerNewer(LedgerError):
    """The ledger was written by a newer indult; it is left as it is."""


class LedgerConflict(LedgerError):
    """A stream has another version than the writer expected; nothing was written."""


class ChainBroken(LedgerError):
    """An event does not follow from the one before it."""
