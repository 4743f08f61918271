"""Telling: rendering only."""
