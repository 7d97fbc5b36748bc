// Which snapshots and post-mortems are kept, and the lineage that decides it.
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "session/session_internal.h"

Test(lineage, undone_evaluations)
{
    struct session session = {0};
    struct region *region = region_new(1 << 20);
    buffer_init(&session.lineage.parents, 1 << 20);
    // 0 - 1 - 2 - 3 - 4, and 2 - 5 - 6
    static const int64_t parents[][2] = {{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 2}, {6, 5}};
    for (size_t i = 0; i < COUNT_OF(parents); i++)
        lineage_set_parent(&session, parents[i][0], parents[i][1]);
    value undone = lineage_undone(&session, region, 4, 6);
    cr_assert_eq(vector_count(undone), 2);
    cr_assert_eq(vector_at(undone, 0).integer, 3);
    cr_assert_eq(vector_at(undone, 1).integer, 4);
    cr_assert_eq(vector_count(lineage_undone(&session, region, 2, 6)), 0);
    cr_assert_eq(vector_count(lineage_undone(&session, region, 6, 0)), 4);
    cr_assert(lineage_has_ancestor(&session, 6, 1));
    cr_assert_not(lineage_has_ancestor(&session, 6, 3));
    cr_assert_eq(lineage_parent(&session, 0), -1);
    cr_assert_eq(lineage_parent(&session, 1000), -1);
    buffer_release(&session.lineage.parents);
    region_free(region);
}

enum { SNAPSHOTS = 16, POSTMORTEMS = 2, SIZE_MB = 10 };

struct parked_fixture {
    struct session_manager manager;
    struct session session;
    struct worker workers[SNAPSHOTS + POSTMORTEMS];
};

// Evaluations 1 to 16 with a snapshot each, the second and third with a frozen error. The processes
// do not exist, so the memory they are said to have cannot be measured and stays.
static void parked_open(struct parked_fixture *fixture, unsigned budget_mb)
{
    *fixture = (struct parked_fixture){.manager.config.clone_budget_mb = budget_mb};
    struct session *session = &fixture->session;
    session->manager = &fixture->manager;
    session->limits = session_limits_default();
    session->lineage.evaluations = session->lineage.current = SNAPSHOTS;
    buffer_init(&session->lineage.parents, 1 << 20);
    for (int i = 0; i < SNAPSHOTS + POSTMORTEMS; i++) {
        bool postmortem = i == 2 || i == 4;
        int64_t number = i < 2 ? i + 1 : i < 4 ? i : i - 1;
        fixture->workers[i] = (struct worker){.next = session->workers,
                                              .session = session,
                                              .process = {.pid = INT_MAX, .pidfd = -1},
                                              .role = postmortem ? ROLE_POSTMORTEM : ROLE_SNAPSHOT,
                                              .number = number,
                                              .pss_kb = SIZE_MB * 1024};
        session->workers = &fixture->workers[i];
        lineage_set_parent(session, number, number - 1);
    }
}

// Numbers of the snapshots that are left, and of the frozen errors.
static const char *parked_left(struct parked_fixture *fixture)
{
    static char text[256];
    int length = 0, frozen = 0;
    for (struct worker *worker = worker_next_snapshot(&fixture->session, -1); worker;
         worker = worker_next_snapshot(&fixture->session, worker->number))
        length +=
            snprintf(text + length, sizeof(text) - (size_t)length, "%d ", (int)worker->number);
    for (struct worker *worker = fixture->session.workers; worker; worker = worker->next)
        frozen += worker->role == ROLE_POSTMORTEM;
    snprintf(text + length, sizeof(text) - (size_t)length, "+ %d", frozen);
    return text;
}

Test(evict, by_memory)
{
    static const struct {
        unsigned budget_mb;
        const char *left;
    } cases[] = {
        {180, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 + 2"},
        {179, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 + 1"},
        {160, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 + 0"},
        // Down to half of the number allowed the oldest go …
        {159, "2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 + 0"},
        {80, "9 10 11 12 13 14 15 16 + 0"},
        // … then those in between, so that what is left reaches back far.
        {70, "9 11 12 13 14 15 16 + 0"},
        {60, "9 11 13 14 15 16 + 0"},
        {50, "9 13 14 15 16 + 0"},
        {40, "9 13 15 16 + 0"},
        {30, "9 15 16 + 0"},
        {20, "15 16 + 0"},
        {1, "15 16 + 0"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct parked_fixture fixture;
        parked_open(&fixture, cases[i].budget_mb);
        snapshot_evict(&fixture.session);
        cr_assert_str_eq(parked_left(&fixture), cases[i].left, "budget %u MB: %s",
                         cases[i].budget_mb, parked_left(&fixture));
        buffer_release(&fixture.session.lineage.parents);
    }
}

// A budget of 1 MB, of which a frozen error may have a quarter.
Test(evict, the_last_error_stays_frozen_unless_it_is_oversized)
{
    struct parked_fixture fixture;
    parked_open(&fixture, 1);
    struct worker *newer = &fixture.workers[4], *older = &fixture.workers[2];
    newer->error = 2;
    older->error = 1;
    fixture.session.history.last_error = 2;
    newer->pss_kb = 256;
    snapshot_evict(&fixture.session);
    cr_assert_str_eq(parked_left(&fixture), "15 16 + 1");
    cr_assert_eq(newer->role, ROLE_POSTMORTEM);
    newer->pss_kb = 257;
    fixture.session.measured_ms = 0;  // look again at once
    snapshot_evict(&fixture.session);
    cr_assert_str_eq(parked_left(&fixture), "15 16 + 0");
    buffer_release(&fixture.session.lineage.parents);
}

Test(evict, the_default_budget_is_half_of_max_memory_and_256_at_least)
{
    static const struct {
        int64_t max_memory;
        unsigned size_mb;
        size_t left;
    } cases[] = {{1024, 64, 8}, {1024, 32, 16}, {512, 32, 8}, {100, 16, 16}, {100, 32, 8}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct parked_fixture fixture;
        parked_open(&fixture, 0);
        fixture.session.limits.max_memory = cases[i].max_memory;
        for (struct worker *worker = fixture.session.workers; worker; worker = worker->next)
            worker->pss_kb = worker->role == ROLE_SNAPSHOT ? cases[i].size_mb * 1024 : 0;
        snapshot_evict(&fixture.session);
        size_t left = 0;
        for (struct worker *worker = fixture.session.workers; worker; worker = worker->next)
            left += worker->role == ROLE_SNAPSHOT;
        cr_assert_eq(left, cases[i].left, "case %zu: %zu snapshots", i, left);
        buffer_release(&fixture.session.lineage.parents);
    }
}

Test(evict, not_measured_again_within_a_tenth_of_a_second)
{
    struct parked_fixture fixture;
    parked_open(&fixture, 1000);
    snapshot_evict(&fixture.session);
    fixture.manager.config.clone_budget_mb = 1;
    snapshot_evict(&fixture.session);
    cr_assert_str_eq(parked_left(&fixture), "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 + 2");
    usleep(110000);
    snapshot_evict(&fixture.session);
    cr_assert_str_eq(parked_left(&fixture), "15 16 + 0");
    buffer_release(&fixture.session.lineage.parents);
}

Test(evict, by_number_the_oldest_but_not_the_current_one_nor_its_parent)
{
    struct parked_fixture fixture;
    parked_open(&fixture, 1000);
    struct session *session = &fixture.session;
    session->limits.snapshots = 10;
    snapshot_evict(session);
    cr_assert_str_eq(parked_left(&fixture), "7 8 9 10 11 12 13 14 15 16 + 2");
    session->lineage.current = 8;  // rolled back
    session->limits.snapshots = 4;
    snapshot_evict(session);
    cr_assert_str_eq(parked_left(&fixture), "7 8 15 16 + 2");
    session->limits.snapshots = 1;
    snapshot_evict(session);
    cr_assert_str_eq(parked_left(&fixture), "7 8 + 2");
    buffer_release(&session->lineage.parents);
}
