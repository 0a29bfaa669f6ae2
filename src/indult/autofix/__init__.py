"""Autofix: friction is noticed, triaged, fixed in a work tree of its own, and landed through the gate or handed back."""
