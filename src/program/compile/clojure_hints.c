#include "program/compile/clojure_hints.h"

#include "base/array.h"

#define NO_ARRAYS "use vectors: nth, assoc, count"
#define NO_FILES "there are no files; give data in the context or by a tool"
#define NO_METADATA "there is no metadata; leave it out"
#define NO_OBJECTS "there are no host objects; use maps"
#define NO_THREADS "use pmap or pcalls"

static const struct {
    const char *name;
    const char *advice;
} clojure_hints[] = {
    {".format", "use (format text x)"},
    {"..", "use ->"},
    {"aget", NO_ARRAYS},
    {"any?", "use some"},
    {"aset", NO_ARRAYS},
    {"class", "use type"},
    {"defmacro", "there are no macros; use defn"},
    {"defprotocol", NO_OBJECTS},
    {"deftype", NO_OBJECTS},
    {"eval", "code is not data; use a function"},
    {"future", NO_THREADS},
    {"hash", "any value can be a key"},
    {"meta", NO_METADATA},
    {"promise", NO_THREADS},
    {"re-groups", "use re-find, which gives the groups"},
    {"re-matcher", "use re-seq"},
    {"set!", "values do not change; use let or loop"},
    {"slurp", NO_FILES},
    {"sorted-map-by", "use sort-by, which gives a vector of pairs"},
    {"spit", NO_FILES},
    {"with-meta", NO_METADATA},
    {"with-open", NO_FILES},
};

const char *clojure_hint_find(struct span name)
{
    for (size_t i = 0; i < COUNT_OF(clojure_hints); i++) {
        if (span_equal_text(name, clojure_hints[i].name))
            return clojure_hints[i].advice;
    }
    return NULL;
}
