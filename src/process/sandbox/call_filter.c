#include "process/sandbox/call_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "process/sandbox/sandbox.h"

// The kernel looks at the lower half of these arguments: so must the filter, or a caller could set
// a bit above.
#define ARGUMENT(number, value) \
    SCMP_CMP((number), SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)(value))

// A comparison with one value: the other is not used, but clang warns where it is not given.
#define COMPARED(number, operation, value) SCMP_CMP((number), SCMP_CMP_##operation, (value), 0)

struct building {
    scmp_filter_ctx filter;
    int failed;  // the first failure
};

static void refuse(struct building *building, int error, int call, unsigned count,
                   const struct scmp_arg_cmp *arguments)
{
    if (building->failed == 0 && call != __NR_SCMP_ERROR)
        building->failed = seccomp_rule_add_array(building->filter, SCMP_ACT_ERRNO((uint32_t)error),
                                                  call, count, arguments);
}

static void refuse_names(struct building *building, int error, const char *const *names,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        refuse(building, error, seccomp_syscall_resolve_name(names[i]), 0, NULL);
}

static void refuse_when(struct building *building, int call, struct scmp_arg_cmp argument)
{
    refuse(building, EPERM, call, 1, &argument);
}

static void refuse_when_both(struct building *building, int call, struct scmp_arg_cmp first,
                             struct scmp_arg_cmp second)
{
    const struct scmp_arg_cmp arguments[] = {first, second};
    refuse(building, EPERM, call, COUNT_OF(arguments), arguments);
}

// --- the kernel ----------------------------------------------------------------------------------

// By name, because older headers do not have all of them.
static const char *const refused_calls[] = {
    // looking into other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
    // large interfaces with many defects; io_uring also passes by this filter
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "add_key", "request_key", "keyctl",
    // mounts and namespaces
    "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "open_tree", "move_mount",
    "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "open_tree_attr",
    "open_by_handle_at", "fanotify_init",
    // the machine
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "settimeofday",
    "clock_settime", "adjtimex", "clock_adjtime", "iopl", "ioperm", "vhangup", "sethostname",
    "setdomainname", "lookup_dcookie", "nfsservctl"};

static void refuse_kernel_interfaces(struct building *building)
{
    static const uint64_t namespaces[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,   CLONE_NEWUSER,
                                          CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP};
    refuse_names(building, EPERM, refused_calls, COUNT_OF(refused_calls));
    for (size_t i = 0; i < COUNT_OF(namespaces); i++)
        refuse_when(building, SCMP_SYS(clone),
                    SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
    // Its flags are in memory, which a filter cannot read; the C library then uses clone.
    refuse(building, ENOSYS, seccomp_syscall_resolve_name("clone3"), 0, NULL);
    // Typing into a terminal that is shared with others.
    refuse_when(building, SCMP_SYS(ioctl), ARGUMENT(1, TIOCSTI));
    refuse_when(building, SCMP_SYS(ioctl), ARGUMENT(1, TIOCLINUX));
    // A lease makes everybody else who opens the file wait, the server among them, for 45 s.
    refuse_when(building, SCMP_SYS(fcntl), ARGUMENT(1, F_SETLEASE));
}

// --- sockets -------------------------------------------------------------------------------------

// Of all families only those of the internet (with the one that tells addresses of this machine)
// and Unix are ever allowed: not VSOCK, which reaches the host of a virtual machine, nor those that
// only few have ever looked at.
static void refuse_sockets(struct building *building, const struct call_filter_rules *rules)
{
    enum { FAMILIES = 48 };
    for (int family = 0; family < FAMILIES; family++) {
        bool internet = family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
        bool allowed = (internet && rules->network) || (family == AF_UNIX && rules->unix_sockets);
        if (!allowed)
            refuse_when(building, SCMP_SYS(socket), ARGUMENT(0, family));
    }
    // Routes and addresses, not what other programs and the kernel tell each other.
    if (rules->network)
        refuse_when_both(building, SCMP_SYS(socket), ARGUMENT(0, AF_NETLINK),
                         COMPARED(2, NE, NETLINK_ROUTE));
    if (rules->unix_sockets)
        return;
    // One of a pair of datagram sockets can send to any other address. A raw one is a datagram socket.
    static const uint64_t datagrams[] = {SOCK_DGRAM, SOCK_RAW};
    const uint64_t type = 0xf;
    for (size_t i = 0; i < COUNT_OF(datagrams); i++) {
        const struct scmp_arg_cmp arguments[] = {ARGUMENT(0, AF_UNIX),
                                                 SCMP_A1(SCMP_CMP_MASKED_EQ, type, datagrams[i])};
        refuse(building, EPERM, SCMP_SYS(socketpair), COUNT_OF(arguments), arguments);
    }
}

// --- what an older Landlock leaves open ----------------------------------------------------------

static void refuse_truncation(struct building *building)
{
    const uint64_t flags = O_ACCMODE | O_TRUNC;
    const struct scmp_arg_cmp open_flags[] = {
        SCMP_A1(SCMP_CMP_MASKED_EQ, flags, O_RDONLY | O_TRUNC)};
    const struct scmp_arg_cmp openat_flags[] = {
        SCMP_A2(SCMP_CMP_MASKED_EQ, flags, O_RDONLY | O_TRUNC)};
    refuse(building, EACCES, SCMP_SYS(truncate), 0, NULL);
    refuse(building, EACCES, SCMP_SYS(open), COUNT_OF(open_flags), open_flags);
    refuse(building, EACCES, SCMP_SYS(openat), COUNT_OF(openat_flags), openat_flags);
    refuse(building, ENOSYS, seccomp_syscall_resolve_name("openat2"), 0, NULL);
}

// The server looks at those that name a process. A descriptor can be told to send any signal, and a
// directory of /proc is as good as a pidfd: both are refused.
static void hand_over_signals(struct building *building)
{
    static const int calls[] = {SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(tgkill),
                                SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)};
    static const int owners[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};
    for (size_t i = 0; i < COUNT_OF(calls) && building->failed == 0; i++)
        building->failed = seccomp_rule_add(building->filter, SCMP_ACT_NOTIFY, calls[i], 0);
    refuse(building, EPERM, seccomp_syscall_resolve_name("pidfd_send_signal"), 0, NULL);
    for (size_t i = 0; i < COUNT_OF(owners); i++)
        refuse_when(building, SCMP_SYS(fcntl), ARGUMENT(1, owners[i]));
    refuse_when(building, SCMP_SYS(ioctl), ARGUMENT(1, FIOSETOWN));
    refuse_when(building, SCMP_SYS(ioctl), ARGUMENT(1, SIOCSPGRP));
}

// Whatever keeps a session's signals within it, "all processes" are its snapshots, too.
static void spare_everything(struct building *building)
{
    refuse_when(building, SCMP_SYS(kill), ARGUMENT(0, -1));
}

// --- other processes -----------------------------------------------------------------------------

// Limits and priorities of any process of the same user can be changed, those of the server and of
// other sessions among them, and no scope of Landlock keeps them apart: a limit of processor time
// ends it. A process or thread changes its own as 0; what it has started is too late for that.
static void refuse_ruling_others(struct building *building)
{
    static const int by_first[] = {SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam),
                                   SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setattr)};
    static const int by_second[] = {SCMP_SYS(setpriority), SCMP_SYS(ioprio_set)};
    const struct scmp_arg_cmp is_other = COMPARED(0, NE, 0), who = COMPARED(1, NE, 0);
    for (size_t i = 0; i < COUNT_OF(by_first); i++)
        refuse_when(building, by_first[i], is_other);
    for (size_t i = 0; i < COUNT_OF(by_second); i++)
        refuse_when(building, by_second[i], who);
    refuse_when(building, SCMP_SYS(setpriority), ARGUMENT(0, PRIO_USER));
    refuse_when(building, SCMP_SYS(ioprio_set), ARGUMENT(0, IOPRIO_WHO_USER));
    refuse_when_both(building, SCMP_SYS(prlimit64), is_other, COMPARED(2, NE, 0));
}

// --- the session's own descriptors ---------------------------------------------------------------

// The agent undoes what user code did by a duplicate of the descriptor; nothing else is set.
static bool is_repair(int option)
{
    return option == SO_SNDBUF || option == SO_DETACH_FILTER;
}

static void protect_options(struct building *building, int fd)
{
    enum { OPTIONS = 128 };
    for (int option = 0; option < OPTIONS; option++)
        if (!is_repair(option))
            refuse_when_both(building, SCMP_SYS(setsockopt), ARGUMENT(0, fd), ARGUMENT(2, option));
    refuse_when_both(building, SCMP_SYS(setsockopt), ARGUMENT(0, fd), COMPARED(2, GE, OPTIONS));
    refuse_when_both(building, SCMP_SYS(setsockopt), ARGUMENT(0, fd), COMPARED(1, NE, SOL_SOCKET));
}

static void protect_channel(struct building *building, int fd)
{
    static const int calls[] = {SCMP_SYS(shutdown), SCMP_SYS(dup)};
    protect_options(building, fd);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        refuse_when(building, calls[i], ARGUMENT(0, fd));
    refuse_when_both(building, SCMP_SYS(fcntl), ARGUMENT(0, fd), ARGUMENT(1, F_DUPFD));
    refuse_when_both(building, SCMP_SYS(fcntl), ARGUMENT(0, fd), ARGUMENT(1, F_DUPFD_CLOEXEC));
}

static void protect_flags(struct building *building, int fd)
{
    static const int flags[] = {O_NONBLOCK, O_ASYNC};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        const struct scmp_arg_cmp arguments[] = {
            ARGUMENT(0, fd), ARGUMENT(1, F_SETFL),
            SCMP_A2(SCMP_CMP_MASKED_EQ, (uint64_t)flags[i], (uint64_t)flags[i])};
        refuse(building, EPERM, SCMP_SYS(fcntl), COUNT_OF(arguments), arguments);
    }
    refuse_when_both(building, SCMP_SYS(ioctl), ARGUMENT(0, fd), ARGUMENT(1, FIONBIO));
    refuse_when_both(building, SCMP_SYS(ioctl), ARGUMENT(0, fd), ARGUMENT(1, FIOASYNC));
}

static void protect_descriptors(struct building *building, const struct call_filter_rules *rules)
{
    for (int fd = rules->first_channel; fd > 0 && fd <= rules->last_channel; fd++)
        protect_channel(building, fd);
    for (int fd = rules->first_channel; fd > 0 && fd <= rules->last_pipe; fd++)
        protect_flags(building, fd);
}

// --- the filter ----------------------------------------------------------------------------------

// The supervisor recognises processes by their environment, which a process that is not dumpable
// hides. Programs that care for their secrets go on as if it had worked.
static void keep_dumpable(struct building *building)
{
    const struct scmp_arg_cmp argument = ARGUMENT(0, PR_SET_DUMPABLE);
    refuse(building, 0, SCMP_SYS(prctl), 1, &argument);
}

// The same for the limit that marks them (process/mark.h).
static void keep_mark(struct building *building)
{
    refuse_when(building, SCMP_SYS(setrlimit), ARGUMENT(0, RLIMIT_LOCKS));
    refuse_when_both(building, SCMP_SYS(prlimit64), ARGUMENT(1, RLIMIT_LOCKS), COMPARED(2, NE, 0));
}

static int add_rules(scmp_filter_ctx filter, const struct call_filter_rules *rules)
{
    struct building building = {.filter = filter};
    // Calls of other kinds of programs (32 bits) would pass by all rules.
    building.failed =
        seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO((uint32_t)ENOSYS));
    keep_dumpable(&building);
    keep_mark(&building);
    refuse_ruling_others(&building);
    protect_descriptors(&building, rules);
    if (rules->kernel_interfaces) {
        refuse_kernel_interfaces(&building);
        refuse_sockets(&building, rules);
    }
    if (rules->truncation)
        refuse_truncation(&building);
    if (rules->signals)
        hand_over_signals(&building);
    else
        spare_everything(&building);
    return building.failed;
}

// libseccomp writes programs to files only.
static int export(scmp_filter_ctx filter, struct call_filter *ret_filter)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct stat status = {0};
    int failed = seccomp_export_bpf(filter, fd);
    if (failed == 0 && fstat(fd, &status) < 0)
        failed = -errno;
    struct sock_filter *code = NULL;
    if (failed == 0) {
        code = memory_alloc((size_t)status.st_size + 1);
        if (pread(fd, code, (size_t)status.st_size, 0) != status.st_size)
            failed = -EIO;
    }
    close(fd);
    if (failed < 0) {
        memory_free(code);
        return failed;
    }
    ret_filter->program = (struct sock_fprog){
        .len = (unsigned short)((size_t)status.st_size / sizeof(*code)), .filter = code};
    return 0;
}

int call_filter_init(struct call_filter *filter, const struct call_filter_rules *rules)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    if (!context)
        return -ENOMEM;
    // A binary tree: fewer instructions for each call.
    int failed = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (failed == 0)
        failed = add_rules(context, rules);
    if (failed == 0)
        failed = export(context, filter);
    filter->notifies = failed == 0 && rules->signals;
    seccomp_release(context);
    return failed;
}

void call_filter_release(struct call_filter *filter)
{
    memory_free(filter->program.filter);
    *filter = (struct call_filter){0};
}

int call_filter_enter(const struct call_filter *filter, int *ret_listener)
{
    // Without the flag older kernels slow every branch down, against attacks on secrets in the same
    // process, of which a session has none.
    static const unsigned flags[] = {SECCOMP_FILTER_FLAG_SPEC_ALLOW, 0};
    unsigned listener = filter->notifies ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
    long result = -1;
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        result =
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[i] | listener, &filter->program);
        if (result >= 0 || errno != EINVAL)
            break;
    }
    *ret_listener = result >= 0 && filter->notifies ? (int)result : -1;
    return result < 0 ? -errno : 0;
}
