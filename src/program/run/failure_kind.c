#include "program/run/failure_kind.h"

#include "base/assert.h"

static const struct {
    const char *kind;
    const char *reason;
} failure_kinds[FAILURE_KIND_COUNT] = {
#define X(symbol, kind, reason) [symbol] = {kind, reason},
    FAILURE_KINDS(X)
#undef X
};

const char *failure_kind_name(enum failure_kind kind)
{
    CHECK(kind > FAILURE_NONE && kind < FAILURE_KIND_COUNT);
    return failure_kinds[kind].kind;
}

const char *failure_kind_reason(enum failure_kind kind)
{
    CHECK(kind > FAILURE_NONE && kind < FAILURE_KIND_COUNT);
    return failure_kinds[kind].reason;
}
