;;;; Loads and tests the system cadre-agent; run by tests/lisp/run, with a directory for fasl files.
;;;;
;;;; At a REPL: (asdf:load-asd "…/lisp/cadre-agent.asd") (asdf:test-system "cadre-agent")

(require :asdf)

(asdf:initialize-output-translations
 `(:output-translations :ignore-inherited-configuration
                        (t (,(first (last sb-ext:*posix-argv*)) :implementation))))

(asdf:load-asd (merge-pathnames "../../lisp/cadre-agent.asd" *load-truename*))

;; What the compiler prints is shown only when it fails.
(let ((output (make-string-output-stream)))
  (handler-bind ((error (lambda (condition)
                          (write-string (get-output-stream-string output) sb-sys:*stdout*)
                          (format sb-sys:*stdout* "~A~%" condition)
                          (sb-ext:exit :code 1))))
    (let ((*standard-output* output) (*error-output* output) (*compile-verbose* nil))
      (asdf:load-system "cadre-agent/tests"))))

(finish-output)
(sb-ext:exit :code (if (uiop:symbol-call "CADRE-AGENT" "RUN-TESTS") 0 1))
