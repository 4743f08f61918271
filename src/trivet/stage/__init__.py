"""Where strangers' code runs: the scoring tree, the wall, the runner."""
