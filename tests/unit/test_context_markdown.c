// Rendering, byte for byte: the cases R1 to R19, and what hostile content does to them.
#include "base/array.h"
#include "base/utf8.h"
#include "context/markdown.h"
#include "context_support.h"

#define P "## Context\n\n"
#define R1_ADD                                                                             \
    "{\"content\":\"(defun add (a b) (+ a b))\",\"metadata\":{\"filename\":\"math.lisp\"," \
    "\"start_line\":5,\"end_line\":7}}"
#define R1_BLOCK "### Code\n#### math.lisp:5-7\n```lisp\n(defun add (a b) (+ a b))\n```\n"
#define TENS "0123456789"
#define A10 "aaaaaaaaaa"
#define A100 A10 A10 A10 A10 A10 A10 A10 A10 A10 A10
#define B10 "bbbbbbbbbb"
#define B100 B10 B10 B10 B10 B10 B10 B10 B10 B10 B10
#define TEXT_A "{\"type\":\"text\",\"content\":\"" A100 "\"}"
#define TEXT_B "{\"type\":\"text\",\"content\":\"" B100 "\"}"
#define CODE_C "{\"content\":\"(c)\"}"
#define BLOCK_A "### Text\n```text\n" A100 "\n```\n"
#define BLOCK_B "### Text\n```text\n" B100 "\n```\n"
#define BLOCK_C "### Code\n```lisp\n(c)\n```\n"

static void expect_render(struct context_test *test, const char *arguments, const char *document)
{
    struct context_result result = render(test, arguments);
    cr_assert(result.ok, "%s", result.error.message);
    cr_expect_str_eq(text_of(test, result.text), document);
    cr_expect_str_eq(text_of(test, map_get(result.structured, "markdown")), document);
    cr_expect_eq(map_get(result.structured, "characters").integer,
                 (int64_t)utf8_count(document, strlen(document)));
}

static void expect_item(const char *addition, const char *document)
{
    struct context_test test = context_test_start();
    must_add(&test, addition);
    expect_render(&test, "{}", document);
    context_test_end(&test);
}

Test(context_markdown, R1_R4_to_R13)
{
    expect_item(R1_ADD, P R1_BLOCK);
    expect_item("{\"type\":\"file\",\"content\":\"x = 1\\n\",\"metadata\":{\"filename\":\"b.py\"}}",
                P "### File\n#### b.py\n```python\nx = 1\n```\n");
    expect_item("{\"type\":\"repl-history\",\"content\":\"CL-USER> (+ 1 2)\\n=> 3\",\"metadata\":"
                "{\"start_line\":1,\"end_line\":2}}",
                P "### Repl-History\n```lisp\nCL-USER> (+ 1 2)\n=> 3\n```\n");
    expect_item("{\"type\":\"error\",\"content\":\"[ERROR] "
                "X\\nboom\",\"metadata\":{\"filename\":\"c.lisp\","
                "\"start_line\":4}}",
                P "### Error\n#### c.lisp:4\n```text\n[ERROR] X\nboom\n```\n");
    expect_item("{\"type\":\"custom\",\"content\":\"keep it "
                "simple\",\"metadata\":{\"custom_type\":\"decision\"}}",
                P "### Custom\n#### decision\n```text\nkeep it simple\n```\n");
    expect_item("{\"type\":\"custom\",\"content\":\"{}\",\"metadata\":{\"custom_type\":\"cfg\","
                "\"format\":\"json\","
                "\"filename\":\"x.foo\"}}",
                P "### Custom\n#### cfg\n#### x.foo\n```json\n{}\n```\n");
    expect_item("{\"type\":\"text\",\"content\":\"a\\n```lisp\\n(b)\\n```\"}",
                P "### Text\n````text\na\n```lisp\n(b)\n```\n````\n");
    expect_item("{\"type\":\"text\",\"content\":\"````\"}", P "### Text\n`````text\n````\n`````\n");
    expect_item("{\"content\":\"\"}", P "### Code\n```lisp\n```\n");
    expect_item("{\"content\":\"x\",\"metadata\":{\"filename\":\"a\\nb.c\"}}",
                P "### Code\n#### a b.c\n```c\nx\n```\n");
    expect_item("{\"content\":\"all:\",\"metadata\":{\"filename\":\"src/Makefile\"}}",
                P "### Code\n#### src/Makefile\n```make\nall:\n```\n");
}

Test(context_markdown, R2_nothing)
{
    struct context_test test = context_test_start();
    expect_render(&test, "{}", "");
    must_add(&test, R1_ADD);
    expect_render(&test, "{\"limit\":0}", "");
    expect_render(&test, "{\"types\":[\"error\"]}", "");
    context_test_end(&test);
}

Test(context_markdown, R3_R14_several_and_inline)
{
    struct context_test test = context_test_start();
    must_add(&test, R1_ADD);
    expect_render(&test, "{\"style\":\"inline\"}",
                  P "### Code (from math.lisp:5-7)\n```lisp\n(defun add (a b) (+ a b))\n```\n");
    must_add(&test, "{\"type\":\"text\",\"content\":\"hello\"}");
    expect_render(&test, "{}", P R1_BLOCK "\n### Text\n```text\nhello\n```\n");
    context_test_end(&test);
}

Test(context_markdown, R15_R16_R19_budget)
{
    struct context_test test = context_test_start();
    must_add(&test, TEXT_A);
    must_add(&test, TEXT_B);
    must_add(&test, CODE_C);
    const char *all = P BLOCK_A "\n" BLOCK_B "\n" BLOCK_C;
    cr_assert_eq(strlen(all), 283);
    expect_render(&test, "{\"max_chars\":283}", all);
    for (int max_chars = 282; max_chars >= 200; max_chars--) {
        char arguments[64];
        CLEANUP_BUFFER struct buffer document;
        buffer_init(&document, BUFFER_DEFAULT_LIMIT);
        snprintf(arguments, sizeof(arguments), "{\"max_chars\":%d}", max_chars);
        buffer_append_format(&document,
                             P "[1 item omitted to fit %d characters]\n\n" BLOCK_B "\n" BLOCK_C,
                             max_chars);
        cr_assert_eq(document.length, 200);
        expect_render(&test, arguments, buffer_text(&document));
    }
    expect_render(&test, "{\"types\":[\"text\"],\"limit\":1}", P BLOCK_B);
    context_test_end(&test);
}

Test(context_markdown, R17_truncation)
{
    struct context_test test = context_test_start();
    CLEANUP_BUFFER struct buffer addition;
    buffer_init(&addition, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&addition, "{\"type\":\"text\",\"content\":\"");
    for (int i = 0; i < 50; i++)
        buffer_append_text(&addition, TENS);
    buffer_append_text(&addition, "\"}");
    must_add(&test, buffer_text(&addition));
    expect_render(&test, "{\"max_chars\":200}",
                  P
                  "### Text\n```text\n" TENS TENS TENS TENS TENS TENS TENS TENS TENS TENS TENS TENS
                  "0\n... [truncated: 121 of 500 characters shown]\n```\n");
    struct context_result result = render(&test, "{\"max_chars\":200}");
    cr_expect(map_get(result.structured, "truncated").boolean);
    context_test_end(&test);
}

Test(context_markdown, R18_pinned_items_stay)
{
    struct context_test test = context_test_start();
    must_add(&test, "{\"type\":\"text\",\"content\":\"" A100 "\",\"pinned\":true}");
    must_add(&test, TEXT_B);
    expect_render(&test, "{\"max_chars\":200}",
                  P "[1 item omitted to fit 200 characters]\n\n" BLOCK_A);
    context_test_end(&test);
}

Test(context_markdown, languages)
{
    static const struct {
        const char *filename;
        const char *language;
    } table[] = {
        {"a.lisp", "lisp"},
        {"A.ASD", "lisp"},
        {"i.el", "elisp"},
        {"x.edn", "clojure"},
        {"x.h", "c"},
        {"x.hpp", "cpp"},
        {"x.mjs", "javascript"},
        {"x.ts", "typescript"},
        {"x.tsx", "tsx"},
        {"x.md", "markdown"},
        {"x.sh", "bash"},
        {"x.htm", "html"},
        {"x.yml", "yaml"},
        {"x.rs", "rust"},
        {"x.rb", "ruby"},
        {"x.exs", "elixir"},
        {"x.patch", "diff"},
        {"x.log", "text"},
        {"Dockerfile", "dockerfile"},
        {"x.unknown", "lisp"},
        {"x.lisp/README", "lisp"},
        {"x.py/README", "lisp"},
        {"makefile", "lisp"},
        {"py", "lisp"},
        {".py", "python"},
        {"x.", "lisp"},
        {"", "lisp"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        char addition[128];
        char document[192];
        snprintf(addition, sizeof(addition),
                 "{\"content\":\"x\",\"metadata\":{\"filename\":\"%s\"}}", table[i].filename);
        snprintf(document, sizeof(document), P "### Code\n#### %s\n```%s\nx\n```\n",
                 table[i].filename, table[i].language);
        expect_item(addition, document);
    }
    // repl-history and error do not look at the name; format counts only when it is a word.
    expect_item("{\"type\":\"error\",\"content\":\"x\",\"metadata\":{\"filename\":\"a.py\"}}",
                P "### Error\n#### a.py\n```text\nx\n```\n");
    expect_item("{\"type\":\"custom\",\"content\":\"x\",\"metadata\":{\"custom_type\":\"t\","
                "\"format\":\"a b\"}}",
                P "### Custom\n#### t\n```text\nx\n```\n");
}

Test(context_markdown, hostile_content)
{
    expect_item("{\"type\":\"text\",\"content\":\"a\\u0000b\"}",
                P "### Text\n```text\na\xEF\xBF\xBD"
                  "b\n```\n");
    expect_item("{\"type\":\"text\",\"content\":\"\\u00e9\\ud83d\\ude00\\n\\n\"}",
                P "### Text\n```text\né😀\n\n```\n");
    expect_item("{\"type\":\"custom\",\"content\":\"x\",\"metadata\":{\"custom_type\":\"a\\n## "
                "b\\u0085\"}}",
                P "### Custom\n#### a ## b \n```text\nx\n```\n");
}

// Whatever is stored and whatever the budget, the document keeps to it, and fences hold.
Test(context_markdown, budget_is_never_exceeded)
{
    struct context_test test = context_test_start();
    static const char *const additions[] = {
        "{\"type\":\"text\",\"content\":\"`````````````````````````````````````````````````````````"
        "```````````\"}",
        "{\"type\":\"code\",\"content\":\"é\\n`é``"
        "\\nééééééééééééééééééééééééééééééééééééééééééééééééééé\",\"metadata\":"
        "{\"filename\":\"" A100 A100 A100 ".c\",\"start_line\":1,\"end_line\":99999}}",
        "{\"type\":\"custom\",\"pinned\":true,\"content\":\"" B100 B100 "\\n\\n\\n" A100
        "\",\"metadata\":"
        "{\"custom_type\":\"" A100 A100 "\",\"format\":\"12345678901234567890123456789012\"}}",
        "{\"type\":\"repl-history\",\"content\":\"\"}",
        "{\"type\":\"text\",\"content\":\"\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n" A100 "\\n\\n\\n\\n" A100
        "\"}",
    };
    for (size_t i = 0; i < COUNT_OF(additions); i++)
        must_add(&test, additions[i]);
    for (size_t single = 0; single <= 5; single++) {
        for (int max_chars = 200; max_chars < 1500; max_chars++) {
            for (int style = 0; style < 2; style++) {
                char arguments[128];
                snprintf(arguments, sizeof(arguments),
                         "{\"max_chars\":%d,\"limit\":%zu,\"style\":\"%s\"}", max_chars, single,
                         style ? "inline" : "block");
                struct context_result result = render(&test, arguments);
                struct span text = value_text(result.text);
                size_t characters = utf8_count(text.data, text.length);
                cr_assert_leq(characters, (size_t)max_chars, "%s: %zu", arguments, characters);
                cr_assert_eq((int64_t)characters, map_get(result.structured, "characters").integer);
                cr_assert_eq((size_t)(map_get(result.structured, "shown").integer +
                                      map_get(result.structured, "omitted").integer),
                             single);
                cr_assert(utf8_is_valid(text.data, text.length));
            }
        }
        region_clear(test.region);
    }
    context_test_end(&test);
}
