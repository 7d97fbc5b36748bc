#include "program/compile/clojure_hints.h"

#include "base/array.h"

#define NO_ARRAYS "there are no arrays; use vectors: vec, nth, assoc, count"
#define NO_FILES "there are no files; take the text from ctx/ or from a tool"
#define NO_METADATA "there is no metadata; leave it out, or keep it in a map"
#define NO_MACROS "there are no macros; write a function with defn"
#define NO_OBJECTS "there are no host objects; use maps and defmulti"
#define NO_PROTOCOLS "there are no protocols; use maps, defmulti and defmethod"
#define NO_STRINGS "strings do not change; use str or str/join"
#define NO_THREADS "there are no threads; (pmap f coll) or (pcalls f g) run side by side"
#define NO_VARS "a name is its value here; use it as it is"
#define NO_WATCHES "there are no watches; call the function where swap! is called"

// Each advice is applied by a test: tests/lang/hints.test.
static const struct {
    const char *name;
    const char *advice;
} clojure_hints[] = {
    {"..", "use ->"},
    {".append", NO_STRINGS},
    {".format", "use (format text x)"},
    {".write", NO_FILES},
    {"StringBuilder.", NO_STRINGS},
    {"add-tap", "use println"},
    {"add-watch", NO_WATCHES},
    {"agent", "use atom and swap!"},
    {"aget", NO_ARRAYS},
    {"alter-var-root", NO_VARS},
    {"amap", NO_ARRAYS},
    {"any?", "it is true of everything; leave it out, or use some"},
    {"areduce", NO_ARRAYS},
    {"aset", NO_ARRAYS},
    {"class", "use type"},
    {"defmacro", NO_MACROS},
    {"definterface", NO_PROTOCOLS},
    {"defprotocol", NO_PROTOCOLS},
    {"deftype", NO_OBJECTS},
    {"deliver", NO_THREADS},
    {"dosync", "use atom and swap!"},
    {"double-array", NO_ARRAYS},
    {"eval", "code is not data; call a function"},
    {"extend-protocol", NO_PROTOCOLS},
    {"extend-type", NO_PROTOCOLS},
    {"file-seq", NO_FILES},
    {"future", NO_THREADS},
    {"hash", "values cannot be hashed; any value can be a key of a map"},
    {"int-array", NO_ARRAYS},
    {"into-array", NO_ARRAYS},
    {"intern", "use def"},
    {"line-seq", "use (str/split-lines s)"},
    {"long-array", NO_ARRAYS},
    {"macroexpand", NO_MACROS},
    {"make-array", NO_ARRAYS},
    {"meta", NO_METADATA},
    {"object-array", NO_ARRAYS},
    {"promise", NO_THREADS},
    {"proxy", NO_OBJECTS},
    {"read-line", "there is no input; take it from ctx/"},
    {"ref", "use atom and swap!"},
    {"reify", NO_OBJECTS},
    {"remove-watch", NO_WATCHES},
    {"resolve", NO_VARS},
    {"satisfies?", NO_PROTOCOLS},
    {"send", "use atom and swap!"},
    {"set!", "values do not change; use binding, let or an atom"},
    {"slurp", NO_FILES},
    {"spit", NO_FILES},
    {"to-array", NO_ARRAYS},
    {"var-get", NO_VARS},
    {"vary-meta", NO_METADATA},
    {"with-meta", NO_METADATA},
    {"with-open", NO_FILES},
    {"with-precision", "numbers are integers and floats; use (format \"%.3f\" x)"},
    {"with-redefs", "use binding with a name that def defines"},
};

const char *clojure_hint_find(struct span name)
{
    for (size_t i = 0; i < COUNT_OF(clojure_hints); i++) {
        if (span_equal_text(name, clojure_hints[i].name))
            return clojure_hints[i].advice;
    }
    return NULL;
}

bool clojure_macro_is_refused(struct span name)
{
    static const char *const names[] = {"definterface",    "defmacro",    "defprotocol", "deftype",
                                        "extend-protocol", "extend-type", "proxy",       "reify"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (span_equal_text(name, names[i]))
            return true;
    }
    return false;
}
