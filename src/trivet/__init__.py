"""trivet: the merge gate for patches that coding agents write."""

from __future__ import annotations

__version__ = "0.1.0"
