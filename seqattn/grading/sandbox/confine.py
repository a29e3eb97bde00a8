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
    if platform.machine() in MACHINES and _libc.prctl(_SECCOMP, 2, 0, 0, 0):
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

# The calls that computing needs, by number, for the two machines that are supported; from the
# kernel's asm/unistd_64.h (x86_64) and asm-generic/unistd.h (aarch64). A dash: that machine has no
# such call. Of each machine: its audit architecture, and its column.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# Numbers up to here are those of calls that were known when this table was made.
KNOWN = 450

_TABLE = """
read 0 63               write 1 64              readv 19 65             writev 20 66
pread64 17 67           pwrite64 18 68          preadv 295 69           close 3 57
fstat 5 80              stat 4 -                lstat 6 -               newfstatat 262 79
statx 332 291           lseek 8 62              fstatfs 138 44          statfs 137 43
mmap 9 222              mprotect 10 226         munmap 11 215           mremap 25 216
madvise 28 233          brk 12 214              mincore 27 232          msync 26 227
membarrier 324 283      get_mempolicy 239 236   open 2 -                openat 257 56
access 21 -             faccessat 269 48        faccessat2 439 439      readlink 89 -
readlinkat 267 78       getcwd 79 17            getdents64 217 61       chdir 80 49
fchdir 81 50            fcntl 72 25             dup 32 23               dup2 33 -
dup3 292 24             pipe 22 -               pipe2 293 59            fadvise64 221 223
umask 95 166            close_range 436 436     rt_sigaction 13 134     rt_sigprocmask 14 135
rt_sigreturn 15 139     rt_sigpending 127 136   rt_sigtimedwait 128 137 rt_sigsuspend 130 133
sigaltstack 131 132     restart_syscall 219 128 pause 34 -              alarm 37 -
setitimer 38 103        getitimer 36 102        getpid 39 172           getppid 110 173
gettid 186 178          getuid 102 174          geteuid 107 175         getgid 104 176
getegid 108 177         getresuid 118 148       getresgid 120 150       getgroups 115 158
getpgrp 111 -           getpgid 121 155         getsid 124 156          uname 63 160
sysinfo 99 179          getrandom 318 278       clock_gettime 228 113   clock_getres 229 114
clock_nanosleep 230 115 nanosleep 35 101        gettimeofday 96 169     time 201 -
times 100 153           getrusage 98 165        futex 202 98            futex_waitv 449 449
set_robust_list 273 99  get_robust_list 274 100 rseq 334 293            set_tid_address 218 96
arch_prctl 158 -        sched_yield 24 124      sched_getaffinity 204 123
sched_getparam 143 121  sched_getscheduler 145 120                      getpriority 140 141
getcpu 309 168          getrlimit 97 163        exit 60 93              exit_group 231 94
wait4 61 260            waitid 247 95           poll 7 -                ppoll 271 73
select 23 -             pselect6 270 72         epoll_create 213 -      epoll_create1 291 20
epoll_ctl 233 21        epoll_wait 232 -        epoll_pwait 281 22      epoll_pwait2 441 441
eventfd 284 -           eventfd2 290 19         timerfd_create 283 85   timerfd_settime 286 86
timerfd_gettime 287 87  pkey_mprotect 329 288   pkey_alloc 330 289      pkey_free 331 290
futex_wake 454 454      futex_wait 455 455      mseal 462 462
"""

# Allowed under a condition on their arguments, which `_same_for_all` and `seccomp_filter` add.
_CONDITIONAL = """
clone 56 220         clone3 435 435       ioctl 16 29          prctl 157 167
prlimit64 302 261    tgkill 234 131
"""


def _parse(table: str, machine: str) -> dict[str, int]:
    words, column = table.split(), MACHINES[machine][1]
    rows = zip(words[::3], words[1::3], words[2::3])
    return {name: int(row[column]) for name, *row in rows if row[column] != "-"}


def _allowed(machine: str) -> dict[str, int]:
    """Return the calls that are always allowed, by name."""
    return _parse(_TABLE, machine)


def _conditional(machine: str) -> dict[str, int]:
    """Return the calls that are allowed for some arguments, by name."""
    return _parse(_CONDITIONAL, machine)


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
    number = _conditional(platform.machine())["tgkill"]
    program = _same_for_all() + _op(_JUMP_EQ, number, 0, len(own) // 8) + own
    return program + _op(_JUMP_GE, KNOWN + 1, 0, 1) + _refuse(_ENOSYS) + _refuse(_EPERM)


# As with `layers`.
@cache
def _same_for_all() -> bytes:
    """Assemble what does not depend on the process."""
    machine = platform.machine()
    numbers = _conditional(machine)
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
    program = _op(_LOAD, 4) + _op(_JUMP_EQ, MACHINES[machine][0], 1, 0)
    program += _op(_RETURN, _KILL) + _op(_LOAD, 0)
    # On x86_64, numbers with bit 30 are the x32 variants of all calls.
    program += _op(_JUMP_GE, 1 << 30, 0, 1) + _refuse(_ENOSYS)
    for number in _allowed(machine).values():
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
