#include "lisp_syntax/repair.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lisp_syntax/lisp_syntax.h"
#include "lisp_syntax/repair_base.h"
#include "lisp_syntax/repair_search.h"

enum {
    JOIN_MAXIMUM = 64,   // lines at the margin that one form may contain
    EDITS_TRUSTED = 4,   // in one form
    MARGIN_TRUSTED = 3,  // how much dearer the second-best repair must be
    MARGIN_DOUBT = 12,   // how much better a repair of something balanced must be to be mentioned
    DOUBT_TOKENS_MAXIMUM = 20000,
    DIFF_CONTEXT = 2,
};

struct work {
    struct repair *repair;
    struct span text;
    struct repair_base *base;           // or NULL
    size_t changed, refused, doubtful;  // forms
};

static void note(struct work *work, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void note(struct work *work, unsigned line, const char *format, ...)
{
    struct repair *repair = work->repair;
    if (repair->note_count == REPAIR_NOTES_MAXIMUM)
        return;
    struct repair_note *next = &repair->notes[repair->note_count++];
    next->line = line;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(next->text, sizeof(next->text), format, arguments);
    va_end(arguments);
}

// --- forms ---------------------------------------------------------------------------------------

// Where the next line begins that has ( at the margin; the end of the text if none does.
static size_t next_margin(struct span text, size_t from)
{
    for (size_t i = from; i + 1 < text.length; i++)
        if (text.data[i] == '\n' && text.data[i + 1] == '(')
            return i + 1;
    return text.length;
}

static bool is_balanced(struct span text)
{
    struct syntax_report report;
    syntax_check(text, &report);
    return report.open_parentheses == 0 && report.problem != SYNTAX_STRAY_CLOSE &&
           report.problem != SYNTAX_OPEN_STRING && report.problem != SYNTAX_OPEN_BAR &&
           report.problem != SYNTAX_OPEN_COMMENT;
}

// The end of the form that begins at `start`. A form may contain lines with ( at the margin: in a string,
// or because somebody writes so. Such a one is balanced only together with them.
static size_t form_end(struct span text, size_t start, bool *ret_balanced)
{
    size_t first = next_margin(text, start), end = first;
    for (int i = 0; i < JOIN_MAXIMUM; i++) {
        *ret_balanced = is_balanced((struct span){text.data + start, end - start});
        if (*ret_balanced || end == text.length)
            break;
        end = next_margin(text, end);
    }
    return *ret_balanced ? end : first;
}

static unsigned line_of(struct span text, size_t offset)
{
    unsigned line = 1;
    for (size_t i = 0; i < offset; i++)
        line += text.data[i] == '\n';
    return line;
}

// --- one form ------------------------------------------------------------------------------------

static void apply(struct buffer *out, struct span form, const struct lisp_tokens *tokens,
                  const struct repair_path *path)
{
    size_t done = 0;
    for (size_t i = 0; i < path->count; i++) {
        const struct repair_edit *edit = &path->edits[i];
        size_t at = edit->kind == REPAIR_ADD_CLOSE ? tokens->items[edit->token - 1].offset +
                                                         tokens->items[edit->token - 1].length
                                                   : tokens->items[edit->token].offset;
        buffer_append(out, form.data + done, at - done);
        done = at;
        if (edit->kind == REPAIR_DROP)
            done++;
        else
            buffer_append_byte(out, edit->kind == REPAIR_ADD_OPEN ? '(' : ')');
    }
    buffer_append(out, form.data + done, form.length - done);
}

static unsigned edit_line(const struct lisp_tokens *tokens, const struct repair_edit *edit)
{
    size_t token = edit->kind == REPAIR_ADD_CLOSE ? edit->token - 1 : edit->token;
    return tokens->items[token].line;
}

static void note_edits(struct work *work, unsigned line, const struct lisp_tokens *tokens,
                       const struct repair_path *path)
{
    for (size_t i = 0; i < path->count; i++) {
        const struct repair_edit *edit = &path->edits[i];
        char parenthesis = edit->kind == REPAIR_ADD_CLOSE                       ? ')'
                           : edit->kind == REPAIR_ADD_OPEN                      ? '('
                           : tokens->items[edit->token].kind == LISP_TOKEN_OPEN ? '('
                                                                                : ')';
        note(work, line + edit_line(tokens, edit), "%s a %c",
             edit->kind == REPAIR_DROP ? "removed" : "added", parenthesis);
    }
}

static void refuse(struct work *work, struct span form, unsigned line, const char *why)
{
    work->refused++;
    note(work, line, "%s", why);
    buffer_append_span(&work->repair->text, form);
}

static bool is_certain(const struct repair_paths *paths)
{
    return paths->has_best && paths->best.count <= EDITS_TRUSTED &&
           (!paths->has_second || paths->second.cost >= paths->best.cost + MARGIN_TRUSTED);
}

// From the margin's next form on everything is balanced, so what is wrong lies in this form.
static void repair_by_search(struct work *work, struct span form, unsigned line)
{
    struct lisp_tokens tokens;
    lisp_tokens_init(&tokens, form);
    if (tokens.problem != SYNTAX_VALID) {
        unsigned where = line + line_of(form, tokens.problem_offset) - 1;
        const char *what = tokens.problem == SYNTAX_OPEN_STRING ? "a string"
                           : tokens.problem == SYNTAX_OPEN_BAR  ? "a |symbol|"
                                                                : "a #| comment";
        char why[REPAIR_NOTE_SIZE];
        snprintf(why, sizeof(why), "%s that begins here, or before, has no end", what);
        refuse(work, form, where, why);
        lisp_tokens_release(&tokens);
        return;
    }
    struct repair_hints *hints = work->base ? repair_base_hints(work->base, form, &tokens) : NULL;
    struct repair_paths paths;
    repair_search(&tokens, form, hints, &paths);
    if (is_certain(&paths)) {
        work->changed++;
        note_edits(work, line, &tokens, &paths.best);
        apply(&work->repair->text, form, &tokens, &paths.best);
    } else {
        unsigned where = paths.has_best && paths.best.count > 0
                             ? line + edit_line(&tokens, &paths.best.edits[0])
                             : line;
        refuse(work, form, where,
               paths.has_best ? "the parentheses near here can be repaired in more than one way"
                              : "too many parentheses of this form are wrong");
    }
    memory_free(hints);
    lisp_tokens_release(&tokens);
}

// The form as the base has it, when only delimiters differ and the base is balanced there.
static bool repair_by_base(struct work *work, struct span form, unsigned line)
{
    struct span lines;
    if (!work->base || !repair_base_find(work->base, form, line, &lines) || !is_balanced(lines) ||
        span_equal(lines, form))
        return false;
    work->changed++;
    note(work, line, "put back the parentheses of the earlier version");
    buffer_append_span(&work->repair->text, lines);
    return true;
}

// --- what is balanced ----------------------------------------------------------------------------

static unsigned disagreement(struct span form)
{
    struct lisp_tokens tokens;
    lisp_tokens_init(&tokens, form);
    unsigned cost = repair_disagreement(&tokens, form);
    lisp_tokens_release(&tokens);
    return cost;
}

// How much better the indentation would agree with other parentheses, and where.
static unsigned doubt(struct span form, unsigned line, unsigned *ret_line)
{
    struct lisp_tokens tokens;
    struct repair_paths paths = {0};
    lisp_tokens_init(&tokens, form);
    unsigned gain = 0, cost = repair_disagreement(&tokens, form);
    if (cost >= MARGIN_DOUBT && cost != UINT_MAX && tokens.count <= DOUBT_TOKENS_MAXIMUM)
        repair_search(&tokens, form, NULL, &paths);
    if (paths.has_best && paths.best.count > 0) {
        *ret_line = line + edit_line(&tokens, &paths.best.edits[0]);
        gain = cost - paths.best.cost;
    }
    lisp_tokens_release(&tokens);
    return gain;
}

// The earlier version had other parentheses here, with which the indentation agrees better.
static bool is_worse_than_base(const struct work *work, struct span form, unsigned line)
{
    struct span lines;
    return work->base && repair_base_find(work->base, form, line, &lines) &&
           disagreement(form) > disagreement(lines);
}

// A balanced form whose indentation contradicts it: somebody moved a parenthesis. With a base that
// agrees with the indentation it is repaired, else only mentioned.
static void keep_balanced(struct work *work, struct span form, unsigned line)
{
    unsigned where = line;
    if (is_worse_than_base(work, form, line) && repair_by_base(work, form, line))
        return;
    if (doubt(form, line, &where) >= MARGIN_DOUBT) {
        work->doubtful++;
        note(work, where, "balanced, but not as the lines are indented");
    }
    buffer_append_span(&work->repair->text, form);
}

// --- the whole -----------------------------------------------------------------------------------

static void repair_forms(struct work *work)
{
    unsigned line = 1;
    for (size_t start = 0; start < work->text.length;) {
        bool balanced;
        size_t end = form_end(work->text, start, &balanced);
        struct span form = {work->text.data + start, end - start};
        if (balanced)
            keep_balanced(work, form, line);
        else if (!repair_by_base(work, form, line))
            repair_by_search(work, form, line);
        line += line_of(form, form.length) - 1;
        start = end;
    }
}

static void replace_text(struct repair *repair, struct span text)
{
    buffer_clear(&repair->text);
    buffer_append_span(&repair->text, text);
}

// Something is wrong, and nothing but delimiters differs from the base: all of them are its own.
static void restore_base(struct work *work)
{
    work->repair->note_count = 0;
    note(work, 1, "put back the parentheses of the earlier version: nothing else differed");
    replace_text(work->repair, work->base->text);
    work->changed = 1;
    work->refused = work->doubtful = 0;
}

static void repair_text(struct work *work)
{
    if (work->text.length > REPAIR_TEXT_MAXIMUM) {
        refuse(work, work->text, 1, "the text is longer than 16 MB");
        return;
    }
    repair_forms(work);
    if (work->changed + work->refused == 0)
        return;
    if (work->base && repair_base_is_like(work->base, work->text))
        restore_base(work);
    else if (work->refused == 0 && !is_balanced(buffer_span(&work->repair->text)))
        refuse(work, work->text, 1, "the repaired forms are not balanced together");
}

void repair_init(struct repair *repair, struct span text, struct span base)
{
    *repair = (struct repair){0};
    buffer_init(&repair->text, BUFFER_DEFAULT_LIMIT);
    struct work work = {.repair = repair, .text = text};
    struct repair_base balanced_base;
    if (base.length > 0 && base.length <= REPAIR_TEXT_MAXIMUM && is_balanced(base)) {
        repair_base_init(&balanced_base, base);
        work.base = &balanced_base;
    }
    repair_text(&work);
    if (work.base)
        repair_base_release(work.base);
    repair->outcome = work.refused    ? REPAIR_REFUSED
                      : work.changed  ? REPAIR_REPAIRED
                      : work.doubtful ? REPAIR_DOUBTFUL
                                      : REPAIR_BALANCED;
    if (work.refused)
        replace_text(repair, text);
}

void repair_release(struct repair *repair)
{
    buffer_release(&repair->text);
}

// --- the diff ------------------------------------------------------------------------------------

struct lines {
    struct span text;
    size_t *starts;
    size_t count;
};

static void lines_init(struct lines *lines, struct span text)
{
    *lines = (struct lines){.text = text};
    lines->starts = memory_alloc((line_of(text, text.length) + 1) * sizeof(*lines->starts));
    for (size_t i = 0; i < text.length; i++)
        if (i == 0 || text.data[i - 1] == '\n')
            lines->starts[lines->count++] = i;
    lines->starts[lines->count] = text.length;
}

static struct span line_at(const struct lines *lines, size_t index)
{
    return (struct span){lines->text.data + lines->starts[index],
                         lines->starts[index + 1] - lines->starts[index]};
}

static void append_line(struct buffer *out, char mark, struct span line)
{
    buffer_append_byte(out, mark);
    buffer_append_span(out, line);
    if (line.length == 0 || line.data[line.length - 1] != '\n')
        buffer_append_text(out, "\n\\ No newline at end of file\n");
}

static bool differs(const struct lines *before, const struct lines *after, size_t index)
{
    return !span_equal(line_at(before, index), line_at(after, index));
}

// The first line after `from` that is further than the context from a change.
static size_t hunk_end(const struct lines *before, const struct lines *after, size_t from)
{
    const size_t context = DIFF_CONTEXT;
    size_t last = from;
    for (size_t i = from; i < before->count && i <= last + 2 * context + 1; i++)
        if (differs(before, after, i))
            last = i;
    return last + 1;
}

static void append_hunk(struct buffer *out, const struct lines *before, const struct lines *after,
                        size_t change, size_t end)
{
    size_t from = change > DIFF_CONTEXT ? change - DIFF_CONTEXT : 0;
    size_t to = end + DIFF_CONTEXT < before->count ? end + DIFF_CONTEXT : before->count;
    buffer_append_format(out, "@@ -%zu,%zu +%zu,%zu @@\n", from + 1, to - from, from + 1,
                         to - from);
    for (size_t i = from; i < to;) {
        size_t run = i;
        while (run < to && differs(before, after, run))
            run++;
        for (size_t j = i; j < run; j++)
            append_line(out, '-', line_at(before, j));
        for (size_t j = i; j < run; j++)
            append_line(out, '+', line_at(after, j));
        if (run == i)
            append_line(out, ' ', line_at(before, run++));
        i = run;
    }
}

void repair_diff(struct buffer *out, const char *name, struct span before, struct span after)
{
    struct lines old_lines, new_lines;
    lines_init(&old_lines, before);
    lines_init(&new_lines, after);
    buffer_append_format(out, "--- %s\n+++ %s\n", name, name);
    for (size_t i = 0; i < old_lines.count; i++) {
        if (!differs(&old_lines, &new_lines, i))
            continue;
        size_t end = hunk_end(&old_lines, &new_lines, i);
        append_hunk(out, &old_lines, &new_lines, i, end);
        i = end;
    }
    memory_free(old_lines.starts);
    memory_free(new_lines.starts);
}
