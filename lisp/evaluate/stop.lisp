;;;; Stopping a call from outside (docs/reference/sessions.md 6): soft stop, hard stop, heap limit.

(in-package "CADRE-AGENT")

(defconstant +sigint+ 2)
(defconstant +sigusr1+ 10)

;;; --- texts --------------------------------------------------------------------------------------

(defun advice (way what)
  "End of a sentence: WAY does WHAT; nothing when there is none."
  (if (string= way "") "." (text "; " way " " what ".")))

(defun timeout-message (call)
  "Sentence for a call that exceeded its timeout."
  (text "Evaluation exceeded the timeout of " (plural (call-timeout call) "second")
        ". Possibly an infinite loop or an expensive computation"
        (advice (call-raise-timeout call) "raises the timeout")))

(defun activity-text (call)
  "What the call was doing, as a sentence."
  (let ((phase (call-phase call)))
    (cond ((call-reporting call)
           (text "It was rendering the report of " (call-reporting call) "."))
          ((string= phase "read") (text "It was reading form " (call-form-number call) "."))
          ((string= phase "print") (text "It was printing value " (call-value-number call) "."))
          ((string= phase "compile") (text "It was compiling form " (call-form-number call) "."))
          ((string= phase "inspect") "It was inspecting.")
          (t (text "It was evaluating form " (call-form-number call) ".")))))

(defun soft-message (call)
  "TIMEOUT-MESSAGE, and what the call was doing."
  (text (timeout-message call) (string #\Newline) (activity-text call)))

(defun rendering-p (call)
  "True when printers of the user are what hangs: they must not be called again for the report."
  (or (call-reporting call) (member (call-phase call) '("print" "inspect") :test #'string=)))

(defun resume-hint (call)
  "How a client of MCP goes on with CALL, which is stopped and frozen; NIL for other ways to call."
  (and (freezing-p call)
       (string= (call-raise-timeout call) "configure-limits")
       (text "invoke-restart {\"restart\": \"CONTINUE\", \"adopt\": true, \"timeout\": 300} "
             "goes on where it stopped")))

(defun timeout-error (call message frames depth restarts)
  "Error object of a call that was stopped."
  (cadre-error "EVALUATION-TIMEOUT" "timeout" message
               :frames frames :depth depth :restarts restarts :call call))

(defun timer-timeout-error (frames depth)
  "SBCL runs timers in the main thread, with interrupts off: one that does not end keeps it from
taking the next request, and only a hard stop ends it."
  (append (timeout-error nil "The timer did not end while a call waited." frames depth nil)
          (list "thread" "timer" "kind" "timer" "phase" "evaluate")))

;;; --- signals ------------------------------------------------------------------------------------

(defun sent-by-supervisor-p (information)
  "INFORMATION is the siginfo_t; user code may signal its own process, which does not count. A fork
that runs a test is stopped by the copy that runs the tests. When too many signals of the user are
pending, whoever has sent them, the kernel delivers this one without saying from whom."
  (let ((fork (agent-fork *agent*))
        (code (signed-sap-ref-32 information 8))
        (sender (sap-ref-32 information 16)))
    (or (and (zerop code) (zerop sender))
        (= sender (if fork (fork-runner fork) (agent-supervisor-pid *agent*))))))

(defun interrupted-frame (context)
  "The innermost frame of what the signal interrupted."
  (let* ((frame (signal-frame context))
         (registers (sap-alien context (* os-context-t)))
         (stack-pointer (context-stack-pointer registers)))
    (cond ((ignore-errors (assembly-caller-frame registers stack-pointer)))
          ((lisp-frame-near-p frame) frame)
          ((ignore-errors (search-frame stack-pointer)))
          (t frame))))

;;; On a busy machine the stop may arrive before its request has been read, or after it has been
;;; answered. A queued signal carries the number of the request it is meant for.

(defun stop-number (information)
  "Number of the request to stop, or NIL when the signal carries none."
  (and (= (signed-sap-ref-32 information 8) -1) ; si_code = SI_QUEUE
       (plusp (sap-ref-32 information 24))      ; si_value
       (sap-ref-32 information 24)))

(defun soft-stop (signal information context)
  "SIGINT: end the call as a timeout. Signals no condition, so no handler of the user can swallow
it; the stack stays alive in the post-mortem, where CONTINUE simply returns from here."
  (declare (ignore signal))
  (when (and (in-main-thread-p) (sent-by-supervisor-p information))
    (let ((call *call*)
          (number (stop-number information)))
      (cond ((and call (or (null number) (= number (call-number call))))
             (case (call-stoppable call)
               ((t) (stop-call call context))
               ((nil) (setf (agent-early-stop *agent*) (call-number call)))))
            (number (setf (agent-early-stop *agent*) number))))))

(defun stop-call (call context)
  "End CALL as a timeout, in the signal handler. CONTEXT is what was interrupted."
  (setf (call-timed-out call) t)
  (when (call-error call)
    (with-interrupts
      (end-cleanup call (text "the timeout of " (plural (call-timeout call) "second")
                              " was exceeded"))))
  (with-simple-restart (continue "Go on with a new time limit.")
    (let ((*plain-arguments* (rendering-p call))
          (restarts (compute-restarts)))
      (multiple-value-bind (frames depth) (collect-frames (interrupted-frame context) nil)
        (when frames (fill-arguments (first frames)))
        (when (call-compiled-file call) (locate-in-compiled-file call frames))
        (let ((error (append (timeout-error call (soft-message call) frames depth restarts)
                             (list "hint" (resume-hint call)))))
          (with-interrupts
            (freeze-and-end-call call error nil frames restarts)))))))

(defun apply-early-stop (call)
  "End CALL when its stop arrived before it began."
  (when (= (agent-early-stop *agent*) (call-number call))
    (setf (call-timed-out call) t
          (call-error call) (timeout-error call (text (timeout-message call) (string #\Newline)
                                                      "It had not begun.")
                                           '() 0 '()))
    (end-call)))

(defun first-failure-members (call)
  "A call that hangs while it cleans up has failed before."
  (let ((error (call-error call)))
    (and error
         (not (equal (member-of error "code") "timeout"))
         (list "hint" (text "It was cleaning up after " (member-of error "type") ": "
                            (one-line (member-of error "message")))))))

(defun hard-stop (signal information context)
  "SIGUSR1, which SBCL does not defer: say where it hangs, then end the process."
  (declare (ignore signal))
  (when (and (in-main-thread-p) (sent-by-supervisor-p information))
    (let ((call *call*)
          (*plain-arguments* t))
      (multiple-value-bind (frames depth)
          (handler-case (collect-frames (interrupted-frame context) nil)
            (serious-condition () (values '() 0)))
        ;; The interrupted code may be using the channel's own buffer.
        (when (or call *in-timer*)
          (send-message +frames+ 0
                        (object "error" (if call
                                            (append (timeout-error call (timeout-message call)
                                                                   frames depth nil)
                                                    (first-failure-members call))
                                            (timer-timeout-error frames depth)))
                        (make-writer))))
      (flush-streams)
      (exit-now +exit-hard-stop+))))

(defun install-stop-handlers ()
  "Handle the two signals of the supervisor."
  (enable-interrupt +sigint+ #'soft-stop)
  (enable-interrupt +sigusr1+ #'hard-stop))

;;; --- heap limit ---------------------------------------------------------------------------------

(defun heap-limit-bytes (call)
  "The heap limit of CALL in bytes."
  (* (call-max-memory call) 1024 1024))

(defun install-heap-limit ()
  "Before each call, because *AFTER-GC-HOOKS* is the user's too."
  (setf (agent-heap-check-at *agent*) 0)
  (pushnew 'check-heap-limit *after-gc-hooks*))

(defun check-heap-limit ()
  "After a collection: stop the call when live data exceed its limit. Only live data count, so a
full collection comes first; the next check waits until usage has grown by a quarter."
  (incf (agent-collection-count *agent*))
  (let ((call *call*))
    (when (and call (eq (call-stoppable call) t)
               (not (agent-checking-heap *agent*)) (in-main-thread-p))
      (let ((limit (heap-limit-bytes call)))
        (when (> (sb-kernel:dynamic-usage) (max limit (agent-heap-check-at *agent*)))
          (setf (agent-checking-heap *agent*) t)
          (sb-ext:gc :full t)
          (setf (agent-checking-heap *agent*) nil)
          (if (> (sb-kernel:dynamic-usage) limit)
              (stop-for-heap call)
              (setf (agent-heap-check-at *agent*) (next-heap-check limit))))))))

(defun next-heap-check (limit)
  "When usage has grown by a quarter of the limit, but while a collection can still copy it all."
  (min (+ (sb-kernel:dynamic-usage) (floor limit 4))
       (floor (* 47 (sb-ext:dynamic-space-size)) 100)))

(defun stop-for-heap (call)
  "End CALL because its live data exceed the limit."
  (multiple-value-bind (frames depth) (collect-frames (sb-di:top-frame) nil)
    (let ((*plain-arguments* t))        ; the arguments are what fills the heap
      (setf (call-error call)
            (cadre-error "HEAP-LIMIT-EXCEEDED" "heap-limit"
                         (text "The heap limit of " (call-max-memory call)
                               " MB (max-memory) was exceeded"
                               (advice (call-raise-memory call) "raises it"))
                         :frames frames :depth depth :call call)))
    (end-call)))
