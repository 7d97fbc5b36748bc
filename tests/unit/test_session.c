// The parts of a session that need no process: capture, classification, import, lineage, eviction,
// limits.
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/utf8.h"
#include "session/capture.h"
#include "session/channel.h"
#include "session/error_history.h"
#include "session/failure.h"
#include "session/import.h"
#include "session/internal.h"
#include "session/sbcl_output.h"
#include "session/state/state.h"
#include "session/worker_data.h"
#include "value/text/json.h"

// --- capture -------------------------------------------------------------------------------------

struct capture_fixture {
    struct event_base *base;
    struct capture capture;
    struct buffer text;
};

static void capture_open(struct capture_fixture *fixture, size_t limit)
{
    fixture->base = event_base_new();
    cr_assert_eq(capture_init(&fixture->capture, fixture->base, limit), 0);
    buffer_init(&fixture->text, BUFFER_DEFAULT_LIMIT);
}

static void capture_close(struct capture_fixture *fixture)
{
    capture_release(&fixture->capture);
    buffer_release(&fixture->text);
    event_base_free(fixture->base);
}

static uint64_t take(struct capture_fixture *fixture)
{
    buffer_clear(&fixture->text);
    return capture_move(&fixture->capture, &fixture->text);
}

Test(session_capture, keeps_all_within_the_limit)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 100);
    char text[101];
    memset(text, 'x', 100);
    text[100] = 0;
    capture_add(&fixture.capture, text, 100);
    cr_assert_eq(take(&fixture), 0);
    cr_assert_str_eq(buffer_text(&fixture.text), text);
    cr_assert_eq(take(&fixture), 0);
    cr_assert_eq(fixture.text.length, 0);
    capture_close(&fixture);
}

Test(session_capture, beginning_and_end_over_the_limit)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 8);
    capture_add(&fixture.capture, "abcdefghijklm", 13);
    cr_assert_eq(take(&fixture), 5);
    cr_assert_str_eq(buffer_text(&fixture.text),
                     "abcdef\n[truncated: 5 characters omitted; max-output 8]\nlm");
    capture_close(&fixture);
}

// Whatever the pieces, the result is the same.
Test(session_capture, pieces_do_not_matter)
{
    static const char input[] = "a\xCE\xBB\xE2\x82\xAC\xF0\x9F\x98\x80\xFFz\xE2\x82x\xC3";
    struct capture_fixture whole, pieces;
    capture_open(&whole, 100);
    capture_add(&whole.capture, input, sizeof(input) - 1);
    take(&whole);
    cr_assert_str_eq(buffer_text(&whole.text), "a\xCE\xBB\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBDz"
                                               "\xEF\xBF\xBDx\xEF\xBF\xBD");
    for (size_t size = 1; size < sizeof(input); size++) {
        capture_open(&pieces, 100);
        for (size_t at = 0; at < sizeof(input) - 1; at += size) {
            size_t left = sizeof(input) - 1 - at;
            capture_add(&pieces.capture, input + at, left < size ? left : size);
        }
        take(&pieces);
        cr_assert_str_eq(buffer_text(&pieces.text), buffer_text(&whole.text), "size %zu", size);
        capture_close(&pieces);
    }
    capture_close(&whole);
}

Test(session_capture, counts_characters_of_a_flood)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 1000);
    char lambdas[2000];
    for (size_t i = 0; i < sizeof(lambdas); i += 2)
        memcpy(lambdas + i, "\xCE\xBB", 2);
    for (int i = 0; i < 1000; i++)
        capture_add(&fixture.capture, lambdas, sizeof(lambdas));
    cr_assert_lt(fixture.capture.tail.capacity, 1u << 20);
    cr_assert_eq(take(&fixture), 1000000 - 1000);
    cr_assert(strstr(buffer_text(&fixture.text), "[truncated: 999000 characters omitted"));
    capture_close(&fixture);
}

Test(session_capture, newest_line_and_last_bytes)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 1000);
    capture_add(&fixture.capture, "one\ntwo\n", 8);
    struct span line = capture_newest_line(&fixture.capture, 100);
    cr_assert(span_equal_text(line, "two"));
    capture_add(&fixture.capture, "thr", 3);
    line = capture_newest_line(&fixture.capture, 2);
    cr_assert(span_equal_text(line, "hr"));
    capture_add(&fixture.capture, "\xFF\xE2\x82\xAC\xC3", 5);
    capture_last(&fixture.capture, &fixture.text);
    cr_assert_str_eq(buffer_text(&fixture.text),
                     "one\ntwo\nthr\xEF\xBF\xBD\xE2\x82\xAC\xEF\xBF\xBD");
    capture_close(&fixture);
}

Test(session_capture, last_bytes_begin_within_a_character)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 10);
    for (int i = 0; i < CAPTURE_LAST_BYTES; i++)
        capture_add(&fixture.capture, "\xE2\x82\xAC", 3);
    capture_last(&fixture.capture, &fixture.text);
    cr_assert(utf8_is_valid(buffer_text(&fixture.text), fixture.text.length));
    cr_assert_geq(fixture.text.length, CAPTURE_LAST_BYTES);
    capture_close(&fixture);
}

// --- channel -------------------------------------------------------------------------------------

struct inbox {
    unsigned messages, garbage;
    uint32_t last_type;
    char last[64];
    size_t last_length;
};

static void on_message(void *data, struct channel *channel, const struct channel_message *message)
{
    (void)channel;
    struct inbox *inbox = data;
    cr_assert_eq(message->sender, getpid());
    if (message->type == CHANNEL_GARBAGE)
        inbox->garbage++;
    else
        inbox->messages++;
    inbox->last_type = message->type;
    inbox->last_length = message->payload.length;
    size_t kept = message->payload.length < 63 ? message->payload.length : 63;
    memcpy(inbox->last, message->payload.data, kept);
    inbox->last[kept] = 0;
}

static void put_frame(struct channel *channel, uint32_t type, uint32_t flags, uint32_t number,
                      const char *text, uint32_t length)
{
    char frame[128];
    uint32_t header[4] = {type, flags, number, length};
    memcpy(frame, header, 16);
    memcpy(frame + 16, text, strlen(text));
    cr_assert_gt(send(channel->worker_fd, frame, 16 + strlen(text), 0), 0);
    channel_receive(channel, 10);
}

Test(session_channel, frames_make_messages)
{
    struct event_base *base = event_base_new();
    struct channel channel;
    struct inbox inbox = {0};
    cr_assert_eq(channel_init(&channel, base, on_message, &inbox), 0);
    put_frame(&channel, CHANNEL_RESULT, 3, 1, "whole", 5);
    cr_assert(inbox.messages == 1 && strcmp(inbox.last, "whole") == 0);
    put_frame(&channel, CHANNEL_RESULT, 1, 2, "in ", 3);
    put_frame(&channel, CHANNEL_RESULT, 0, 2, "three ", 6);
    cr_assert_eq(inbox.messages, 1);
    put_frame(&channel, CHANNEL_RESULT, 2, 2, "pieces", 6);
    cr_assert(inbox.messages == 2 && strcmp(inbox.last, "in three pieces") == 0);
    // A new beginning discards what was incomplete.
    put_frame(&channel, CHANNEL_RESULT, 1, 3, "lost", 4);
    put_frame(&channel, CHANNEL_HELLO, 3, 0, "hello", 5);
    cr_assert(inbox.messages == 3 && inbox.last_type == CHANNEL_HELLO);
    put_frame(&channel, CHANNEL_RESULT, 2, 3, "orphan", 6);
    put_frame(&channel, CHANNEL_RESULT, 3, 4, "wrong length", 99);
    put_frame(&channel, CHANNEL_REQUEST, 3, 4, "not for us", 10);
    put_frame(&channel, CHANNEL_RESULT, 7, 4, "flags", 5);
    cr_assert_eq(inbox.garbage, 4);
    cr_assert_eq(inbox.messages, 3);
    channel_release(&channel);
    event_base_free(base);
}

Test(session_channel, unread_behind_an_older_message)
{
    struct event_base *base = event_base_new();
    struct channel channel;
    char frame[32];
    cr_assert_eq(channel_init(&channel, base, on_message, NULL), 0);
    cr_assert_eq(channel_send(&channel, CHANNEL_SNAP, 7, SPAN("{}")), 0);
    cr_assert_eq(channel_send(&channel, CHANNEL_REQUEST, 8, SPAN("{}")), 0);
    cr_assert(channel_is_unread(&channel, 7));
    cr_assert(channel_is_unread(&channel, 8));
    cr_assert_gt(recv(channel.worker_fd, frame, sizeof(frame), MSG_DONTWAIT), 0);
    cr_assert_not(channel_is_unread(&channel, 7));
    cr_assert(channel_is_unread(&channel, 8));
    cr_assert_gt(recv(channel.worker_fd, frame, sizeof(frame), MSG_DONTWAIT), 0);
    cr_assert_not(channel_is_unread(&channel, 8));
    channel_release(&channel);
    event_base_free(base);
}

Test(session_channel, long_messages_wait_for_the_reader)
{
    struct event_base *base = event_base_new();
    struct channel channel;
    struct inbox inbox = {0};
    cr_assert_eq(channel_init(&channel, base, on_message, &inbox), 0);
    size_t length = 3 << 20;
    char *text = memset(malloc(length), 'q', length);
    cr_assert_eq(channel_send(&channel, CHANNEL_REQUEST, 7, (struct span){text, length}), 0);
    cr_assert(channel_is_unread(&channel, 7));
    size_t received = 0;
    char *frame = malloc(70000);
    for (int rounds = 0; received < length && rounds < 10000; rounds++) {
        ssize_t size = recv(channel.worker_fd, frame, 70000, MSG_DONTWAIT);
        if (size > 0)
            received += (size_t)size - CHANNEL_HEADER_SIZE;
        else
            event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    }
    cr_assert_eq(received, length);
    cr_assert_not(channel_is_unread(&channel, 7));
    free(frame);
    free(text);
    channel_release(&channel);
    event_base_free(base);
}

// --- classification ------------------------------------------------------------------------------

static struct failure classify(struct failure_facts facts)
{
    struct failure failure;
    facts.heap_mb = 2560;
    if (!facts.runtime_text.data)
        facts.runtime_text = (struct span){"", 0};
    facts.exit.known = true;
    failure_classify(&facts, &failure);
    return failure;
}

Test(session_classify, exits_and_signals)
{
    struct failure failure = classify((struct failure_facts){.exit.code = 7});
    cr_assert_str_eq(failure.type, "PROCESS-EXIT");
    cr_assert_str_eq(failure.message, "The code ended its process with exit code 7.");
    cr_assert_str_eq(failure.reason, "the process ended (exit code 7)");
    failure = classify((struct failure_facts){.exit = {.signaled = true, .code = 9}});
    cr_assert_str_eq(failure.type, "PROCESS-KILLED");
    cr_assert_str_eq(failure.message, "The process was ended by signal 9 (SIGKILL).");
    failure = classify((struct failure_facts){.exit.code = 99});
    cr_assert(strstr(failure.reason, "control channel"));
    failure = classify((struct failure_facts){.exit.code = 99, .exit_notice.received = true});
    cr_assert_not(strstr(failure.reason, "control channel"));
}

Test(session_classify, what_the_runtime_said)
{
    struct failure failure = classify((struct failure_facts){
        .exit.code = 1,
        .runtime_text = SPAN("Heap exhausted during garbage collection: 0 bytes available, 16 "
                             "requested.\n")});
    cr_assert_str_eq(failure.type, "HEAP-EXHAUSTED");
    cr_assert_str_eq(
        failure.message,
        "The Lisp heap of 2560 MB was exhausted and the process ended.\nHeap exhausted "
        "during garbage collection: 0 bytes available, 16 requested.");
    failure = classify((struct failure_facts){
        .exit.code = 1,
        .runtime_text = SPAN("Thread local storage exhausted.\nfatal error encountered in SBCL pid "
                             "12:\n%PRIMITIVE HALT called; the party is over.\n\n")});
    cr_assert_str_eq(failure.message, "The code ended its process with exit code 1.\nThread local "
                                      "storage exhausted.");
}

Test(session_classify, an_exhausted_heap_is_the_reason_of_what_follows)
{
    struct failure failure = classify((struct failure_facts){
        .exit.code = 1,
        .runtime_text = SPAN("Heap exhausted during garbage collection: 0 bytes available.\n"
                             "fatal error encountered in SBCL pid 12:\nGC invariant lost, file "
                             "\"gencgc.c\", line 523\n\n")});
    cr_assert_str_eq(failure.message,
                     "The Lisp heap of 2560 MB was exhausted and the process ended.\nHeap "
                     "exhausted during garbage collection: 0 bytes available.");
    cr_assert(failure.by_runtime);
}

Test(session_classify, stops)
{
    struct failure failure = classify((struct failure_facts){.exit.code = 98,
                                                             .stop = FAILURE_STOP_TIMEOUT,
                                                             .killed_by_us = true,
                                                             .timeout = 2,
                                                             .elapsed_ms = 2412});
    cr_assert_str_eq(
        failure.message,
        "Evaluation exceeded the timeout of 2 seconds. Possibly an infinite loop or an "
        "expensive computation; configure-limits raises the timeout.\nIt could not be "
        "interrupted and was stopped after 2.4 seconds.");
    cr_assert_str_eq(failure.reason, "it could not be interrupted");
    cr_assert_not(failure.by_runtime);
    failure = classify((struct failure_facts){.exit.code = 1,
                                              .stop = FAILURE_STOP_TIMEOUT,
                                              .killed_by_us = true,
                                              .timeout = 2,
                                              .elapsed_ms = 2412,
                                              .raise_timeout = "",
                                              .runtime_text = SPAN("GC invariant lost, file 1\n")});
    cr_assert_str_eq(
        failure.message,
        "Evaluation exceeded the timeout of 2 seconds. Possibly an infinite loop or an expensive "
        "computation.\nIt could not be interrupted and was stopped after 2.4 seconds.\nGC "
        "invariant lost, file 1");
    cr_assert(failure.by_runtime);
    char text[32];
    failure_format_seconds(1, text, sizeof(text));
    cr_assert_str_eq(text, "1 second");
}

Test(session_classify, runtime_lines_are_not_the_users)
{
    struct buffer text, log;
    buffer_init(&text, 4096);
    buffer_init(&log, 4096);
    sbcl_output_split(
        SPAN("mine\nINFO: Control stack guard page unprotected\nCORRUPTION WARNING in "
             "SBCL pid 1:\nMemory fault at 0x0\nmine too\n"),
        false, &text, &log);
    cr_assert_str_eq(buffer_text(&text), "mine\nmine too\n");
    cr_assert(strstr(buffer_text(&log), "Memory fault at 0x0"));
    buffer_release(&text);
    buffer_release(&log);
}

Test(session_classify, rows_of_heap_statistics_are_not_the_users)
{
    struct buffer text, log;
    buffer_init(&text, 4096);
    buffer_init(&log, 4096);
    sbcl_output_split(SPAN("Heap exhausted during allocation: 1 bytes available, 2 requested.\n"
                           " Gen  Boxed   Code\n  0  0  68903  0.8  2240679168  26843545  -   0  "
                           "0.0000\n1 2 3\n"),
                      false, &text, &log);
    cr_assert_str_eq(buffer_text(&text), "1 2 3\n");
    buffer_release(&text);
    buffer_release(&log);
}

Test(session_classify, what_only_a_dying_runtime_says_is_the_users_otherwise)
{
    static const char said[] = "Exiting.\nError: can't open data.csv\nfatal error: disk full\n"
                               "Memory fault at my desk:\nnext line\nTot  5\nGen  Boxed\n"
                               "1 2 3 4 5 6 7 8\n";
    struct buffer text, log;
    buffer_init(&text, 4096);
    buffer_init(&log, 4096);
    sbcl_output_split(SPAN(said), false, &text, &log);
    cr_assert_str_eq(buffer_text(&text), said);
    buffer_clear(&text);
    sbcl_output_split(SPAN("mine\nfatal error encountered in SBCL pid 7:\nno more\n\nExiting.\n"),
                      true, &text, &log);
    cr_assert_str_eq(buffer_text(&text), "mine\n\n");
    buffer_release(&text);
    buffer_release(&log);
}

Test(session_classify, the_stack_of_a_dying_runtime)
{
    struct region *region = region_new(64 << 20);
    struct buffer output, frames;
    buffer_init(&output, 4096);
    buffer_init(&frames, 4096);
    buffer_append_text(&output,
                       "   0: fp=0x7fc4 pc=0x52cc MINE\nmine\n"
                       "   0: fp=0x7fc4de67ead0 pc=0x52cc173c SB-IMPL::%HALT\n"
                       "   1: fp=0x7fc4de67eb90 pc=0x55e9e670d88d Foreign function funcall2\n"
                       "   2: fp=0x7fe42bab78f0 pc=0x5354592c (FLET PROJ::IN :IN PROJ::OUT)\n"
                       "   3: fp=0x7fe42bab7920 pc=0x535458f7 CL-USER::RUN\n"
                       "   4: fp=0x7fe42bab7a20 pc=0x52fde2bd CADRE-AGENT::RUN-FORM\n"
                       "   5: fp=0x7fe42bab7e70 pc=0x52fa28c5 (FLET SB-UNIX::BODY)\n");
    json_write(&frames, sbcl_output_move_frames(region, &output), JSON_SORTED, NULL);
    cr_assert_str_eq(buffer_text(&output), "   0: fp=0x7fc4 pc=0x52cc MINE\nmine\n");
    cr_assert_str_eq(buffer_text(&frames),
                     "[{\"call\":\"((FLET PROJ::IN :IN PROJ::OUT) ...)\",\"function\":\"(FLET "
                     "PROJ::IN :IN PROJ::OUT)\",\"number\":0},{\"call\":\"(RUN ...)\",\"function\":"
                     "\"RUN\",\"number\":1}]");
    buffer_release(&output);
    buffer_release(&frames);
    region_free(region);
}

// --- what comes from a worker --------------------------------------------------------------------

static value read_json(struct region *region, const char *text)
{
    value result;
    struct error error;
    cr_assert(json_read(region, span_from(text), &(struct json_options){0}, &result, &error), "%s",
              error.message);
    return result;
}

Test(session_error_history, only_known_members_of_the_right_type)
{
    struct region *region = region_new(64 << 20);
    value error = error_history_import(
        region,
        read_json(region, "{\"code\":5,\"message\":\"m\",\"evil\":1,\"frames\":[1,{\"call\":"
                          "\"(F)\",\"x\":2,\"number\":\"0\"}],\"line\":3,\"slots\":{}}"));
    struct buffer text;
    buffer_init(&text, 4096);
    json_write(&text, error, JSON_SORTED, NULL);
    cr_assert_str_eq(buffer_text(&text), "{\"code\":\"protocol\",\"frames\":[{\"call\":\"(F)\"}],"
                                         "\"line\":3,\"message\":\"m\"}");
    cr_assert(value_is_map(error_history_import(region, value_nil())));
    buffer_release(&text);
    region_free(region);
}

Test(session_error_history, history_keeps_the_last_twenty)
{
    struct region *region = region_new(64 << 20);
    struct error_history history = {0};
    for (int i = 1; i <= 30; i++) {
        value error = map_put_text(region, map_new(region), "n", value_integer(i));
        cr_assert_eq(error_history_next_id(&history), i);
        cr_assert_eq(error_history_add(&history, error), i);
    }
    cr_assert_eq(history.count, 20);
    cr_assert_null(error_history_find(&history, 10));
    cr_assert_eq(map_get(error_history_find(&history, 11)->error, "n").integer, 11);
    error_history_clear(&history);
    cr_assert_eq(error_history_next_id(&history), 1);
    region_free(region);
}

// --- lineage -------------------------------------------------------------------------------------

Test(session_lineage, undone_evaluations)
{
    struct session session = {0};
    struct region *region = region_new(1 << 20);
    buffer_init(&session.lineage, 1 << 20);
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
    buffer_release(&session.lineage);
    region_free(region);
}

// --- results -------------------------------------------------------------------------------------

static bool well_formed(const char *format, const char *name)
{
    struct region *region = region_new(SIZE_MAX);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    for (const char *c = format; *c; c++)
        if (*c == '@')
            buffer_append_text(&text, name);
        else
            buffer_append_byte(&text, *c);
    struct error error;
    value result;
    cr_assert(json_read(region, buffer_span(&text), NULL, &result, &error), "%s", error.message);
    bool ok = result_is_well_formed(result);
    region_free(region);
    return ok;
}

// No member that is known may be a fraction, wherever it stands.
Test(session_result, members_of_another_type_are_refused)
{
    char names[] =
        "aborted adoptable allocation arglist arguments author bytes call callers category "
        "cause class classes code collections column completions components depends_on depth "
        "description direct_slots direct_subclasses direct_superclasses documentation error "
        "errors expanded expansion finalized form forms found frame frame_count frames function "
        "functions gc_count gc_us generations generic_function heap_bytes hint initargs "
        "initform invoked kind lambda_list license line lisp_type live_bytes load loaded locals "
        "macros matches message metaclass methods more name no_values notes notices number "
        "nursery_bytes object ok op package package_label packages page_faults parameters parts "
        "path phase postmortem precedence qualifiers readers real_us reason references restart "
        "restarts result_lisp_type result_type rollback run run_us samples slots source "
        "source_file specializers state superclasses symbol system systems table text thread "
        "thread_errors threads timing total type type_qualified unavailable values "
        "values_omitted values_stopped variables version warnings warnings_omitted writers";
    for (char *rest = NULL, *name = strtok_r(names, " ", &rest); name;
         name = strtok_r(NULL, " ", &rest)) {
        cr_assert_not(well_formed("{\"@\":0.5}", name), "%s", name);
        cr_assert_not(well_formed("{\"error\":{\"@\":0.5}}", name), "%s", name);
        cr_assert_not(well_formed("{\"warnings\":[{},{\"@\":0.5}]}", name), "%s", name);
        cr_assert(well_formed("{\"@\":null}", name), "%s", name);
    }
}

Test(session_result, what_is_inside)
{
    static const char *const good[] = {
        "{}",
        "{\"values\":[\"1\",\"2\"],\"forms\":1,\"ok\":true,\"timing\":{\"real_us\":5},\"new\":0.5}",
        "{\"value\":[0.5,{\"ok\":7}],\"form\":\"(a)\",\"slots\":[\"x\"]}",
        "{\"error\":{\"form\":1,\"slots\":[{\"name\":\"a\",\"value\":\"b\"}],\"frames\":[{"
        "\"arguments\":[]}]}}",
        "{\"ok\\u0000x\":1,\"o\":1,\"okay\":1,\"\":1}",
    };
    static const char *const bad[] = {
        "[]",
        "7",
        "{\"values\":[\"1\",2]}",
        "{\"values\":{\"a\":1}}",
        "{\"form\":1}",
        "{\"slots\":[{}]}",
        "{\"error\":{\"form\":\"(a)\"}}",
        "{\"error\":{\"value\":[]}}",
        "{\"error\":{\"frames\":[[]]}}",
        "{\"live_bytes\":123456789012345678901234567890}",
        "{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{"
        "\"error\":{}}}}}}}}}}",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++)
        cr_assert(well_formed(good[i], ""), "%s", good[i]);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        cr_assert_not(well_formed(bad[i], ""), "%s", bad[i]);
}

// --- pre-wake ------------------------------------------------------------------------------------

// Pre-wake frames that reached the head.
static int prewakes(struct session *session)
{
    uint32_t header[4];
    int count = 0;
    while (recv(session->main.worker_fd, header, sizeof(header), MSG_DONTWAIT) > 0)
        count += header[0] == CHANNEL_PREWAKE;
    return count;
}

Test(session_prewake, only_an_idle_head_and_not_again_and_again)
{
    struct event_base *base = event_base_new();
    struct session session = {.state = STATE_IDLE};
    cr_assert_eq(channel_init(&session.main, base, on_message, NULL), 0);
    for (int i = 0; i < 100; i++)
        session_prewake_head(&session);
    cr_assert_eq(prewakes(&session), 1);
    session.used_ns = session.prewake_ns + 1;  // a request came
    session_prewake_head(&session);
    cr_assert_eq(prewakes(&session), 1);
    session.prewake_ns -= 2000000000;  // long ago
    session_prewake_head(&session);
    cr_assert_eq(prewakes(&session), 1);

    session.used_ns = session.prewake_ns + 1;
    session.finalizing = true;
    session_prewake_head(&session);
    session.finalizing = false;
    session.state = STATE_RUNNING;
    session_prewake_head(&session);
    session.state = STATE_IDLE;
    buffer_append_byte(&session.main.outgoing, ' ');  // the socket is full already
    session_prewake_head(&session);
    cr_assert_eq(prewakes(&session), 0);
    channel_release(&session.main);
    event_base_free(base);
}

// --- eviction ------------------------------------------------------------------------------------

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
    session->evaluations = session->current = SNAPSHOTS;
    buffer_init(&session->lineage, 1 << 20);
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

Test(session_evict, by_memory)
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
        buffer_release(&fixture.session.lineage);
    }
}

Test(session_evict, the_last_error_stays_frozen)
{
    struct parked_fixture fixture;
    parked_open(&fixture, 1);
    struct worker *newer = &fixture.workers[4], *older = &fixture.workers[2];
    newer->error = 2;
    older->error = 1;
    fixture.session.history.last_error = 2;
    snapshot_evict(&fixture.session);
    cr_assert_str_eq(parked_left(&fixture), "15 16 + 1");
    cr_assert_eq(newer->role, ROLE_POSTMORTEM);
    buffer_release(&fixture.session.lineage);
}

Test(session_evict, the_default_budget_is_half_of_max_memory_and_256_at_least)
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
        buffer_release(&fixture.session.lineage);
    }
}

Test(session_evict, not_measured_again_within_a_tenth_of_a_second)
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
    buffer_release(&fixture.session.lineage);
}

Test(session_evict, by_number_the_oldest_but_not_the_current_one_nor_its_parent)
{
    struct parked_fixture fixture;
    parked_open(&fixture, 1000);
    struct session *session = &fixture.session;
    session->limits.snapshots = 10;
    snapshot_evict(session);
    cr_assert_str_eq(parked_left(&fixture), "7 8 9 10 11 12 13 14 15 16 + 2");
    session->current = 8;  // rolled back
    session->limits.snapshots = 4;
    snapshot_evict(session);
    cr_assert_str_eq(parked_left(&fixture), "7 8 15 16 + 2");
    session->limits.snapshots = 1;
    snapshot_evict(session);
    cr_assert_str_eq(parked_left(&fixture), "7 8 + 2");
    buffer_release(&session->lineage);
}

// --- names and limits ----------------------------------------------------------------------------

Test(session_names, valid)
{
    cr_assert(session_name_valid(SPAN("main")));
    cr_assert(session_name_valid(SPAN("0a.b_c-d")));
    cr_assert(session_name_valid(SPAN("12345678901234567890123456789012")));
    cr_assert_not(session_name_valid(SPAN("123456789012345678901234567890123")));
    cr_assert_not(session_name_valid(SPAN("")));
    cr_assert_not(session_name_valid(SPAN("-a")));
    cr_assert_not(session_name_valid(SPAN("Main")));
    cr_assert_not(session_name_valid(SPAN("a b")));
}

Test(session_limits, texts)
{
    struct error error;
    struct session_limits limits = session_limits_default();
    cr_assert(session_limits_check(&limits, 2560, &error));
    limits.timeout = -5;
    cr_assert_not(session_limits_check(&limits, 2560, &error));
    cr_assert_str_eq(error.message, "Value must be non-negative: timeout = -5");
    limits.timeout = 86401;
    cr_assert_not(session_limits_check(&limits, 2560, &error));
    limits = session_limits_default();
    limits.max_memory = 3;
    cr_assert_not(session_limits_check(&limits, 2560, &error));
    cr_assert_str_eq(error.message, "Value must be between 64 and 1152: max-memory = 3");
}
