"""indult: AI agents act on their own under a declared law."""

from __future__ import annotations

__version__ = "0.1.0"
