// libnats (Debian: libnats3.4), loaded when a daemon joins a cluster: nobody else waits for it to load.
// The functions that Cadre calls, by the names they have there.
#pragma once

#include "base/error.h"

#ifdef HAVE_NATS
#include <nats/nats.h>

struct nats_library {
    __typeof__(natsStatus_GetText) *status_text;
    __typeof__(natsOptions_Create) *options_create;
    __typeof__(natsOptions_Destroy) *options_destroy;
    __typeof__(natsOptions_SetServers) *options_servers;
    __typeof__(natsOptions_SetName) *options_name;
    __typeof__(natsOptions_SetTimeout) *options_timeout;
    __typeof__(natsOptions_SetMaxReconnect) *options_max_reconnect;
    __typeof__(natsOptions_SetReconnectWait) *options_reconnect_wait;
    __typeof__(natsOptions_SetReconnectJitter) *options_reconnect_jitter;
    __typeof__(natsOptions_SetReconnectBufSize) *options_reconnect_buffer;
    __typeof__(natsOptions_SetPingInterval) *options_ping_interval;
    __typeof__(natsOptions_SetMaxPingsOut) *options_max_pings;
    __typeof__(natsOptions_SetSendAsap) *options_send_asap;
    __typeof__(natsOptions_SetWriteDeadline) *options_write_deadline;
    __typeof__(natsOptions_UseGlobalMessageDelivery) *options_global_delivery;
    __typeof__(natsOptions_SetUserCredentialsFromFiles) *options_credentials;
    __typeof__(natsOptions_LoadCATrustedCertificates) *options_ca;
    __typeof__(natsOptions_SetDisconnectedCB) *options_on_disconnected;
    __typeof__(natsOptions_SetReconnectedCB) *options_on_reconnected;
    __typeof__(natsOptions_SetClosedCB) *options_on_closed;
    __typeof__(natsConnection_Connect) *connect;
    __typeof__(natsConnection_Close) *close;
    __typeof__(natsConnection_Destroy) *destroy;
    __typeof__(natsConnection_PublishMsg) *publish;
    __typeof__(natsConnection_Subscribe) *subscribe;
    __typeof__(natsConnection_QueueSubscribe) *queue_subscribe;
    __typeof__(natsSubscription_Unsubscribe) *unsubscribe;
    __typeof__(natsSubscription_Destroy) *subscription_destroy;
    __typeof__(natsSubscription_SetOnCompleteCB) *subscription_on_complete;
    __typeof__(natsMsg_Create) *message_create;
    __typeof__(natsMsg_Destroy) *message_destroy;
    __typeof__(natsMsg_GetSubject) *message_subject;
    __typeof__(natsMsg_GetReply) *message_reply;
    __typeof__(natsMsg_GetData) *message_data;
    __typeof__(natsMsg_GetDataLength) *message_length;
    __typeof__(natsMsg_IsNoResponders) *message_no_responders;
    __typeof__(natsMsgHeader_Set) *message_set_header;
};

// The same table each time; NULL with a message.
const struct nats_library *nats_library_load(struct error *error);
#endif

enum { NATS_LIBRARY_VERSION_SIZE = 32 };
// Whether a daemon can join a cluster on this machine, for `cadre doctor`.
bool nats_library_find(char version[NATS_LIBRARY_VERSION_SIZE], struct error *error);
