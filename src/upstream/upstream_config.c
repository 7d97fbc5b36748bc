#include "upstream/upstream_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/ascii.h"
#include "value/text/json.h"

enum { SECRET_MIN = 6 };  // shorter values are words that stand in every text

void upstream_config_init(struct upstream_config *config)
{
    *config = (struct upstream_config){.region = region_new(SIZE_MAX)};
}

void upstream_config_release(struct upstream_config *config)
{
    region_free(config->region);
    *config = (struct upstream_config){0};
}

// --- texts ---------------------------------------------------------------------------------------

// One file while it is read.
struct reading {
    struct upstream_config *config;
    const char *path;
    struct span server;       // the entry at hand
    struct buffer *left_out;  // where entries that cannot be used are named; or NULL
    struct error *error;
};

static bool refuse(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(struct reading *reading, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char text[ERROR_MESSAGE_SIZE];
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    size_t length =
        reading->server.length > UPSTREAM_NAME_MAX ? UPSTREAM_NAME_MAX : reading->server.length;
    return error_set(reading->error, ERROR_INVALID, "%s: server %.*s: %s", reading->path,
                     (int)length, reading->server.data, text);
}

static const char *keep(struct reading *reading, struct span text)
{
    char *copy = region_alloc(reading->config->region, text.length + 1);
    if (text.length)
        memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

// The end of "${NAME}" or "${NAME:-default}" that begins at `at`; 0: it is none.
static size_t reference_end(struct span text, size_t at)
{
    if (at + 2 >= text.length || text.data[at] != '$' || text.data[at + 1] != '{')
        return 0;
    const char *brace = memchr(text.data + at, '}', text.length - at);
    return brace ? (size_t)(brace - text.data) + 1 : 0;
}

const char *upstream_variable(char *const *environment, const char *name)
{
    if (!environment)
        return getenv(name);
    size_t length = strlen(name);
    for (char *const *entry = environment; *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

// What the editors know beside variables.
static const char *find_place(struct reading *reading, struct span inside)
{
    if (span_equal_text(inside, "userHome"))
        return upstream_variable(reading->config->environment, "HOME");
    if (!span_equal_text(inside, "workspaceFolder"))
        return NULL;
    return reading->config->workspace ? reading->config->workspace : ".";
}

static bool expand_reference(struct reading *reading, struct span inside, struct buffer *out)
{
    const char *place = find_place(reading, inside);
    if (place) {
        buffer_append_text(out, place);
        return true;
    }
    if (span_starts_with(inside, SPAN("input:")))
        return refuse(reading, "${%.*s} asks the user, which only the editor does",
                      (int)inside.length, inside.data);
    if (span_starts_with(inside, SPAN("env:")))
        inside = (struct span){inside.data + 4, inside.length - 4};
    const char *mark = memmem(inside.data, inside.length, ":-", 2);
    struct span name = {inside.data, mark ? (size_t)(mark - inside.data) : inside.length};
    char variable[256];
    if (name.length == 0 || name.length >= sizeof(variable))
        return refuse(reading, "${%.*s} names no variable", (int)name.length, name.data);
    memcpy(variable, name.data, name.length);
    variable[name.length] = '\0';
    const char *found = upstream_variable(reading->config->environment, variable);
    if (found) {
        buffer_append_text(out, found);
        return true;
    }
    if (!mark)
        return refuse(reading, "the variable %s is not set", variable);
    buffer_append(out, mark + 2, inside.length - name.length - 2);
    return true;
}

static bool expand(struct reading *reading, struct span text, struct buffer *out)
{
    for (size_t i = 0; i < text.length;) {
        size_t end = reference_end(text, i);
        if (end == 0) {
            buffer_append_byte(out, text.data[i++]);
            continue;
        }
        if (!expand_reference(reading, (struct span){text.data + i + 2, end - i - 3}, out))
            return false;
        i = end;
    }
    if (out->failed)
        return refuse(reading, "a text is longer than %d bytes", UPSTREAM_TEXT_MAX);
    return memchr(buffer_span(out).data, '\0', out->length) == NULL ||
           refuse(reading, "a text holds a NUL");
}

// A string of the entry with its variables replaced, and `before` in front of it.
static bool read_text(struct reading *reading, const char *what, struct span before, value v,
                      const char **ret_text)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, UPSTREAM_TEXT_MAX);
    if (!value_is_string(v))
        return refuse(reading, "%s must be a string", what);
    buffer_append_span(&text, before);
    if (!expand(reading, value_text(v), &text))
        return false;
    *ret_text = keep(reading, buffer_span(&text));
    return true;
}

// --- entries -------------------------------------------------------------------------------------

static bool read_argv(struct reading *reading, value entry, struct upstream_entry *into)
{
    value args = map_get(entry, "args");
    size_t count = value_is_vector(args) ? vector_count(args) : 0;
    if ((!value_is_nil(args) && !value_is_vector(args)) || count > UPSTREAM_STRINGS_MAX)
        return refuse(reading, "args is an array of at most %d strings", UPSTREAM_STRINGS_MAX);
    const char **argv = region_alloc_zero(reading->config->region, (count + 2) * sizeof(*argv));
    if (!read_text(reading, "command", SPAN(""), map_get(entry, "command"), &argv[0]))
        return false;
    if (!*argv[0])
        return refuse(reading, "command is empty");
    for (size_t i = 0; i < count; i++)
        if (!read_text(reading, "args", SPAN(""), vector_at(args, i), &argv[i + 1]))
            return false;
    into->argv = argv;
    value directory = map_get(entry, "cwd");
    return value_is_nil(directory) ||
           read_text(reading, "cwd", SPAN(""), directory, &into->directory);
}

static bool is_token(struct span name)
{
    for (size_t i = 0; i < name.length; i++)
        if (name.data[i] <= ' ' || name.data[i] >= 127 || strchr("=:", name.data[i]))
            return false;
    return name.length > 0;
}

static bool has_line_break(const char *text)
{
    return strpbrk(text, "\r\n") != NULL;
}

// An object of strings as "NAME=value" (`joint` "=") or "Name: value" (": ").
static bool read_pairs(struct reading *reading, value entry, const char *member, const char *joint,
                       const char *const **ret_pairs)
{
    value pairs = map_get(entry, member), name, text;
    if ((!value_is_nil(pairs) && !value_is_map(pairs)) ||
        (value_is_map(pairs) && map_count(pairs) > UPSTREAM_STRINGS_MAX))
        return refuse(reading, "%s is an object of at most %d strings", member,
                      UPSTREAM_STRINGS_MAX);
    size_t count = value_is_map(pairs) ? map_count(pairs) : 0, filled = 0;
    const char **list = region_alloc_zero(reading->config->region, (count + 1) * sizeof(*list));
    *ret_pairs = list;
    if (count == 0)
        return true;
    struct map_cursor cursor = map_iterate(pairs);
    while (map_next(&cursor, &name, &text)) {
        CLEANUP_BUFFER struct buffer before;
        buffer_init(&before, UPSTREAM_TEXT_MAX);
        if (!is_token(value_text(name)))
            return refuse(reading, "%s has a name that is none", member);
        buffer_append_span(&before, value_text(name));
        buffer_append_text(&before, joint);
        if (!read_text(reading, member, buffer_span(&before), text, &list[filled]))
            return false;
        if (*joint == ':' && has_line_break(list[filled]))
            return refuse(reading, "a header holds a line break");
        filled++;
    }
    return true;
}

static bool read_number(struct reading *reading, value entry, const char *member, int64_t fallback,
                        int64_t high, int64_t *ret_number)
{
    value v = map_get(entry, member);
    *ret_number = v.tag == VALUE_INTEGER ? v.integer : fallback;
    if ((value_is_nil(v) || v.tag == VALUE_INTEGER) && *ret_number >= 1 && *ret_number <= high)
        return true;
    return refuse(reading, "%s is a whole number from 1 to %lld", member, (long long)high);
}

static bool read_retry_causes(struct reading *reading, value on, unsigned *ret_on)
{
    static const struct {
        const char *name;
        enum upstream_end end;
    } causes[] = {{"error", UPSTREAM_ERROR},
                  {"timeout", UPSTREAM_TIMEOUT},
                  {"connection", UPSTREAM_CONNECTION}};
    *ret_on = value_is_nil(on) ? UPSTREAM_TIMEOUT | UPSTREAM_CONNECTION : 0;
    bool ok = value_is_nil(on) || value_is_vector(on);
    for (size_t i = 0; value_is_vector(on) && i < vector_count(on); i++) {
        unsigned found = 0;
        for (size_t j = 0; j < COUNT_OF(causes) && value_is_string(vector_at(on, i)); j++)
            if (span_equal_text(value_text(vector_at(on, i)), causes[j].name))
                found = causes[j].end;
        ok = ok && found;
        *ret_on |= found;
    }
    return ok || refuse(reading, "retry.on is an array of \"timeout\", \"connection\", \"error\"");
}

static bool read_retry(struct reading *reading, value entry, struct upstream_retry *retry)
{
    value record = map_get(entry, "retry");
    int64_t times;
    if (value_is_nil(record))
        return true;
    if (!value_is_map(record))
        return refuse(reading, "retry is an object {times, backoff_ms, on}");
    if (!read_number(reading, record, "times", 1, UPSTREAM_RETRIES_MAX, &times) ||
        !read_number(reading, record, "backoff_ms", UPSTREAM_BACKOFF_MS, UPSTREAM_BACKOFF_MAX_MS,
                     &retry->backoff_ms))
        return false;
    retry->times = (unsigned)times;
    return read_retry_causes(reading, map_get(record, "on"), &retry->on);
}

static bool read_place(struct reading *reading, value entry, struct upstream_entry *into)
{
    bool has_command = !value_is_nil(map_get(entry, "command"));
    bool has_url = !value_is_nil(map_get(entry, "url"));
    struct span type = map_get_string(entry, "type");
    if (has_command == has_url)
        return refuse(reading, "needs command or url, and not both");
    if (span_equal_text(type, "sse"))
        return refuse(reading, "the SSE transport of 2024-11-05 is not supported; "
                               "use the server's Streamable HTTP address");
    if (!value_is_nil(map_get(entry, "envFile")))
        return refuse(reading, "envFile is not read; name its variables in env");
    if (has_command)
        return read_argv(reading, entry, into) &&
               read_pairs(reading, entry, "env", "=", &into->environment);
    if (!read_text(reading, "url", SPAN(""), map_get(entry, "url"), &into->url))
        return false;
    if (strncmp(into->url, "http://", 7) != 0 && strncmp(into->url, "https://", 8) != 0)
        return refuse(reading, "url must begin with http:// or https://");
    return read_pairs(reading, entry, "headers", ": ", &into->headers);
}

static bool name_is_valid(struct span name)
{
    for (size_t i = 0; i < name.length; i++)
        if (!ascii_is_letter(name.data[i]) && !ascii_is_digit(name.data[i]) &&
            !strchr("_-.", name.data[i]))
            return false;
    return name.length > 0 && name.length <= UPSTREAM_NAME_MAX && ascii_is_letter(name.data[0]);
}

static bool is_known(const struct upstream_config *config, struct span name)
{
    for (size_t i = 0; i < config->count; i++)
        if (span_equal_text(name, config->entries[i].name))
            return true;
    return false;
}

static bool has_part(value text, const char *part)
{
    return value_is_string(text) && value_text(text).length >= strlen(part) &&
           memmem(value_text(text).data, value_text(text).length, part, strlen(part));
}

// By its program, or by the package that npx gets.
static bool is_cadre(value entry)
{
    value command = map_get(entry, "command"), args = map_get(entry, "args");
    if (!value_is_string(command))
        return false;
    struct span text = value_text(command);
    const char *slash = text.length ? memrchr(text.data, '/', text.length) : NULL;
    if (slash)
        text = (struct span){slash + 1, text.length - (size_t)(slash + 1 - text.data)};
    bool is = span_equal_text(text, "cadre") || span_equal_text(text, "cadre-mcp");
    for (size_t i = 0; value_is_vector(args) && i < vector_count(args); i++)
        is = is || has_part(vector_at(args, i), "cadre-mcp");
    return is;
}

static bool read_entry(struct reading *reading, value entry)
{
    struct upstream_config *config = reading->config;
    if (!value_is_map(entry))
        return refuse(reading, "must be an object");
    if (map_get_boolean(entry, "disabled") || is_known(config, reading->server))
        return true;
    bool is_named_cadre = reading->left_out && span_equal_text(reading->server, "cadre");
    if (is_named_cadre || is_cadre(entry))
        return reading->left_out ? refuse(reading, "is Cadre itself") : true;
    if (!name_is_valid(reading->server))
        return refuse(reading, "a name has letters, digits, '_', '-' and '.', begins with a letter "
                               "and has at most 64 characters");
    if (config->count == UPSTREAM_SERVERS_MAX)
        return refuse(reading, "at most %d servers", UPSTREAM_SERVERS_MAX);
    struct upstream_entry *into = &config->entries[config->count];
    *into = (struct upstream_entry){.name = keep(reading, reading->server),
                                    .source = keep(reading, span_from(reading->path))};
    int64_t parallel, result;
    if (!read_place(reading, entry, into) ||
        !read_number(reading, entry, "timeout_ms", UPSTREAM_TIMEOUT_MS, UPSTREAM_TIMEOUT_MAX_MS,
                     &into->timeout_ms) ||
        !read_number(reading, entry, "max_parallel", UPSTREAM_PARALLEL, UPSTREAM_PARALLEL,
                     &parallel) ||
        !read_number(reading, entry, "max_result", UPSTREAM_RESULT_BYTES, UPSTREAM_RESULT_MAX_BYTES,
                     &result) ||
        !read_retry(reading, entry, &into->retry))
        return false;
    into->max_result = (size_t)result;
    into->max_parallel = (unsigned)parallel;
    into->with_data = map_get_boolean(entry, "data");
    config->count++;
    return true;
}

// --- files ---------------------------------------------------------------------------------------

bool upstream_config_add_entries(struct upstream_config *config, const char *source, value entries,
                                 struct buffer *left_out, struct error *error)
{
    value name, entry;
    struct map_cursor cursor = map_iterate(entries);
    while (map_next(&cursor, &name, &entry)) {
        struct reading reading = {config, source, value_text(name), left_out, error};
        if (read_entry(&reading, entry))
            continue;
        if (!left_out)
            return false;
        buffer_append_format(left_out, "left out: %s\n", error->message);
    }
    return true;
}

static bool read_servers(struct upstream_config *config, const char *path, struct span text,
                         struct error *error)
{
    value file;
    struct error inner;
    struct json_options options = {.reject_duplicate_names = true};
    if (!json_read(config->region, text, &options, &file, &inner))
        return error_set(error, ERROR_SYNTAX, "%s:%u:%u: %s", path, inner.line, inner.column,
                         inner.message);
    value servers = value_is_map(file) ? map_get(file, "mcpServers") : value_nil();
    if (value_is_nil(servers) && value_is_map(file))
        servers = map_get(file, "servers");
    if (!value_is_map(servers))
        return error_set(error, ERROR_INVALID, "%s: has no object mcpServers (or servers)", path);
    return upstream_config_add_entries(config, path, servers, NULL, error);
}

bool upstream_config_add_file(struct upstream_config *config, const char *path, struct error *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return error_set(error, ERROR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
    CLEANUP_BUFFER struct buffer content;
    buffer_init(&content, UPSTREAM_FILE_MAX);
    int failed = buffer_append_descriptor(&content, descriptor);
    close(descriptor);
    if (failed < 0)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path, strerror(-failed));
    if (content.failed)
        return error_set(error, ERROR_LIMIT, "%s is larger than %d bytes", path, UPSTREAM_FILE_MAX);
    return read_servers(config, path, buffer_span(&content), error);
}

// --- redacting -----------------------------------------------------------------------------------

static void redact(struct buffer *text, struct span secret)
{
    if (secret.length < SECRET_MIN)
        return;
    for (char *at = memmem(text->data, text->length, secret.data, secret.length); at;
         at = memmem(at, text->length - (size_t)(at - text->data), secret.data, secret.length))
        memset(at, '*', secret.length);
}

// The whole, and the parts of it between separators.
static void redact_words(struct buffer *text, struct span words, const char *separators)
{
    redact(text, words);
    for (size_t at = 0; at < words.length;) {
        size_t length = 0;
        while (at + length < words.length && !strchr(separators, words.data[at + length]))
            length++;
        redact(text, (struct span){words.data + at, length});
        at += length + 1;
    }
}

// Also the parts of a value between blanks: "Bearer TOKEN".
static void redact_parts(struct buffer *text, const char *pair, const char *joint)
{
    const char *at = strstr(pair, joint);
    if (!at)
        return;
    redact_words(text, span_from(at + strlen(joint)), " ");
}

// What is secret in an address: user and password, and what is asked for. Not the host and the path.
static void redact_address(struct buffer *text, const char *url)
{
    const char *host = strstr(url, "://");
    const char *end = host ? host + 3 + strcspn(host + 3, "/?#") : NULL;
    const char *at = host ? memrchr(host, '@', (size_t)(end - host)) : NULL;
    if (at)
        redact_words(text, (struct span){host + 3, (size_t)(at - host) - 3}, ":");
    const char *query = strchr(url, '?');
    if (query)
        redact_words(text, span_from(query + 1), "&=");
}

void upstream_entry_redact(const struct upstream_entry *entry, struct buffer *text)
{
    if (text->length == 0)
        return;
    for (size_t i = 0; entry->environment && entry->environment[i]; i++)
        redact_parts(text, entry->environment[i], "=");
    for (size_t i = 0; entry->headers && entry->headers[i]; i++)
        redact_parts(text, entry->headers[i], ": ");
    if (entry->url)
        redact_address(text, entry->url);
}
