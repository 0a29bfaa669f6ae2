"""What the verbs share that write or read instructions for agents: the policy file that they state, and its boundary.

Instructions lie in the repository, for whoever works there, so they state the policy file and nothing of this machine: not
the policies of the user and of the system, which can only forbid more.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from indult.boundary import Boundary
from indult.cli.law import ledger_is_there
from indult.cli.plain import DATABASE
from indult.errors import ConfigurationError, UsageError
from indult.places import POLICY, repository, repository_ledger
from indult.policy import Policy, load_policy

__all__ = ["Place", "boundary_of", "place_of", "trust_problem"]


class Place(NamedTuple):
    """A repository, the policy that its file is, and where its ledger is; none where there is no ledger."""

    root: str
    policy: Policy
    ledger: str | None


def place_of(db: str | None) -> Place:
    """Return the place that one stands in.

    Raises:
        UsageError: It is no repository.
        ConfigurationError: It has no policy file, or one that cannot be loaded.
    """
    root = repository(".")
    if root is None:
        raise UsageError("this is no repository", hint="git init")
    if not os.path.lexists(os.path.join(root, POLICY)):  # noqa: PTH118
        raise ConfigurationError(f"there is no `{POLICY}` here", hint="indult init")
    address = db or os.environ.get(DATABASE) or repository_ledger(root)
    return Place(root, load_policy(os.path.join(root, POLICY)), address if ledger_is_there(address) else None)  # noqa: PTH118


def boundary_of(place: Place, subject: str | None = None) -> Boundary:
    """Return the boundary of the policy file, with the live grants of a subject if one is named."""
    if subject is None or place.ledger is None:
        return Boundary(policy=place.policy, subject=subject or "")
    from indult.gate import Gate
    from indult.ledger import open_ledger

    with open_ledger(place.ledger, read_only=True) as ledger:
        return Gate(place.policy, ledger, subject).boundary()


def trust_problem(place: Place) -> str | None:
    """Return why the gate would answer otherwise than the policy file says, none where it would not."""
    if place.ledger is None:
        return None
    from indult.ledger import open_ledger
    from indult.trust import trusted

    with open_ledger(place.ledger, read_only=True) as ledger:
        record = trusted(os.path.join(place.root, POLICY), ledger)  # noqa: PTH118
    if record is None or record.digest == place.policy.digest:
        return None
    return "this is not the version that a person trusts, so the gate holds both against each call"
