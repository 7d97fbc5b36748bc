// Work off the loop: the loop goes on while it runs, and is told when it has ended.
#include <criterion/criterion.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/array.h"
#include "process/background.h"

// Work that ends when a byte can be read.
struct piece {
    int input;
    pthread_t runner;
    bool has_run;
    size_t place;  // in the order of done, from 1
    size_t *count;
};

static void run_piece(void *data)
{
    struct piece *piece = data;
    char byte;
    piece->runner = pthread_self();
    piece->has_run = read(piece->input, &byte, 1) == 1;
}

static void finish_piece(void *data)
{
    struct piece *piece = data;
    cr_expect(piece->has_run);
    piece->place = ++*piece->count;
}

static void count_turn(evutil_socket_t descriptor, short events, void *data)
{
    (void)descriptor;
    (void)events;
    ++*(int *)data;
}

Test(background, runs_in_order_while_the_loop_goes_on)
{
    struct event_base *base = event_base_new();
    struct background *background = background_new(base);
    int ends[2], turns = 0;
    size_t count = 0;
    struct piece pieces[3];
    cr_assert_eq(pipe(ends), 0);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        pieces[i] = (struct piece){.input = ends[0], .count = &count};
        cr_assert_eq(background_submit(background, run_piece, finish_piece, &pieces[i]), 0);
    }
    struct event *tick = event_new(base, -1, EV_PERSIST, count_turn, &turns);
    event_add(tick, &(struct timeval){.tv_usec = 1000});
    while (turns < 10)
        event_base_loop(base, EVLOOP_ONCE);
    cr_expect_eq(count, 0, "work that waits is not done");
    cr_assert_eq(write(ends[1], "abc", 3), 3);
    while (count < COUNT_OF(pieces))
        event_base_loop(base, EVLOOP_ONCE);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        cr_expect_eq(pieces[i].place, i + 1);
        cr_expect_not(pthread_equal(pieces[i].runner, pthread_self()));
    }
    event_free(tick);
    background_free(background);
    event_base_free(base);
}

static struct background *ending;

static void submit_again(void *data)
{
    finish_piece(data);
    cr_expect_eq(background_submit(ending, run_piece, finish_piece, data), -ECANCELED);
}

Test(background, finishes_what_is_left_when_it_is_freed)
{
    struct event_base *base = event_base_new();
    ending = background_new(base);
    int ends[2];
    size_t count = 0;
    struct piece pieces[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "ab", 2), 2);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        pieces[i] = (struct piece){.input = ends[0], .count = &count};
        cr_assert_eq(background_submit(ending, run_piece, submit_again, &pieces[i]), 0);
    }
    background_free(ending);
    cr_expect_eq(count, COUNT_OF(pieces));
    event_base_free(base);
}

Test(background, abandons_what_does_not_end)
{
    struct event_base *base = event_base_new();
    struct background *background = background_new(base);
    int ends[2];
    size_t count = 0;
    static struct piece piece;
    cr_assert_eq(pipe(ends), 0);
    piece = (struct piece){.input = ends[0], .count = &count};
    cr_assert_eq(background_submit(background, run_piece, finish_piece, &piece), 0);
    background_free(background);
    cr_expect_eq(count, 0);
    event_base_free(base);
}

static void do_nothing(void *data)
{
    (void)data;
}

Test(background, refuses_more_than_it_can_hold)
{
    struct event_base *base = event_base_new();
    struct background *background = background_new(base);
    for (int i = 0; i < BACKGROUND_MAX; i++)
        cr_assert_eq(background_submit(background, do_nothing, do_nothing, NULL), 0);
    cr_expect_eq(background_submit(background, do_nothing, do_nothing, NULL), -EAGAIN);
    background_free(background);
    event_base_free(base);
}

Test(background, that_was_never_used_has_no_thread)
{
    struct event_base *base = event_base_new();
    background_free(background_new(base));
    background_free(NULL);
    event_base_free(base);
}
