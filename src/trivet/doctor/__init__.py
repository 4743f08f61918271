"""What this host and this repository can and cannot hold: lists of checks, each with a remedy; nothing is changed."""
