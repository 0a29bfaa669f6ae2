"""Keeping: a command of somebody else's runs within its limits, and nothing that it started outlives it."""
