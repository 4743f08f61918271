"""The walk of src-score: calibrate base, run head, and gather all that the score leg judges."""

from trivet.scoring.scene import Scene
from trivet.scoring.walk import Request, gather

__all__ = ["Request", "Scene", "gather"]
