#include "cli/line_editor.h"

#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { HISTORY_SIZE = 1000, LINE_LIMIT = 4 << 20 };

struct line_editor {
    EditLine *edit;  // NULL: not a terminal
    History *history;
    HistEvent event;
    char *history_file;
    const char *prompt;
    bool cancelled;
    line_complete_fn *complete;
    void *data;
};

static struct line_editor *editor_of(EditLine *edit)
{
    void *editor = NULL;
    el_get(edit, EL_CLIENTDATA, &editor);
    return editor;
}

static char *show_prompt(EditLine *edit)
{
    return (char *)editor_of(edit)->prompt;
}

static bool is_word_end(char c)
{
    return strchr(" \t\n()\"';`,", c) != NULL;
}

static unsigned char complete_word(EditLine *edit, int key)
{
    (void)key;
    struct line_editor *editor = editor_of(edit);
    const LineInfo *line = el_line(edit);
    const char *start = line->cursor;
    while (start > line->buffer && !is_word_end(start[-1]))
        start--;
    if (start == line->cursor)
        return CC_ERROR;
    CLEANUP_BUFFER struct buffer insertion, choices;
    buffer_init(&insertion, LINE_LIMIT);
    buffer_init(&choices, LINE_LIMIT);
    editor->complete(editor->data, (struct span){start, (size_t)(line->cursor - start)}, &insertion,
                     &choices);
    if (choices.length) {
        printf("\n%s\n", buffer_text(&choices));
        fflush(stdout);
    }
    if (insertion.length)
        el_insertstr(edit, buffer_text(&insertion));
    return choices.length ? CC_REDISPLAY : insertion.length ? CC_REFRESH : CC_ERROR;
}

// Ctrl-C drops the input. It arrives as a key because ISIG is off while editing.
static unsigned char cancel_line(EditLine *edit, int key)
{
    (void)key;
    editor_of(edit)->cancelled = true;
    return CC_NEWLINE;
}

static void start_editing(struct line_editor *editor)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    editor->edit = el_init("cadre", stdin, stdout, stderr);
    editor->history = history_init();
    if (!editor->edit || !editor->history)
        return;
    history(editor->history, &editor->event, H_SETSIZE, HISTORY_SIZE);
    history(editor->history, &editor->event, H_SETUNIQUE, 1);
    if (editor->history_file)
        history(editor->history, &editor->event, H_LOAD, editor->history_file);
    el_set(editor->edit, EL_CLIENTDATA, editor);
    el_set(editor->edit, EL_PROMPT, show_prompt);
    el_set(editor->edit, EL_EDITOR, "emacs");
    el_set(editor->edit, EL_HIST, history, editor->history);
    el_set(editor->edit, EL_ADDFN, "cadre-complete", "Complete a symbol", complete_word);
    el_set(editor->edit, EL_BIND, "^I", "cadre-complete", NULL);
    el_set(editor->edit, EL_ADDFN, "cadre-cancel", "Drop the input", cancel_line);
    el_set(editor->edit, EL_BIND, "^C", "cadre-cancel", NULL);
    el_set(editor->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(editor->edit, EL_SETTY, "-d", "-isig", NULL);
}

struct line_editor *line_editor_new(const char *history_file, line_complete_fn *complete,
                                    void *data)
{
    struct line_editor *editor = memory_alloc_zero(sizeof(*editor));
    editor->complete = complete;
    editor->data = data;
    if (history_file)
        editor->history_file = memory_copy_string(history_file);
    if (isatty(STDIN_FILENO))
        start_editing(editor);
    return editor;
}

void line_editor_free(struct line_editor *editor)
{
    if (editor->history) {
        if (editor->history_file)
            history(editor->history, &editor->event, H_SAVE, editor->history_file);
        history_end(editor->history);
    }
    if (editor->edit)
        el_end(editor->edit);
    memory_free(editor->history_file);
    memory_free(editor);
}

bool line_editor_is_terminal(const struct line_editor *editor)
{
    return editor->edit != NULL;
}

static enum line_result read_plain(struct buffer *line)
{
    int c;
    size_t before = line->length;
    while ((c = getchar()) != EOF) {
        buffer_append_byte(line, (char)c);
        if (c == '\n')
            return LINE_READ;
    }
    if (line->length == before)
        return LINE_END;
    buffer_append_byte(line, '\n');
    return LINE_READ;
}

enum line_result line_editor_read(struct line_editor *editor, const char *prompt,
                                  struct buffer *ret_line)
{
    if (!editor->edit)
        return read_plain(ret_line);
    editor->prompt = prompt;
    editor->cancelled = false;
    int count = 0;
    const char *text = el_gets(editor->edit, &count);
    if (editor->cancelled)
        return LINE_CANCELLED;
    if (!text || count <= 0)
        return LINE_END;
    buffer_append(ret_line, text, (size_t)count);
    return LINE_READ;
}

void line_editor_remember(struct line_editor *editor, struct span input)
{
    if (!editor->history || input.length == 0)
        return;
    char *text = memory_copy_text(input.data, input.length);
    history(editor->history, &editor->event, H_ENTER, text);
    memory_free(text);
}
