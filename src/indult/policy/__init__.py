"""Policies: what they say (`model`), how a file becomes one (`load`), and the patterns of their rules (`patterns`)."""

from __future__ import annotations

from indult.policy.bucket import Bucket
from indult.policy.dump import dumps_policy
from indult.policy.load import Loaded, find_errors, load_policy, loads_policy, read_policy
from indult.policy.model import DEFAULT, SCHEMA, Effect, Mode, Policy, Record, Rule

__all__ = [
    "DEFAULT",
    "SCHEMA",
    "Bucket",
    "Effect",
    "Loaded",
    "Mode",
    "Policy",
    "Record",
    "Rule",
    "dumps_policy",
    "find_errors",
    "load_policy",
    "loads_policy",
    "read_policy",
]
