// The lines that SBCL's runtime writes among the user's output.
#include <criterion/criterion.h>
#include <string.h>

#include "session/sbcl_output.h"
#include "value/text/json.h"

Test(sbcl_output, runtime_lines_are_not_the_users)
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

Test(sbcl_output, rows_of_heap_statistics_are_not_the_users)
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

Test(sbcl_output, the_report_of_newer_runtimes_is_not_the_users)
{
    struct buffer text, log;
    buffer_init(&text, 4096);
    buffer_init(&log, 4096);
    sbcl_output_split(
        SPAN("Heap exhausted during allocation: 704 bytes available, 8016 requested.\n"
             "     | Immobile Objects |\n"
             " Gen layout symbol   code  Boxed   Cons    Raw\n"
             "  0      0      0      1      1     20      1      -   1  0.0000\n"
             "Tot    775  23418  19727    233 [97.7% of 268435456 max]\n"
             "GC control variables:\n"
             "   *GC-INHIBIT* = true\n"
             "Collection trigger variables:\n"
             "   dynamic_space_size = 268435456\n"
             "   bytes_consed_between_gcs = 13421772\n"
             "mine\n   dynamic_space_size = mine\n"),
        false, &text, &log);
    cr_assert_str_eq(buffer_text(&text), "mine\n   dynamic_space_size = mine\n");
    buffer_release(&text);
    buffer_release(&log);
}

Test(sbcl_output, what_only_a_dying_runtime_says_is_the_users_otherwise)
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

Test(sbcl_output, the_stack_of_a_dying_runtime)
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

Test(sbcl_output, lines_are_told_apart_while_the_process_runs)
{
    cr_assert_eq(sbcl_output_classify(SPAN("mine")), SBCL_OUTPUT_CODE);
    cr_assert_eq(sbcl_output_classify(SPAN("\n")), SBCL_OUTPUT_CODE);
    cr_assert_eq(sbcl_output_classify(SPAN("INFO: Control stack guard page unprotected\n")),
                 SBCL_OUTPUT_RUNTIME);
    cr_assert_eq(sbcl_output_classify(SPAN("Heap exhausted during allocation: 1 bytes\n")),
                 SBCL_OUTPUT_UNCLEAR);
    cr_assert_eq(sbcl_output_classify(SPAN("fatal error encountered in SBCL pid 5:\n")),
                 SBCL_OUTPUT_UNCLEAR);
    cr_assert_eq(sbcl_output_classify(SPAN("   3: fp=0x7fe42bab7920 pc=0x535458f7 F\n")),
                 SBCL_OUTPUT_UNCLEAR);
}
