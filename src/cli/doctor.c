// `cadre doctor`: checks this machine and says how to fix what is missing.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/sandbox_options.h"
#include "cli/session_loop.h"
#include "cli/table/option_reader.h"
#include "cluster/nats_library.h"
#include "config.h"
#include "daemon/daemon_request.h"
#include "daemon/rendezvous.h"
#include "process/cgroup.h"
#include "process/loop.h"
#include "process/reaper.h"
#include "process/sandbox/landlock.h"
#include "program_host/program_pool.h"
#include "upstream/upstream_curl.h"

struct findings {
    unsigned problems;  // something does not work
    unsigned remarks;   // works, but not as well as it could
};

enum verdict { FINE, REMARK, PROBLEM };

static void report(struct findings *findings, enum verdict verdict, const char *subject,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

static void report(struct findings *findings, enum verdict verdict, const char *subject,
                   const char *format, ...)
{
    static const char *const marks[] = {"ok", "note", "FAIL"};
    findings->problems += verdict == PROBLEM;
    findings->remarks += verdict == REMARK;
    printf("%-4s  %-14s ", marks[verdict], subject);
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

// --- the machine ---------------------------------------------------------------------------------

// The bracketed word of "always [madvise] never".
static void read_huge_pages(char *mode, size_t size)
{
    char line[128] = "";
    int descriptor = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? -1 : read(descriptor, line, sizeof(line) - 1);
    if (descriptor >= 0)
        close(descriptor);
    const char *start = length > 0 ? strchr(line, '[') : NULL;
    snprintf(mode, size, "%.*s", start ? (int)strcspn(start + 1, "]") : 7,
             start ? start + 1 : "unknown");
}

static void check_cgroups(struct findings *findings)
{
    struct cgroup_tree *tree = cgroup_tree_new();
    bool counts = cgroup_tree_counts(tree), freezes = cgroup_tree_freezes(tree);
    cgroup_tree_free(tree);
    if (counts && freezes)
        report(findings, FINE, "cgroups", "bound and stop the processes of a session");
    else
        report(findings, REMARK, "cgroups",
               "the kernel does not %s the processes of a session here (no cgroup version 2 is "
               "delegated); the server counts and searches them itself",
               counts    ? "stop"
               : freezes ? "bound"
                         : "bound or stop");
}

static void check_version(struct findings *findings)
{
    enum { MAJOR = 5, MINOR = 4 };  // waitid on a pidfd
    struct utsname name;
    int major = 0, minor = 0;
    if (uname(&name) < 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2)
        report(findings, REMARK, "kernel",
               "its version is not known; Linux %d.%d or newer is needed", MAJOR, MINOR);
    else if (major < MAJOR || (major == MAJOR && minor < MINOR))
        report(findings, PROBLEM, "kernel", "%s %s; Linux %d.%d or newer is needed", name.sysname,
               name.release, MAJOR, MINOR);
    else
        report(findings, FINE, "kernel", "%s %s", name.sysname, name.release);
}

static void check_kernel(struct findings *findings)
{
    check_version(findings);
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (pidfd < 0)
        report(findings, PROBLEM, "pidfd", "pidfd_open: %s; Linux 5.4 or newer is needed",
               strerror(errno));
    else
        close(pidfd);
    int landlock = landlock_abi();
    if (landlock == 0)
        report(findings, REMARK, "landlock", "not available; programs rely on seccomp alone");
    else
        report(findings, FINE, "landlock", "ABI %d", landlock);
    if (prctl(PR_GET_SECCOMP) < 0)
        report(findings, PROBLEM, "seccomp", "not available; run-program needs it");
    else
        report(findings, FINE, "seccomp", "available");
    check_cgroups(findings);
    char mode[32];
    read_huge_pages(mode, sizeof(mode));
    bool huge = strcmp(mode, "never") != 0;
    report(findings, huge ? FINE : REMARK, "huge pages", "%s%s", mode,
           huge ? "" : "; snapshots of large sessions are slower (set madvise)");
}

static void check_limits(struct findings *findings)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        report(findings, limit.rlim_cur >= 256 ? FINE : PROBLEM, "descriptors", "%" PRIu64 "%s",
               (uint64_t)limit.rlim_cur,
               limit.rlim_cur >= 256 ? "" : "; at least 256 are needed (ulimit -n)");
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        report(findings, REMARK, "address space",
               "limited to %" PRIu64 " MB; a session needs its heap + 400 MB",
               (uint64_t)limit.rlim_cur >> 20);
    char line[16] = "";
    int descriptor = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 && read(descriptor, line, sizeof(line) - 1) > 0 && line[0] == '2')
        report(findings, REMARK, "overcommit",
               "vm.overcommit_memory is 2; snapshots may be refused, 0 or 1 is better");
    if (descriptor >= 0)
        close(descriptor);
}

// --- Lisp ----------------------------------------------------------------------------------------

struct lisp {
    struct findings *findings;
    const struct session_config *config;
    char *sbcl;
    char *core;  // NULL: not built yet
    bool shipped;
    int64_t started_ns;
    bool works;
};

static void report_no_sbcl(struct findings *findings, const char *wanted)
{
    if (wanted)
        report(findings, PROBLEM, "sbcl", "%s is no program; name another with --sbcl", wanted);
    else
        report(findings, PROBLEM, "sbcl",
               "none comes with this Cadre and none is in PATH; apt-get install sbcl");
}

static bool find_lisp(struct lisp *lisp)
{
    CLEANUP_FREE char *builder = NULL;
    if (session_find_sbcl(lisp->config, &lisp->sbcl) < 0) {
        report_no_sbcl(lisp->findings, lisp->config->sbcl);
        return false;
    }
    lisp->shipped = session_sbcl_is_shipped(lisp->config);
    int found = session_find_core(lisp->config, &lisp->core);
    if (found == -EPERM) {
        report(lisp->findings, PROBLEM, "core", "%s may be somebody else's work and is not used",
               lisp->core);
        return false;
    }
    if (found == 0 || session_find_core_builder(&builder) == 0)
        return true;
    report(lisp->findings, PROBLEM, "core",
           "cadre.core not found and no way to build it; install Cadre again");
    return false;
}

// What the user can do about a Lisp that does not start.
static void report_mending(const struct lisp *lisp)
{
    if (lisp->shipped)
        printf(
            "      install Cadre again (make install, or unpack the archive), or use an SBCL of\n"
            "      this machine: cadre doctor --sbcl /usr/bin/sbcl\n");
    else if (lisp->core)
        printf("      build its core again: rm '%s'; cadre doctor --sbcl '%s'\n", lisp->core,
               lisp->sbcl);
    else
        printf("      SBCL 2.2.9 or newer is needed, with its contributed modules\n");
}

static void report_failure(struct lisp *lisp, const struct session_reply *reply)
{
    struct span message =
        value_is_map(reply->error) ? map_get_string(reply->error, "message") : SPAN("no answer");
    // The words with which SBCL refuses a core that another one has saved.
    bool misfit = memmem(message.data, message.length, "core was built for", 18) ||
                  memmem(message.data, message.length, "mismatch", 8);
    if (misfit)
        report(lisp->findings, PROBLEM, "core", "%s does not fit %s:\n      %.*s", lisp->core,
               lisp->sbcl, (int)message.length, message.data);
    else
        report(lisp->findings, PROBLEM, "evaluation", "%.*s", (int)message.length, message.data);
    report_mending(lisp);
}

static void check_reply(void *data, const struct session_reply *reply)
{
    struct lisp *lisp = data;
    double milliseconds = (double)(clock_now_ns() - lisp->started_ns) / 1e6;
    lisp->works = reply->ok && map_get_count(reply->result, "values") == 1;
    if (!lisp->works) {
        report_failure(lisp, reply);
        return;
    }
    memory_free(lisp->core);
    lisp->core = NULL;
    session_find_core(lisp->config, &lisp->core);  // it may have been built by now
    report(lisp->findings, FINE, "sbcl", "%s%s", lisp->sbcl,
           lisp->shipped ? ", which comes with Cadre" : "");
    report(lisp->findings, FINE, "core", "%s", lisp->core ? lisp->core : "?");
    struct span shown = value_text(map_get_item(reply->result, "values", 0));
    report(lisp->findings, FINE, "evaluation", "(+ 1 2 3) => %.*s, %.1f ms from the start of SBCL",
           (int)shown.length, shown.data, milliseconds);
}

static void check_modules(void *data, const struct session_reply *reply)
{
    struct lisp *lisp = data;
    if (reply->ok) {
        report(lisp->findings, FINE, "modules", "(require :sb-md5) works");
        return;
    }
    struct span message =
        value_is_map(reply->error) ? map_get_string(reply->error, "message") : SPAN("no answer");
    report(lisp->findings, PROBLEM, "modules", "(require :sb-md5) failed: %.*s",
           (int)message.length, message.data);
    report_mending(lisp);
}

static void report_probes(struct findings *findings, struct session_loop *loop,
                          struct region *region)
{
    value info = session_info(loop->sessions, "main", false, region);
    struct span version = value_is_map(info) ? map_get_string(info, "sbcl") : SPAN("");
    if (version.length == 0)
        return;
    report(findings, FINE, "sbcl version", "%.*s, heap %" PRId64 " MB", (int)version.length,
           version.data, map_get_integer(info, "heap_mb", 0));
    for (size_t i = 0; i < map_get_count(info, "probes"); i++) {
        value probe = map_get_item(info, "probes", i);
        struct span name = map_get_string(probe, "name"), detail = map_get_string(probe, "detail");
        report(findings, map_get_boolean(probe, "ok") ? FINE : REMARK, "probe", "%.*s%s%.*s",
               (int)name.length, name.data, detail.length ? ": " : "", (int)detail.length,
               detail.data);
    }
}

static void report_sandbox(struct findings *findings, struct session_loop *loop,
                           struct region *region)
{
    value sandbox = map_get(session_info(loop->sessions, "main", false, region), "sandbox");
    if (!value_is_map(sandbox))
        return;
    struct span mode = map_get_string(sandbox, "mode"),
                workspace = map_get_string(sandbox, "workspace");
    report(findings, FINE, "sandbox", "%.*s, network %s, Unix sockets %s", (int)mode.length,
           mode.data, map_get_boolean(sandbox, "network") ? "allowed" : "refused",
           map_get_boolean(sandbox, "unix_sockets") ? "allowed" : "refused");
    report(findings, FINE, "workspace", "%.*s%s", (int)workspace.length, workspace.data,
           map_get_boolean(sandbox, "scratch") ? " (scratch)" : "");
    for (size_t i = 0; i < map_get_count(sandbox, "missing"); i++) {
        struct span missing = value_text(map_get_item(sandbox, "missing", i));
        report(findings, REMARK, "sandbox", "%.*s", (int)missing.length, missing.data);
    }
}

static void evaluate(struct session_loop *loop, struct region *region, const char *code,
                     session_loop_reply_fn *check, struct lisp *lisp)
{
    value params =
        map_put_text(region, map_new(region), "code", value_string_format(region, "%s", code));
    struct session_request request = {
        .kind = SESSION_EVALUATE, .op = "evaluate", .params = params, .timeout = -1};
    session_loop_call(loop, &request, NULL, check, lisp);
}

static void check_evaluation(struct lisp *lisp)
{
    struct session_loop loop;
    int failed = session_loop_init(&loop, lisp->config);
    if (failed < 0) {
        report(lisp->findings, PROBLEM, "sessions", "cannot start: %s", strerror(-failed));
        session_loop_release(&loop);
        return;
    }
    struct region *region = region_new(SIZE_MAX);
    lisp->started_ns = clock_now_ns();
    evaluate(&loop, region, "(+ 1 2 3)", check_reply, lisp);
    if (lisp->works) {
        evaluate(&loop, region, "(require :sb-md5)", check_modules, lisp);
        report_probes(lisp->findings, &loop, region);
        report_sandbox(lisp->findings, &loop, region);
    }
    region_free(region);
    session_loop_release(&loop);
}

static void check_lisp(struct findings *findings, const struct session_config *config)
{
    struct lisp lisp = {.findings = findings, .config = config};
    if (find_lisp(&lisp))
        check_evaluation(&lisp);
    memory_free(lisp.sbcl);
    memory_free(lisp.core);
}

// --- programs ------------------------------------------------------------------------------------

struct program_trial {
    struct event_base *base;
    struct findings *findings;
};

static void check_program(void *data, struct span answer, const char *failure)
{
    struct program_trial *trial = data;
    if (failure)
        report(trial->findings, PROBLEM, "programs", "(+ 1 2) failed: %s", failure);
    else if (!memmem(answer.data, answer.length, "\"return\":3", 10))
        report(trial->findings, PROBLEM, "programs", "(+ 1 2) gave %.*s",
               answer.length < 200 ? (int)answer.length : 200, answer.data);
    else
        report(trial->findings, FINE, "programs", "(+ 1 2) => 3 in a sandboxed process");
    event_base_loopbreak(trial->base);
}

static void check_programs(struct findings *findings)
{
    enum { TRIAL_MS = 5000 };
    struct program_trial trial = {.base = loop_new_base(), .findings = findings};
    struct reaper *reaper = reaper_new(trial.base);
    struct program_pool *pool = program_pool_new(reaper, "/proc/self/exe");
    struct program_request request = {.record = SPAN("{\"program\":\"(+ 1 2)\"}"),
                                      .timeout_ms = TRIAL_MS,
                                      .done = check_program,
                                      .data = &trial};
    if (program_submit(pool, &request))
        event_base_dispatch(trial.base);
    program_pool_free(pool);
    reaper_free(reaper);
    event_base_free(trial.base);
}

// --- the daemon, libraries that are loaded when they are needed ----------------------------------

// A daemon that was started before an upgrade or a move goes on with what was there then.
static void compare_daemon(struct findings *findings, value status)
{
    CLEANUP_FREE char *own = path_of_program();
    long long process = map_get_integer(status, "pid", 0);
    struct span version = map_get_string(status, "version"),
                program = map_get_string(status, "program");
    if (program.length == 0)
        program = SPAN("an unknown place");
    if (span_equal_text(version, CADRE_VERSION) && span_equal_text(program, own))
        report(findings, FINE, "daemon", "process %lld answers", process);
    else
        report(findings, REMARK, "daemon",
               "process %lld is Cadre %.*s of %.*s, this is %s of %s;\n"
               "      its sessions are saved and the next client starts this one after: cadre "
               "daemon stop",
               process, (int)version.length, version.data, (int)program.length, program.data,
               CADRE_VERSION, own);
}

static void report_silent_daemon(struct findings *findings, const char *message)
{
    struct rendezvous daemon;
    if (rendezvous_read(&daemon)) {
        report(findings, PROBLEM, "daemon", "%s; kill -9 %d ends it, and what is saved stays",
               message, (int)daemon.pid);
        rendezvous_release(&daemon);
    } else {
        report(findings, PROBLEM, "daemon", "%s", message);
    }
}

static void check_daemon(struct findings *findings)
{
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value status;
    value request =
        map_put_text(region, map_new(region), "op", value_string_text(region, "status"));
    switch (daemon_request(region, request, &status, &error)) {
    case DAEMON_ABSENT: report(findings, FINE, "daemon", "none runs; cadre serve starts it"); break;
    case DAEMON_FAILED: report_silent_daemon(findings, error.message); break;
    case DAEMON_ANSWERED: compare_daemon(findings, status); break;
    }
    region_free(region);
}

static void check_nats(struct findings *findings)
{
    char version[NATS_LIBRARY_VERSION_SIZE];
    struct error error;
    if (nats_library_find(version, &error))
        report(findings, FINE, "libnats", "%s; for cadre daemon --cluster", version);
    else
        report(findings, REMARK, "libnats", "%s", error.message);
}

static void check_curl(struct findings *findings)
{
    struct error error;
    if (curl_api_load(&error))
        report(findings, FINE, "libcurl", "loaded; for MCP servers with a url");
    else
        report(findings, REMARK, "libcurl", "%s", error.message);
}

// --- the command ---------------------------------------------------------------------------------

static int print_client(char *name)
{
    char command[] = "setup", print[] = "--print";
    return command_setup(3, (char *[]){command, name, print, NULL});
}

static int examine(const struct session_config *config)
{
    struct findings findings = {0};
    report(&findings, FINE, "cadre", "%s", CADRE_VERSION);
    check_kernel(&findings);
    check_limits(&findings);
    check_programs(&findings);
    check_lisp(&findings, config);
    check_daemon(&findings);
    check_curl(&findings);
    check_nats(&findings);
    printf("\n%u problem%s, %u note%s\n", findings.problems, findings.problems == 1 ? "" : "s",
           findings.remarks, findings.remarks == 1 ? "" : "s");
    return findings.problems ? EXIT_FAILURE : EXIT_SUCCESS;
}

int command_doctor(int argc, char **argv)
{
    struct session_config config = {0};
    struct sandbox_options sandbox = {0};
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_DOCTOR, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        if (option == OPTION_CLIENT)
            return print_client((char *)reader.argument);
        else if (option == OPTION_SBCL)
            config.sbcl = reader.argument;
        else if (sandbox_option_take(&sandbox, &config.sandbox, &reader) == SANDBOX_OPTION_WRONG)
            return EXIT_USAGE;
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (reader.word_count > 0) {
        fprintf(stderr, "cadre doctor: unexpected argument '%s'\n", reader.words[0]);
        return EXIT_USAGE;
    }
    return examine(&config);
}
