#include "program/compile/clojure_hints.h"

#include "base/array.h"

#define NO_ARRAYS "use vectors: nth, assoc, count"
#define NO_FILES "there are no files; give data in the context or by a tool"
#define NO_LAZINESS "nothing is lazy; leave it out"
#define NO_METADATA "there is no metadata; leave it out"
#define NO_OBJECTS "there are no host objects; use maps"
#define NO_THREADS "use pmap or pcalls"
#define NO_TRANSDUCERS "there are no transducers; use ->> with map and filter"

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
    {"completing", NO_TRANSDUCERS},
    {"cycle", "sequences are never lazy; use (nth xs (mod i (count xs)))"},
    {"defmacro", "there are no macros; use defn"},
    {"defprotocol", NO_OBJECTS},
    {"deftype", NO_OBJECTS},
    {"eduction", NO_TRANSDUCERS},
    {"eval", "code is not data; use a function"},
    {"future", NO_THREADS},
    {"hash", "any value can be a key"},
    {"iterate", "sequences are never lazy; use loop and recur"},
    {"lazy-seq", NO_LAZINESS},
    {"meta", NO_METADATA},
    {"namespace", "keywords have no namespace"},
    {"promise", NO_THREADS},
    {"re-groups", "use re-find, which gives the groups"},
    {"re-matcher", "use re-seq"},
    {"reduced", "reduce goes to the end; use loop and recur, some or take-while"},
    {"repeat", "use (map (constantly x) (range n))"},
    {"repeatedly", "use (map (fn [_] (f)) (range n))"},
    {"sequence", NO_TRANSDUCERS},
    {"set!", "values do not change; use let or loop"},
    {"slurp", NO_FILES},
    {"sorted-map-by", "use sort-by, which gives a vector of pairs"},
    {"spit", NO_FILES},
    {"transduce", NO_TRANSDUCERS},
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
