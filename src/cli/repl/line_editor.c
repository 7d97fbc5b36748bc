#include "cli/repl/line_editor.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/memory.h"
#include "cli/repl/line_display.h"
#include "cli/style.h"

enum { HISTORY_SIZE = 1000, LINE_LIMIT = 4 << 20, PROMPT_SIZE = 256, INDENTATION_MAX = 60 };

// libedit takes what stands between two of these for text without width.
#define PROMPT_ESCAPE '\1'

struct line_editor {
    EditLine *edit;  // NULL: not a terminal
    History *history;
    struct line_input *input;  // used without a terminal
    HistEvent event;
    char *history_file;
    char prompt[PROMPT_SIZE];
    size_t prompt_width;
    const struct buffer *lines;  // before the one being edited
    bool coloured;
    bool marks;  // the terminal can show them
    bool cancelled;
    struct line_editor_help help;
};

static struct line_editor *editor_of(EditLine *edit)
{
    void *editor = NULL;
    el_get(edit, EL_CLIENTDATA, &editor);
    return editor;
}

static char *show_prompt(EditLine *edit)
{
    return editor_of(edit)->prompt;
}

// A literal at the very end would be lost: the blank stays outside.
static void set_prompt(struct line_editor *editor, const char *prompt)
{
    size_t length = strlen(prompt);
    editor->prompt_width = length;
    if (editor->coloured && length > 1)
        snprintf(editor->prompt, sizeof(editor->prompt), "%c%s%c%.*s%c%s%c%s", PROMPT_ESCAPE,
                 style_sequence(STYLE_HEADING), PROMPT_ESCAPE, (int)(length - 1), prompt,
                 PROMPT_ESCAPE, style_sequence(STYLE_PLAIN), PROMPT_ESCAPE, prompt + length - 1);
    else
        snprintf(editor->prompt, sizeof(editor->prompt), "%s", prompt);
}

// Is more input there already, as when text is pasted?
static bool input_is_waiting(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) != 0;
}

// --- completion ----------------------------------------------------------------------------------

static bool is_word_end(char c)
{
    return strchr(" \t\n()\"';`,", c) != NULL;
}

// Shows the words in lines as wide as the screen.
static void show_choices(char *choices)
{
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    size_t width = size.ws_col > 0 ? size.ws_col : 80, column = 0;
    putchar('\n');
    char *rest;
    for (char *word = strtok_r(choices, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t length = strlen(word);
        if (column > 0 && column + 2 + length > width) {
            putchar('\n');
            column = 0;
        }
        column += (size_t)printf("%s%s", column ? "  " : "", word);
    }
    putchar('\n');
    fflush(stdout);
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
    bool first = start == line->buffer && editor->lines->length == 0;
    CLEANUP_BUFFER struct buffer insertion, choices;
    buffer_init(&insertion, LINE_LIMIT);
    buffer_init(&choices, LINE_LIMIT);
    editor->help.complete(editor->help.data, (struct span){start, (size_t)(line->cursor - start)},
                          first, &insertion, &choices);
    if (choices.length)
        show_choices(choices.data);
    if (insertion.length)
        el_insertstr(edit, buffer_text(&insertion));
    return choices.length ? CC_REDISPLAY : insertion.length ? CC_REFRESH : CC_ERROR;
}

// --- help ----------------------------------------------------------------------------------------

// All lines up to the cursor.
static void text_before_cursor(struct line_editor *editor, struct buffer *text)
{
    const LineInfo *line = el_line(editor->edit);
    buffer_append_span(text, buffer_span(editor->lines));
    buffer_append(text, line->buffer, (size_t)(line->cursor - line->buffer));
}

// What is shown beside the line while the editor waits for a key.
struct marks {
    bool has_partner;
    struct line_place partner;
    bool has_hint;
};

static void show_marks(struct line_editor *editor, struct marks *marks)
{
    CLEANUP_BUFFER struct buffer text, hint;
    buffer_init(&text, LINE_LIMIT);
    buffer_init(&hint, LINE_LIMIT);
    const LineInfo *line = el_line(editor->edit);
    size_t offset;
    text_before_cursor(editor, &text);
    if (text.length > 0 && text.data[text.length - 1] == ')' &&
        editor->help.match(editor->help.data, buffer_span(&text), &offset)) {
        marks->partner = line_display_locate(buffer_span(&text), offset, editor->prompt_width);
        marks->has_partner = marks->partner.visible;
    }
    if (line->cursor == line->lastchar)
        editor->help.hint(editor->help.data, buffer_span(&text), &hint);
    marks->has_hint = hint.length > 0;
    if (marks->has_partner)
        line_display_character(&marks->partner, '(', true);
    if (marks->has_hint)
        line_display_hint(buffer_span(&hint));
}

static void hide_marks(const struct marks *marks)
{
    if (marks->has_partner)
        line_display_character(&marks->partner, '(', false);
    if (marks->has_hint)
        line_display_clear_below();
}

// --- keys ----------------------------------------------------------------------------------------

enum { KEY_CTRL_C = 3, KEY_CTRL_E = 5 };

// One character of the terminal: 1, 0 at its end, or -1.
static int read_character(wchar_t *ret_character)
{
    mbstate_t state = {0};
    for (;;) {
        char byte;
        ssize_t length = read(STDIN_FILENO, &byte, 1);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return (int)length;
        size_t used = mbrtowc(ret_character, &byte, 1, &state);
        if (used == (size_t)-2)
            continue;
        if (used == (size_t)-1)
            *ret_character = L'\uFFFD';
        return 1;
    }
}

// The line that is typed makes room for what is said, and is shown again below it.
static void wait_for_key(struct line_editor *editor)
{
    while (editor->help.hear) {
        struct pollfd polled[] = {
            {.fd = STDIN_FILENO, .events = POLLIN},
            {.fd = editor->help.descriptor(editor->help.data), .events = POLLIN}};
        if (poll(polled, 2, -1) < 0)
            continue;
        if (!polled[1].revents || polled[0].revents)
            return;
        fputs("\r\033[K", stdout);
        editor->help.hear(editor->help.data);
        el_set(editor->edit, EL_REFRESH, NULL);
    }
}

// libedit asks for a key when what it shows is up to date. Ctrl-C goes to the end of the line, then
// ends it; it arrives as a key because ISIG is off while editing.
static int next_key(EditLine *edit, wchar_t *ret_key)
{
    struct line_editor *editor = editor_of(edit);
    if (editor->cancelled) {
        fputs("^C", stdout);
        fflush(stdout);
        *ret_key = L'\n';
        return 1;
    }
    struct marks marks = {0};
    if (editor->marks && !input_is_waiting())
        show_marks(editor, &marks);
    wait_for_key(editor);
    int result = read_character(ret_key);
    hide_marks(&marks);
    if (result == 1 && *ret_key == KEY_CTRL_C) {
        editor->cancelled = true;
        *ret_key = KEY_CTRL_E;
    }
    return result;
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
    el_set(editor->edit, EL_PROMPT_ESC, show_prompt, PROMPT_ESCAPE);
    el_set(editor->edit, EL_EDITOR, "emacs");
    el_set(editor->edit, EL_HIST, history, editor->history);
    el_set(editor->edit, EL_GETCFN, next_key);
    el_set(editor->edit, EL_ADDFN, "cadre-complete", "Complete a word", complete_word);
    el_set(editor->edit, EL_BIND, "^I", "cadre-complete", NULL);
    el_set(editor->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(editor->edit, EL_SETTY, "-d", "-isig", NULL);
}

struct line_editor *line_editor_new(const char *history_file, struct line_input *input,
                                    const struct line_editor_help *help, bool coloured)
{
    struct line_editor *editor = memory_alloc_zero(sizeof(*editor));
    editor->input = input;
    editor->help = *help;
    editor->coloured = coloured;
    editor->marks = line_display_works();
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

static enum line_result read_plain(struct line_input *input, struct buffer *line)
{
    while (!line_input_take(input, line)) {
        if (input->ended)
            return LINE_END;
        line_input_fill(input);
    }
    if (line->data[line->length - 1] != '\n')
        buffer_append_byte(line, '\n');
    return LINE_READ;
}

static void push_indentation(struct line_editor *editor, size_t indentation)
{
    char blanks[INDENTATION_MAX + 1];
    if (indentation > INDENTATION_MAX)
        indentation = INDENTATION_MAX;
    memset(blanks, ' ', indentation);
    blanks[indentation] = '\0';
    if (indentation > 0 && !input_is_waiting())  // pasted text has its own
        el_push(editor->edit, blanks);
}

enum line_result line_editor_read(struct line_editor *editor, const char *prompt,
                                  size_t indentation, struct buffer *lines)
{
    if (!editor->edit)
        return read_plain(editor->input, lines);
    set_prompt(editor, prompt);
    editor->lines = lines;
    editor->cancelled = false;
    push_indentation(editor, indentation);
    int count = 0;
    const char *text = el_gets(editor->edit, &count);
    if (editor->cancelled)
        return LINE_CANCELLED;
    if (!text || count <= 0)
        return LINE_END;
    buffer_append(lines, text, (size_t)count);
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
