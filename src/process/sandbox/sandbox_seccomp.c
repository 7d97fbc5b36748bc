// seccomp: the system calls that computing, talking over open descriptors and threads need;
// everything else gives EPERM, so that a library that tries something harmless goes on without it.
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>

#include "base/array.h"
#include "process/sandbox/sandbox.h"

static const int allowed_calls[] = {
    // talking over descriptors that are open
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendto),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(close),
    SCMP_SYS(shutdown),
    // memory; mmap and mprotect follow
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    // time
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(restart_syscall),
    // threads and signals of this process
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    // random numbers for hash seeds
    SCMP_SYS(getrandom),
};

static int allow_listed_calls(scmp_filter_ctx filter)
{
    for (size_t i = 0; i < COUNT_OF(allowed_calls); i++) {
        int failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed_calls[i], 0);
        if (failed < 0)
            return failed;
    }
    return 0;
}

// Code that was written at run time can be executed only in pages that PCRE2's translator asks for
// in exactly this way; no page becomes executable later, and no file is mapped so.
static int allow_memory(scmp_filter_ctx filter)
{
    const scmp_datum_t all = PROT_READ | PROT_WRITE | PROT_EXEC;
    const scmp_datum_t own = MAP_PRIVATE | MAP_ANONYMOUS;
    int failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (failed == 0)
        failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    return failed < 0
               ? failed
               : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                  SCMP_A2(SCMP_CMP_EQ, all, 0), SCMP_A3(SCMP_CMP_EQ, own, 0));
}

// Threads yes, processes no: clone must share the memory and belong to this process. clone3 takes
// its flags from memory, which a filter cannot read; when it fails with ENOSYS, glibc uses clone.
static int allow_threads(scmp_filter_ctx filter)
{
    const scmp_datum_t flags = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
    int failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, flags, flags));
    return failed < 0 ? failed
                      : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

int sandbox_filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return -ENOMEM;
    int failed = allow_listed_calls(filter);
    if (failed == 0)
        failed = allow_memory(filter);
    if (failed == 0)
        failed = allow_threads(filter);
    if (failed == 0)
        failed = seccomp_load(filter);
    seccomp_release(filter);
    return failed;
}
