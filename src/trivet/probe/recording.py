"""Runs pytest and records the HTTP exchanges of each test with vcrpy: ``PYTHON recording.py FOLDER ROOT ARGUMENT…``.

Started by ``trivet record`` in the project's interpreter, with the caller's own environment and network: it is an owner's doing, and no
scored run. Secrets are taken out before anything is written.
"""

import importlib.util
import os
import sys

PACKAGE = "trivet_recording"


def part(name):
    """A module of this folder, without its folder on the import path."""
    folder = os.path.dirname(os.path.abspath(__file__))
    if PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
        sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[PACKAGE])
    return importlib.import_module(PACKAGE + "." + name)


class Recorder:
    """Puts a cassette around each test."""

    def __init__(self, folder, root):
        import vcr

        self.folder, self.root = folder, root
        self.redact, self.cassettes, replay = part("redact"), part("cassettes"), part("recorded")
        self.known = self.redact.values_of(os.environ)
        self.machine = vcr.VCR(
            record_mode="all",
            match_on=["trivet"],
            ignore_localhost=True,
            decode_compressed_response=True,
            before_record_request=self._request,
            before_record_response=self._response,
        )
        self.machine.register_serializer("trivet", replay.Serializer)
        self.machine.register_matcher("trivet", replay.same)
        self.open = None

    def pytest_runtest_logstart(self, nodeid, location):
        """A test begins."""
        file, colons, rest = nodeid.partition("::")
        inner = os.path.relpath(os.path.abspath(file), self.root).replace(os.sep, "/")
        path = self.cassettes.path_of(self.folder, inner + colons + rest)
        self.open = self.machine.use_cassette(path, serializer="trivet")
        self.open.__enter__()

    def pytest_runtest_logfinish(self, nodeid, location):
        """A test is over: its exchanges are written, if it had any."""
        if self.open is not None:
            self.open.__exit__(None, None, None)
            self.open = None

    def _request(self, request):
        from vcr.request import Request

        headers = {name: values[0] for name, values in self.redact.headers(dict(request.headers), self.known).items()}
        return Request(request.method, self.redact.uri(request.uri, self.known), self.redact.body(_bytes(request.body), self.known), headers)

    def _response(self, response):
        body = response.get("body") or {}
        data = body.get("string") if isinstance(body, dict) else body
        gone = ("content-encoding", "transfer-encoding", "date")
        headers = {name: values for name, values in response.get("headers", {}).items() if name.lower() not in gone}
        return {**response, "headers": self.redact.headers(headers, self.known), "body": {"string": self.redact.body(data, self.known)}}


def _bytes(body):
    if body is None or isinstance(body, (str, bytes)):
        return body
    return body.read() if hasattr(body, "read") else b"".join(body)


def main():
    """Record; the exit status is pytest's, 90 without vcrpy."""
    folder, root, *arguments = sys.argv[1:]
    sys.path[0] = os.getcwd()
    try:
        import vcr  # noqa: F401
    except ImportError:
        sys.exit(90)
    import pytest

    sys.exit(pytest.main(arguments, plugins=[Recorder(folder, root)]))


if __name__ == "__main__":
    main()
