"""The system calls that computing needs, by number, for the two machines that are supported.

From the kernel's ``asm/unistd_64.h`` (x86_64) and ``asm-generic/unistd.h`` (aarch64); a dash:
that machine has no such call.
"""

# audit architecture, column
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

# Allowed under a condition on their arguments; see confine.py.
_CONDITIONAL = """
clone 56 220         clone3 435 435       ioctl 16 29          prctl 157 167
prlimit64 302 261    tgkill 234 131
"""


def _parse(table: str, machine: str) -> dict[str, int]:
    words, column = table.split(), MACHINES[machine][1]
    rows = zip(words[::3], words[1::3], words[2::3])
    return {name: int(row[column]) for name, *row in rows if row[column] != "-"}


def allowed(machine: str) -> dict[str, int]:
    """Return the calls that are always allowed, by name."""
    return _parse(_TABLE, machine)


def conditional(machine: str) -> dict[str, int]:
    """Return the calls that are allowed for some arguments, by name."""
    return _parse(_CONDITIONAL, machine)
