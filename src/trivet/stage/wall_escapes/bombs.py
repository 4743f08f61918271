"""Programs that try to exhaust the host or to outlive their end: ``python bombs.py NAME NONCE``. Bounded, so that they do little harm unwalled."""

import atexit
import os
import re
import signal
import sys
import threading
import time


def deaf():
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass


def stay():
    """Become a process that carries the nonce in its command line, so that the caller would find it alive."""
    os.execv(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(60)", sys.argv[2]])


def count(number):
    print("count", number, flush=True)


def daemon():
    deaf()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            stay()
        os._exit(0)
    time.sleep(0.2)


def sessions():
    deaf()
    for _ in range(16):
        if os.fork() == 0:
            os.setsid()
            stay()
    time.sleep(0.3)
    os._exit(0)


def orphan_of_orphans():
    deaf()
    for _ in range(8):
        if os.fork():
            os._exit(0)
        os.setsid()
    stay()


def thread_left():
    threading.Thread(target=time.sleep, args=(60,)).start()


def exit_hook():
    atexit.register(time.sleep, 60)


def ignore_signals():
    deaf()
    while True:
        time.sleep(60)


def stop_self():
    os.kill(os.getpid(), signal.SIGSTOP)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def kill_parent():
    for number in (signal.SIGKILL, signal.SIGSTOP):
        try:
            os.kill(os.getppid(), number)
        except OSError:
            pass
    time.sleep(0.1)


def kill_all():
    """Kill all that may be killed; the caller looks whether its neighbour lives."""
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass


def close_everything():
    os.closerange(0, 256)
    if os.fork() == 0:
        os.setsid()
        stay()


def fork():
    made = 0
    try:
        for _ in range(200):
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
            made += 1
    except OSError:
        pass
    count(made)


def threads():
    made = 0
    threading.stack_size(65536)
    try:
        for _ in range(1500):
            threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
            made += 1
    except RuntimeError:
        pass
    count(made)
    os._exit(0)


def memory():
    try:
        got = bytearray(3 << 30)
        for place in range(0, len(got), 4096):
            got[place] = 1
        print("escaped")
    except MemoryError:
        print("refused")


def memory_of_tree():
    for _ in range(6):
        if os.fork() == 0:
            got = bytearray(60 << 20)
            for place in range(0, len(got), 4096):
                got[place] = 1
            time.sleep(1)
            os._exit(0)
    count(sum(os.wait()[1] == 0 for _ in range(6)))


def descriptors():
    made = 0
    try:
        while made < 5000:
            os.open("/dev/null", os.O_RDONLY)
            made += 1
    except OSError:
        pass
    count(made)


def one_file():
    made = 0
    try:
        with open("big", "wb", buffering=0) as file:
            while made < 64 and file.write(b"x" * (1 << 20)) == 1 << 20:
                made += 1
    except OSError:
        pass
    count(made)


def many_files():
    made = 0
    try:
        for number in range(400):
            with open("f%d" % number, "wb", buffering=0) as file:
                if file.write(b"x" * (1 << 20)) == 1 << 20:
                    made += 1
            time.sleep(0.01)
    except OSError:
        pass
    count(made)


def log():
    block = b"x" * 65536
    for _ in range(1600):
        os.write(1, block)
    print("escaped")


def processor():
    while True:
        pass


def regular_expression():
    re.match(r"(a+)+$", "a" * 40 + "b")


globals()[sys.argv[1].replace("-", "_")]()
