// Offers the repair of unbalanced code (lisp_syntax/repair.h) below an error: its changed lines. It is
// never evaluated.
#include "lisp_syntax/lisp_syntax.h"
#include "lisp_syntax/repair.h"
#include "tools/result/result_text.h"

enum { CODE_MAXIMUM = 64 << 10, LINES_MAXIMUM = 8 };

static struct span next_line(struct span *rest)
{
    const char *end = rest->length ? memchr(rest->data, '\n', rest->length) : NULL;
    struct span line = {rest->data, end ? (size_t)(end - rest->data) : rest->length};
    size_t taken = line.length + (end != NULL);
    *rest = (struct span){rest->data + taken, rest->length - taken};
    return line;
}

static void append_changed_lines(struct buffer *text, struct span before, struct span after)
{
    unsigned shown = 0;
    for (unsigned number = 1; before.length > 0; number++) {
        struct span was = next_line(&before), is = next_line(&after);
        if (span_equal(was, is))
            continue;
        if (shown++ == LINES_MAXIMUM) {
            buffer_append_text(text, "\n…");
            return;
        }
        buffer_append_format(text, "\nline %u: %.*s", number, (int)is.length, is.data);
    }
}

void render_repair(struct buffer *text, struct span code)
{
    struct syntax_report report;
    syntax_check(code, &report);
    bool unbalanced = report.problem == SYNTAX_OPEN_LIST || report.problem == SYNTAX_STRAY_CLOSE;
    if (!unbalanced || code.length > CODE_MAXIMUM)
        return;
    struct repair repair;
    repair_init(&repair, code, (struct span){"", 0});
    if (repair.outcome == REPAIR_REPAIRED) {
        buffer_append_text(text, "\n\n[Repair]\nAs it is indented it would be balanced so (not "
                                 "evaluated):");
        append_changed_lines(text, code, buffer_span(&repair.text));
    }
    repair_release(&repair);
}
