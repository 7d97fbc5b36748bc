// The configuration of the user's MCP servers.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "upstream/upstream_config.h"

static struct upstream_config config;
static char path[] = "/tmp/upstream-config-XXXXXX";

static void setup(void)
{
    int descriptor = mkstemp(path);
    cr_assert(descriptor >= 0);
    close(descriptor);
    upstream_config_init(&config);
    setenv("UPSTREAM_TEST", "secret-value", 1);
    unsetenv("UPSTREAM_MISSING");
}

static void teardown(void)
{
    upstream_config_release(&config);
    unlink(path);
}

TestSuite(upstream_config, .init = setup, .fini = teardown);

static bool add(const char *text, struct error *error)
{
    FILE *file = fopen(path, "w");
    cr_assert(file);
    fputs(text, file);
    fclose(file);
    return upstream_config_add_file(&config, path, error);
}

static void expect_refused(const char *text, const char *message)
{
    struct error error = {0};
    cr_assert_not(add(text, &error), "%s", text);
    cr_expect(strstr(error.message, message), "%s", error.message);
    cr_expect(strstr(error.message, path), "%s", error.message);
}

Test(upstream_config, reads_processes_and_addresses)
{
    struct error error;
    cr_assert(add("{\"mcpServers\": {"
                  "\"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"${UPSTREAM_TEST}\"],"
                  "  \"env\": {\"TOKEN\": \"${UPSTREAM_TEST}\", \"B\": \"${UPSTREAM_MISSING:-b}\"},"
                  "  \"cwd\": \"/\", \"timeout_ms\": 5},"
                  "\"off\": {\"command\": \"x\", \"disabled\": true},"
                  "\"web\": {\"type\": \"http\", \"url\": \"https://example.org/mcp\","
                  "  \"headers\": {\"Authorization\": \"Bearer ${UPSTREAM_TEST}\"}}}}",
                  &error),
              "%s", error.message);
    cr_assert_eq(config.count, 2);
    const struct upstream_entry *files = &config.entries[0], *web = &config.entries[1];
    cr_expect_str_eq(files->name, "files");
    cr_expect_str_eq(files->argv[0], "npx");
    cr_expect_str_eq(files->argv[2], "secret-value");
    cr_expect_null(files->argv[3]);
    cr_expect_str_eq(files->environment[0], "TOKEN=secret-value");
    cr_expect_str_eq(files->environment[1], "B=b");
    cr_expect_str_eq(files->directory, "/");
    cr_expect_eq(files->timeout_ms, 5);
    cr_expect_eq(files->max_parallel, UPSTREAM_PARALLEL);
    cr_expect_str_eq(web->url, "https://example.org/mcp");
    cr_expect_str_eq(web->headers[0], "Authorization: Bearer secret-value");
}

Test(upstream_config, the_first_of_a_name_stays)
{
    struct error error;
    cr_assert(add("{\"mcpServers\": {\"a\": {\"command\": \"first\"}}}", &error));
    cr_assert(add("{\"servers\": {\"a\": {\"command\": \"second\"}}}", &error));
    cr_assert_eq(config.count, 1);
    cr_expect_str_eq(config.entries[0].argv[0], "first");
}

Test(upstream_config, refuses_what_is_wrong)
{
    expect_refused("{", "");
    expect_refused("{\"other\": 1}", "has no object mcpServers");
    expect_refused("{\"mcpServers\": {\"a\": {}}}", "server a: needs command or url");
    expect_refused("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"url\": \"y\"}}}",
                   "needs command or url, and not both");
    expect_refused("{\"mcpServers\": {\"a\": {\"command\": 1}}}", "command must be a string");
    expect_refused("{\"mcpServers\": {\"a\": {\"command\": \"\"}}}", "command is empty");
    expect_refused("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": 1}}}", "args");
    expect_refused("{\"mcpServers\": {\"a\": {\"command\": \"${UPSTREAM_MISSING}\"}}}",
                   "UPSTREAM_MISSING is not set");
    expect_refused("{\"mcpServers\": {\"a b\": {\"command\": \"x\"}}}", "a name has letters");
    expect_refused("{\"mcpServers\": {\"a\": {\"url\": \"file:///x\"}}}", "must begin with http");
    expect_refused("{\"mcpServers\": {\"a\": {\"type\": \"sse\", \"url\": \"http://x\"}}}", "SSE");
    expect_refused("{\"mcpServers\": {\"a\": {\"url\": \"http://x\", \"headers\": "
                   "{\"A\": \"b\\r\\nC: d\"}}}}",
                   "line break");
    expect_refused("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"timeout_ms\": 0}}}",
                   "timeout_ms is a whole number");
}

Test(upstream_config, hides_credentials)
{
    struct error error;
    cr_assert(
        add("{\"mcpServers\": {"
            "\"a\": {\"command\": \"x\", \"env\": {\"K\": \"${UPSTREAM_TEST}\", \"S\": \"1\"}},"
            "\"b\": {\"url\": \"http://x\", \"headers\": {\"H\": \"Bearer abcdefgh\"}}}}",
            &error));
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&text, "1: bad key secret-value, secret-value, abcdefgh");
    upstream_entry_redact(&config.entries[0], &text);
    upstream_entry_redact(&config.entries[1], &text);
    cr_expect_str_eq(buffer_text(&text), "1: bad key ************, ************, ********");
}

Test(upstream_config, retries)
{
    struct error error;
    cr_assert(add("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"max_result\": 1000,"
                  "\"retry\": {\"times\": 3, \"backoff_ms\": 20, \"on\": [\"error\"]}},"
                  "\"b\": {\"command\": \"x\", \"retry\": {}}, \"c\": {\"command\": \"x\"}}}",
                  &error));
    const struct upstream_entry *entries = config.entries;
    cr_assert_eq(entries[0].retry.times, 3);
    cr_assert_eq(entries[0].retry.backoff_ms, 20);
    cr_assert_eq(entries[0].retry.on, UPSTREAM_ERROR);
    cr_assert_eq(entries[0].max_result, 1000);
    cr_assert_eq(entries[1].retry.times, 1);
    cr_assert_eq(entries[1].retry.on, UPSTREAM_TIMEOUT | UPSTREAM_CONNECTION);
    cr_assert_eq(entries[2].retry.times, 0);
    expect_refused("{\"mcpServers\": {\"d\": {\"command\": \"x\", \"retry\": {\"times\": 11}}}}",
                   "times is a whole number from 1 to 10");
    expect_refused("{\"mcpServers\": {\"d\": {\"command\": \"x\", \"retry\": {\"on\": [\"x\"]}}}}",
                   "retry.on is an array of");
}

Test(upstream_config, cadre_itself_is_left_out)
{
    struct error error;
    cr_assert(add(
        "{\"mcpServers\": {\"a\": {\"command\": \"/usr/local/bin/cadre\", \"args\": [\"serve\"]},"
        "\"b\": {\"command\": \"npx\", \"args\": [\"-y\", \"cadre-mcp@0.2.0\", \"serve\"]},"
        "\"c\": {\"command\": \"cadre-like\"}}}",
        &error));
    cr_assert_eq(config.count, 1);
    cr_assert_str_eq(config.entries[0].name, "c");
}

// What is secret in texts of failures, and what is not.
Test(upstream_config, redacting)
{
    struct error error;
    cr_assert(
        add("{\"mcpServers\": {\"a\": {\"url\":"
            "\"https://someone:hidden-word@example.com/path-is-shown?key=secret-key&b=other-key\","
            "\"headers\": {\"Authorization\": \"Bearer the-token-of-it\"}}}}",
            &error));
    struct buffer text;
    buffer_init(&text, 1000);
    buffer_append_text(&text, "hidden-word secret-key other-key the-token-of-it "
                              "example.com path-is-shown");
    upstream_entry_redact(&config.entries[0], &text);
    cr_assert_str_eq(buffer_text(&text), "*********** ********** ********* *************** "
                                         "example.com path-is-shown");
    buffer_release(&text);
}
