// Fragments of the tools' JSON Schemas: one concept, one text. Ranges are stated in descriptions and
// checked by the handlers, so that their own messages are the ones seen.
#pragma once

// An object with these properties and no others: SCHEMA_OBJECT("\"code\"", SCHEMA_CODE, SCHEMA_SESSION).
#define SCHEMA_OBJECT(required, ...)                     \
    "{\"type\":\"object\",\"properties\":{" SCHEMA_JOIN( \
        __VA_ARGS__) "},\"required\":[" required "],\"additionalProperties\":false}"

// Up to ten texts with commas between them.
#define SCHEMA_JOIN(...)                                                                       \
    SCHEMA_ELEVENTH(__VA_ARGS__, SCHEMA_JOIN_10, SCHEMA_JOIN_9, SCHEMA_JOIN_8, SCHEMA_JOIN_7,  \
                    SCHEMA_JOIN_6, SCHEMA_JOIN_5, SCHEMA_JOIN_4, SCHEMA_JOIN_3, SCHEMA_JOIN_2, \
                    SCHEMA_JOIN_1, ignored)                                                    \
    (__VA_ARGS__)
#define SCHEMA_ELEVENTH(a, b, c, d, e, f, g, h, i, j, eleventh, ...) eleventh
#define SCHEMA_JOIN_1(text) text
#define SCHEMA_JOIN_2(text, ...) text "," SCHEMA_JOIN_1(__VA_ARGS__)
#define SCHEMA_JOIN_3(text, ...) text "," SCHEMA_JOIN_2(__VA_ARGS__)
#define SCHEMA_JOIN_4(text, ...) text "," SCHEMA_JOIN_3(__VA_ARGS__)
#define SCHEMA_JOIN_5(text, ...) text "," SCHEMA_JOIN_4(__VA_ARGS__)
#define SCHEMA_JOIN_6(text, ...) text "," SCHEMA_JOIN_5(__VA_ARGS__)
#define SCHEMA_JOIN_7(text, ...) text "," SCHEMA_JOIN_6(__VA_ARGS__)
#define SCHEMA_JOIN_8(text, ...) text "," SCHEMA_JOIN_7(__VA_ARGS__)
#define SCHEMA_JOIN_9(text, ...) text "," SCHEMA_JOIN_8(__VA_ARGS__)
#define SCHEMA_JOIN_10(text, ...) text "," SCHEMA_JOIN_9(__VA_ARGS__)

#define SCHEMA_STRING(name, description) \
    "\"" name "\":{\"type\":\"string\",\"description\":\"" description "\"}"
#define SCHEMA_INTEGER(name, description) \
    "\"" name "\":{\"type\":\"integer\",\"description\":\"" description "\"}"
#define SCHEMA_BOOLEAN(name, description) \
    "\"" name "\":{\"type\":\"boolean\",\"description\":\"" description "\"}"

#define SCHEMA_SESSION SCHEMA_STRING("session", "session name, default main")
#define SCHEMA_PACKAGE SCHEMA_STRING("package", "package for this call, default the session's")
#define SCHEMA_TIMEOUT SCHEMA_INTEGER("timeout", "seconds for this call, 0 = none")
#define SCHEMA_CODE SCHEMA_STRING("code", "Common Lisp forms")
#define SCHEMA_ERROR_NUMBER SCHEMA_INTEGER("error", "error number, default the last error")

#define SCHEMA_STRINGS "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define SCHEMA_OBJECTS "{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"

// The `error` of every result; tools that run code add the members of SCHEMA_CONDITION.
#define SCHEMA_ERROR_MEMBERS                                                               \
    "\"code\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},\"hint\":{\"type\":" \
    "\"string\"}"
#define SCHEMA_CONDITION_MEMBERS                                                                   \
    SCHEMA_ERROR_MEMBERS                                                                           \
    ",\"type\":{\"type\":\"string\"},\"type_qualified\":{\"type\":\"string\"},"                    \
    "\"superclasses\":" SCHEMA_STRINGS ",\"slots\":{\"type\":\"array\",\"items\":{\"type\":"       \
    "\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"value\":{\"type\":\"string\"}}}}" \
    ","                                                                                            \
    "\"form\":{\"type\":\"integer\"},\"line\":{\"type\":\"integer\"},\"column\":{\"type\":"        \
    "\"integer\"},\"phase\":{\"type\":\"string\"},\"thread\":{\"type\":\"string\"},"               \
    "\"frames\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"number\","      \
    "\"call\",\"function\"],\"properties\":{\"number\":{\"type\":\"integer\"},\"call\":"           \
    "{\"type\":\"string\"},\"function\":{\"type\":\"string\"},\"arguments\":" SCHEMA_STRINGS       \
    ",\"source\":{\"type\":\"string\"}}}},\"depth\":{\"type\":\"integer\"},\"restarts\":"          \
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"number\":{\"type\":"     \
    "\"integer\"},\"name\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"}}}},"        \
    "\"id\":{\"type\":\"integer\"},\"evaluation\":{\"type\":\"integer\"},\"time\":{\"type\":"      \
    "\"string\"},\"frozen\":{\"type\":\"boolean\"},\"runtime_log\":{\"type\":\"string\"}"
#define SCHEMA_ERROR_OF(members)                                                                  \
    "\"error\":{\"type\":\"object\",\"required\":[\"code\",\"message\"],\"properties\":{" members \
    "}}"
#define SCHEMA_ERROR SCHEMA_ERROR_OF(SCHEMA_ERROR_MEMBERS)
#define SCHEMA_CONDITION SCHEMA_ERROR_OF(SCHEMA_CONDITION_MEMBERS)

#define SCHEMA_ROLLBACK                                                                        \
    "\"rollback\":{\"type\":\"object\",\"required\":[\"cause\",\"reason\",\"snapshot\"],"      \
    "\"properties\":{\"cause\":{\"enum\":[\"exit\",\"signal\",\"timeout\",\"heap\","           \
    "\"memory-fault\",\"unusable\",\"idle\",\"cancelled\"]},\"reason\":{\"type\":\"string\"}," \
    "\"exit_code\":{\"type\":\"integer\"},\"signal\":{\"type\":\"integer\"},\"snapshot\":"     \
    "{\"type\":\"integer\"},\"lost_threads\":" SCHEMA_STRINGS "}}"
#define SCHEMA_TIMING                                                                         \
    "\"timing\":{\"type\":\"object\",\"properties\":{\"real_us\":{\"type\":\"integer\"},"     \
    "\"run_us\":{\"type\":\"integer\"},\"gc_us\":{\"type\":\"integer\"},\"bytes\":{\"type\":" \
    "\"integer\"},\"page_faults\":{\"type\":\"integer\"}}}"

// A result with `ok` and `session`, further members, and an error when it failed.
#define SCHEMA_RESULT(members)                                                                  \
    "{\"type\":\"object\",\"required\":[\"ok\"],\"properties\":{\"ok\":{\"type\":\"boolean\"}," \
    "\"session\":{\"type\":\"string\"}," members SCHEMA_ERROR "}}"

// Tools whose result is that of an evaluation: the members a client acts on. The full list is that of
// evaluate-lisp; schemas are sent to the model in each conversation, so only one tool spells it out.
#define SCHEMA_EVALUATION_BRIEF                                                     \
    SCHEMA_RESULT("\"values\":" SCHEMA_STRINGS ",\"stdout\":{\"type\":\"string\"}," \
                  "\"stderr\":{\"type\":\"string\"},")

// evaluate-lisp.
#define SCHEMA_EVALUATION                                                                       \
    "{\"type\":\"object\",\"required\":[\"ok\"],\"properties\":{\"ok\":{\"type\":\"boolean\"}," \
    "\"session\":{\"type\":\"string\"},\"evaluation\":{\"type\":\"integer\"},\"package\":"      \
    "{\"type\":\"string\"},\"forms\":{\"type\":\"integer\"},\"values\":" SCHEMA_STRINGS         \
    ",\"stdout\":{\"type\":\"string\"},\"stderr\":{\"type\":\"string\"},\"omitted\":"           \
    "{\"type\":\"object\",\"properties\":{\"stdout\":{\"type\":\"integer\"},\"stderr\":"        \
    "{\"type\":\"integer\"},\"values\":{\"type\":\"integer\"}}},\"warnings\":{\"type\":"        \
    "\"array\",\"items\":{\"type\":\"object\",\"required\":[\"category\",\"type\",\"message\"," \
    "\"form\"],\"properties\":{\"category\":{\"type\":\"string\"},\"type\":{\"type\":"          \
    "\"string\"},\"message\":{\"type\":\"string\"},\"form\":{\"type\":\"integer\"}}}}"          \
    "," SCHEMA_TIMING ",\"notices\":" SCHEMA_STRINGS "," SCHEMA_ROLLBACK                        \
    ",\"context\":{\"type\":\"object\"}," SCHEMA_CONDITION "}}"
