"""Where indult keeps things of its own in a home folder: the base directories of the XDG specification.

Paths are texts, since whoever judges an action has no time to import `pathlib`.
"""

from __future__ import annotations

import os

__all__ = ["config_folder", "data_folder"]


def config_folder() -> str:
    """Return the folder of what a person sets: `$XDG_CONFIG_HOME/indult`, by default `~/.config/indult`."""
    return _folder("XDG_CONFIG_HOME", ".config")


def data_folder() -> str:
    """Return the folder of what indult writes: `$XDG_DATA_HOME/indult`, by default `~/.local/share/indult`."""
    return _folder("XDG_DATA_HOME", os.path.join(".local", "share"))  # noqa: PTH118


def _folder(name: str, default: str) -> str:
    home = os.environ.get(name, "")
    # The specification has relative paths ignored.
    base = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), default)  # noqa: PTH111, PTH117, PTH118
    return os.path.join(base, "indult")  # noqa: PTH118
