#include "program/compile/clojure_hints.h"

#include "base/array.h"

#define NO_ARRAYS "use vectors: nth, assoc, count"
#define NO_ATOMS "there are no atoms; use loop, reduce or def"
#define NO_DECIMALS "there are no decimals; use float"
#define NO_EXCEPTIONS "there are no exceptions; test beforehand, or end with (fail v)"
#define NO_FILES "there are no files; give data in the context or by a tool"
#define NO_LAZINESS "nothing is lazy; leave it out"
#define NO_METADATA "there is no metadata; leave it out"
#define NO_NAMESPACES "leave it out: str/ set/ walk/ json/ are always there"
#define NO_OBJECTS "there are no host objects; use maps"
#define NO_RANDOM "there is no randomness; give numbers in the context or by a tool"
#define NO_THREADS "use pmap or pcalls"
#define NO_TRANSDUCERS "there are no transducers; use ->> with map and filter"

static const struct {
    const char *name;
    const char *advice;
} clojure_hints[] = {
    {".format", "use (format text x)"},
    {".get", "use get"},
    {".getMessage", NO_EXCEPTIONS},
    {".isEmpty", "use empty?"},
    {".replace", "use replace"},
    {".size", "use count"},
    {".split", "use split"},
    {".toString", "use str"},
    {"..", "use ->"},
    {"Math/PI", "use 3.141592653589793"},
    {"aget", NO_ARRAYS},
    {"any?", "use some"},
    {"aset", NO_ARRAYS},
    {"assert", "use (when-not test (fail v))"},
    {"atom", NO_ATOMS},
    {"bigdec", NO_DECIMALS},
    {"bigint", "integers have any size; use trunc"},
    {"binding", "use let"},
    {"capitalize", "use (str (upper-case (subs s 0 1)) (lower-case (subs s 1)))"},
    {"char", "a character is a string of length 1"},
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
    {"doall", NO_LAZINESS},
    {"dorun", NO_LAZINESS},
    {"dotimes", "use (doseq [i (range n)] ...)"},
    {"doto", "values do not change; use ->"},
    {"eduction", NO_TRANSDUCERS},
    {"escape", "use (join (map (fn [c] (get m c c)) s))"},
    {"eval", "code is not data; use a function"},
    {"ex-info", NO_EXCEPTIONS},
    {"force", NO_LAZINESS},
    {"future", NO_THREADS},
    {"hash", "any value can be a key"},
    {"identical?", "use ="},
    {"import", NO_NAMESPACES},
    {"instance?", "use string?, number?, map? and the like"},
    {"iterate", "sequences are never lazy; use loop and recur"},
    {"keywordize-keys", "leave it out: keywords find string keys"},
    {"lazy-seq", NO_LAZINESS},
    {"letfn", "use let with (fn name [x] ...)"},
    {"long", "use trunc, round or parse-long"},
    {"map-invert", "use (zipmap (vals m) (keys m))"},
    {"memoize", "use let or def to keep a result"},
    {"meta", NO_METADATA},
    {"namespace", "keywords have no namespace"},
    {"new", NO_OBJECTS},
    {"ns", NO_NAMESPACES},
    {"pprint", "use println"},
    {"pr", "use (println (pr-str x))"},
    {"printf", "use (println (format text x))"},
    {"prn", "use (println (pr-str x))"},
    {"promise", NO_THREADS},
    {"rand", NO_RANDOM},
    {"rand-int", NO_RANDOM},
    {"rand-nth", NO_RANDOM},
    {"random-uuid", NO_RANDOM},
    {"re-groups", "use re-find, which gives the groups"},
    {"re-matcher", "use re-seq"},
    {"read-string", "use json/parse-string, parse-long or parse-double"},
    {"reduced", "reduce goes to the end; use loop and recur, some or take-while"},
    {"reductions", "use reduce with conj: (conj acc (f (peek acc) x))"},
    {"rename-keys", "use (update-keys m (fn [k] (get renames k k)))"},
    {"repeat", "use (map (constantly x) (range n))"},
    {"repeatedly", "use (map (fn [_] (f)) (range n))"},
    {"replace-first", "use (join replacement (split s match 2))"},
    {"require", NO_NAMESPACES},
    {"reset!", NO_ATOMS},
    {"reverse", "use (join (reverse s))"},
    {"run!", "use doseq"},
    {"sequence", NO_TRANSDUCERS},
    {"set!", "values do not change; use let or loop"},
    {"shuffle", NO_RANDOM},
    {"slurp", NO_FILES},
    {"sorted-map", "maps iterate in key order; use hash-map"},
    {"sorted-map-by", "use sort-by, which gives a vector of pairs"},
    {"sorted-set", "sets iterate in order; use hash-set"},
    {"spit", NO_FILES},
    {"stringify-keys", "use (update-keys m name)"},
    {"subset?", "use (empty? (difference smaller larger))"},
    {"superset?", "use (empty? (difference smaller larger))"},
    {"swap!", NO_ATOMS},
    {"symbol", "use keyword"},
    {"take-nth", "use (map first (partition-all n xs))"},
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
