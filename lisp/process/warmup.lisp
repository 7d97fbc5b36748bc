;;;; Warm-up: a dummy evaluation after each snapshot.
;;;;
;;;; A clone makes the first write to each page of the head a copy-on-write fault, and a collection
;;;; leaves caches empty and pages protected. The first call after them would take several times as
;;;; long as the next. So the head runs a small call for itself, off the request path. It has no
;;;; visible effect: no user code runs, nothing is sent, and variables are only set to themselves.

(in-package "CADRE-AGENT")

(defconstant +populated-bytes+ (* 512 1024)) ; more than a small call allocates

(defglobal *warm-up-request*
    (json-text (object "op" "evaluate" "code" "(+ 1 2)"
                       "limits" (object "timeout" 30 "max_output" 1000 "max_memory" 1024))))
(defglobal *warm-up-writer* (make-writer))

(defun warm-up-call ()
  "All of a small evaluation but the guard and the sending of its result."
  (let* ((request (parse-payload *warm-up-request* 0 (length *warm-up-request*)))
         (call (make-request-call 0 request)))
    (setf *call* call)
    (find-operation call)               ; reading the table writes to it
    (prepare-call call)
    (let* ((*trace-output* *silence*)
           (source (make-source-text (required-string request "code")))
           (values (multiple-value-list (eval (read (source-text-stream source)))))
           (members (append (value-members call values) (evaluation-members call))))
      (health-problem)
      (write-json (result-object call members (timing-since (call-clocks call)) nil)
                  *warm-up-writer*))))

(defun warm-up-compiler ()
  "The compiler has pages of its own to write to. The name is in no package, since ours is locked."
  (populate-type-caches)
  (let ((*macroexpand-hook* 'funcall)
        (*error-output* *silence*)
        (sb-ext:*evaluator-mode* :compile))
    (handler-bind ((warning #'muffle-warning)
                   (sb-ext:compiler-note #'muffle-warning))
      (eval '(defun #:warm (a b) "Adds." (list (+ a b) (length b)))))))

(defun call-in-standard-environment (function)
  "Call FUNCTION in the standard environment: reader macros, print settings and symbols of the user
(who may have shadowed any) have no part in it, and a failure is left for the next call to meet and
report."
  (handler-case
      (with-standard-io-syntax
        (let ((*package* (load-time-value (find-package "CADRE-AGENT")))
              (*gensym-counter* 0)
              (*break-on-signals* nil))
          (funcall function)))
    (serious-condition () nil)))

(defun touch-variables ()
  "Write to what every evaluation sets."
  (setf + + ++ ++ +++ +++ - - / / // // /// /// * * ** ** *** ***
        (aref *incoming* 0) 0
        (writer-fill *warm-up-writer*) 0))

(defconstant +warm-up-delay+ 1)         ; millisecond

(defun warm-up-head ()
  "Warm up after a snapshot, unless the next request comes at once, as from a program: it would wait
for a warm-up that takes longer than itself. The supervisor sends it when it has heard of the
snapshot. The rare work comes first: the processor's caches are left to the frequent one."
  (unless (wait-for-channel +poll-in+ +warm-up-delay+)
    (without-interrupts                 ; a timer of the user would run as part of it
      ;; A thread may hold the compiler's lock as long as it likes.
      (unless (user-threads) (call-in-standard-environment #'warm-up-compiler))
      (unless (message-waiting-p)       ; a request that waits comes first
        (populate-unfilled-pages +populated-bytes+)
        (touch-variables)
        (call-in-standard-environment #'warm-up-call)
        (setf *call* nil)))))
