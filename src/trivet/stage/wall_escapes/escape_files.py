"""Attempts on files, devices and shared memory outside the run's own folder."""

import ctypes
import errno
import os
import stat
import struct
import subprocess

from escape_base import FACTS, attempt, each, outside, scratch, syscall, text_of


@each("read", ("secret", "shadow", "home", "cache", "neighbours", "list"))
def read(what):
    if what == "secret":
        return text_of(FACTS["secret"])
    if what == "shadow":
        return text_of("/etc/shadow")
    if what == "neighbours":  # a root of one's own may have the folder, with nothing foreign in it
        found = os.listdir(os.path.dirname(FACTS["outside"]))
        if os.path.basename(FACTS["outside"]) not in found:
            raise OSError(errno.ENOENT, "nothing of the gate")
        return repr(found)
    if what == "home":
        found = os.listdir(FACTS["home"])
        if set(FACTS["home_list"]) - set(found):
            raise OSError(errno.ENOENT, "only what was bound")
    return "listed " + repr(os.listdir({"home": FACTS["home"], "cache": FACTS["cache"], "list": FACTS["outside"]}[what])[:3])


@each(
    "write",
    ("new", "append", "truncate", "over", "mkdir", "mkfifo", "symlink", "unlink", "rmdir", "tmpfile", "tree", "interpreter", "mksock"),
)
def write(what):
    victim = FACTS["victim"]
    if what == "new":
        open(outside("new"), "w").close()
    elif what == "append":
        open(victim, "a").close()
    elif what == "truncate":
        os.truncate(victim, 1)
    elif what == "over":
        os.replace(scratch("over"), victim)
    elif what == "mkdir":
        os.mkdir(outside("folder"))
    elif what == "mkfifo":
        os.mkfifo(outside("fifo"))
    elif what == "symlink":
        os.symlink("/", outside("link"))
    elif what == "unlink":
        os.unlink(FACTS["spare_victim"])
    elif what == "rmdir":
        os.rmdir(FACTS["empty_folder"])
    elif what == "tmpfile":
        os.close(os.open(FACTS["outside"], os.O_TMPFILE | os.O_RDWR, 0o600))
    elif what == "mksock":
        os.mknod(outside("sock"), stat.S_IFSOCK | 0o600)
    else:
        folder = FACTS["tree"] if what == "tree" else FACTS["packages"]
        path = os.path.join(folder, "trivet-escape")
        open(path, "w").close()
        os.unlink(path)
    return "written"


@each(
    "around",
    (
        "symlink-read",
        "symlink-write",
        "link-in",
        "link-out",
        "rename-out",
        "rename-in",
        "dotdot",
        "proc-root",
        "proc-cwd",
        "dirfd",
        "handle",
    ),
)
def around(what):
    secret, victim = FACTS["secret"], FACTS["victim"]
    link = os.path.join(FACTS["scratch"], "link-" + what)
    if what == "symlink-read":
        os.symlink(secret, link)
        return text_of(link)
    if what == "symlink-write":
        os.symlink(victim, link)
        open(link, "r+").close()
    elif what == "link-in":
        os.link(secret, link)
        return text_of(link)
    elif what == "link-out":
        os.link(scratch("inner"), outside("inner"))
    elif what == "rename-out":
        os.rename(scratch("inner2"), outside("inner2"))
    elif what == "rename-in":
        os.rename(FACTS["spare_victim2"], link)
    elif what == "dotdot":
        return text_of(os.path.join(FACTS["scratch"], *[".."] * 30, secret.lstrip("/")))
    elif what == "proc-root":
        return text_of("/proc/self/root" + secret)
    elif what == "proc-cwd":
        return text_of("/proc/self/cwd/" + "../" * 30 + secret.lstrip("/"))
    elif what == "dirfd":
        fd = os.open("/", os.O_PATH)
        return text_of(os.open(secret.lstrip("/"), os.O_RDONLY, dir_fd=fd))
    elif what == "handle":
        handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 256)
        syscall("name_to_handle_at", -100, secret.encode(), handle, ctypes.byref(ctypes.c_int()), 0)
        fd = os.open("/", os.O_RDONLY)
        return text_of(syscall("open_by_handle_at", fd, handle, os.O_RDONLY))
    return "done"


@each("metadata", ("chmod", "chmod-tree", "utime", "utime-tree", "chown", "xattr", "fchmod-path"))
def metadata(what):
    victim = FACTS["victim"]
    tree = os.path.join(FACTS["tree"], "file")
    if what.startswith("chmod"):
        os.chmod(tree if "tree" in what else victim, 0o777)
    elif what.startswith("utime"):
        os.utime(tree if "tree" in what else victim, (1, 1))
    elif what == "chown":
        os.chown(victim, os.getuid(), os.getgid())
    elif what == "xattr":
        os.setxattr(victim, "user.trivet", b"x")
    else:
        fd = os.open(victim, os.O_PATH)
        os.chmod("/proc/self/fd/%d" % fd, 0o777)
    return "changed"


@attempt
def exec_outside():
    """Run a program that lies outside."""
    return repr(subprocess.run([FACTS["tool"]], capture_output=True, check=True).stdout[:20])


@each("device", ("mem", "kmsg", "ptmx", "tty", "fuse", "kvm", "net/tun", "console", "disk", "port", "loop-control", "uinput"))
def device(name):
    path = "/dev/" + name
    if name in FACTS["own_devices"]:
        raise OSError(errno.EACCES, "an instance of its own")
    if name == "disk":
        found = [n for n in os.listdir("/dev") if stat.S_ISBLK(os.stat("/dev/" + n).st_mode)]
        path = "/dev/" + (found[0] if found else "none")
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    return path + " opened"


@each(
    "kernel-file",
    ("proc/sysrq-trigger", "proc/sys/kernel/core_pattern", "proc/sys/kernel/hostname", "sys/kernel/uevent_helper", "sys/power/state"),
)
def kernel_file(name):
    os.close(os.open("/" + name, os.O_WRONLY))
    return name + " opened for writing"


@attempt
def cgroup_leave():
    """Leave the memory group."""
    for root in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(root + "/cgroup.procs"):
            with open(root + "/cgroup.procs", "w") as file:
                file.write("0")
            return "left"
    raise OSError(errno.ENOENT, "no cgroup in sight")


@each("shared-memory", ("read-segment", "list-segments", "leave-segment"))
def shared_memory(what):
    if what == "read-segment":
        return text_of("/dev/shm/" + FACTS["segment"])
    if what == "list-segments":
        found = os.listdir("/dev/shm")
        if FACTS["segment"] not in found:
            raise OSError(errno.ENOENT, "not there")
        return repr(found)
    open("/dev/shm/" + FACTS["left"], "w").close()  # the caller looks whether it is there
    return "?"
