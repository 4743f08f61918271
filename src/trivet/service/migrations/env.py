"""How alembic meets the store: on the connection that ``schema`` hands over, in one transaction."""

from alembic import context

from trivet.service.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True, transaction_per_migration=False)
with context.begin_transaction():
    context.run_migrations()
