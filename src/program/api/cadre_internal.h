// What the files of the public API share (include/cadre.h): its objects, and how they hold each other.
#pragma once

#include "cadre.h"
#include "program/run/step.h"

enum { CADRE_MESSAGE_SIZE = 600, CADRE_INPUT_BYTES = 1 << 30 };

struct cadre_host {
    unsigned references;  // changed atomically
    struct tool_table tools;
    struct host_tool *functions;
    bool is_compiled_for;  // set atomically: no tool is added any more
    struct buffer description;
    char error[CADRE_MESSAGE_SIZE];
};

// A map whose values are immortal: runs refer to them without a copy.
struct input_map {
    unsigned references;  // changed atomically
    struct region *region;
    char *text;  // strings of the map may lie in it
    value map;
    char *definitions;  // functions of a memory, as source; NULL: none
};

struct input_signature {
    unsigned references;  // changed atomically
    struct arena arena;
    const struct signature *signature;
    char *text;
};

struct cadre_inputs {
    struct input_map *context;
    struct input_map *memory;
    struct input_map *history;  // its map is a vector, the oldest result first; NULL: none
    struct input_signature *signature;
    void *user;
    bool is_cancelled;  // read and written atomically
    bool may_pause;
    enum signature_mode validation;
    struct run_options options;
    char error[CADRE_MESSAGE_SIZE];
};

// What the tools of a run are given.
struct run_user {
    void *user;                  // of the inputs
    struct call_record *record;  // NULL: the run may not pause
};

// --- cadre.c: memory that may be short: NULL then ------------------------------------------------
void *cadre_new_zero(size_t size);
char *cadre_copy_text(struct span text);

// --- cadre_value.c: values -----------------------------------------------------------------------
cadre_value cadre_value_of(value v);
value cadre_value_inside(cadre_value public);

// --- cadre_host.c: hosts -------------------------------------------------------------------------
cadre_host *cadre_host_retain(cadre_host *host);

struct tool_call *cadre_call_inside(cadre_call *call);

// --- cadre_pause.c: runs that pause --------------------------------------------------------------
// The calls of a run that may pause, with their results. NULL: memory is short.
struct call_record;
struct call_record *call_record_new(void);
void call_record_free(struct call_record *record);
// A call of the run before its pause is answered as it was then. False: it is a new one.
bool call_record_answer(struct call_record *record, struct tool_call *call, bool *ret_ok);
// Keeps what a tool has answered, with success or not; gives that, or false for a result that cannot
// be kept.
bool call_record_keep(struct call_record *record, struct tool_call *call, bool ok);
// Appends the text of a paused run. False: it is not paused.
bool call_record_write(const struct call_record *record, const struct step *step,
                       struct buffer *text);
// Reads such a text of a program of that source: its calls, and the seed and the clock of the inputs.
// `results` answers the call it waits for; without data it is made again. False: the text is none, or
// that of another program.
bool call_record_read(struct call_record *record, struct region *region, struct span source,
                      struct span text, struct span results, struct program_inputs *inputs);

// --- cadre_inputs.c: inputs ----------------------------------------------------------------------
struct input_map *input_map_retain(struct input_map *map);
void input_map_release(struct input_map *map);
struct input_signature *input_signature_retain(struct input_signature *signature);
void input_signature_release(struct input_signature *signature);
// The definitions of a memory, empty for none (or NULL).
struct span input_map_definitions(const struct input_map *memory);
