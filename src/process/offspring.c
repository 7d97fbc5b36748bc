#include "process/offspring.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "process/cgroup.h"
#include "process/mark.h"
#include "process/proc.h"
#include "process/process.h"

enum {
    SEARCHES_MAX = 64,
    SEARCH_TIME_MS = 50,
    WORD_BITS = 64,
    PID_LIMIT = 1 << 22
};  // the kernel's own for pids

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
    struct pid_set groups;  // process groups that have been looked at
    unsigned killed;        // in this search
};

static bool is_in_kernel_session(const struct offspring *offspring, pid_t session)
{
    for (size_t i = 0; i < offspring->kernel_session_count; i++)
        if (offspring->kernel_sessions[i] == session)
            return true;
    return false;
}

static bool has_mark(const struct offspring *offspring, uint64_t mark)
{
    for (size_t i = 0; i < offspring->mark_count; i++)
        if (offspring->marks[i] == mark)
            return true;
    return false;
}

static bool is_marked(const struct offspring *offspring, pid_t pid)
{
    return offspring->mark_count > 0 && has_mark(offspring, mark_read(pid));
}

// A session that was forked from another has its environment until it starts a program: where
// the mark is that of another session, the environment says nothing.
static bool belongs_to(const struct offspring *offspring, pid_t pid,
                       const struct proc_status *status)
{
    if (status->start_tick < offspring->since_tick)
        return false;
    uint64_t mark = mark_read(pid);
    if (has_mark(offspring, mark) || is_in_kernel_session(offspring, status->session))
        return true;
    bool is_of_another = offspring->mark_count > 0 && mark_is_of_family(mark, offspring->marks[0]);
    return !is_of_another && proc_environment_has(pid, offspring->entry, false);
}

// The mark alone is asked for where it tells enough: thousands may be starting more meanwhile.
static bool is_wanted(const struct offspring *offspring, pid_t pid)
{
    struct proc_status status;
    if (offspring && offspring->since_tick == 0 && is_marked(offspring, pid))
        return true;
    return proc_status_read(pid, &status) == 0 && status.state != 'Z' &&
           (!offspring || belongs_to(offspring, pid, &status));
}

static bool began_since(pid_t pid, uint64_t tick)
{
    struct proc_status status;
    return proc_status_read(pid, &status) == 0 && status.start_tick >= tick;
}

// A whole process group ends at once: its members cannot fork faster than they are found. All of it
// is of the session, as one process is; a working process that is its leader is not to end, nor are
// members that may be older than what is to end.
static void kill_group_of(struct search *search, pid_t pid)
{
    const struct offspring *offspring = search->offspring;
    pid_t group = getpgid(pid);
    if (!offspring || group <= 1 || group == getpgrp() || pid_set_has(&search->groups, group))
        return;
    pid_set_add(&search->groups, group);
    if (!process_is_open(group) &&
        (offspring->since_tick == 0 || began_since(group, offspring->since_tick)))
        kill(-group, SIGKILL);
}

static enum proc_visit visit(void *data, pid_t pid)
{
    struct search *search = data;
    if (pid <= 1 || pid >= PID_LIMIT || pid == getpid() || pid_set_has(&search->seen, pid) ||
        process_is_open(pid) || !is_wanted(search->offspring, pid))
        return PROC_VISIT_CONTINUE;
    pid_set_add(&search->seen, pid);
    search->killed++;
    if (search->kill_one) {
        search->kill_one(search->data, pid);
    } else {
        kill_group_of(search, pid);
        kill(pid, SIGKILL);
    }
    return PROC_VISIT_CONTINUE;
}

static enum proc_visit visit_marked(void *data, pid_t pid)
{
    const struct search *search = data;
    return is_marked(search->offspring, pid) ? visit(data, pid) : PROC_VISIT_CONTINUE;
}

// The mark tells quickly, of all processes there are. One without it that is recognised by other
// signs is our child as soon as its parents have ended.
static void search_once(struct search *search)
{
    if (search->offspring && search->offspring->mark_count > 0) {
        proc_all(visit_marked, search);
        proc_children(getpid(), visit, search);
    } else {
        proc_descendants(getpid(), visit, search);
    }
}

// A flood stands still while it is searched for.
static bool stop_flood(const struct search *search)
{
    enum { FLOOD = 100 };
    return search->offspring && !search->kill_one && search->killed > FLOOD &&
           cgroup_freeze(search->offspring->cgroup);
}

static unsigned search_and_kill(struct search *search)
{
    unsigned killed = 0;
    bool stopped = false;
    int64_t until_ms = clock_now_ms() + SEARCH_TIME_MS;
    offspring_reap();
    for (int i = 0; i < SEARCHES_MAX && (i == 0 || clock_now_ms() < until_ms); i++) {
        search->killed = 0;
        memory_free(search->groups.words);  // one may have new members
        search->groups = (struct pid_set){0};
        search_once(search);
        if (search->killed == 0)
            break;
        killed += search->killed;
        stopped = stopped || stop_flood(search);
    }
    if (stopped)
        cgroup_thaw(search->offspring->cgroup);
    offspring_reap();  // what the last search found dead
    memory_free(search->seen.words);
    memory_free(search->groups.words);
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

// --- counting ------------------------------------------------------------------------------------

struct count {
    const struct offspring *offspring;
    unsigned found;
};

static enum proc_visit count_one(void *data, pid_t pid)
{
    struct count *count = data;
    count->found += is_marked(count->offspring, pid) && !process_is_open(pid);
    return PROC_VISIT_CONTINUE;
}

static void leave_alive(void *data, pid_t pid)
{
    (void)data;
    (void)pid;
}

unsigned offspring_count(const struct offspring *offspring)
{
    struct search search = {.offspring = offspring, .kill_one = leave_alive};
    search_once(&search);
    memory_free(search.seen.words);
    return search.killed;
}

unsigned offspring_estimate(const struct offspring *offspring)
{
    struct count count = {.offspring = offspring};
    if (offspring->mark_count == 0)
        return offspring_count(offspring);
    proc_all(count_one, &count);
    return count.found;
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
