"""Reading programs."""
