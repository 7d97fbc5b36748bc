// The options of a server on HTTP: of `cadre serve` and `cadre daemon`.
#pragma once

#include "cli/table/option_reader.h"
#include "daemon/http/listening.h"

struct http_options {
    const char *address;  // [HOST:]PORT or unix:PATH; NULL: none
    struct token_options tokens;
    const char *allow_hosts[LISTENING_NAMES_MAX + 1];
    const char *allow_origins[LISTENING_NAMES_MAX + 1];
};

enum http_option { HTTP_OPTION_OTHER, HTTP_OPTION_TAKEN, HTTP_OPTION_WRONG };

// Takes the present option if it is one of these. WRONG: a message was printed.
enum http_option http_option_take(struct http_options *options, const struct option_reader *reader);
// Whether one was given that means nothing without an address. Prints a message. What is configured may
// stay unused.
bool http_options_lack_address(const struct http_options *options,
                               const struct option_reader *reader);
// Reads the tokens, and makes the user's where there is none. 0, or the exit status after a message. To
// be released either way.
int http_options_read(const struct http_options *options, const char *command,
                      struct listening *ret_listening);
// Says where the server listens. The one time that a token is shown is when it is made.
void http_options_announce(const struct listening *listening, const char *url, const char *command);
