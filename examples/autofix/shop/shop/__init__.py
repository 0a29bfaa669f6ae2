"""A shop that is small enough to be read at once."""
