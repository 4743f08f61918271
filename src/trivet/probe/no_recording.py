"""No cassette of the project may record anything in a scored run: vcrpy's record mode is ``none``, whatever the tree says."""

import sys
from importlib.util import find_spec


class _ForceNone:
    """Sets vcrpy's record mode to ``none``, whatever the project's own settings say."""

    def find_spec(self, name, path=None, target=None):
        """Watch for one module."""
        if name != "vcr.cassette":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            plain = spec.loader.exec_module

            def exec_module(module):
                plain(module)
                _none(module.Cassette)

            spec.loader.exec_module = exec_module
        return spec


def _none(cassette):
    plain = cassette.__init__

    def init(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        mode = type(self.record_mode)
        self.record_mode = getattr(mode, "NONE", "none")

    cassette.__init__ = init


def force_none():
    """Let no cassette of the project record anything."""
    sys.meta_path.insert(0, _ForceNone())
