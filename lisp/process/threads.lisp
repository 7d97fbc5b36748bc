;;;; Other threads, finalizers: what user code runs beside the call (docs/reference/sessions.md 7).

(in-package "CADRE-AGENT")

;;; --- conditions in other threads ----------------------------------------------------------------

(defconstant +thread-error-limit+ 20)

(defun add-thread-error (error)
  "Keep ERROR for the next result."
  (when (< (length (agent-thread-errors *agent*)) +thread-error-limit+)
    (sb-ext:atomic-push error (agent-thread-errors *agent*))))

(defun detach-thread-errors ()
  "Errors of other threads since the last result, oldest first; NIL without any."
  (let ((errors (agent-thread-errors *agent*)))
    (setf (agent-thread-errors *agent*) '())
    (and errors (coerce (reverse errors) 'simple-vector))))

(defun thread-error-object (condition kind name caller)
  "Error object of CONDITION; frames are those below the function CALLER."
  (multiple-value-bind (frames depth) (collect-frames (top-frame-below caller) condition)
    (append (condition-error condition frames depth '() nil)
            (list "thread" name "kind" kind "phase" "evaluate"))))

(defun end-threads-of (call)
  "End the threads a timed-out call has started. One that does not end makes the state of the
image unknown: then the session is rolled back."
  (let ((started (set-difference (user-threads) (call-threads call))))
    (when started
      (dolist (thread started) (ignore-errors (sb-thread:terminate-thread thread)))
      (loop repeat 20
            while (some #'sb-thread:thread-alive-p started)
            do (c-call "usleep" int (unsigned-int 10000)))
      (when (some #'sb-thread:thread-alive-p started)
        (setf (call-rollback call)
              (object "cause" "timeout" "reason" "it could not be interrupted"))))))

;;; --- timers -------------------------------------------------------------------------------------

;;; SBCL runs a timer's function in the main thread, in the middle of waiting for a message, of an
;;; evaluation, or of the agent's own work. A timer that fails ends, and nothing else does. The
;;; exception is TIMEOUT: WITH-TIMEOUT signals it by a timer, for the evaluation to handle.

(defglobal *timer-end* (list :timer-end)) ; catch tag no user code can name

(defun evaluating-p ()
  "True while handlers of the user's evaluation are the innermost ones, not the agent's own."
  (and (in-main-thread-p) *call*
       (eq (call-stoppable *call*) t)
       (string= (current-phase *call*) "evaluate")))

(defun guarded-timer-function (function)
  "FUNCTION of a timer, which ends alone when it fails."
  (lambda ()
    (catch *timer-end*
      (let ((*in-timer* t))
        (handler-bind ((serious-condition
                         (lambda (condition)
                           (unless (or (evaluating-p) (typep condition 'sb-ext:timeout))
                             (abort-timer-after condition)))))
          (funcall function))))))

(defun guard-timers ()
  "Guard the functions of all timers; once, when the core is built."
  (sb-int:encapsulate 'sb-ext:make-timer 'cadre
                      (lambda (original function &rest options)
                        (apply original (guarded-timer-function function) options))))

(declaim (notinline abort-timer-after))
(defun abort-timer-after (condition)
  "Record CONDITION and end the timer in which it is unhandled."
  (ignore-errors
   (add-thread-error (thread-error-object condition "timer" "timer" 'abort-timer-after)))
  (throw *timer-end* nil))

;;; --- finalizers ---------------------------------------------------------------------------------

;;; SBCL's finalizer thread never exists here: a clone would lose it, and it would run user code
;;; at any time. They run after a collection within an evaluation, and those that are pending when
;;; the session is idle when the supervisor asks for it.

(defglobal *finalizers-work* t)         ; result of a probe at build time

(defun pending-finalizers ()
  "Functions of dead objects that wait to be called; none where the queue cannot be read."
  (if *finalizers-work*
      (handler-case (queued-finalizers)
        (serious-condition () '()))
      '()))

(defun system-finalizer-p (function)
  "True for SBCL's own, which release buffers and descriptors of streams."
  (system-package-p (name-package (sb-kernel:%fun-name function))))

(defun watch-finalizers ()
  "Note when user code makes a finalizer; once, when the core is built."
  (sb-int:encapsulate 'sb-ext:finalize 'cadre
                      (lambda (original object function &rest options)
                        (unless (ignore-errors (system-finalizer-p (coerce function 'function)))
                          (setf (agent-finalizers-made *agent*) t))
                        (apply original object function options))))

(defun pending-finalizer-count ()
  "How many finalizers of the user are pending."
  (count-if-not #'system-finalizer-p (pending-finalizers)))

(defun run-system-finalizers ()
  "When there are no others: they are short and need no guard."
  (let ((pending (pending-finalizers)))
    (when (and pending (every #'system-finalizer-p pending))
      (ignore-errors (sb-kernel:run-pending-finalizers)))))

(defun discard-pending-finalizers ()
  "Forget finalizers that are pending."
  (ignore-errors (discard-queued-finalizers)))

(defun record-finalizer-error (warning)
  "SBCL turns an error of a finalizer into a warning whose last argument is the condition."
  (let ((condition (and (typep warning 'simple-condition)
                        (first (last (simple-condition-format-arguments warning))))))
    (when (typep condition 'condition)
      (add-thread-error (append (condition-error condition '() 0 '() nil)
                                (list "thread" "finalizer" "kind" "finalizer"
                                      "phase" "evaluate"))))))

(defun run-finalizers ()
  "Run pending finalizers; how many there were. One that is stopped has been taken off the list
before it began, so it is dropped."
  (let ((count (length (pending-finalizers))))
    (handler-bind ((warning #'record-finalizer-error))
      (sb-kernel:run-pending-finalizers))
    count))

(defvar *finalizing* nil)               ; true while finalizers run in an evaluation

(defconstant +finalizing-seconds+ 1)

(defun call-for-seconds (seconds function)
  "Call FUNCTION; leave it when the time is over."
  (let* ((end (list :end))
         (timer (sb-ext:make-timer (lambda () (throw end nil)))))
    (catch end
      (sb-ext:schedule-timer timer seconds)
      (unwind-protect (funcall function)
        (sb-ext:unschedule-timer timer)))))

(defun finalize-in-evaluation ()
  "After a collection: run pending finalizers when the main thread evaluates. Handlers and restarts
of the evaluation are none of theirs. One that does not end is left, and the rest wait until the
session is idle."
  (when (and (not *finalizing*) (evaluating-p) (plusp (pending-finalizer-count)))
    (let ((*finalizing* t)
          (sb-kernel:*restart-clusters* nil)
          (sb-kernel:*handler-clusters* (last sb-kernel:*handler-clusters*)))
      (call-for-seconds +finalizing-seconds+ #'run-finalizers))))
