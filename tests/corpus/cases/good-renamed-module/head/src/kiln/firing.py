"""A firing program: ramps in degrees an hour, holds in minutes."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Segment:
    """Heat or cool to a target, then hold."""

    target: int
    rate: int
    hold: int = 0


def minutes(segments, start=20):
    """How long the program takes."""
    total = 0
    here = start
    for segment in segments:
        if segment.rate <= 0:
            raise ValueError("a rate is more than nothing")
        total += abs(segment.target - here) * 60 // segment.rate + segment.hold
        here = segment.target
    return total


def peak(segments):
    """The highest target."""
    return max(segment.target for segment in segments)


def load(text):
    """A program from JSON."""
    return [Segment(**row) for row in json.loads(text)]
