// `cadre doctor`: checks this machine and says how to fix what is missing.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/landlock.h>
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
#include "cli/clients.h"
#include "cli/commands.h"
#include "cli/session_loop.h"
#include "config.h"

static const char help[] =
    "usage: cadre doctor [--client NAME]\n"
    "\n"
    "Checks SBCL, the Lisp core, kernel features and limits, and runs a test evaluation.\n"
    "\n"
    "  --client NAME   print the configuration for an MCP client instead:\n"
    "                  ";

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

static void check_kernel(struct findings *findings)
{
    struct utsname name;
    if (uname(&name) == 0)
        report(findings, FINE, "kernel", "%s %s", name.sysname, name.release);
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (pidfd < 0)
        report(findings, PROBLEM, "pidfd", "pidfd_open: %s; Linux 5.4 or newer is needed",
               strerror(errno));
    else
        close(pidfd);
    long landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (landlock < 0)
        report(findings, REMARK, "landlock", "not available (%s); programs rely on seccomp alone",
               strerror(errno));
    else
        report(findings, FINE, "landlock", "version %ld", landlock);
    if (prctl(PR_GET_SECCOMP) < 0)
        report(findings, PROBLEM, "seccomp", "not available; run-program needs it");
    else
        report(findings, FINE, "seccomp", "available");
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

static bool check_lisp_files(struct findings *findings, const struct session_config *config)
{
    CLEANUP_FREE char *sbcl = NULL, *core = NULL, *builder = NULL;
    if (session_find_sbcl(config, &sbcl) < 0) {
        report(findings, PROBLEM, "sbcl", "not found; install it: apt-get install sbcl");
        return false;
    }
    report(findings, FINE, "sbcl", "%s", sbcl);
    if (session_find_core(config, &core) == 0) {
        report(findings, FINE, "core", "%s", core);
        return true;
    }
    if (session_find_core_builder(&builder) == 0) {
        report(findings, REMARK, "core", "not built yet; built on first use by %s", builder);
        return true;
    }
    report(findings, PROBLEM, "core",
           "cadre.core not found and no way to build it; reinstall cadre");
    return false;
}

struct trial {
    struct findings *findings;
    int64_t started_ns;
};

static void check_reply(void *data, const struct session_reply *reply)
{
    struct trial *trial = data;
    double milliseconds = (double)(clock_now_ns() - trial->started_ns) / 1e6;
    if (reply->ok && map_get_count(reply->result, "values") == 1) {
        struct span shown = value_text(map_get_item(reply->result, "values", 0));
        report(trial->findings, FINE, "evaluation",
               "(+ 1 2 3) => %.*s, %.1f ms from the start of SBCL", (int)shown.length, shown.data,
               milliseconds);
        return;
    }
    struct span message =
        value_is_map(reply->error) ? map_get_string(reply->error, "message") : SPAN("no answer");
    report(trial->findings, PROBLEM, "evaluation", "%.*s", (int)message.length, message.data);
}

static void report_probes(struct findings *findings, struct session_loop *loop,
                          struct region *region)
{
    value info = session_info(loop->sessions, "main", false, region);
    if (!value_is_map(info))
        return;
    struct span version = map_get_string(info, "sbcl");
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

static void check_evaluation(struct findings *findings, const struct session_config *config)
{
    struct session_loop loop;
    int failed = session_loop_init(&loop, config);
    if (failed < 0) {
        report(findings, PROBLEM, "sessions", "cannot start: %s", strerror(-failed));
        session_loop_release(&loop);
        return;
    }
    struct region *region = region_new(SIZE_MAX);
    value params =
        map_put_text(region, map_new(region), "code", value_string_text(region, "(+ 1 2 3)"));
    struct session_request request = {
        .kind = SESSION_EVALUATE, .op = "evaluate", .params = params, .timeout = -1};
    struct trial trial = {.findings = findings, .started_ns = clock_now_ns()};
    session_loop_call(&loop, &request, check_reply, &trial);
    report_probes(findings, &loop, region);
    region_free(region);
    session_loop_release(&loop);
}

// --- the command ---------------------------------------------------------------------------------

static int print_client(const char *name)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    snprintf(program + (length > 0 ? length : 0), length > 0 ? 1 : sizeof(program), "%s",
             length > 0 ? "" : "cadre");
    if (client_print(stdout, name, program))
        return EXIT_SUCCESS;
    fprintf(stderr, "cadre doctor: unknown client '%s'; known: ", name);
    client_print_names(stderr);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

static int examine(void)
{
    struct findings findings = {0};
    struct session_config config = {0};
    report(&findings, FINE, "cadre", "%s", CADRE_VERSION);
    check_kernel(&findings);
    check_limits(&findings);
    if (check_lisp_files(&findings, &config))
        check_evaluation(&findings, &config);
    printf("\n%u problem%s, %u note%s\n", findings.problems, findings.problems == 1 ? "" : "s",
           findings.remarks, findings.remarks == 1 ? "" : "s");
    return findings.problems ? EXIT_FAILURE : EXIT_SUCCESS;
}

int command_doctor(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"client", required_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'}, {0}};
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
        switch (option) {
        case 'c': return print_client(optarg);
        case 'h':
            fputs(help, stdout);
            client_print_names(stdout);
            putchar('\n');
            return EXIT_SUCCESS;
        default: return EXIT_USAGE;
        }
    if (optind < argc) {
        fprintf(stderr, "cadre doctor: unexpected argument '%s'\n", argv[optind]);
        return EXIT_USAGE;
    }
    return examine();
}
