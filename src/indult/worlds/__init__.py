"""Worlds that a loop can run in, each a package of its own."""
