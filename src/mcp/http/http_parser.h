// The form of HTTP/1.1 requests (RFC 9112), read from bytes as they come and refused where two
// readers could disagree on where a request ends. Nothing is repaired: a bare LF, a folded header,
// white space before a colon, two lengths, a chunk size that is not plain hexadecimal end the
// connection. It opens nothing and knows no sockets: it is fuzzed and tested alone.
#pragma once

#include "base/buffer.h"

enum {
    HTTP_HEADER_BYTES = 32 << 10,  // the head of a request, and its trailers
    HTTP_HEADER_COUNT = 100,
    HTTP_CHUNK_LINE = 256,  // a chunk's size with its extensions
};

// Why a request is not served.
struct refusal {
    int status;
    const char *message;
    const char *header;  // one more header, "Allow" or "WWW-Authenticate", or NULL
    const char *header_value;
};

enum http_method {
    HTTP_GET,
    HTTP_POST,
    HTTP_DELETE,
    HTTP_HEAD,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_OTHER,  // known to no endpoint
};

struct http_field {
    const char *name, *text;
};

struct http_request {
    struct buffer head;  // the texts below point into it
    enum http_method method;
    unsigned minor;         // of the version: HTTP/1.MINOR
    const char *authority;  // of an absolute target, "host:port"; NULL when it has none
    const char *path;       // "" for a target that is no path
    const char *query;      // what follows '?', or ""
    struct http_field fields[HTTP_HEADER_COUNT];
    size_t field_count;
    bool has_body;     // one is announced, of any length but 0
    bool wants_go;     // Expect: 100-continue
    bool wants_close;  // no further request on this connection
    struct buffer body;
};

// --- http_request.c: the head of a request -------------------------------------------------------

struct http_request *http_request_new(size_t body_limit);
void http_request_free(struct http_request *request);
// The first header of this name, or NULL; ret_count may be NULL.
const char *http_request_field(const struct http_request *request, const char *name,
                               size_t *ret_count);
// Ends in CR LF and has no other control character than HTAB.
bool http_line_is_clean(struct span line);
size_t http_token_length(const char *text);
// "Name: text" without its CR LF; cuts the line in place. False: not by the grammar.
bool http_field_parse(char *line, struct http_field *ret_field);
// The lines of head become method, target and fields. False: refused.
bool http_request_parse_head(struct http_request *request, struct refusal *refusal);

enum http_framing { FRAMING_NONE, FRAMING_LENGTH, FRAMING_CHUNKED };
// How the end of the body is found. False: refused.
bool http_request_find_framing(struct http_request *request, size_t body_limit,
                               enum http_framing *ret_framing, size_t *ret_length,
                               struct refusal *refusal);

// --- http_parser.c: from bytes to requests -------------------------------------------------------

enum http_progress {
    HTTP_MORE,     // all bytes were taken, the request is not complete
    HTTP_HEAD_IN,  // the head is complete, the body is not; reported once
    HTTP_WHOLE,    // the request is complete; what follows belongs to the next one
    HTTP_REFUSED,  // see refusal; the parser takes no more
};

enum http_part {
    PART_HEAD,
    PART_LENGTH,  // a body of known length
    PART_CHUNK_LINE,
    PART_CHUNK_DATA,
    PART_CHUNK_END,
    PART_TRAILER,
    PART_WHOLE,
    PART_REFUSED,
};

struct http_parser {
    enum http_part part;
    struct http_request *request;  // being read
    size_t body_limit;
    size_t line_start;   // in request->head
    bool skipped_line;   // one empty line before a request is forgiven
    size_t left;         // bytes of the body or chunk that are missing
    struct buffer line;  // a chunk line or a trailer
    size_t trailer_bytes;
    struct refusal refusal;
};

void http_parser_init(struct http_parser *parser, size_t body_limit);
void http_parser_release(struct http_parser *parser);
// Reads up to the end of one step; *ret_used is the number of bytes taken.
enum http_progress http_parser_feed(struct http_parser *parser, struct span bytes,
                                    size_t *ret_used);
// No byte of a request has been read.
bool http_parser_is_empty(const struct http_parser *parser);
// After HTTP_WHOLE: the request, which the caller owns and frees; the parser begins anew.
struct http_request *http_parser_take(struct http_parser *parser);
