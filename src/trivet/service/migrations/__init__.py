"""The history of the store's schema, for alembic: one numbered module a step, each with a way up and a way down."""
