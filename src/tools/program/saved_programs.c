#include "tools/program/saved_programs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "process/background.h"
#include "program/compile/suggest.h"
#include "session/workspace/trust.h"
#include "signature/signature.h"

enum {
    FILE_BYTES = 2 * SAVED_SOURCE_MAX,        // comments included
    SIGNATURE_BYTES = 16 * SAVED_SOURCE_MAX,  // parsed
};

static const char folder[] = ".cadre/programs", ending[] = ".clj", prefix[] = "saved/";
static const char signature_mark[] = "signature:";

struct saved_program {
    char *name;
    char *source;
    char *description;  // or NULL
    char *signature;    // or NULL
    char *problem;      // why it cannot be called, or NULL
    bool is_taken;      // its source is among those appended
};

struct saved_programs {
    struct saved_program list[SAVED_PROGRAMS_MAX];
    size_t count;
};

static bool is_name_byte(char byte)
{
    return ascii_is_letter(byte) || ascii_is_digit(byte) || byte == '-' || byte == '_' ||
           byte == '?' || byte == '!';
}

static bool is_name(struct span name)
{
    for (size_t i = 0; i < name.length; i++)
        if (!is_name_byte(name.data[i]))
            return false;
    return name.length > 0 && name.length <= SAVED_NAME_MAX && ascii_is_letter(name.data[0]);
}

// The next saved/NAME of the text from *at on; empty at its end. Also those in strings and comments: more
// than the program calls, never less.
static struct span next_name(struct span text, size_t *at)
{
    size_t length = strlen(prefix);
    while (*at < text.length) {
        const char *found = memmem(text.data + *at, text.length - *at, prefix, length);
        if (!found)
            break;
        size_t start = (size_t)(found - text.data) + length, end = start;
        while (end < text.length && is_name_byte(text.data[end]))
            end++;
        *at = end;
        if (end > start)
            return (struct span){text.data + start, end - start};
    }
    *at = text.length;
    return (struct span){0};
}

bool saved_programs_are_named(struct span source)
{
    size_t at = 0;
    return next_name(source, &at).length > 0;
}

bool saved_programs_has_name(struct span name)
{
    size_t length = strlen(prefix);
    return span_equal_text(name, "saved") ||
           (span_starts_with(name, span_from(prefix)) &&
            is_name((struct span){name.data + length, name.length - length}));
}

// --- reading -------------------------------------------------------------------------------------

static struct span next_line(struct span *text)
{
    const char *end = memchr(text->data, '\n', text->length);
    struct span line = {text->data, end ? (size_t)(end - text->data) : text->length};
    size_t used = line.length + (end != NULL);
    *text = (struct span){text->data + used, text->length - used};
    return line;
}

static struct span trim(struct span text)
{
    while (text.length && (text.data[0] == ' ' || text.data[0] == ';'))
        text = (struct span){text.data + 1, text.length - 1};
    while (text.length && (text.data[text.length - 1] == ' ' || text.data[text.length - 1] == '\r'))
        text.length--;
    return text;
}

// The comments before the program.
static void read_comments(struct saved_program *program)
{
    CLEANUP_BUFFER struct buffer description;
    buffer_init(&description, SAVED_SOURCE_MAX);
    struct span rest = span_from(program->source);
    while (rest.length && rest.data[0] == ';') {
        struct span line = trim(next_line(&rest)), mark = span_from(signature_mark);
        if (span_starts_with(line, mark)) {
            line = trim((struct span){line.data + mark.length, line.length - mark.length});
            memory_free(program->signature);
            program->signature = memory_copy_text(line.data, line.length);
        } else if (line.length) {
            buffer_append_text(&description, description.length ? " " : "");
            buffer_append_span(&description, line);
        }
    }
    if (description.length)
        program->description = memory_copy_text(description.data, description.length);
}

static bool signature_is_readable(struct span text)
{
    struct arena arena;
    const struct signature *signature;
    struct error error;
    arena_init(&arena, SIGNATURE_BYTES);
    bool ok = signature_parse(&arena, text, &signature, &error);
    arena_release(&arena);
    return ok;
}

static void read_program(struct saved_program *program, const char *workspace, const char *path)
{
    CLEANUP_BUFFER struct buffer content;
    enum trust trust = TRUST_ABSENT;
    struct error error;
    if (!trust_read(workspace, path, &content, &trust, &error)) {
        program->problem = memory_copy_string(error.message);
        return;
    }
    if (trust != TRUST_GIVEN) {
        program->problem = memory_format("%s is %s; cadre trust %s lets programs call it", path,
                                         trust_name(trust), workspace);
        return;
    }
    program->source = memory_copy_text(content.data, content.length);
    read_comments(program);
    if (content.length > SAVED_SOURCE_MAX || strlen(program->source) != content.length)
        program->problem =
            memory_format("%s is no text of at most %d KB", path, SAVED_SOURCE_MAX >> 10);
    else if (program->signature && !signature_is_readable(span_from(program->signature)))
        program->problem = memory_format("%s: its signature cannot be read", path);
}

static void read_all(struct saved_programs *programs, const char *workspace, value names)
{
    size_t before = strlen(folder) + 1;
    for (size_t i = 0; i < vector_count(names) && programs->count < SAVED_PROGRAMS_MAX; i++) {
        struct span path = value_text(vector_at(names, i));
        if (!span_starts_with(path, span_from(folder)) || path.length <= before + strlen(ending) ||
            memcmp(path.data + path.length - strlen(ending), ending, strlen(ending)) != 0)
            continue;
        struct span name = {path.data + before, path.length - before - strlen(ending)};
        if (!is_name(name))
            continue;
        struct saved_program *program = &programs->list[programs->count++];
        CLEANUP_FREE char *whole = memory_copy_text(path.data, path.length);
        program->name = memory_copy_text(name.data, name.length);
        read_program(program, workspace, whole);
    }
}

struct saved_programs *saved_programs_read(const char *workspace)
{
    struct saved_programs *programs = memory_alloc_zero(sizeof(*programs));
    struct region *region = region_new(SIZE_MAX);
    value names;
    struct error ignored;  // there are none
    if (workspace && trust_files(region, workspace, &names, &ignored))
        read_all(programs, workspace, names);
    region_free(region);
    return programs;
}

void saved_programs_free(struct saved_programs *programs)
{
    if (!programs)
        return;
    for (size_t i = 0; i < programs->count; i++) {
        memory_free(programs->list[i].name);
        memory_free(programs->list[i].source);
        memory_free(programs->list[i].description);
        memory_free(programs->list[i].signature);
        memory_free(programs->list[i].problem);
    }
    memory_free(programs);
}

struct loading {
    char *workspace;  // or NULL
    struct saved_programs *programs;
    saved_programs_fn *done;
    void *data;
};

static void run_loading(void *data)
{
    struct loading *loading = data;
    loading->programs = saved_programs_read(loading->workspace);
}

static void on_loaded(void *data)
{
    struct loading *loading = data;
    loading->done(loading->data, loading->programs);
    memory_free(loading->workspace);
    memory_free(loading);
}

bool saved_programs_load(struct background *background, const char *workspace,
                         saved_programs_fn *done, void *data)
{
    struct loading *loading = memory_alloc_zero(sizeof(*loading));
    *loading = (struct loading){
        .workspace = workspace ? memory_copy_string(workspace) : NULL, .done = done, .data = data};
    if (background_submit(background, run_loading, on_loaded, loading) == 0)
        return true;
    memory_free(loading->workspace);
    memory_free(loading);
    return false;
}

// --- in a run ------------------------------------------------------------------------------------

static struct saved_program *find(const struct saved_programs *programs, struct span name)
{
    for (size_t i = 0; i < programs->count; i++)
        if (span_equal_text(name, programs->list[i].name))
            return (struct saved_program *)&programs->list[i];
    return NULL;
}

static void append_one(struct saved_program *program, struct buffer *text)
{
    if (program->is_taken || !program->source)
        return;
    program->is_taken = true;
    buffer_append_byte(text, '\n');
    buffer_append_text(text, program->source);
}

void saved_programs_append_sources(struct saved_programs *programs, struct span source, bool all,
                                   struct buffer *text)
{
    struct span name;
    for (size_t i = 0; i < programs->count; i++) {
        programs->list[i].is_taken = false;
        if (all)
            append_one(&programs->list[i], text);
    }
    for (size_t at = 0; (name = next_name(source, &at)).length;) {
        struct saved_program *program = find(programs, name);
        if (program)
            append_one(program, text);
    }
    // Those that these call; the text grows while it is read.
    for (size_t at = 0; (name = next_name(buffer_span(text), &at)).length;) {
        struct saved_program *program = find(programs, name);
        if (program)
            append_one(program, text);
    }
}

static bool is_allowed(value allowed, struct span name)
{
    if (!value_is_vector(allowed))
        return true;
    for (size_t i = 0; i < vector_count(allowed); i++) {
        struct span each = value_text(vector_at(allowed, i));
        if (span_equal_text(each, "saved") || span_equal(each, name))
            return true;
    }
    return false;
}

static value put(struct region *region, value record, const char *name, const char *text)
{
    return text ? map_put_text(region, record, name, value_string_text(region, text)) : record;
}

static value record_of(struct region *region, const struct saved_program *program)
{
    value record = map_new(region);
    if (program->problem)
        return put(region, put(region, record, "error", program->problem), "problem",
                   program->problem);
    record = put(region, record, "saved", program->source);
    record = put(region, record, "description", program->description);
    record = put(region, record, "signature", program->signature);
    return program->signature ? record : map_put_text(region, record, "skip", value_boolean(true));
}

static value missing(struct region *region, const struct saved_programs *programs, struct span name)
{
    struct suggestion best = {0};
    for (size_t i = 0; i < programs->count; i++)
        suggest_closer(&best, name, span_from(programs->list[i].name));
    value why = best.name.length
                    ? value_string_format(
                          region, "there is no such saved program, did you mean saved/%.*s?",
                          (int)best.name.length, best.name.data)
                    : value_string_text(region, "there is no such saved program");
    return map_put_text(region, map_new(region), "error", why);
}

value saved_programs_add(const struct saved_programs *programs, struct region *region, value tools,
                         struct span source, value allowed)
{
    struct span name;
    bool all = source.data == NULL;
    for (size_t i = 0; i < programs->count; i++) {
        const struct saved_program *program = &programs->list[i];
        value key = value_string_format(region, "%s%s", prefix, program->name);
        if ((all || program->is_taken) && is_allowed(allowed, value_text(key)))
            tools = map_put(region, tools, key, record_of(region, program));
    }
    for (size_t at = 0; (name = next_name(source, &at)).length;) {
        value key = value_string_format(region, "%s%.*s", prefix, (int)name.length, name.data);
        const struct saved_program *program = find(programs, name);
        value known;
        if (map_find(tools, key, &known) || !is_allowed(allowed, value_text(key)))
            continue;
        tools = map_put(region, tools, key,
                        program ? record_of(region, program) : missing(region, programs, name));
    }
    return tools;
}

// --- saving --------------------------------------------------------------------------------------

bool saved_program_check(const struct saved_text *text, struct error *error)
{
    if (!is_name(text->name))
        return error_set(error, ERROR_INVALID,
                         "a program is named by letters, digits and - _ ? !, a letter first, at "
                         "most %d",
                         SAVED_NAME_MAX);
    if (text->source.length == 0 ||
        text->source.length + text->description.length + text->signature.length >
            SAVED_SOURCE_MAX - 100)
        return error_set(error, ERROR_LIMIT, "a program has at most %d KB", SAVED_SOURCE_MAX >> 10);
    if (text->signature.length && (memchr(text->signature.data, '\n', text->signature.length) ||
                                   !signature_is_readable(text->signature)))
        return error_set(error, ERROR_INVALID, "the signature cannot be read");
    return true;
}

struct saving {
    char *workspace, *name;
    struct buffer content;
    struct error failure;  // code 0: none
    saved_program_fn *done;
    void *data;
};

static bool fail(struct saving *saving, const char *what)
{
    return error_set(&saving->failure, ERROR_SYSTEM, "cannot %s %s/%s/%s%s: %s", what,
                     saving->workspace, folder, saving->name, ending, strerror(errno));
}

// A directory below another one, made where it is missing; no link is followed.
static int enter(int directory, const char *name)
{
    if (directory < 0)
        return -1;
    mkdirat(directory, name, 0777);
    int next = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int cause = errno;
    close(directory);
    errno = cause;
    return next;
}

static bool write_file(struct saving *saving, int directory)
{
    CLEANUP_FREE char *path = memory_format("%s%s", saving->name, ending);
    CLEANUP_FREE char *temporary = memory_format(".%s.%d", path, (int)getpid());
    unlinkat(directory, temporary, 0);  // of a process that had this number and died
    int file =
        openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0)
        return fail(saving, "create");
    bool ok =
        descriptor_write(file, saving->content.data, saving->content.length) && fsync(file) == 0;
    close(file);
    if (ok && renameat(directory, temporary, directory, path) == 0)
        return true;
    fail(saving, "write");
    unlinkat(directory, temporary, 0);
    return false;
}

static void run_saving(void *data)
{
    struct saving *saving = data;
    int root = open(saving->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int directory = enter(enter(root, ".cadre"), "programs");
    if (directory < 0) {
        fail(saving, "reach");
        return;
    }
    bool ok = write_file(saving, directory);
    close(directory);
    CLEANUP_FREE char *path = memory_format("%s/%s%s", folder, saving->name, ending);
    if (ok)
        trust_add_file(saving->workspace, path, buffer_span(&saving->content), &saving->failure);
}

static void on_written(void *data)
{
    struct saving *saving = data;
    saving->done(saving->data, saving->failure.code ? &saving->failure : NULL);
    buffer_release(&saving->content);
    memory_free(saving->workspace);
    memory_free(saving->name);
    memory_free(saving);
}

static void write_comment(struct buffer *content, struct span text)
{
    while (text.length) {
        struct span line = next_line(&text);
        buffer_append_format(content, ";; %.*s\n", (int)line.length, line.data);
    }
}

bool saved_program_save(struct background *background, const char *workspace,
                        const struct saved_text *text, saved_program_fn *done, void *data,
                        struct error *error)
{
    struct saving *saving = memory_alloc_zero(sizeof(*saving));
    *saving = (struct saving){.workspace = memory_copy_string(workspace),
                              .name = memory_copy_text(text->name.data, text->name.length),
                              .done = done,
                              .data = data};
    buffer_init(&saving->content, FILE_BYTES);
    write_comment(&saving->content, text->description);
    if (text->signature.length)
        buffer_append_format(&saving->content, ";; %s %.*s\n", signature_mark,
                             (int)text->signature.length, text->signature.data);
    buffer_append_span(&saving->content, text->source);
    if (text->source.data[text->source.length - 1] != '\n')
        buffer_append_byte(&saving->content, '\n');
    int failed = background_submit(background, run_saving, on_written, saving);
    if (failed == 0)
        return true;
    buffer_release(&saving->content);
    memory_free(saving->workspace);
    memory_free(saving->name);
    memory_free(saving);
    return error_set(error, ERROR_BUSY, "too much work waits for the disk: %s", strerror(-failed));
}
