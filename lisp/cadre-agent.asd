;;;; The system of the agent: the one list of its files, in the order they are loaded.
;;;;
;;;; build.lisp and meson.build read this list too (as data: each component is one (:file "NAME") or
;;;; (:file "FOLDER/NAME")).
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
;;;;         (load "/path/to/cadre/lisp/evaluate/printing.lisp")))
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
               (:file "sbcl-compiler")
               (:file "state")
               (:file "protocol/json")
               (:file "protocol/channel")
               (:file "evaluate/streams")
               (:file "evaluate/call")
               (:file "evaluate/input")
               (:file "evaluate/history")
               (:file "evaluate/printing")
               (:file "evaluate/reader")
               (:file "process/memory")
               (:file "process/descriptors")
               (:file "protocol/link")
               (:file "process/listeners")
               (:file "process/forking")
               (:file "process/clone")
               (:file "process/locks")
               (:file "evaluate/warnings")
               (:file "debug/hints")
               (:file "debug/backtrace")
               (:file "debug/conditions")
               (:file "evaluate/stop")
               (:file "process/threads")
               (:file "debug/thread-errors")
               (:file "process/health")
               (:file "protocol/operations")
               (:file "evaluate/show")
               (:file "evaluate/evaluate")
               (:file "tools/inspect")
               (:file "debug/debug")
               (:file "tools/compile")
               (:file "tools/systems")
               (:file "tools/actions")
               (:file "tools/seeding")
               (:file "process/saving")
               (:file "tools/introspect")
               (:file "editing/file-forms")
               (:file "editing/edit-form")
               (:file "tools/profile")
               (:file "tools/trace")
               (:file "tools/explain")
               (:file "tools/functions")
               (:file "tools/project")
               (:file "tools/libraries")
               (:file "tools/fetching")
               (:file "editing/symbol-tokens")
               (:file "editing/rename")
               (:file "tools/references")
               (:file "tools/break-at")
               (:file "tools/hyperspec")
               (:file "testing/fork")
               (:file "testing/frameworks")
               (:file "testing/selection")
               (:file "testing/since")
               (:file "testing/runner")
               (:file "process/warmup")
               (:file "probes")
               (:file "main")
               (:file "image")
               (:file "process/keeping"))
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
               (:file "file-forms")
               (:file "introspect")
               (:file "profile")
               (:file "functions"))
  :perform (test-op (operation system)
             (unless (symbol-call "CADRE-AGENT" "RUN-TESTS")
               (error "tests of the agent failed"))))
