"""The scoring service: agents iterate against a score they cannot touch.

It receives commit ids, fetches them into mirrors of its own, runs ``trivet gate`` as a child, reads the files that the command writes,
and publishes them. It has no private road to a verdict.
"""
