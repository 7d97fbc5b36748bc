;; Writes the portable assertions of clojure-test-suite that hold on JVM Clojure as records for
;; `cadre run --batch`, one JSON object a line. See clojure_suite.mjs.
;;
;;   clojure tests/lang/clojure_suite.clj FILE.cljc...
(ns clojure-suite
  (:require [clojure.string :as str] [clojure.template :as template] [clojure.walk :as walk]))

(defn forms [file]
  (let [reader (java.io.PushbackReader. (java.io.StringReader. (slurp file)))
        options {:read-cond :allow :features #{:clj} :eof ::end}]
    (binding [*ns* (the-ns 'clojure-suite)]
      (loop [found []]
        (let [form (try (read options reader) (catch Exception _ ::end))]
          (if (= ::end form) found (recur (conj found form))))))))

(defn head [form] (when (and (seq? form) (symbol? (first form))) (name (first form))))

;; Assertions with the bindings around them.
(defn assertions [form]
  (case (head form)
    "is" [(second form)]
    "are" (let [[_ names expression & values] form]
            (for [row (partition (max 1 (count names)) values)]
              (template/apply-template names expression row)))
    "let" (for [inner (mapcat assertions (drop 2 form))] (list 'let (second form) inner))
    ("deftest" "testing" "when-var-exists" "do") (mapcat assertions (rest form))
    nil))

(defn throws? [assertion]
  (and (head assertion) (re-find #"^thrown" (head assertion))))

(defn readable [form]
  (walk/postwalk #(cond (= 'fn* %) 'fn
                        (and (symbol? %) (re-find #"#$" (name %))) (symbol (str/replace (name %) "#" "_"))
                        :else %)
                 form))

(defn json [text]
  (str \" (str/escape text {\\ "\\\\" \" "\\\"" \newline "\\n" \tab "\\t" \return "\\r" \backspace "\\b" \formfeed "\\f"}) \"))

(defn holds? [assertion]
  (let [result (deref (future (try (if (eval assertion) :true :false) (catch Throwable _ :thrown))) 2000 :late)]
    (= result (if (throws? assertion) :thrown :true))))

(doseq [file *command-line-args*
        [i assertion] (map-indexed vector (mapcat assertions (forms file)))]
  (let [thrown (throws? assertion)
        body (if thrown (cons 'do (remove #(and (symbol? %) (Character/isUpperCase (first (name %)))) (rest assertion))) assertion)]
    (when (try (if thrown (= :thrown (try (eval body) :none (catch Throwable _ :thrown))) (holds? body))
               (catch Throwable _ false))
      (println (str "{\"id\":" (json (str (.getName (java.io.File. file)) "/" i)) ",\"throws\":" (boolean thrown)
                    ",\"program\":" (json (pr-str (readable body))) "}")))))
(shutdown-agents)
;; An assertion that did not end in time may run in a loop without safepoints: the machine would wait for it.
(flush)
(.exec (Runtime/getRuntime) (into-array ["kill" "-9" (str (.pid (java.lang.ProcessHandle/current)))]))
