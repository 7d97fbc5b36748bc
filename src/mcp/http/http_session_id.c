// Ids of sessions that any process with the key goes on with: what is known of the session, and a
// signature. They look like
//
//   LABEL.VERSION.CAN.FLAGS.LEVEL.NAME.RANDOM.SIGNATURE
//
// where NAME (as the client calls itself), RANDOM and SIGNATURE are hexadecimal.
#include <sodium.h>
#include <stdio.h>

#include "base/memory.h"
#include "mcp/http/http.h"

enum { RANDOM_BYTES = 8, SIGNATURE_BYTES = 16, SIGNATURE_TEXT = 2 * SIGNATURE_BYTES };

enum { FLAG_STRUCTURED = 1, FLAG_ALL_TOOLS = 2 };

static void sign(const unsigned char key[SESSION_KEY_BYTES], const char *text, size_t length,
                 char signature[SIGNATURE_TEXT + 1])
{
    unsigned char bytes[SIGNATURE_BYTES];
    crypto_generichash(bytes, sizeof(bytes), (const unsigned char *)text, length, key,
                       SESSION_KEY_BYTES);
    sodium_bin2hex(signature, SIGNATURE_TEXT + 1, bytes, sizeof(bytes));
}

// Ends before the signature. NULL: it is not signed with this key.
static const char *signed_end(const unsigned char key[SESSION_KEY_BYTES], const char *id)
{
    char signature[SIGNATURE_TEXT + 1];
    const char *last = strrchr(id, '.');
    if (!last || strlen(last + 1) != SIGNATURE_TEXT)
        return NULL;
    sign(key, id, (size_t)(last - id), signature);
    return sodium_memcmp(signature, last + 1, SIGNATURE_TEXT) == 0 ? last : NULL;
}

void session_id_write(const struct http_session *session, char id[SESSION_ID_SIZE])
{
    const struct peer *peer = &session->peer;
    unsigned char random[RANDOM_BYTES];
    char random_text[2 * RANDOM_BYTES + 1], name[2 * sizeof(peer->name) + 1],
        signature[SIGNATURE_TEXT + 1];
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(random_text, sizeof(random_text), random, sizeof(random));
    sodium_bin2hex(name, sizeof(name), (const unsigned char *)peer->name, strlen(peer->name));
    unsigned flags =
        (peer->structured ? FLAG_STRUCTURED : 0) | (peer->all_tools ? FLAG_ALL_TOOLS : 0);
    int length = snprintf(id, SESSION_ID_SIZE, "%s.%d.%u.%u.%d.%s.%s", session->http->session_label,
                          (int)peer->version, peer->client_can, flags, (int)peer->log_level, name,
                          random_text);
    sign(session->http->session_key, id, (size_t)length, signature);
    snprintf(id + length, SESSION_ID_SIZE - (size_t)length, ".%s", signature);
}

// It is signed: this process, or one like it, has written it.
bool session_id_read(const struct mcp_http *http, const char *id, struct peer *peer)
{
    char name[2 * sizeof(peer->name) + 1] = "";
    int version, level, used = 0;
    unsigned can, flags;
    size_t label = strlen(http->session_label), length;
    if (strlen(id) >= SESSION_ID_SIZE || !signed_end(http->session_key, id) ||
        strncmp(id, http->session_label, label) != 0 || id[label] != '.')
        return false;
    if (sscanf(id + label, ".%d.%u.%u.%d.%n", &version, &can, &flags, &level, &used) != 4 ||
        used == 0)
        return false;
    const char *hex = id + label + used;
    size_t hex_length = strcspn(hex, ".");
    if (hex_length >= sizeof(name) || version < 0 || version > VERSION_LAST_OF_2024 || level < 0 ||
        level >= MCP_LOG_LEVEL_COUNT)
        return false;
    memcpy(name, hex, hex_length);
    name[hex_length] = '\0';
    if (sodium_hex2bin((unsigned char *)peer->name, sizeof(peer->name) - 1, name, hex_length, NULL,
                       &length, NULL) != 0)
        return false;
    peer->name[length] = '\0';
    peer->version = (enum version)version;
    peer->client_can = can;
    peer->structured = flags & FLAG_STRUCTURED;
    peer->all_tools = flags & FLAG_ALL_TOOLS;
    peer->log_level = (enum mcp_log_level)level;
    peer->initialized = true;
    return true;
}

bool mcp_session_id_label(struct span key, const char *id, char label[SESSION_LABEL_MAX + 1])
{
    unsigned char hash[SESSION_KEY_BYTES];
    size_t length = strcspn(id, ".");
    crypto_generichash(hash, sizeof(hash), (const unsigned char *)key.data, key.length, NULL, 0);
    if (length == 0 || length > SESSION_LABEL_MAX || strlen(id) >= SESSION_ID_SIZE ||
        !signed_end(hash, id))
        return false;
    memcpy(label, id, length);
    label[length] = '\0';
    return true;
}
