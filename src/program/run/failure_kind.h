// Failures of a program: one table of kinds (docs/reference/language.md 13). The reason of a Step
// follows from the kind.
#pragma once

#define FAILURE_KINDS(X)                                                  \
    X(PARSE_ERROR, "parse_error", "parse_error")                          \
    X(NESTING_LIMIT, "nesting_limit_exceeded", "parse_error")             \
    X(PROGRAM_TOO_LARGE, "program_too_large", "parse_error")              \
    X(INVALID_SIGNATURE, "invalid_signature", "parse_error")              \
    X(INVALID_RECORD, "invalid_record", "parse_error")                    \
    X(INVALID_ARITY, "invalid_arity", "analysis_error")                   \
    X(INVALID_FORM, "invalid_form", "analysis_error")                     \
    X(INVALID_COND, "invalid_cond_form", "analysis_error")                \
    X(INVALID_THREAD, "invalid_thread_form", "analysis_error")            \
    X(INVALID_PLACEHOLDER, "invalid_placeholder", "analysis_error")       \
    X(UNSUPPORTED_PATTERN, "unsupported_pattern", "analysis_error")       \
    X(DUPLICATE_KEY, "duplicate_key", "analysis_error")                   \
    X(INVALID_WHERE, "invalid_where_form", "analysis_error")              \
    X(INVALID_WHERE_OPERATOR, "invalid_where_operator", "analysis_error") \
    X(INVALID_CALL, "invalid_call_tool_name", "analysis_error")           \
    X(UNKNOWN_TOOL, "unknown_tool", "analysis_error")                     \
    X(INVALID_TOOL, "invalid_tool", "analysis_error")                     \
    X(SYMBOL_LIMIT, "symbol_limit_exceeded", "analysis_error")            \
    X(UNBOUND_VAR, "unbound_var", "analysis_error")                       \
    X(TYPE_ERROR, "type_error", "eval_error")                             \
    X(ARITY_ERROR, "arity_error", "eval_error")                           \
    X(ARITY_MISMATCH, "arity_mismatch", "eval_error")                     \
    X(NOT_CALLABLE, "not_callable", "eval_error")                         \
    X(ARITHMETIC_ERROR, "arithmetic_error", "eval_error")                 \
    X(DESTRUCTURE_ERROR, "destructure_error", "eval_error")               \
    X(RUNTIME_ERROR, "runtime_error", "eval_error")                       \
    X(INVALID_TOOL_ARGS, "invalid_tool_args", "eval_error")               \
    X(LOOP_LIMIT, "loop_limit_exceeded", "eval_error")                    \
    X(TOOL_CALL_LIMIT, "tool_call_limit_exceeded", "eval_error")          \
    X(REGEX_LIMIT, "regex_limit_exceeded", "eval_error")                  \
    X(FAIL, "fail", "eval_error")                                         \
    X(EXCEPTION, "exception", "eval_error")                               \
    X(TIMEOUT, "timeout", "timeout")                                      \
    X(MEMORY_EXCEEDED, "memory_exceeded", "memory_exceeded")              \
    X(VALIDATION_ERROR, "validation_error", "validation_error")           \
    X(TOOL_ERROR, "tool_error", "tool_error")                             \
    X(PAUSED, "paused", "paused")

enum failure_kind {
    FAILURE_NONE,
#define X(symbol, kind, reason) symbol,
    FAILURE_KINDS(X)
#undef X
        FAILURE_KIND_COUNT,
};

const char *failure_kind_name(enum failure_kind kind);    // "type_error"
const char *failure_kind_reason(enum failure_kind kind);  // "eval_error"
