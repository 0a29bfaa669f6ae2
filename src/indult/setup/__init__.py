"""Setting indult up in a repository: its policy, the hooks of its agents, what they read, and whether all of it works."""
