"""Adapters: each lets another program put actions before the gate, in that program's own words."""
