// libcurl, loaded when the first server with a url starts: linked in, it and the 25 libraries it needs
// would triple the time that every `cadre` takes to start.
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

#include "base/error.h"

// What is used of it, by the names of libcurl without their prefix.
struct curl_api {
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    void (*easy_cleanup)(CURL *easy);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_socket_action)(CURLM *multi, curl_socket_t fd, int what, int *running);
    CURLMcode (*multi_assign)(CURLM *multi, curl_socket_t fd, void *data);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    CURLU *(*url)(void);
    CURLUcode (*url_set)(CURLU *url, CURLUPart part, const char *text, unsigned flags);
    CURLUcode (*url_get)(const CURLU *url, CURLUPart part, char **text, unsigned flags);
    void (*url_cleanup)(CURLU *url);
    void (*free)(void *data);
};

// Loads it once. NULL: ERROR_SYSTEM says what is missing.
const struct curl_api *curl_api_load(struct error *error);
