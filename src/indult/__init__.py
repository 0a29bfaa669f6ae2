"""indult: AI agents act on their own under a declared law."""
