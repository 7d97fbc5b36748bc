#include "process/offspring.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "process/mark.h"
#include "process/proc.h"
#include "process/process.h"

enum { SEARCHES_MAX = 64, WORD_BITS = 64, PID_LIMIT = 1 << 22 };  // the kernel's own for pids

// --- a set of pids -------------------------------------------------------------------------------

struct pid_set {
    uint64_t *words;
    size_t count;
};

static bool pid_set_has(const struct pid_set *set, pid_t pid)
{
    size_t word = (size_t)pid / WORD_BITS;
    return word < set->count && (set->words[word] >> ((size_t)pid % WORD_BITS) & 1);
}

static void pid_set_add(struct pid_set *set, pid_t pid)
{
    size_t word = (size_t)pid / WORD_BITS;
    if (word >= set->count) {
        size_t count = 2 * word + 1;
        set->words = memory_resize(set->words, count * sizeof(*set->words));
        memset(set->words + set->count, 0, (count - set->count) * sizeof(*set->words));
        set->count = count;
    }
    set->words[word] |= UINT64_C(1) << ((size_t)pid % WORD_BITS);
}

// --- the search ----------------------------------------------------------------------------------

struct search {
    const struct offspring *offspring;  // NULL: all descendants
    offspring_kill_fn *kill_one;
    void *data;
    struct pid_set seen;
    unsigned killed;  // in this search
};

static bool is_in_kernel_session(const struct offspring *offspring, pid_t session)
{
    for (size_t i = 0; i < offspring->kernel_session_count; i++)
        if (offspring->kernel_sessions[i] == session)
            return true;
    return false;
}

static bool belongs_to(const struct offspring *offspring, pid_t pid,
                       const struct proc_status *status)
{
    if (status->start_tick < offspring->since_tick)
        return false;
    return (offspring->mark && mark_read(pid) == offspring->mark) ||
           is_in_kernel_session(offspring, status->session) ||
           proc_environment_has(pid, offspring->entry, false);
}

static enum proc_visit visit(void *data, pid_t pid)
{
    struct search *search = data;
    struct proc_status status;
    if (pid <= 1 || pid >= PID_LIMIT || pid == getpid() || pid_set_has(&search->seen, pid) ||
        process_is_open(pid) || proc_status_read(pid, &status) < 0 || status.state == 'Z')
        return PROC_VISIT_CONTINUE;
    if (search->offspring && !belongs_to(search->offspring, pid, &status))
        return PROC_VISIT_CONTINUE;
    pid_set_add(&search->seen, pid);
    search->killed++;
    if (search->kill_one)
        search->kill_one(search->data, pid);
    else
        kill(pid, SIGKILL);
    return PROC_VISIT_CONTINUE;
}

static enum proc_visit visit_marked(void *data, pid_t pid)
{
    const struct search *search = data;
    return mark_read(pid) == search->offspring->mark ? visit(data, pid) : PROC_VISIT_CONTINUE;
}

// The mark tells quickly, of all processes there are. One without it that is recognised by other
// signs is our child as soon as its parents have ended.
static void search_once(struct search *search)
{
    if (search->offspring && search->offspring->mark) {
        proc_all(visit_marked, search);
        proc_children(getpid(), visit, search);
    } else {
        proc_descendants(getpid(), visit, search);
    }
}

static unsigned search_and_kill(struct search *search)
{
    unsigned killed = 0;
    offspring_reap();
    for (int i = 0; i < SEARCHES_MAX; i++) {
        search->killed = 0;
        search_once(search);
        if (search->killed == 0)
            break;
        killed += search->killed;
    }
    offspring_reap();  // what the last search found dead
    memory_free(search->seen.words);
    return killed;
}

unsigned offspring_kill(const struct offspring *offspring, offspring_kill_fn *kill_one, void *data)
{
    struct search search = {.offspring = offspring, .kill_one = kill_one, .data = data};
    return search_and_kill(&search);
}

unsigned offspring_kill_descendants(void)
{
    struct search search = {0};
    return search_and_kill(&search);
}

// --- reaping -------------------------------------------------------------------------------------

static enum proc_visit reap(void *data, pid_t pid)
{
    (void)data;
    siginfo_t info;
    if (!process_is_open(pid))
        waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | __WALL);
    return PROC_VISIT_CONTINUE;
}

// The list of children is read only when one has ended. It may be one that is open: then the list
// tells about the others.
void offspring_reap(void)
{
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && info.si_pid != 0)
        proc_children(getpid(), reap, NULL);
}
