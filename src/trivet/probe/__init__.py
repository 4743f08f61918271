"""The guest in the target's interpreter: standard library only, Python 3.9 or later, imports nothing else of trivet."""
