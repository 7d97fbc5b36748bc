#include "program/compile/clojure_hints.h"

#include "base/array.h"

#define NO_ARRAYS "use vectors: nth, assoc, count"
#define NO_ATOMS "there are no atoms; use loop, reduce or def"
#define NO_EXCEPTIONS "there are no exceptions; test beforehand, or end with (fail v)"
#define NO_FILES "there are no files; give data in the context or by a tool"
#define NO_LAZINESS "nothing is lazy; leave it out"
#define NO_METADATA "there is no metadata; leave it out"
#define NO_NAMESPACES "leave it out: str/ set/ walk/ json/ are always there"
#define NO_OBJECTS "there are no host objects; use maps"
#define NO_THREADS "use pmap or pcalls"
#define NO_TRANSDUCERS "there are no transducers; use ->> with map and filter"

static const struct {
    const char *name;
    const char *advice;
} clojure_hints[] = {
    {".format", "use (format text x)"},
    {".getMessage", NO_EXCEPTIONS},
    {"..", "use ->"},
    {"aget", NO_ARRAYS},
    {"any?", "use some"},
    {"aset", NO_ARRAYS},
    {"assert", "use (when-not test (fail v))"},
    {"atom", NO_ATOMS},
    {"binding", "use let"},
    {"class", "use type"},
    {"completing", NO_TRANSDUCERS},
    {"cycle", "sequences are never lazy; use (nth xs (mod i (count xs)))"},
    {"declare", "leave it out: functions may call later ones"},
    {"defmacro", "there are no macros; use defn"},
    {"defmethod", "use case or cond"},
    {"defmulti", "use case or cond"},
    {"defprotocol", NO_OBJECTS},
    {"defrecord", NO_OBJECTS},
    {"deftype", NO_OBJECTS},
    {"delay", NO_LAZINESS},
    {"deref", NO_ATOMS},
    {"dotimes", "use (doseq [i (range n)] ...)"},
    {"doto", "values do not change; use ->"},
    {"eduction", NO_TRANSDUCERS},
    {"eval", "code is not data; use a function"},
    {"ex-info", NO_EXCEPTIONS},
    {"force", NO_LAZINESS},
    {"future", NO_THREADS},
    {"hash", "any value can be a key"},
    {"identical?", "use ="},
    {"import", NO_NAMESPACES},
    {"instance?", "use string?, number?, map? and the like"},
    {"iterate", "sequences are never lazy; use loop and recur"},
    {"lazy-seq", NO_LAZINESS},
    {"letfn", "use let with (fn name [x] ...)"},
    {"memoize", "use let or def to keep a result"},
    {"meta", NO_METADATA},
    {"namespace", "keywords have no namespace"},
    {"new", NO_OBJECTS},
    {"ns", NO_NAMESPACES},
    {"promise", NO_THREADS},
    {"re-groups", "use re-find, which gives the groups"},
    {"re-matcher", "use re-seq"},
    {"reduced", "reduce goes to the end; use loop and recur, some or take-while"},
    {"repeat", "use (map (constantly x) (range n))"},
    {"repeatedly", "use (map (fn [_] (f)) (range n))"},
    {"require", NO_NAMESPACES},
    {"reset!", NO_ATOMS},
    {"sequence", NO_TRANSDUCERS},
    {"set!", "values do not change; use let or loop"},
    {"slurp", NO_FILES},
    {"sorted-map-by", "use sort-by, which gives a vector of pairs"},
    {"spit", NO_FILES},
    {"swap!", NO_ATOMS},
    {"symbol", "use keyword"},
    {"throw", NO_EXCEPTIONS},
    {"time", "leave it out: the Step tells the duration"},
    {"trampoline", "use recur"},
    {"transduce", NO_TRANSDUCERS},
    {"try", NO_EXCEPTIONS},
    {"volatile!", NO_ATOMS},
    {"vswap!", NO_ATOMS},
    {"while", "use loop and recur"},
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
