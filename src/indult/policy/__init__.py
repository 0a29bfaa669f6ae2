"""Policies: what they say (`model`), how a file becomes one (`load`), and the patterns of their rules (`patterns`)."""

from __future__ import annotations

from indult.policy.bucket import Bucket
from indult.policy.model import DEFAULT, Effect, Mode, Policy, Record, Rule

__all__ = ["DEFAULT", "Bucket", "Effect", "Mode", "Policy", "Record", "Rule"]
