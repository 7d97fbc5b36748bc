;; Writes the expected values of tests/lang/model_*.test: programs as models write them, with what JVM
;; Clojure gives for them.
;;
;;   clojure tests/lang/expect.clj tests/lang/model_*.test
;;
;; A block of such a file is a program, then perhaps `.context JSON`, then `=> VALUE`, which this script
;; replaces; `!! …` stays when the program throws. The value is written as Cadre writes it: sequences as
;; vectors, maps and sets in key order, ratios as floats, characters as strings. The context of a
;; program is there as ctx/NAME, with keywords as keys. A block with `# differs` above it is left alone: what
;; the language does there on purpose is in docs/language.md.
(ns expect
  (:require [clojure.string :as str] [clojure.set] [clojure.walk] [clojure.edn] [clojure.pprint]))

;; --- JSON ------------------------------------------------------------------------------------------

(defn json->edn-text [text]
  ;; JSON strings and numbers read as EDN; a string before a colon is a key.
  (-> text
      (str/replace #"\"((?:[^\"\\]|\\.)*)\"\s*:" (fn [[_ k]] (str ":" k " ")))
      (str/replace #"\bnull\b" "nil")))

(defn read-json [text] (clojure.edn/read-string (json->edn-text text)))

;; --- canonical text --------------------------------------------------------------------------------

(defn plain [v]
  (cond (char? v) (str v)
        (ratio? v) (double v)
        (decimal? v) (double v)
        (float? v) (double v)
        (instance? java.util.UUID v) (str v)
        :else v))

(defn kind [v]
  (cond (nil? v) 0 (false? v) 1 (true? v) 2 (number? v) 3 (keyword? v) 4 (string? v) 5
        (sequential? v) 6 (map? v) 7 (set? v) 8 :else 9))

(defn compare-keys [a b]
  (let [a (plain a) b (plain b) by-kind (compare (kind a) (kind b))]
    (cond (not (zero? by-kind)) by-kind
          (= 3 (kind a)) (compare a b)
          (= 4 (kind a)) (compare (name a) (name b))
          (= 5 (kind a)) (compare a b)
          (<= 6 (kind a) 8) (let [by-count (compare (count a) (count b))
                                  items #(case (int (kind %))
                                           6 %
                                           7 (apply concat (sort-by key compare-keys %))
                                           8 (sort compare-keys %))]
                              (if (zero? by-count)
                                (or (first (remove zero? (map compare-keys (items a) (items b)))) 0)
                                by-count))
          :else (compare (pr-str a) (pr-str b)))))

(defn quoted [s]
  (str \" (str/escape s {\\ "\\\\" \" "\\\"" \newline "\\n" \tab "\\t" \return "\\r"}) \"))

(defn text [v]
  (let [v (plain v)]
    (cond (nil? v) "nil"
          (string? v) (quoted v)
          (and (float? v) (Double/isNaN v)) "##NaN"
          (and (float? v) (Double/isInfinite v)) (if (pos? v) "##Inf" "##-Inf")
          (map? v) (str "{" (str/join " " (for [[k x] (sort-by key compare-keys v)]
                                            (str (text k) " " (text x)))) "}")
          (set? v) (str "#{" (str/join " " (map text (sort compare-keys v))) "}")
          (or (sequential? v) (instance? clojure.lang.PersistentQueue v))
          (str "[" (str/join " " (map text v)) "]")
          (symbol? v) (str "'" v)
          (var? v) (str "#'" (:name (meta v)))
          :else (str v))))

;; --- evaluation ------------------------------------------------------------------------------------

(defn forms [program]
  (let [reader (java.io.PushbackReader. (java.io.StringReader. program))]
    (doall (take-while #(not= ::end %) (repeatedly #(read {:eof ::end :read-cond :allow} reader))))))

(def counter (atom 0))

(defn run [program context]
  (let [space (create-ns (symbol (str "program" (swap! counter inc))))
        ctx (create-ns 'ctx)]
    (doseq [[k v] context] (intern ctx (symbol (name k)) v))
    (binding [*ns* space *out* (java.io.StringWriter.)]
      (clojure.core/refer-clojure)
      (doseq [[short long] '{str clojure.string set clojure.set walk clojure.walk edn clojure.edn}]
        (alias short long))
      (reduce (fn [_ form] (let [v (eval form)] (if (seq? v) (doall v) v)))
              nil (forms program)))))

(defn answer [program context]
  (try (str "=> " (text (run program context)))
       (catch Throwable e
         (str ";; THROWS " (.getMessage (or (.getCause e) e))))))

(defn expect-block [lines]
  (let [comments (take-while #(re-find #"^#( |$)" %) lines)
        lines (drop (count comments) lines)
        program (str/join "\n" (take-while #(not (re-find #"^(?:\.[a-z_]+ |=[a-z_]+ |=> |!! )" %)) lines))
        context (some->> lines (filter #(str/starts-with? % ".context ")) first
                         (drop 9) (apply str) read-json)
        keep-it? (or (some #(re-find #"^# differs" %) comments)
                     (some #(str/starts-with? % "!! ") lines)
                     (empty? lines))]
    (if keep-it?
      (concat comments lines)
      (concat comments (remove #(str/starts-with? % "=> ") lines) [(answer program context)]))))

(doseq [file *command-line-args*]
  (let [blocks (remove #(= [""] %) (partition-by #(= "" %) (str/split (slurp file) #"\n")))]
    (spit file (str (str/join "\n\n" (map #(str/join "\n" (expect-block %)) blocks)) "\n"))
    (println file (count blocks))))
(shutdown-agents)
