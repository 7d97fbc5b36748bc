#include "upstream/upstream_curl.h"

#include <dlfcn.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "session/core.h"

enum { OLDEST = 0x075500 };  // 7.85: CURLOPT_PROTOCOLS_STR

static struct curl_api api;
static bool is_loaded;

// The machine's own is preferred: it gets security updates. The packages bring one for machines
// without.
static void *open_library(void)
{
    CLEANUP_FREE char *brought = session_find_brought("curl/libcurl.so.4");
    const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", brought};
    void *library = NULL;
    for (size_t i = 0; i < COUNT_OF(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static bool find_functions(void *library)
{
    const struct {
        const char *name;
        void *slot;
    } functions[] = {
        {"curl_easy_init", &api.easy_init},
        {"curl_easy_setopt", &api.easy_setopt},
        {"curl_easy_getinfo", &api.easy_getinfo},
        {"curl_easy_strerror", &api.easy_strerror},
        {"curl_easy_cleanup", &api.easy_cleanup},
        {"curl_slist_append", &api.slist_append},
        {"curl_slist_free_all", &api.slist_free_all},
        {"curl_multi_init", &api.multi_init},
        {"curl_multi_setopt", &api.multi_setopt},
        {"curl_multi_add_handle", &api.multi_add_handle},
        {"curl_multi_remove_handle", &api.multi_remove_handle},
        {"curl_multi_socket_action", &api.multi_socket_action},
        {"curl_multi_assign", &api.multi_assign},
        {"curl_multi_info_read", &api.multi_info_read},
        {"curl_multi_cleanup", &api.multi_cleanup},
        {"curl_url", &api.url},
        {"curl_url_set", &api.url_set},
        {"curl_url_get", &api.url_get},
        {"curl_url_cleanup", &api.url_cleanup},
        {"curl_free", &api.free},
    };
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found)
            return false;
        memcpy(functions[i].slot, &found, sizeof(found));
    }
    return true;
}

static bool begin(void *library)
{
    CURLcode (*global_init)(long flags);
    curl_version_info_data *(*version_info)(CURLversion age);
    void *init = dlsym(library, "curl_global_init"), *info = dlsym(library, "curl_version_info");
    if (!init || !info || !find_functions(library))
        return false;
    memcpy(&global_init, &init, sizeof(init));
    memcpy(&version_info, &info, sizeof(info));
    return version_info(CURLVERSION_NOW)->version_num >= OLDEST &&
           global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

const struct curl_api *curl_api_load(struct error *error)
{
    if (is_loaded)
        return &api;
    void *library = open_library();
    if (!library) {
        error_set(error, ERROR_SYSTEM,
                  "servers with a url need the library libcurl, which this machine lacks "
                  "(on Debian: apt install libcurl4)");
        return NULL;
    }
    if (!begin(library)) {
        dlclose(library);
        error_set(error, ERROR_SYSTEM, "the libcurl of this machine is older than 7.85");
        return NULL;
    }
    is_loaded = true;
    return &api;
}
