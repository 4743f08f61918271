"""Where an exception comes from: the sealed tree, production code, or a library; and whether a skip speaks of the environment."""

import ast
import functools
import os
import re
import sysconfig

ENVIRONMENT = re.compile(
    r"sys\.(platform|version|implementation|maxsize|byteorder|flags|getwindowsversion|modules)|version_info|platform|os\.(name|getuid|geteuid|environ|sep|cpu_count)"
    r"|hasattr\(\s*(os|socket|signal|select|time|sys)\b|shutil\.which|find_spec|import_module|ImportError|ModuleNotFoundError|getuid|locale"
    r"|\b(is_?|on_?|IS_?|ON_?)?(WIN|WINDOWS|LINUX|MAC|MACOS|DARWIN|POSIX|PYPY|CPYTHON|GRAALPY|JYTHON|MUSL|WSL|ROOT)(32|64)?\b"
    r"|\bPY_?\d|\bPY[23]|PYPY|HAS_|HAVE_|WINDOWS|pypy|cpython|windows|importorskip",
)
REASONS = re.compile(
    r"(?i)could not import|no module named|not installed|requires? (python|linux|windows|posix|root|a tty|network|gnu)|only (on|for) (windows|linux|mac|posix|python|unix|pypy|cpython)"
    r"|(windows|linux|macos|pypy|posix|python ?\d).*\bonly\b|unsupported platform|needs? (root|python|linux|windows)|not (available|supported) on|running as root|platform",
)


class Places:
    """Sorts frames by what the job says of the scoring tree."""

    def __init__(self, job):
        self.root = job.root.rstrip(os.sep) + os.sep
        self.sources = tuple(path.rstrip(os.sep) + os.sep for path in job.source_roots)
        self.sealed = {os.path.join(job.root, name) for name in [*job.files, *job.sealed]}
        self.names = set(job.source_names)
        paths = sysconfig.get_paths()
        self.library = tuple(
            {paths[key].rstrip(os.sep) + os.sep for key in ("stdlib", "platstdlib", "purelib", "platlib") if paths.get(key)}
        )

    def of(self, filename, names):
        """``sealed``, ``source``, ``library`` or ``made`` (code that has no file) for a code object's file and its globals."""
        if filename in self.sealed:
            return "sealed"
        if filename.startswith(self.sources):
            return "source"
        if filename.startswith(self.root):
            return "sealed"
        if filename.startswith(self.library):
            return "library"
        module = names.get("__name__")
        if isinstance(module, str) and module.split(".")[0] in self.names:
            return "source"
        return "made"

    def walk(self, tb):
        """(place, file, line) of each frame of a traceback, outermost first."""
        while tb is not None:
            code = tb.tb_frame.f_code
            yield self.of(code.co_filename, tb.tb_frame.f_globals), code.co_filename, tb.tb_lineno
            tb = tb.tb_next

    def raised_by_source(self, tb):
        """Whether production code had a hand in raising: one of its frames is on the way."""
        return any(place == "source" for place, _, _ in self.walk(tb))

    def sealed_line(self, tb):
        """(file relative to the root, line) of the innermost frame in the sealed tree, or ("", 0)."""
        found = ("", 0)
        for place, file, line in self.walk(tb):
            if place == "sealed":
                found = (file[len(self.root) :], line)
        return found

    def caller_is_source(self, frame):
        """Whether the nearest frame outward that is neither library nor made up is production code."""
        while frame is not None:
            place = self.of(frame.f_code.co_filename, frame.f_globals)
            if place == "source":
                return True
            if place == "sealed":
                return False
            frame = frame.f_back
        return False


def speaks_of_environment(reason, root, file, line, function_line=0):
    """Whether a skip is about the environment: by its reason, or by the conditions written around ``line`` or above ``function_line``."""
    if REASONS.search(reason):
        return True
    tree = _tree(os.path.join(root, file))
    if tree is None:
        return False
    names = _assigned(tree)
    return any(_is_environment(node, names, 3) for node in _conditions(tree, line, function_line))


@functools.lru_cache(maxsize=4)
def _tree(path):
    """The syntax tree of a sealed file, which no run can write; None where there is none."""
    try:
        with open(path, encoding="utf-8") as stream:
            return ast.parse(stream.read())
    except (OSError, ValueError, SyntaxError):
        return None


def _conditions(tree, line, function_line):
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.lineno <= line <= node.end_lineno:
            yield node.test
        elif isinstance(node, ast.Try) and node.lineno <= line <= node.end_lineno:
            for handler in node.handlers:
                if handler.lineno <= line <= handler.end_lineno and handler.type is not None:
                    yield handler.type
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first <= (function_line or line) <= node.end_lineno:
                for decorator in node.decorator_list:
                    yield from _skipif(decorator)
        elif isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "pytestmark" for t in node.targets):
            yield from _skipif(node.value)


def _skipif(node):
    """The conditions of each ``skipif``/``skipIf``/``skipUnless`` call in an expression; a plain name stands for itself."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and re.search(r"(?i)skip_?(if|unless)", ast.unparse(call.func)):
            yield from call.args[:1]
            yield from (k.value for k in call.keywords if k.arg == "condition")
    if isinstance(node, ast.Name):
        yield node


def _assigned(tree):
    """What module-level names stand for; a name set in ``try … except ImportError`` stands for that exception."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found.update({t.id: node.value for t in node.targets if isinstance(t, ast.Name)})
        elif isinstance(node, ast.Try):
            for handler in node.handlers:
                for inner in [n for part in (node.body, handler.body, node.orelse) for n in part]:
                    if isinstance(inner, ast.Assign):
                        found.update({t.id: handler.type or inner.value for t in inner.targets if isinstance(t, ast.Name)})
    return found


def _is_environment(node, names, depth):
    if ENVIRONMENT.search(ast.unparse(node)):
        return True
    if depth:
        for inner in ast.walk(node):
            if (
                isinstance(inner, ast.Name)
                and inner.id in names
                and names[inner.id] is not node
                and _is_environment(names[inner.id], names, depth - 1)
            ):
                return True
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and ENVIRONMENT.search(inner.value):
                return True
    return False
