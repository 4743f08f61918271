"""What all attempts share: the facts of what lies outside, the register of attempts, raw system calls."""

import ctypes
import errno
import json
import os
import platform
import sys

FACTS = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
ATTEMPTS = {}
REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


INHERITED = [fd for fd in range(3, 256) if is_open(fd)]


def attempt(function):
    """Register an attempt; its name is the function's, its first line of docstring what it tries."""
    ATTEMPTS[function.__name__.replace("_", "-")] = function
    return function


def each(prefix, names):
    """Register one attempt for each name, as ``prefix-name``."""

    def register(function):
        for name in names:
            ATTEMPTS[prefix + "-" + str(name)] = lambda name=name: function(name)
        return function

    return register


def syscall(name, *args):
    number = FACTS["calls"][name]
    if number is None:
        raise OSError(errno.ENOSYS, "no such call here")
    ctypes.set_errno(0)
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *values)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def scratch(name, text="x"):
    path = os.path.join(FACTS["scratch"], name)
    with open(path, "w") as file:
        file.write(text)
    return path


def outside(name):
    return os.path.join(FACTS["outside"], name)


def text_of(path):
    with open(path, "rb") as file:
        return repr(file.read(40))


def in_fork(function):
    """Do it in a forked child; raises OSError if the child was refused or killed."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
        except OSError as error:
            os._exit(3 if error.errno in REFUSED else 4)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0 or code == 3:
        raise OSError(errno.EPERM, "refused: %d" % code)
    return "got through: %d" % code
