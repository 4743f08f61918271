"""Forges: what GitHub and GitLab know about a change, and telling them what was decided.

Adapters take their address, their token and their identity from the caller and keep no state but a bounded answer cache, so one instance
serves a command as well as a process that lives for months, from several threads. `GitHub` and `GitLab` meet in the protocol
`words.Forge`; `keeper.Keeper` composes it into the life of a change.
"""
