#include "process/piped.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "process/descriptor_limit.h"
#include "process/guardian.h"
#include "process/mark.h"
#include "process/offspring.h"
#include "process/proc.h"
#include "process/reaper.h"
#include "process/sandbox/environment.h"

void piped_init(struct piped *piped, struct reaper *reaper)
{
    *piped = (struct piped){.reaper = reaper, .process = {.pidfd = -1}, .fds = {-1, -1, -1}};
}

void piped_close(struct piped *piped, int stream)
{
    if (piped->fds[stream] >= 0)
        close(piped->fds[stream]);
    piped->fds[stream] = -1;
}

void piped_release(struct piped *piped)
{
    for (int stream = 0; stream < PIPED_STREAMS; stream++)
        piped_close(piped, stream);
    process_close(&piped->process);
    guardian_dismiss(piped->guardian, piped->reaper);
    memory_free(piped->entry);
    piped_init(piped, piped->reaper);
}

// --- its end -------------------------------------------------------------------------------------

// It leads its own kernel session and process group.
void piped_kill_group(struct piped *piped)
{
    if (piped->group > 0)
        kill(-piped->group, SIGKILL);
}

static void kill_leftover(void *data, pid_t pid)
{
    struct piped *piped = data;
    struct process process = {.pidfd = -1};
    if (process_open(&process, pid) == 0)
        reaper_kill(piped->reaper, &process);
}

void piped_end(struct piped *piped)
{
    piped_kill_group(piped);
    if (!piped->entry)
        return;
    struct offspring offspring = {
        .marks = &piped->mark,
        .mark_count = piped->mark ? 1 : 0,
        .entry = piped->entry,
        .kernel_sessions = &piped->group,
        .kernel_session_count = 1,
        .since_tick = piped->since_tick,
    };
    offspring_kill(&offspring, kill_leftover, piped);
}

// --- starting ------------------------------------------------------------------------------------

static _Noreturn void fail_child(const char *what)
{
    const char *reason = strerror(errno);
    (void)!write(STDERR_FILENO, "cannot run ", 11);
    (void)!write(STDERR_FILENO, what, strlen(what));
    (void)!write(STDERR_FILENO, ": ", 2);
    (void)!write(STDERR_FILENO, reason, strlen(reason));
    _exit(127);
}

static _Noreturn void run_child(const struct piped_request *request, char **environment,
                                const int ends[PIPED_STREAMS], uint64_t mark, pid_t parent)
{
    mark_set(mark);
    descriptor_limit_restore();
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (getppid() != parent)
        _exit(126);
    for (int stream = 0; stream < PIPED_STREAMS; stream++)
        if (dup2(ends[stream], stream) < 0)
            _exit(126);
    if (request->directory && chdir(request->directory) < 0)
        fail_child(request->directory);
    environ = environment;  // also where PATH is from
    execvp(request->argv[0], (char *const *)request->argv);
    fail_child(request->argv[0]);
}

// Descriptors of a pipe per stream: ours non-blocking, the child's placed above the standard ones.
static int open_pipes(struct piped *piped, int ends[PIPED_STREAMS])
{
    for (int stream = 0; stream < PIPED_STREAMS; stream++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) < 0)
            return -errno;
        bool input = stream == STDIN_FILENO;
        piped->fds[stream] = pair[input ? 1 : 0];
        ends[stream] = fcntl(pair[input ? 0 : 1], F_DUPFD_CLOEXEC, 10);
        close(pair[input ? 0 : 1]);
        if (ends[stream] < 0 || fcntl(piped->fds[stream], F_SETFL, O_NONBLOCK) < 0)
            return -errno;
    }
    return 0;
}

// Without a guardian it still runs; only a server that is killed would leave its children.
static int mark(struct piped *piped)
{
    unsigned long long random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -EIO;
    piped->entry = memory_format("CADRE_COMMAND=%d-%016llx", (int)getpid(), random);
    uint64_t family = mark_new_family();
    piped->mark = mark_of_number(family, 1);
    piped->since_tick = proc_tick_now();
    piped->guardian = guardian_new(reaper_base(piped->reaper), piped->entry, family);
    if (!piped->guardian)
        log_warning("the guardian of a command could not be started");
    return 0;
}

// Its own variables, and the one that all it starts inherit.
static char **make_environment(const struct piped *piped, const struct piped_request *request)
{
    size_t count = 0;
    while (request->set && request->set[count])
        count++;
    CLEANUP_FREE const char **set = memory_alloc_zero((count + 2) * sizeof(*set));
    for (size_t i = 0; i < count; i++)
        set[i] = request->set[i];
    set[count] = piped->entry;
    return environment_new_from(request->environment, request->pass, set);
}

int piped_start(struct piped *piped, const struct piped_request *request)
{
    int failed = mark(piped);
    if (failed < 0)
        return failed;
    CLEANUP_FREE char **environment = make_environment(piped, request);
    int ends[PIPED_STREAMS] = {-1, -1, -1};
    failed = open_pipes(piped, ends);
    pid_t parent = getpid();
    pid_t pid = failed < 0 ? -1 : fork();
    if (pid == 0)
        run_child(request, environment, ends, piped->mark, parent);
    if (failed == 0 && pid < 0)
        failed = -errno;
    for (int stream = 0; stream < PIPED_STREAMS; stream++)
        if (ends[stream] >= 0)
            close(ends[stream]);
    if (failed < 0)
        return failed;
    piped->group = pid;
    failed = process_open(&piped->process, pid);
    return failed < 0 ? failed
                      : process_watch(&piped->process, reaper_base(piped->reaper), request->on_exit,
                                      request->data);
}
