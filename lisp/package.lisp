;;;; The one package of the agent, and the rule for all of its code.
;;;;
;;;; Everything Cadre does inside SBCL is written in this package, so a backtrace can tell Cadre's
;;;; own frames from the user's by package alone. The package is locked when the core is saved.
;;;;
;;;; The agent shares its process with user code, which may redefine, trace, shadow, close or set
;;;; whatever it can name. So nothing of the user's may be reachable from the agent's own work:
;;;;
;;;;   * No reader or printer state. Sentences are made by (text "a" 1), not by FORMAT: it does not
;;;;     look at *PRINT-BASE* and the like. FORMAT is used only to join finished strings by ~A.
;;;;   * No generic function on an object of the user (PRINT-OBJECT, DOCUMENTATION), except inside a
;;;;     call.
;;;;   * No EQUAL or other comparison on objects of the user; EQ and EQL, or STRING= on own strings.
;;;;   * No global stream. The channel is written by send(2), not through a stream.
;;;;   * State in globals (DEFGLOBAL), which user code cannot bind, not in special variables.
;;;;
;;;; Code that must call something of the user's (a printer, a report, a restart) does so inside a
;;;; call, under GUARDED (call.lisp), where it can fail, loop or exit without harm.

(defpackage "CADRE-AGENT"
  (:use "COMMON-LISP" "SB-ALIEN" "SB-SYS")
  (:import-from "SB-EXT" "WORD" "DEFGLOBAL" "NATIVE-NAMESTRING" "*AFTER-GC-HOOKS*")
  (:export "MAIN"))
