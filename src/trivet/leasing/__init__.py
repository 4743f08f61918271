"""The walks of ``trivet lease``: digests, rows of the ledger, and the runs that show how a test fails."""
