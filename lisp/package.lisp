;;;; The one package of the agent.
;;;;
;;;; Everything Cadre does inside SBCL is written in this package, so a backtrace can tell Cadre's
;;;; own frames from the user's by package alone. The package is locked when the core is saved.

(defpackage "CADRE-AGENT"
  (:use "COMMON-LISP" "SB-ALIEN" "SB-SYS")
  (:import-from "SB-EXT" "WORD" "DEFGLOBAL" "NATIVE-NAMESTRING" "*AFTER-GC-HOOKS*")
  (:export "MAIN"))
