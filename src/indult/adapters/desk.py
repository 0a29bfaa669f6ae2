"""The desk: policy, ledger and gate of the repository in which a hook was called, held open for one event."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Self

from indult.canonical import canonical, digest_text
from indult.errors import FactError
from indult.gate import Gate
from indult.gate.subjects import appointed, tree_name
from indult.ledger.opening import open_ledger
from indult.ledger.streams import utc_now
from indult.places import POLICY, repository_ledger
from indult.trust import effective_policy, seen_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from indult.decompose import Decompose
    from indult.ledger import Ledger
    from indult.policy import Policy

__all__ = ["FACTS", "Desk", "decomposer"]

FACTS: Final = ("session", "repo", "now")
"""What a hook can supply of a policy's declared context."""


class Desk:
    """What stands ready for one event in the repository at `root`; the subject is its work tree unless another is named.

    Raises:
        FactError: The policy declares a fact that no hook knows.
    """

    def __init__(
        self,
        root: str,
        policy: Policy,
        ledger: Ledger,
        *,
        decompose: Decompose,
        subject: str | None = None,
        clock: Callable[[], str] = utc_now,
    ) -> None:
        for name in policy.context:
            if name not in FACTS:
                raise FactError(
                    f"the policy declares the fact `{name}`, which a hook cannot supply",
                    hint=f"a hook supplies {', '.join(FACTS)}",
                )
        self.root = root
        self.policy = policy
        self.ledger = ledger
        self.gate = Gate(policy, ledger, subject or f"tree:{tree_name(root)}", decompose=decompose)
        self.told = f"briefed:{self.gate.subject}"
        self._clock = clock

    @classmethod
    def open(cls, root: str, *, database: str | None = None) -> Self:
        """Open the desk of the repository at `root`, whose ledger is at `database` or in its own place.

        In the work tree of a fix, the subject is that of the fix, and the law is that of the repository: the policy file
        that the ledger names, and not the one that the fixer may write.

        Raises:
            IndultError: Policy or ledger cannot be opened, or the record of what is trusted was changed.
        """
        ledger = open_ledger(database or repository_ledger(root))
        try:
            found = appointed(root, ledger)
            root, subject, path = found or (root, None, os.path.join(root, POLICY))  # noqa: PTH118
            policy = effective_policy(path, ledger, load=lambda raw: seen_policy(path, raw, ledger))
            return cls(root, policy, ledger, decompose=decomposer(root), subject=subject)
        except BaseException:
            ledger.close()
            raise

    def facts(self, session: str) -> dict[str, Any]:
        """Return the facts that the policy declares."""
        known = {"session": lambda: session, "repo": lambda: tree_name(self.root), "now": self._clock}
        return {name: known[name]() for name in self.policy.context}

    def briefed(self, reader: str) -> str | None:
        """Return the digest of the boundary that an agent read last."""
        found = self.ledger.latest(self.told, reader)
        return None if found is None else str(found.get("boundary"))

    def waits(self, request: str | None) -> bool:
        """Tell whether a person can still say yes to a request."""
        from indult.approvals import RequestState

        return request is not None and self.gate.requests.standing(request).state is not RequestState.REJECTED

    @staticmethod
    def digest(value: Any) -> str:
        """Return the digest of a result, of which nothing else is kept."""
        return digest_text(canonical(value))

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


def decomposer(root: str) -> Decompose:
    """Return what takes the actions in a repository apart, with the disk of this machine before its eyes."""
    from indult.decompose import decompose_with
    from indult.disk import Disk

    return decompose_with(Disk(root), root, os.environ.get("HOME"))
