"""Tools to test with, shipped: case runners (`python -m indult.testing KIND FILE`) and fakes."""

from __future__ import annotations
