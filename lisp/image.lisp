;;;; What is changed in SBCL itself, once, before the core is saved.

(in-package "CADRE-AGENT")

(defun remove-finalizer-thread ()
  "Finalizers run when the supervisor says so (threads.lisp); the thread that SBCL would start for
them is ended and never started again."
  (stop-finalizer-thread)
  (replace-finalizer-thread-functions))

(defun silence-compiler ()
  "The compiler's findings are recorded as conditions; what it prints about them is dropped, unless
the user has given it a stream."
  (sb-int:encapsulate *compiler-message-function* 'cadre
                      (lambda (original stream &rest arguments)
                        (unless (captured-stream-p stream)
                          (apply original stream arguments))))
  (sb-int:encapsulate *compilation-summary-function* 'cadre
                      (lambda (original &rest arguments)
                        (if (captured-stream-p *error-output*)
                            (let ((*error-output* (make-broadcast-stream)))
                              (apply original arguments))
                            (apply original arguments)))))

(defun install-debugger ()
  "Let unhandled conditions go to ENTER-DEBUGGER."
  (sb-int:encapsulate 'invoke-debugger 'cadre #'enter-debugger))

(defun track-loaded-files ()
  "Let a file that is loaded while load-file evaluates another be its own source, and have plain
SBCL's policy."
  (sb-int:encapsulate 'load 'cadre
                      (lambda (original &rest arguments)
                        (let ((*evaluation-qualities* '()))
                          (with-source-file (nil)
                            (apply original arguments))))))

(defun warm-up-image ()
  "Use what the first evaluation would otherwise have to prepare: generic functions get their
dispatch functions here and not in every worker."
  (setf *call* (make-call))
  (printed-values (list 1 :a "b" (make-hash-table) #'car (find-class 'class)) 1000)
  (printed '(1 "x" #\y))
  (setf *call* nil)
  (health-problem))

(defun prepare-image ()
  "Probe and change SBCL, and lock the package; once, when the core is built."
  (setf *contrib-home* (native-namestring (truename (sb-int:sbcl-homedir-pathname))))
  (remove-finalizer-thread)             ; before the probes, which clone
  (record-system-mutexes)
  (run-probes)
  (silence-compiler)
  (install-text-compiler)
  (probe-file-compiler)
  (install-evaluation-policy)
  (track-loaded-files)
  (observe-actions)
  (keep-session-when-saving)
  (refine-stamps)
  (search-libraries)
  (seed-compiled-files)
  (bound-dry-runs)
  (install-debugger)
  (answer-assertions)
  (guard-timers)
  (watch-finalizers)
  (install-address-space-limits)
  (warm-up-image)
  (setf *package* (find-package "COMMON-LISP-USER"))
  (record-fresh-image)
  (sb-ext:lock-package "CADRE")
  (sb-ext:lock-package "CADRE-AGENT"))

(defun save-core (path)
  "Save this image as the core PATH and end."
  (sb-ext:save-lisp-and-die path :toplevel #'main :executable nil))
