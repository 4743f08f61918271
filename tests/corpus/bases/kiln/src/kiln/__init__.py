"""Firing schedules of a pottery kiln."""

from kiln.program import Segment, minutes, peak

__all__ = ["Segment", "minutes", "peak"]
