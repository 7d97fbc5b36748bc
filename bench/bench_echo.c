// The least MCP server over standard input/output there is, with one tool, `echo`: what a program's call
// costs beside the server's own time. It knows the lines that Cadre and bench_client send, and no others.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer(const char *line)
{
    const char *id = strstr(line, "\"id\":");
    if (!id)
        return;  // a notification
    id += 5;
    int length = (int)strcspn(id, ",}");
    const char *result = "{}";
    if (strstr(line, "\"method\":\"initialize\""))
        result = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                 "\"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}";
    else if (strstr(line, "\"method\":\"tools/list\""))
        result = "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\","
                 "\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}]}";
    else if (strstr(line, "\"method\":\"tools/call\""))
        result = "{\"content\":[{\"type\":\"text\",\"text\":\"echoed\"}]}";
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}\n", length, id, result);
    fflush(stdout);
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0)
        answer(line);
    free(line);
    return EXIT_SUCCESS;
}
