// requestState: the state of a request that asks the client, kept by the client between the turns.
// Its form is base64url(payload) "." base64url(HMAC-SHA256(key, payload)); the key lives as long as
// the process. The payload binds the state to the method, the parameters and the bearer token, and
// has a time of expiry. Each state is accepted once.
#include <sodium.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "mcp/mcp_internal.h"
#include "value/text/json.h"

enum {
    STATE_VERSION = 1,
    STATE_LIFE_S = 600,
    STATE_TEXT_MAX = 64 << 10,
    NONCE_SIZE = 16,
    // Nonces of used states that are stored; beyond that the oldest are overwritten.
    USED_MAX = 4096,
    BASE64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING,
};

struct request_states {
    unsigned char key[crypto_auth_hmacsha256_KEYBYTES];
    char token_hash[crypto_hash_sha256_BYTES * 2 + 1];
    char used[USED_MAX][NONCE_SIZE * 2 + 1];  // nonces, a ring
    size_t next;
};

struct request_states *request_states_new(void)
{
    CHECK(sodium_init() >= 0);
    struct request_states *states = memory_alloc_zero(sizeof(*states));
    randombytes_buf(states->key, sizeof(states->key));
    return states;
}

void request_states_free(struct request_states *states)
{
    sodium_memzero(states->key, sizeof(states->key));
    memory_free(states);
}

static void hash_hex(struct span text, char hex[crypto_hash_sha256_BYTES * 2 + 1])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text.data, text.length);
    sodium_bin2hex(hex, crypto_hash_sha256_BYTES * 2 + 1, hash, sizeof(hash));
}

void request_states_set_token(struct request_states *states, const char *token)
{
    hash_hex(span_from(token), states->token_hash);
}

// A hash of the parameters without those that change from turn to turn.
static void hash_params(struct mcp_call *call, char hex[crypto_hash_sha256_BYTES * 2 + 1])
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    value kept = map_new(call->region), name, item;
    struct map_cursor cursor = map_iterate(call->params);
    while (map_next(&cursor, &name, &item)) {
        struct span word = value_text(name);
        if (!span_equal_text(word, "_meta") && !span_equal_text(word, "inputResponses") &&
            !span_equal_text(word, "requestState"))
            kept = map_put(call->region, kept, value_retain(name), value_retain(item));
    }
    json_write(&text, kept, JSON_SORTED, NULL);
    hash_hex(buffer_span(&text), hex);
}

static void append_base64(struct buffer *out, const void *data, size_t length)
{
    size_t size = sodium_base64_ENCODED_LEN(length, BASE64);
    CLEANUP_FREE char *text = memory_alloc(size);
    sodium_bin2base64(text, size, data, length, BASE64);
    buffer_append_text(out, text);
}

void request_state_sign(struct mcp_call *call, struct buffer *out)
{
    struct request_states *states = call->server->states;
    unsigned char nonce[NONCE_SIZE], mac[crypto_auth_hmacsha256_BYTES];
    char nonce_hex[NONCE_SIZE * 2 + 1], params_hash[crypto_hash_sha256_BYTES * 2 + 1];
    randombytes_buf(nonce, sizeof(nonce));
    sodium_bin2hex(nonce_hex, sizeof(nonce_hex), nonce, sizeof(nonce));
    hash_params(call, params_hash);

    CLEANUP_BUFFER struct buffer payload;
    buffer_init(&payload, STATE_TEXT_MAX);
    buffer_append_byte(&payload, '{');
    json_put_integer(&payload, "version", STATE_VERSION);
    json_put_integer(&payload, "expires", clock_unix_seconds() + STATE_LIFE_S);
    json_put_integer(&payload, "turn", call->turn);
    json_put_text(&payload, "nonce", nonce_hex);
    json_put_text(&payload, "method", call->method->name);
    json_put_text(&payload, "params", params_hash);
    json_put_text(&payload, "token", states->token_hash);
    json_put_value(&payload, "answers", call->answers);
    json_put_value(&payload, "state", call->handler_state);
    buffer_append_byte(&payload, '}');
    if (payload.failed) {
        out->failed = true;
        return;
    }
    crypto_auth_hmacsha256(mac, (const unsigned char *)payload.data, payload.length, states->key);
    append_base64(out, payload.data, payload.length);
    buffer_append_byte(out, '.');
    append_base64(out, mac, sizeof(mac));
}

// The payload of a text, if the signature is ours.
static bool open_payload(struct request_states *states, struct region *region, struct span text,
                         value *ret_payload)
{
    const char *dot = memchr(text.data, '.', text.length);
    if (!dot || text.length > STATE_TEXT_MAX)
        return false;
    size_t length = (size_t)(dot - text.data), mac_length;
    unsigned char mac[crypto_auth_hmacsha256_BYTES + 1];
    CLEANUP_FREE unsigned char *payload = memory_alloc(length + 1);
    size_t payload_length;
    if (sodium_base642bin(payload, length + 1, text.data, length, NULL, &payload_length, NULL,
                          BASE64) ||
        sodium_base642bin(mac, sizeof(mac), dot + 1, text.length - length - 1, NULL, &mac_length,
                          NULL, BASE64) ||
        mac_length != crypto_auth_hmacsha256_BYTES ||
        crypto_auth_hmacsha256_verify(mac, payload, payload_length, states->key) != 0)
        return false;
    struct error error;
    return jsonrpc_read(region, (struct span){(const char *)payload, payload_length}, ret_payload,
                        &error);
}

static bool use_once(struct request_states *states, struct span nonce)
{
    for (size_t i = 0; i < USED_MAX; i++)
        if (span_equal_text(nonce, states->used[i]))
            return false;
    char *used = states->used[states->next++ % USED_MAX];
    snprintf(used, sizeof(states->used[0]), "%.*s", (int)nonce.length, nonce.data);
    return true;
}

bool request_state_verify(struct mcp_call *call, struct span text)
{
    struct request_states *states = call->server->states;
    char params_hash[crypto_hash_sha256_BYTES * 2 + 1];
    value payload;
    if (!open_payload(states, call->region, text, &payload))
        return false;
    hash_params(call, params_hash);
    if (map_get(payload, "version").integer != STATE_VERSION ||
        map_get(payload, "expires").integer < clock_unix_seconds() ||
        !span_equal_text(value_text(map_get(payload, "method")), call->method->name) ||
        !span_equal_text(value_text(map_get(payload, "params")), params_hash) ||
        !span_equal_text(value_text(map_get(payload, "token")), states->token_hash) ||
        !use_once(states, value_text(map_get(payload, "nonce"))))
        return false;
    call->turn = (unsigned)map_get(payload, "turn").integer;
    call->answers = value_retain(map_get(payload, "answers"));
    call->handler_state = value_retain(map_get(payload, "state"));
    return true;
}
