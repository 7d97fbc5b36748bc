;;;; The system of the agent: the one list of its files, in the order they are loaded.
;;;;
;;;; build.lisp and meson.build read this list too (as data: each component is one (:file "NAME")).
;;;; The core is built without its help, so that the user finds ASDF as it was loaded.
;;;;
;;;; At a REPL (SLIME, SLY or plain sbcl):
;;;;
;;;;     (asdf:load-asd "/path/to/cadre/lisp/cadre-agent.asd")
;;;;     (asdf:load-system "cadre-agent")
;;;;     (asdf:test-system "cadre-agent")     ; or (cadre-agent::run-tests "json") for one file
;;;;
;;;; Loading only defines things: the message loop, signal handlers and changes to SBCL itself start
;;;; with MAIN and PREPARE-IMAGE, which only the build and the saved core call.
;;;;
;;;; To try a changed file in a running session, evaluate in it (evaluate-lisp):
;;;;
;;;;     (sb-ext:with-unlocked-packages ("CADRE-AGENT")
;;;;       (handler-bind ((warning #'muffle-warning))
;;;;         (load "/path/to/cadre/lisp/printing.lisp")))
;;;;
;;;; The definitions are part of the session's state: they are used from the next call on, and
;;;; reset-session removes them. `ninja -C build/debug` builds the core for new sessions.

(defsystem "cadre-agent"
  :description "Cadre's part inside SBCL: evaluates, debugs and clones on behalf of the supervisor."
  :depends-on ("sb-posix" "sb-introspect" "sb-sprof")
  :serial t
  :components ((:file "package")
               (:file "syscalls")
               (:file "sbcl")
               (:file "state")
               (:file "json")
               (:file "channel")
               (:file "streams")
               (:file "call")
               (:file "input")
               (:file "history")
               (:file "printing")
               (:file "reader")
               (:file "memory")
               (:file "descriptors")
               (:file "link")
               (:file "listeners")
               (:file "clone")
               (:file "locks")
               (:file "warnings")
               (:file "hints")
               (:file "backtrace")
               (:file "conditions")
               (:file "stop")
               (:file "threads")
               (:file "thread-errors")
               (:file "health")
               (:file "operations")
               (:file "show")
               (:file "evaluate")
               (:file "inspect")
               (:file "debug")
               (:file "compile")
               (:file "systems")
               (:file "actions")
               (:file "seeding")
               (:file "saving")
               (:file "introspect")
               (:file "profile")
               (:file "functions")
               (:file "warmup")
               (:file "probes")
               (:file "main")
               (:file "image")
               (:file "keeping"))
  :in-order-to ((test-op (test-op "cadre-agent/tests"))))

(defsystem "cadre-agent/tests"
  :description "Unit tests of the agent's parts that need no supervisor."
  :depends-on ("cadre-agent")
  :pathname "../tests/lisp/"
  :serial t
  :components ((:file "check")
               (:file "sources")
               (:file "json")
               (:file "channel")
               (:file "streams")
               (:file "input")
               (:file "printing")
               (:file "reader")
               (:file "memory")
               (:file "descriptors")
               (:file "link")
               (:file "hints")
               (:file "show")
               (:file "backtrace")
               (:file "conditions")
               (:file "stop")
               (:file "introspect")
               (:file "profile")
               (:file "functions"))
  :perform (test-op (operation system)
             (unless (symbol-call "CADRE-AGENT" "RUN-TESTS")
               (error "tests of the agent failed"))))
