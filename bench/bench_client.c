// The least client there is: sends the lines of standard input one after another and waits for the
// answer to each. A client in a scripting language takes longer to wake up and to look at its pipes
// than the server takes to answer; this one adds next to nothing.
//
//   bench_client PAUSE COMMAND [ARGUMENT…]                a process that answers a line with a line
//   bench_client PAUSE http://127.0.0.1:PORT [HEADER…]    POST /mcp over one connection; a line is a body
//
// Between two questions it sleeps PAUSE milliseconds. A line that starts with '!' is sent without
// the '!' and nothing is waited for. For each answer it prints: MILLISECONDS, a tab, the answer.
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"

enum { ANSWER_MAX = 1 << 20, QUESTION_MAX = 1 << 16 };

struct connection {
    int input;    // of the server
    int output;   // of the server
    pid_t child;  // 0: HTTP
    char *headers;
};

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static struct connection start_command(char **command)
{
    int input[2], output[2];
    CHECK(pipe(input) == 0 && pipe(output) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        for (int fd = STDERR_FILENO + 1; fd <= output[1]; fd++)
            close(fd);
        execvp(command[0], command);
        fail(command[0]);
    }
    close(input[0]);
    close(output[1]);
    return (struct connection){input[1], output[0], child, NULL};
}

static char *join_headers(char **headers)
{
    static char text[4096];
    size_t length = 0;
    for (; *headers; headers++) {
        int size = snprintf(text + length, sizeof(text) - length, "%s\r\n", *headers);
        CHECK(size > 0 && (length += (size_t)size) < sizeof(text));
    }
    return text;
}

static struct connection connect_http(int port, char **headers)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int descriptor = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
        fail("connect");
    return (struct connection){descriptor, descriptor, 0, join_headers(headers)};
}

static void send_question(const struct connection *connection, const char *line, size_t length)
{
    static char message[QUESTION_MAX + 8192];
    int size = connection->headers
                   ? snprintf(message, sizeof(message),
                              "POST /mcp HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%.*s",
                              connection->headers, length - 1, (int)length - 1, line)
                   : snprintf(message, sizeof(message), "%.*s", (int)length, line);
    CHECK(size > 0 && (size_t)size < sizeof(message));
    if (write(connection->input, message, (size_t)size) != size)
        fail("write");
}

// The whole of an HTTP answer: its head and as many bytes as it says.
static bool is_http_complete(const char *answer, size_t length)
{
    const char *body = strstr(answer, "\r\n\r\n"),
               *size = strcasestr(answer, "\r\ncontent-length:");
    if (!body || !size || size > body)
        return false;
    return length - (size_t)(body + 4 - answer) >= strtoul(size + 17, NULL, 10);
}

static size_t receive_answer(const struct connection *connection, char *answer)
{
    size_t length = 0;
    for (;;) {
        ssize_t count = read(connection->output, answer + length, ANSWER_MAX - 1 - length);
        if (count <= 0)
            fail("read");
        length += (size_t)count;
        answer[length] = '\0';
        if (connection->headers ? is_http_complete(answer, length) : answer[length - 1] == '\n')
            return length;
    }
}

static void print_answer(const struct connection *connection, int64_t ns, const char *answer)
{
    const char *text = connection->headers ? strstr(answer, "\r\n\r\n") + 4 : answer;
    printf("%.4f\t%.*s\n", (double)ns / 1e6, (int)strcspn(text, "\n"), text);
}

int main(int argc, char **argv)
{
    static char line[QUESTION_MAX], answer[ANSWER_MAX];
    static const char scheme[] = "http://127.0.0.1:";
    if (argc < 3) {
        fprintf(stderr, "usage: bench_client PAUSE COMMAND… | http://127.0.0.1:PORT HEADER…\n");
        return 2;
    }
    bool is_http = strncmp(argv[2], scheme, strlen(scheme)) == 0;
    struct connection connection =
        is_http ? connect_http(atoi(argv[2] + strlen(scheme)), argv + 3) : start_command(argv + 2);
    useconds_t pause = (useconds_t)(atof(argv[1]) * 1000);
    while (fgets(line, sizeof(line), stdin)) {
        bool is_question = line[0] != '!';
        const char *text = is_question ? line : line + 1;
        int64_t start = clock_now_ns();
        send_question(&connection, text, strlen(text));
        if (!is_question)
            continue;
        receive_answer(&connection, answer);
        print_answer(&connection, clock_now_ns() - start, answer);
        if (pause)
            usleep(pause);
    }
    close(connection.input);
    if (connection.child) {
        kill(connection.child, SIGKILL);
        waitpid(connection.child, NULL, 0);
    }
    return 0;
}
