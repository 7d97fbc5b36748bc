#include "context/language.h"

#include <stddef.h>

#include "base/array.h"
#include "base/ascii.h"

static const struct {
    const char *extension;
    const char *language;
} extensions[] = {
    {"lisp", "lisp"},
    {"cl", "lisp"},
    {"lsp", "lisp"},
    {"asd", "lisp"},
    {"el", "elisp"},
    {"scm", "scheme"},
    {"ss", "scheme"},
    {"clj", "clojure"},
    {"cljs", "clojure"},
    {"cljc", "clojure"},
    {"edn", "clojure"},
    {"c", "c"},
    {"h", "c"},
    {"cc", "cpp"},
    {"cpp", "cpp"},
    {"cxx", "cpp"},
    {"hh", "cpp"},
    {"hpp", "cpp"},
    {"py", "python"},
    {"js", "javascript"},
    {"mjs", "javascript"},
    {"cjs", "javascript"},
    {"ts", "typescript"},
    {"jsx", "jsx"},
    {"tsx", "tsx"},
    {"json", "json"},
    {"sql", "sql"},
    {"css", "css"},
    {"xml", "xml"},
    {"toml", "toml"},
    {"go", "go"},
    {"java", "java"},
    {"md", "markdown"},
    {"sh", "bash"},
    {"bash", "bash"},
    {"html", "html"},
    {"htm", "html"},
    {"yml", "yaml"},
    {"yaml", "yaml"},
    {"rs", "rust"},
    {"rb", "ruby"},
    {"ex", "elixir"},
    {"exs", "elixir"},
    {"diff", "diff"},
    {"patch", "diff"},
    {"txt", "text"},
    {"log", "text"},
};

static struct span base_name(struct span path)
{
    for (size_t i = path.length; i > 0; i--) {
        if (path.data[i - 1] == '/')
            return (struct span){path.data + i, path.length - i};
    }
    return path;
}

static bool equal_in_any_case(struct span text, const char *lower)
{
    if (text.length != strlen(lower))
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (ascii_to_lower(text.data[i]) != lower[i])
            return false;
    }
    return true;
}

static const char *language_of_file(struct span filename)
{
    struct span name = base_name(filename);
    if (span_equal(name, SPAN("Makefile")))
        return "make";
    if (span_equal(name, SPAN("Dockerfile")))
        return "dockerfile";
    size_t dot = name.length;
    while (dot > 0 && name.data[dot - 1] != '.')
        dot--;
    if (dot == 0)
        return NULL;
    struct span extension = {name.data + dot, name.length - dot};
    for (size_t i = 0; i < COUNT_OF(extensions); i++) {
        if (equal_in_any_case(extension, extensions[i].extension))
            return extensions[i].language;
    }
    return NULL;
}

static bool is_format(struct span format)
{
    enum { MAX_LENGTH = 32 };
    if (!format.data || format.length == 0 || format.length > MAX_LENGTH)
        return false;
    for (size_t i = 0; i < format.length; i++) {
        char byte = format.data[i];
        if (!ascii_is_letter(byte) && !ascii_is_digit(byte) &&
            !(byte != '\0' && strchr("_+#.-", byte)))
            return false;
    }
    return true;
}

struct span context_language(enum context_type type, struct span filename, struct span format)
{
    bool by_name = type != CONTEXT_REPL_HISTORY && type != CONTEXT_ERROR;
    const char *language = by_name && filename.data ? language_of_file(filename) : NULL;
    if (language)
        return span_from(language);
    if (type == CONTEXT_CUSTOM && is_format(format))
        return format;
    return type == CONTEXT_CODE || type == CONTEXT_REPL_HISTORY ? SPAN("lisp") : SPAN("text");
}
