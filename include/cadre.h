/* libcadre: runs PTC-Lisp programs inside your process, within bounds of time and memory.
 *
 *     cadre_host *host = cadre_host_new();                  // the tools programs may call
 *     cadre_host_add_tool(host, "greet", greet, NULL, "(name :string) -> :string", NULL, 0);
 *     cadre_program *program = cadre_compile(host, source, strlen(source), NULL);
 *     cadre_inputs *inputs = cadre_inputs_new();            // context, memory, limits
 *     cadre_inputs_set_context(inputs, json, strlen(json));
 *     cadre_step *step = cadre_run(program, inputs);        // as often as wanted
 *     puts(cadre_step_json(step, NULL));
 *     cadre_step_free(step); …
 *
 * Ownership: what a _new function or cadre_compile, cadre_run or cadre_eval returns is yours; free it
 * with its _free function. Everything else that is returned belongs to the object it was asked from
 * and lives as long as that. A program keeps what it needs of its host alive.
 *
 * Threads: no global state. A host may be shared once its tools are added; a program may be run by
 * several threads at once; one cadre_inputs or cadre_step belongs to one thread at a time. A thread
 * that runs programs needs 1 MiB of stack.
 *
 * Errors: no function ends the process because of its arguments, of a program or of its data. NULL or
 * a false result means that memory was short or the argument was wrong, as said below; what goes wrong
 * in a program is described by its Step. An object that is NULL gives NULL, false, 0 or nil, so only
 * the last of several calls needs checking; where a result is to be stored, NULL drops it.
 *
 * ABI: see docs/embedding.md. Structs are opaque or, like cadre_value, fixed; functions are only added.
 */
#ifndef CADRE_H
#define CADRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CADRE_API __attribute__((visibility("default")))
#else
#define CADRE_API
#endif

typedef struct cadre_host cadre_host;
typedef struct cadre_program cadre_program;
typedef struct cadre_inputs cadre_inputs;
typedef struct cadre_step cadre_step;
typedef struct cadre_call cadre_call;

CADRE_API const char *cadre_version(void);

/* --- values: what programs and tools exchange, read-only -------------------------------------- */

/* Belongs to the step or call it came from. */
typedef struct cadre_value {
    uint64_t word[2];
} cadre_value;

typedef enum cadre_type {
    CADRE_NIL,
    CADRE_BOOLEAN,
    CADRE_INTEGER, /* any size; cadre_value_integer says whether it fits 64 bits */
    CADRE_FLOAT,
    CADRE_STRING,
    CADRE_KEYWORD,
    CADRE_VECTOR,
    CADRE_MAP,
    CADRE_SET,
    CADRE_FUNCTION,
    CADRE_OTHER /* regex, symbol, var */
} cadre_type;

CADRE_API cadre_type cadre_value_type(cadre_value value);
CADRE_API bool cadre_value_boolean(cadre_value value); /* truth: all but nil and false */
CADRE_API bool cadre_value_integer(cadre_value value, int64_t *ret_number);
CADRE_API bool cadre_value_number(cadre_value value, double *ret_number); /* integer or float */
/* Bytes of a string, name of a keyword; not NUL-terminated. NULL for other types. */
CADRE_API const char *cadre_value_text(cadre_value value, size_t *ret_length);
CADRE_API size_t cadre_value_count(cadre_value value); /* vector, map, set; 0 for others */
CADRE_API cadre_value cadre_value_at(cadre_value vector, size_t index); /* nil when out of range */
/* The value under a name in a map, in any spelling, as programs look it up (:a finds "a"). */
CADRE_API bool cadre_value_get(cadre_value map, const char *name, cadre_value *ret_value);
/* Calls the function with each entry of a map, or each member of a set (key = value), until it returns
 * false. */
typedef bool cadre_entry_fn(void *user, cadre_value key, cadre_value value);
CADRE_API void cadre_value_each(cadre_value collection, cadre_entry_fn *function, void *user);

/* --- tools ------------------------------------------------------------------------------------ */

/* Answers one call: gives a result with one of the cadre_call_return functions and returns true, or
 * explains itself with cadre_call_fail and returns false. The last call counts: a result that was
 * refused, or a failure, is a failure whatever is returned. May run in another thread, several at a
 * time, when the program uses pmap. Time in here counts against the run's timeout: check
 * cadre_call_milliseconds_left before waiting for something. */
typedef bool cadre_tool_fn(void *user, cadre_call *call);

enum {
    CADRE_TOOL_SKIP = 1, /* has no signature on purpose */
    CADRE_TOOL_CACHE = 2 /* equal arguments give equal results within one run */
};

CADRE_API cadre_host *cadre_host_new(void);
CADRE_API void cadre_host_free(cadre_host *host);
/* Adds a tool: function; function and signature; function, signature and description; or function with
 * CADRE_TOOL_SKIP. False when the name is not a symbol or is in use, the function is NULL, or the
 * signature is unreadable; cadre_host_error then says why. Not after the first cadre_compile. */
CADRE_API bool cadre_host_add_tool(cadre_host *host, const char *name, cadre_tool_fn *function,
                                   void *user, const char *signature, const char *description,
                                   unsigned flags);
CADRE_API const char *cadre_host_error(const cadre_host *host);
/* The tools as text for a model's prompt: name, signature, description, one tool a paragraph. Belongs to
 * the host and lives until the next call. NULL when memory is short. */
CADRE_API const char *cadre_host_describe(cadre_host *host);
/* The language on one page, for a model's prompt. */
CADRE_API const char *cadre_guide(void);

CADRE_API cadre_value cadre_call_arguments(cadre_call *call); /* a map with string keys */
CADRE_API const char *cadre_call_arguments_json(cadre_call *call, size_t *ret_length);
CADRE_API int64_t cadre_call_milliseconds_left(cadre_call *call);
CADRE_API bool cadre_call_return_json(cadre_call *call, const char *json, size_t length);
CADRE_API bool cadre_call_return_string(cadre_call *call, const char *text, size_t length);
CADRE_API bool cadre_call_return_integer(cadre_call *call, int64_t number);
CADRE_API bool cadre_call_return_number(cadre_call *call, double number);
CADRE_API bool cadre_call_return_boolean(cadre_call *call, bool truth);
CADRE_API bool cadre_call_return_nil(cadre_call *call);
/* A value of this call (its arguments or a part of them), or of a step, which is copied. */
CADRE_API bool cadre_call_return_value(cadre_call *call, cadre_value value);
/* What cadre_inputs_set_user gave for this run; NULL without. */
CADRE_API void *cadre_call_user(cadre_call *call);
CADRE_API bool cadre_call_fail(cadre_call *call, const char *text); /* always false */
/* There is no answer yet: the run ends with a paused step (see cadre_run_paused), whatever the program
 * would catch. A failure unless the run may pause (cadre_inputs_set_pausing). Always false. */
CADRE_API bool cadre_call_pause(cadre_call *call);

/* --- inputs ----------------------------------------------------------------------------------- */

CADRE_API cadre_inputs *cadre_inputs_new(void);
CADRE_API void cadre_inputs_free(cadre_inputs *inputs);
/* JSON objects; false when the text is not one. The text is copied. */
CADRE_API bool cadre_inputs_set_context(cadre_inputs *inputs, const char *json, size_t length);
CADRE_API bool cadre_inputs_set_memory(cadre_inputs *inputs, const char *json, size_t length);
/* The context as one EDN map: {:user {:id 7} "tags" #{:a}}. */
CADRE_API bool cadre_inputs_set_context_edn(cadre_inputs *inputs, const char *edn, size_t length);
/* A pointer for the tools of runs with these inputs: see cadre_call_user. */
CADRE_API void cadre_inputs_set_user(cadre_inputs *inputs, void *user);
/* The result of an earlier run: it is *1 from now on, what was *1 is *2. False for a result that has a
 * function or a regex in it. */
CADRE_API bool cadre_inputs_add_history(cadre_inputs *inputs, cadre_value result);
/* Ends the runs with these inputs, which fail with reason `timeout` within milliseconds of their own work;
 * the one function that another thread may call while they run. A tool that waits should look at
 * cadre_call_milliseconds_left, which is 0 then. Holds for later runs, too, until it is called with
 * false. */
CADRE_API void cadre_cancel(cadre_inputs *inputs, bool is_cancelled);
/* The memory after an earlier run, whole: keywords stay keywords, sets sets, functions functions. The
 * functions are seen by programs that are compiled with these inputs. */
CADRE_API bool cadre_inputs_set_memory_from(cadre_inputs *inputs, const cadre_step *step);
/* The same by way of a text that outlives the process: see cadre_step_saved_memory. */
CADRE_API bool cadre_inputs_set_saved_memory(cadre_inputs *inputs, const char *text, size_t length);
/* Runs with these inputs may pause: the results of their tools, which must be data, are kept with the
 * step. */
CADRE_API void cadre_inputs_set_pausing(cadre_inputs *inputs, bool may_pause);
/* A limit or other option by name, as for `cadre run -o`: timeout, max_memory, loop_limit,
 * float_precision … */
CADRE_API bool cadre_inputs_set_option(cadre_inputs *inputs, const char *name, int64_t number);
/* Only def and its kin write memory; a map result is not merged. */
CADRE_API void cadre_inputs_set_explicit_memory(cadre_inputs *inputs, bool is_explicit);
CADRE_API bool cadre_inputs_set_signature(cadre_inputs *inputs, const char *text);
CADRE_API bool cadre_inputs_set_validation(cadre_inputs *inputs, const char *mode);
CADRE_API const char *cadre_inputs_error(const cadre_inputs *inputs);

/* --- programs and steps ----------------------------------------------------------------------- */

/* Parses and analyses; host may be NULL. The limits on source, nesting and symbols and the functions
 * in memory are those of `inputs`, which may be NULL. NULL only when memory is short: a wrong program
 * is compiled to one whose runs fail; cadre_program_failure gives that failure before any run. */
CADRE_API cadre_program *cadre_compile(cadre_host *host, const char *source, size_t length,
                                       const cadre_inputs *inputs);
CADRE_API void cadre_program_free(cadre_program *program);
/* The failed step of a wrong program, NULL for a good one. */
CADRE_API const cadre_step *cadre_program_failure(const cadre_program *program);

/* Runs; inputs may be NULL. NULL only when memory is short. */
CADRE_API cadre_step *cadre_run(const cadre_program *program, const cadre_inputs *inputs);
/* cadre_compile, cadre_run and cadre_program_free in one. */
CADRE_API cadre_step *cadre_eval(cadre_host *host, const char *source, size_t length,
                                 const cadre_inputs *inputs);
CADRE_API void cadre_step_free(cadre_step *step);

/* A run that waits for the answer of a tool, as a JSON text to be kept: the call (`call`, with `name` and
 * `args`), all calls before it with their results, the seed, the clock. Who may write that text decides
 * what the tools have answered. NULL when the step is not paused; the reason of one that is, is `paused`. */
CADRE_API const char *cadre_run_paused(cadre_step *step, size_t *ret_length);
/* Runs anew up to where such a run paused, in this or another process, without calling tools that have
 * answered, and on from there. Program and inputs must be equal to those of that run. `results` is what the
 * call gives that it waits for: [{"value": …}] or [{"error": "…"}] as JSON; with NULL the tool is called
 * again. It may pause again. NULL when memory is short, the text is none, or it is of another program. */
CADRE_API cadre_step *cadre_resume(const cadre_program *program, const cadre_inputs *inputs,
                                   const char *paused, size_t length, const char *results);

CADRE_API bool cadre_step_ok(const cadre_step *step);
CADRE_API cadre_value cadre_step_return(const cadre_step *step); /* nil when it failed */
CADRE_API cadre_value cadre_step_memory(const cadre_step *step);
/* Texts; NUL-terminated, length in *ret_length unless that is NULL. */
CADRE_API const char *cadre_step_json(cadre_step *step, size_t *ret_length); /* the whole Step */
CADRE_API const char *cadre_step_memory_json(cadre_step *step, size_t *ret_length);
/* The memory as a text to be kept, for cadre_inputs_set_saved_memory: a JSON object with `data`, the
 * literal of all data; `definitions`, the source of functions, regexes and symbols; `lost`, names of
 * entries that have neither, because a function in them captured local values or was composed from
 * others. */
CADRE_API const char *cadre_step_saved_memory(cadre_step *step, size_t *ret_length);
CADRE_API const char *cadre_step_printed(cadre_step *step, size_t *ret_length); /* of the result */
/* The failure; NULL, or 0 for the position, when there is none. */
CADRE_API const char *cadre_step_reason(const cadre_step *step);
CADRE_API const char *cadre_step_kind(cadre_step *step);
CADRE_API const char *cadre_step_message(cadre_step *step);
CADRE_API unsigned cadre_step_line(const cadre_step *step);
CADRE_API unsigned cadre_step_column(const cadre_step *step);
CADRE_API uint64_t cadre_step_steps(const cadre_step *step);
CADRE_API size_t cadre_step_memory_bytes(const cadre_step *step);

#ifdef __cplusplus
}
#endif

#endif
