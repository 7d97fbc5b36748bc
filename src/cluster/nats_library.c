#include "cluster/nats_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

static struct nats_library library;
static bool is_loaded;

static bool find_functions(void *handle)
{
    const struct {
        const char *name;
        void *slot;
    } functions[] = {
        {"natsStatus_GetText", &library.status_text},
        {"natsOptions_Create", &library.options_create},
        {"natsOptions_Destroy", &library.options_destroy},
        {"natsOptions_SetServers", &library.options_servers},
        {"natsOptions_SetName", &library.options_name},
        {"natsOptions_SetTimeout", &library.options_timeout},
        {"natsOptions_SetMaxReconnect", &library.options_max_reconnect},
        {"natsOptions_SetReconnectWait", &library.options_reconnect_wait},
        {"natsOptions_SetReconnectJitter", &library.options_reconnect_jitter},
        {"natsOptions_SetReconnectBufSize", &library.options_reconnect_buffer},
        {"natsOptions_SetPingInterval", &library.options_ping_interval},
        {"natsOptions_SetMaxPingsOut", &library.options_max_pings},
        {"natsOptions_SetSendAsap", &library.options_send_asap},
        {"natsOptions_SetWriteDeadline", &library.options_write_deadline},
        {"natsOptions_UseGlobalMessageDelivery", &library.options_global_delivery},
        {"natsOptions_SetUserCredentialsFromFiles", &library.options_credentials},
        {"natsOptions_LoadCATrustedCertificates", &library.options_ca},
        {"natsOptions_SetDisconnectedCB", &library.options_on_disconnected},
        {"natsOptions_SetReconnectedCB", &library.options_on_reconnected},
        {"natsOptions_SetClosedCB", &library.options_on_closed},
        {"natsConnection_Connect", &library.connect},
        {"natsConnection_Close", &library.close},
        {"natsConnection_Destroy", &library.destroy},
        {"natsConnection_PublishMsg", &library.publish},
        {"natsConnection_Subscribe", &library.subscribe},
        {"natsConnection_QueueSubscribe", &library.queue_subscribe},
        {"natsSubscription_Unsubscribe", &library.unsubscribe},
        {"natsSubscription_Destroy", &library.subscription_destroy},
        {"natsSubscription_SetOnCompleteCB", &library.subscription_on_complete},
        {"natsMsg_Create", &library.message_create},
        {"natsMsg_Destroy", &library.message_destroy},
        {"natsMsg_GetSubject", &library.message_subject},
        {"natsMsg_GetReply", &library.message_reply},
        {"natsMsg_GetData", &library.message_data},
        {"natsMsg_GetDataLength", &library.message_length},
        {"natsMsg_IsNoResponders", &library.message_no_responders},
        {"natsMsgHeader_Set", &library.message_set_header},
    };
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        void *found = dlsym(handle, functions[i].name);
        if (!found)
            return false;
        memcpy(functions[i].slot, &found, sizeof(found));
    }
    return true;
}

static void *open_library(struct error *error)
{
    void *handle = dlopen("libnats.so.3.4", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        error_set(error, ERROR_SYSTEM,
                  "a cluster needs the library libnats 3.4, which this machine lacks (on Debian: "
                  "apt install libnats3.4)");
    return handle;
}

const struct nats_library *nats_library_load(struct error *error)
{
    if (is_loaded)
        return &library;
    void *handle = open_library(error);
    if (!handle)
        return NULL;
    is_loaded = find_functions(handle);
    if (is_loaded)
        return &library;
    dlclose(handle);
    error_set(error, ERROR_SYSTEM, "the libnats of this machine lacks a function of version 3.4");
    return NULL;
}

bool nats_library_find(char version[NATS_LIBRARY_VERSION_SIZE], struct error *error)
{
    const char *(*get_version)(void);
    void *handle = open_library(error);
    void *found = handle ? dlsym(handle, "nats_GetVersion") : NULL;
    if (!handle)
        return false;
    if (found)
        memcpy(&get_version, &found, sizeof(found));
    snprintf(version, NATS_LIBRARY_VERSION_SIZE, "%s", found ? get_version() : "unknown");
    dlclose(handle);
    return true;
}
