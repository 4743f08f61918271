"""The judges: pure functions from evidence to a verdict."""
