// The framing of HTTP requests: what is accepted, what is refused and how, in whatever pieces the
// bytes arrive.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "mcp/http/http_parser.h"

enum { LIMIT = 1000 };

// "200 body|200 body|400": the requests of the text, fed in pieces of this size. Bytes after a
// refusal do not count.
static void outcome(struct span text, size_t piece, char *ret_text, size_t size)
{
    struct http_parser parser;
    http_parser_init(&parser, LIMIT);
    size_t written = 0;
    ret_text[0] = '\0';
    for (size_t at = 0; at < text.length;) {
        size_t length = text.length - at < piece ? text.length - at : piece, used;
        enum http_progress progress =
            http_parser_feed(&parser, (struct span){text.data + at, length}, &used);
        cr_assert(used <= length && (used > 0 || progress == HTTP_REFUSED));
        at += used;
        if (progress == HTTP_WHOLE) {
            struct http_request *request = http_parser_take(&parser);
            written += (size_t)snprintf(ret_text + written, size - written, "%s200 %s",
                                        written ? "|" : "", buffer_text(&request->body));
            http_request_free(request);
        } else if (progress == HTTP_REFUSED) {
            snprintf(ret_text + written, size - written, "%s%d", written ? "|" : "",
                     parser.refusal.status);
            break;
        }
    }
    http_parser_release(&parser);
}

static void expect_span(struct span text, const char *expected)
{
    static const size_t pieces[] = {SIZE_MAX, 1, 2, 3, 7, 64};
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        char got[4096];
        outcome(text, pieces[i], got, sizeof(got));
        cr_expect_str_eq(got, expected, "%.*s in pieces of %zu: %s", (int)text.length, text.data,
                         pieces[i], got);
    }
}

static void expect(const char *text, const char *expected)
{
    expect_span(span_from(text), expected);
}

// A POST with these headers and this body.
static void expect_post(const char *headers, const char *body, const char *expected)
{
    char text[4096];
    snprintf(text, sizeof(text), "POST /mcp HTTP/1.1\r\nHost: a\r\n%s\r\n%s", headers, body);
    expect(text, expected);
}

static void expect_chunked(const char *body, const char *expected)
{
    expect_post("Transfer-Encoding: chunked\r\n", body, expected);
}

Test(http_parser, whole_requests)
{
    expect("GET / HTTP/1.1\r\n\r\n", "200 ");
    expect("GET / HTTP/1.1\r\nA: b\r\n\r\nGET / HTTP/1.0\r\n\r\n", "200 |200 ");
    expect("\r\nGET / HTTP/1.1\r\n\r\n", "200 ");
    expect_post("Content-Length: 5\r\n", "12345", "200 12345");
    expect_post("content-length:\t005 \t\r\n", "12345", "200 12345");
    expect_post("Content-Length: 2\r\n", "12GET / HTTP/1.1\r\n\r\n", "200 12|200 ");
    expect_post("", "", "200 ");
    expect_post("Content-Length: 0\r\nContent-Encoding: identity\r\n", "", "200 ");
    expect("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "200 ");
    expect_chunked("5\r\n12345\r\n0\r\n\r\n", "200 12345");
    expect_chunked("A\r\n1234567890\r\n00a\r\nabcdefghij\r\n000\r\n\r\n",
                   "200 1234567890abcdefghij");
    expect_chunked("0\r\n\r\nGET / HTTP/1.1\r\n\r\n", "200 |200 ");
}

Test(http_parser, extensions_and_trailers_by_the_grammar)
{
    expect_chunked("1;a\r\nx\r\n0;b=c\r\n\r\n", "200 x");
    expect_chunked("1 ; a = \"b; \\\"c\" ;d\r\nx\r\n0\r\n\r\n", "200 x");
    expect_chunked("1\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\n", "200 x");
    expect_chunked("1;\r\nx\r\n0\r\n\r\n", "400");
    expect_chunked("1;a=\r\nx\r\n0\r\n\r\n", "400");
    expect_chunked("1;a=\"b\r\nx\r\n0\r\n\r\n", "400");
    expect_chunked("1;a\nb\r\nx\r\n0\r\n\r\n", "400");
    expect_chunked("1 \r\nx\r\n0\r\n\r\n", "400");
    expect_chunked("1\r\nx\r\n0\r\nA\r\n\r\n", "400");
    expect_chunked("1\r\nx\r\n0\r\n A: b\r\n\r\n", "400");
    expect_chunked("1\r\nx\r\n0\r\nA: b\n\r\n", "400");
}

Test(http_parser, chunk_sizes_are_plain_hexadecimal)
{
    static const char *const wrong[] = {"0x5", "+5",  "-5",  " 5",  "5 ",  "5g",           "",
                                        "\t5", "5,5", "5_0", "0X5", "5.0", "\xef\xbc\x95", "5\r"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char body[64];
        snprintf(body, sizeof(body), "%s\r\n12345\r\n0\r\n\r\n", wrong[i]);
        expect_chunked(body, "400");
    }
    expect_chunked("5\n12345\n0\n\n", "400");
    expect_chunked("5\r\n12345\n0\r\n\r\n", "400");
    expect_chunked("5\r\n1234567\r\n0\r\n\r\n", "400");
    expect_chunked("5\r\n12345\r0\r\n\r\n", "400");
    expect_chunked("0\n\n", "400");
    expect_chunked("0\r\n\n", "400");
}

Test(http_parser, two_lengths_are_refused)
{
    expect_post("Content-Length: 5\r\nContent-Length: 5\r\n", "12345", "400");
    expect_post("Content-Length: 5\r\nContent-Length: 6\r\n", "12345", "400");
    expect_post("Content-Length: 5, 5\r\n", "12345", "400");
    expect_post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", "400");
    expect_post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n", "400");
    expect_post("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", "12345", "400");
    expect_post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", "400");
    static const char *const wrong[] = {"+5", "-5", "0x5", "5 5", "", "5a", "5;", "\"5\"", "5."};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char header[64];
        snprintf(header, sizeof(header), "Content-Length: %s\r\n", wrong[i]);
        expect_post(header, "12345", "400");
    }
    static const char *const encodings[] = {
        "gzip, chunked", "xchunked", "chunked, identity", "identity", "\"chunked\"",
        "chunked;a",     "",         "chunked,"};
    for (size_t i = 0; i < COUNT_OF(encodings); i++) {
        char header[64];
        snprintf(header, sizeof(header), "Transfer-Encoding: %s\r\n", encodings[i]);
        expect_post(header, "0\r\n\r\n", "400");
    }
    expect("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400");
}

Test(http_parser, lines_and_headers_by_the_grammar)
{
    expect_post("A: b\r\n c: d\r\n", "", "400");
    expect_post("A: b\r\n\tc\r\n", "", "400");
    expect_post(" A: b\r\n", "", "400");
    expect_post("A : b\r\n", "", "400");
    expect_post("A\t: b\r\n", "", "400");
    expect_post("A\r\n", "", "400");
    expect_post(": b\r\n", "", "400");
    expect_post("A(: b\r\n", "", "400");
    expect_post("A: b\n", "", "400");
    expect_post("A: b\rC: d\r\n", "", "400");
    expect_post("A: b\r\r\n", "", "400");
    expect_post("A: \x01\r\n", "", "400");
    expect_post("A: \x7f\r\n", "", "400");
    expect_post("A: \xe4\r\n", "", "200 ");
    expect_span(SPAN("GET / HTTP/1.1\r\nA: b\0c\r\n\r\n"), "400");
    expect("GET / HTTP/1.1\n\n", "400");
    expect("\nGET / HTTP/1.1\r\n\r\n", "400");
    expect("\r\n\r\nGET / HTTP/1.1\r\n\r\n", "400");
    expect("GET / HTTP/1.1\r\n\n", "400");
}

Test(http_parser, first_lines)
{
    expect("GET  / HTTP/1.1\r\n\r\n", "400");
    expect("GET /  HTTP/1.1\r\n\r\n", "400");
    expect("GET / HTTP/1.1 \r\n\r\n", "400");
    expect(" GET / HTTP/1.1\r\n\r\n", "400");
    expect("GET\t/ HTTP/1.1\r\n\r\n", "400");
    expect("GET /\r\n\r\n", "400");
    expect("GET\r\n\r\n", "400");
    expect("G\"T / HTTP/1.1\r\n\r\n", "400");
    expect("GET / http/1.1\r\n\r\n", "400");
    expect("GET / HTTP/11\r\n\r\n", "400");
    expect("GET / HTTP/01.1\r\n\r\n", "400");
    expect("GET /\x80 HTTP/1.1\r\n\r\n", "400");
    expect("GET /#a HTTP/1.1\r\n\r\n", "400");
    expect("FOO / HTTP/1.1\r\n\r\n", "501");
    expect("get / HTTP/1.1\r\n\r\n", "501");
    expect("GET / HTTP/2.0\r\n\r\n", "505");
    expect("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505");
    expect("GET / HTTP/9.9\r\n\r\n", "505");
}

Test(http_parser, bodies_where_there_is_none)
{
    expect("GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "400");
    expect("DELETE / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "400");
    expect("HEAD / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400");
    expect("TRACE / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "400");
    expect_post("Content-Length: 1\r\nContent-Encoding: gzip\r\n", "x", "415");
    expect_post("Content-Length: 1\r\nContent-Encoding: identity\r\nContent-Encoding: br\r\n", "x",
                "415");
    expect_post("Content-Length: 1\r\nExpect: magic\r\n", "x", "417");
}

Test(http_parser, limits)
{
    char body[LIMIT + 2], text[2 * LIMIT], expected[2 * LIMIT];
    memset(body, 'x', sizeof(body));
    body[LIMIT] = '\0';
    snprintf(expected, sizeof(expected), "200 %s", body);
    expect_post("Content-Length: 1000\r\n", body, expected);
    snprintf(text, sizeof(text), "3e8\r\n%s\r\n0\r\n\r\n", body);
    expect_chunked(text, expected);
    expect_post("Content-Length: 1001\r\n", "", "413");
    expect_post("Content-Length: 18446744073709551617\r\n", "x", "413");
    expect_chunked("3e9\r\n", "413");
    expect_chunked("10000000000000001\r\n", "413");
    snprintf(text, sizeof(text), "3e8\r\n%s\r\n1\r\n", body);
    expect_chunked(text, "413");
}

// A head of this many headers, the last one of this length.
static const char *head_of(size_t count, size_t length)
{
    static char text[2 * HTTP_HEADER_BYTES];
    size_t used = (size_t)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n");
    for (size_t i = 1; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "A: b\r\n");
    memset(text + used, 'n', length);
    snprintf(text + used + length, sizeof(text) - used - length, ": b\r\n\r\n");
    return text;
}

Test(http_parser, size_of_the_head)
{
    expect(head_of(HTTP_HEADER_COUNT, 1), "200 ");
    expect(head_of(HTTP_HEADER_COUNT + 1, 1), "431");
    size_t rest = strlen("GET / HTTP/1.1\r\n: b\r\n\r\n");
    expect(head_of(1, HTTP_HEADER_BYTES - rest), "200 ");
    expect(head_of(1, HTTP_HEADER_BYTES - rest + 1), "431");
}

static struct http_request *parse(const char *text)
{
    struct http_parser parser;
    size_t used;
    http_parser_init(&parser, LIMIT);
    cr_assert_eq(http_parser_feed(&parser, span_from(text), &used), HTTP_WHOLE, "%s", text);
    struct http_request *request = http_parser_take(&parser);
    http_parser_release(&parser);
    return request;
}

Test(http_parser, parts_of_a_request)
{
    struct http_request *request =
        parse("POST http://host:1/mcp?token=a HTTP/1.1\r\nA:  b c \r\na: d\r\n"
              "Connection: x, Close\r\nExpect: 100-Continue\r\n\r\n");
    size_t count;
    cr_expect_str_eq(request->authority, "host:1");
    cr_expect_str_eq(request->path, "/mcp");
    cr_expect_str_eq(request->query, "token=a");
    cr_expect_str_eq(http_request_field(request, "A", &count), "b c");
    cr_expect_eq(count, 2);
    cr_expect_null(http_request_field(request, "B", &count));
    cr_expect(request->wants_close && request->wants_go && !request->has_body);
    http_request_free(request);

    request = parse("OPTIONS * HTTP/1.0\r\n\r\n");
    cr_expect_eq(request->method, HTTP_OTHER);
    cr_expect_str_eq(request->path, "");
    cr_expect(request->wants_close && !request->authority);
    http_request_free(request);

    request = parse("GET http://a HTTP/1.1\r\n\r\n");
    cr_expect_str_eq(request->authority, "a");
    cr_expect_str_eq(request->path, "");
    http_request_free(request);
}
