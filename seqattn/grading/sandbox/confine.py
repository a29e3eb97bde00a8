"""Take rights away from this process: what it may read, which system calls it may make, how much.

Linux only, without root, through ctypes: Landlock for files (5.13 and newer), seccomp for system
calls. Where one of them is missing :func:`layers` says so, and the report repeats it.
"""

import ctypes
import os
import platform
import resource
import struct
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from . import syscalls

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PDEATHSIG, _SECCOMP, _NO_NEW_PRIVS = 1, 22, 38
_READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_EPERM, _ENOTTY, _ENOSYS = 1, 25, 38

_libc = ctypes.CDLL(None, use_errno=True)


# The worker asks before it forks, and its children need not.
@cache
def layers() -> tuple[str, ...]:
    """Say which layers this kernel offers."""
    found = ["limits"]
    if _abi() >= 1:
        found.append("Landlock")
    # Asking for a filter without giving one: EFAULT if filters exist, EINVAL if not.
    if platform.machine() in syscalls.MACHINES and _libc.prctl(_SECCOMP, 2, 0, 0, 0):
        found += ["seccomp"] if ctypes.get_errno() == 14 else []
    return tuple(found)


# --- files -------------------------------------------------------------------------------------


def _abi() -> int:
    return _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))


def readable(roots: Iterable[str], hidden: Iterable[str]) -> dict[Path, int]:
    """Say what to allow so that everything below the roots can be read, except what is hidden.

    Landlock can only allow, and whole trees only: a tree with something hidden in it is replaced by
    its other branches. Its folders may be listed, or Python would find no module there.
    """
    secrets = [Path(h).resolve() for h in hidden]
    rights: dict[Path, int] = {}

    def allow(path: Path) -> None:
        if any(path == s or s in path.parents for s in secrets):
            return
        if not any(path in s.parents for s in secrets):
            rights[path] = _READ_FILE | _READ_DIR if path.is_dir() else _READ_FILE
            return
        rights[path] = _READ_DIR
        for child in sorted(path.iterdir()):
            # A link is followed when it is opened; its target needs a right of its own.
            if not child.is_symlink():
                allow(child)

    for root in dict.fromkeys(Path(r).resolve() for r in roots):
        if root.exists():
            allow(root)
    if (null := Path("/dev/null")) in rights:
        rights[null] |= _WRITE_FILE
    return rights


def ruleset(rights: dict[Path, int]) -> int:
    """Make a Landlock ruleset that allows these rights and no others; return its file.

    Where the kernel knows them, TCP, abstract sockets and signals to others are refused as well.
    """
    abi = _abi()
    every_file_right = (1 << (13 + (abi >= 2) + (abi >= 3) + (abi >= 5))) - 1
    attributes = struct.pack("QQQ", every_file_right, 0b11, 0b11)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    fd = _libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    for path, right in rights.items():
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", right, opened)
        if _libc.syscall(_ADD_RULE, fd, 1, rule, ctypes.c_uint32(0)):
            raise OSError(ctypes.get_errno(), f"landlock_add_rule: {path}")
        os.close(opened)
    return fd


# --- system calls ------------------------------------------------------------------------------

_LOAD, _JUMP_EQ, _JUMP_GE, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _argument(number: int, high: bool = False) -> bytes:
    return _op(_LOAD, 16 + 8 * number + 4 * high)


def _refuse(errno: int) -> bytes:
    return _op(_RETURN, _ERRNO | errno)


_OK = _op(_RETURN, _ALLOW)


def _one_of(argument: int, values: Iterable[int], otherwise: bytes) -> bytes:
    tests = b"".join(_op(_JUMP_EQ, v, 0, 1) + _OK for v in values)
    return _argument(argument) + tests + otherwise


def seccomp_filter() -> bytes:
    """Assemble the filter: listed calls, a few by argument, EPERM for the rest.

    A call newer than the table gets ENOSYS, on which libraries fall back to an older one.
    """
    # abort() signals its own process.
    own = _one_of(0, (os.getpid(),), _refuse(_EPERM))
    number = syscalls.conditional(platform.machine())["tgkill"]
    program = _same_for_all() + _op(_JUMP_EQ, number, 0, len(own) // 8) + own
    return program + _op(_JUMP_GE, syscalls.KNOWN + 1, 0, 1) + _refuse(_ENOSYS) + _refuse(_EPERM)


# As with `layers`.
@cache
def _same_for_all() -> bytes:
    """Assemble what does not depend on the process."""
    machine = platform.machine()
    numbers = syscalls.conditional(machine)
    conditions = {
        # Threads, but no processes. clone3 hides its flags behind a pointer: let libc fall back.
        "clone": _argument(0) + _op(_JUMP_SET, 0x10000, 0, 1) + _OK + _refuse(_EPERM),
        "clone3": _refuse(_ENOSYS),
        # What isatty, dup and set_blocking use.
        "ioctl": _one_of(1, (0x5401, 0x5421, 0x541B, 0x5450, 0x5451), _refuse(_ENOTTY)),
        # Thread and memory names.
        "prctl": _one_of(0, (15, 16, 0x53564D41), _refuse(_EPERM)),
        # Reading limits, not setting them: no new limit is given.
        "prlimit64": _argument(2)
        + _op(_JUMP_EQ, 0, 0, 3)
        + _argument(2, high=True)
        + _op(_JUMP_EQ, 0, 0, 1)
        + _OK
        + _refuse(_EPERM),
    }
    program = _op(_LOAD, 4) + _op(_JUMP_EQ, syscalls.MACHINES[machine][0], 1, 0)
    program += _op(_RETURN, _KILL) + _op(_LOAD, 0)
    # On x86_64, numbers with bit 30 are the x32 variants of all calls.
    program += _op(_JUMP_GE, 1 << 30, 0, 1) + _refuse(_ENOSYS)
    for number in syscalls.allowed(machine).values():
        program += _op(_JUMP_EQ, number, 0, 1) + _OK
    for name, block in conditions.items():
        program += _op(_JUMP_EQ, numbers[name], 0, len(block) // 8) + block
    return program


def enter(seconds: int, memory: int, files: int | None) -> None:
    """Give up rights, for good.

    Parameters
    ----------
    seconds : int
        Processor time, a second line behind the worker's watch.
    memory : int
        Bytes of address space, on top of what is in use now.
    files : int or None
        What :func:`ruleset` returned.
    """
    available = layers()
    _libc.prctl(_PDEATHSIG, 9, 0, 0, 0)
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for limit, value in {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: in_use + memory,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_CORE: 0,
    }.items():
        resource.setrlimit(limit, (value, value))
    if "Landlock" in available and files is not None:
        if _libc.syscall(_RESTRICT_SELF, files, ctypes.c_uint32(0)):
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
        os.close(files)
    if "seccomp" in available:
        program = seccomp_filter()
        buffer = ctypes.create_string_buffer(program, len(program))
        header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
        if _libc.prctl(_SECCOMP, 2, header, 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")
