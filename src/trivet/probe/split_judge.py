"""Judge side: the import hook that serves the source's packages from the subject, and the plugin that gives each test a fresh subject.

``install(job, fd)`` is called before pytest starts and returns the plugin. From then on no byte of the source zone is imported here: names of
``job.source_names`` are served by the subject, and code from a source folder cannot be executed at all.
"""

import importlib.machinery
import os
import sys
import types

import pytest

from . import split_channel as ch
from . import split_remote
from .split_errors import SplitUnsupported, SubjectGone
from .split_lend import Lender
from .split_link import Link
from .split_remote import RemoteMeta
from .split_take import Take
from .split_world import World

LOCAL = frozenset(("__spec__", "__loader__", "__path__", "__file__", "__package__", "__cached__", "__name__", "__builtins__", "__class__", "__dict__"))


class RemoteModule(types.ModuleType):
    """A module of the source."""

    _tv_module = True
    _tv_number = None
    _tv_link = None
    _tv_epoch = 0

    def __getattr__(self, name):
        if name in split_remote.LOCAL_ONLY or name in LOCAL:
            raise AttributeError(name)
        link = RemoteModule._tv_link
        held = self.__dict__.get("_tv_cache")
        if held is None or held[0] != RemoteModule._tv_epoch:
            held = self.__dict__["_tv_cache"] = (RemoteModule._tv_epoch, {})
        elif name in held[1]:
            return held[1][name]
        value = link.request(ch.GET, self, name)
        kind = type(value)
        if isinstance(value, RemoteMeta):
            lasting = value._tv_home == 0
        else:
            lasting = isinstance(kind, RemoteMeta) and kind.__name__ == "function" and split_remote._ref(value)[0].generation == 0
        if lasting:
            # Made when the module was imported: the same in each test's process.
            held[1][name] = value
        return value

    def __setattr__(self, name, value):
        own_test = isinstance(value, types.ModuleType) and value.__name__ == "%s.%s" % (self.__name__, name)
        if name in LOCAL or own_test or isinstance(value, RemoteModule):
            self.__dict__[name] = value
            return
        RemoteModule._tv_epoch += 1
        RemoteModule._tv_link.request(ch.SET, self, name, value)

    def __delattr__(self, name):
        if name in self.__dict__:
            del self.__dict__[name]
            return
        RemoteModule._tv_epoch += 1
        RemoteModule._tv_link.request(ch.DELETE, self, name)

    def __dir__(self):
        return RemoteModule._tv_link.request(ch.BUILTIN, "dir", (self,))


class Finder:
    """First on ``sys.meta_path``."""

    def __init__(self, link, job):
        self.link = link
        self.served = link.served
        self.root = job.root

    def find_spec(self, name, path=None, target=None):
        """A spec for a served name; None for everything else."""
        if name.partition(".")[0] not in self.served:
            return None
        if not self.link.request(ch.FIND, name):
            # Tests that lie inside of the package are not in the subject's tree.
            return importlib.machinery.PathFinder.find_spec(name, path) if path else None
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        """An empty stand-in."""
        return RemoteModule(spec.name)

    def exec_module(self, module):
        """Import it over there."""
        name = module.__name__
        if module.__dict__.get("_tv_number") is not None:
            self.link.request(ch.RELOAD, module)
            return
        try:
            number, folders, stars, file, doc, highest = self.link.request(ch.IMPORT, name)
        except SystemExit as error:
            raise SubjectGone("the source ended the program while it was imported (%r)" % (error.code,)) from None
        if type(highest) is int and 0 < highest < 1 << 31:
            self.link.current_session.highest = max(self.link.current_session.highest, highest)
        space = module.__dict__
        space["_tv_number"] = number
        space["__doc__"] = doc
        if folders is not None:
            space["__path__"] = [os.path.join(self.root, folder) for folder in folders]
            space["__package__"] = name
        if stars is not None:
            space["__all__"] = [str(star) for star in stars]
        if file is not None:
            space["__file__"] = os.path.join(self.root, file)
        self.link.current_session.keep_module(name, number, module)

    def get_code(self, name):
        """No code here."""
        raise ImportError("%s is served from another process" % name)


def _guard(job):
    """Refuse to run code of the source zone in this process, whoever asks."""
    roots = tuple(root.rstrip(os.sep) + os.sep for root in job.source_roots)
    sealed = frozenset(os.path.join(job.root, name) for name in [*job.sealed, *job.files])

    def hook(event, args):
        if event == "exec":
            file = getattr(args[0], "co_filename", "")
            if file.startswith(roots) and file not in sealed:
                raise SplitUnsupported("the source is not imported here: %s" % file)

    if roots:
        sys.addaudithook(hook)


class Plugin:
    """Gives each test its subject, and turns a swallowed refusal into a failure."""

    def __init__(self, link, finder, shared):
        self.link = link
        self.finder = finder
        self.shared = shared

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config):
        """Keep the finder first; give temporary folders names that say nothing."""
        sys.meta_path[:] = [self.finder, *(finder for finder in sys.meta_path if finder is not self.finder)]
        factory = getattr(config, "_tmp_path_factory", None)
        if factory is not None and self.shared:
            from pathlib import Path

            factory._given_basetemp = Path(self.shared) / "work"
            plain = type(factory).mktemp
            factory.__dict__["mktemp"] = lambda basename, numbered=True: plain(factory, "data" if numbered else basename, numbered=numbered)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """One test, one subject."""
        self.link.begin()
        yield
        self.link.end()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """What outlives a test is made in the template."""
        wide = fixturedef.scope != "function" and self.link.current is self.link.template
        self.link.wide += wide
        try:
            yield
        finally:
            self.link.wide -= wide

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        """A refusal that the test swallowed is still one."""
        outcome = yield
        if self.link.cannot and outcome.excinfo is None:
            outcome.force_exception(SplitUnsupported("cannot cross into the source's process: %s" % self.link.cannot))


def install(job, fd):
    """Put the subject in the place of the source; returns the pytest plugin."""
    facts = job.extra.get("split", {})
    shared = facts.get("shared", "")
    world = World(job.root, facts["tree"], facts["scratch"], job.files)
    link = Link(fd, job.test_timeout_s, world)
    link.served = frozenset(job.source_names)
    world.link = link
    lender, take = Lender(link, job.root), Take(link)
    link.lender, link.take = lender, take
    link.other, link.serve, link.hooks = lender.put, lender.serve, take.hooks()
    link.fix_out, link.fix_in = world.text_out, world.text_in
    split_remote.link = RemoteModule._tv_link = link
    finder = Finder(link, job)
    sys.meta_path.insert(0, finder)
    _guard(job)
    if shared:
        import tempfile

        tempfile.tempdir = shared
    return Plugin(link, finder, shared)
