;;;; A call: one REQUEST being worked on, and the guard around it.
;;;;
;;;; Everything that may run user code happens inside GUARDED, whatever the operation. It ends in
;;;; one of four ways: the operation returns; an unhandled condition, a stop or a limit has been
;;;; captured (conditions.lisp, stop.lisp) and throws to *CALL-END*; the code leaves the process;
;;;; or the process dies and the supervisor restores the session.

(in-package "CADRE-AGENT")

(defstruct call
  (operation "" :type string)
  (number 0 :type (unsigned-byte 32))   ; of the message to answer
  ;; limits of this call
  (timeout 30)                          ; seconds, for texts
  (max-output 20000 :type fixnum)      ; characters
  (max-memory 1024 :type fixnum)        ; megabytes
  (raise-timeout "" :type string)       ; what texts tell the user to raise them with
  (raise-memory "" :type string)
  (evaluation nil)                      ; its number, where it has one
  (interactive nil)                     ; reading standard input asks the supervisor for text
  ;; where it is
  (phase "evaluate")
  (reporting nil)                       ; type label of the condition whose report is rendered
  (source nil)                          ; SOURCE-TEXT the forms come from
  (compiled-file nil)                   ; path of the file that is compiled and loaded as a whole
  (form-number 0 :type fixnum)          ; of the form being read or evaluated, from 1
  (value-number 0 :type fixnum)         ; of the value being printed
  (forms 0 :type fixnum)                ; forms completed
  (stoppable nil)                       ; T: a soft stop may throw now; :OVER: not any more
  ;; what it leaves
  (warnings '())
  (warning-count 0 :type fixnum)        ; all of them; only the first are kept
  (note-count 0 :type fixnum)
  (library-notes 0 :type fixnum)        ; notes about files of libraries, which are only counted
  (shown '())                           ; objects for the answer, newest first (show.lisp)
  (shown-bytes 0 :type fixnum)          ; of images among them
  (error nil)                           ; error object, first captured
  (error-name nil)                      ; what is undefined, if that is the error
  (postmortem nil)
  (freezing t)                          ; false: failures are reported but not kept
  (memory-fault nil)
  (rollback nil)                        ; object for the supervisor
  (timed-out nil)
  (aborted nil)
  (notices '())                         ; sentences for the reply, newest first
  (restart nil)                         ; name, when resumed by invoke-restart
  (samples 0)                           ; taken by the profiler
  (trace nil)                           ; TRACING of trace-calls
  (threads '())                         ; user threads before the call
  ;; clocks at its start
  (clocks nil))

(defglobal *call* nil)                  ; the call of the main thread, NIL while idle
(declaim (type (or null call) *call*))

(defvar *in-timer* nil)                 ; true while a timer of the user runs

(defglobal *call-end* (list :call-end)) ; catch tag no user code can name

;;; New values of the places of an ASSERT that CONTINUE goes on with; :ASK: the terminal is asked.
(defglobal *place-values* :ask)

(defun in-main-thread-p ()
  "True in the thread that runs the evaluations."
  (eq sb-thread:*current-thread* (agent-main-thread *agent*)))

;;; --- clocks -------------------------------------------------------------------------------------

(defun read-clocks ()
  "Real time, processor time, time of collections in microseconds; bytes allocated; page faults."
  (multiple-value-bind (cpu faults) (process-usage)
    (list (monotonic-microseconds) cpu
          (round (* sb-ext:*gc-run-time* (/ 1000000 internal-time-units-per-second)))
          (sb-ext:get-bytes-consed) faults)))

(defun timing-since (clocks)
  "Object with what has been used since CLOCKS."
  (destructuring-bind (real run gc bytes faults) (mapcar #'- (read-clocks) clocks)
    (flet ((count-up (value) (max 0 value)))
      (object "real_us" (count-up real) "run_us" (count-up run) "gc_us" (count-up gc)
              "bytes" (count-up bytes) "page_faults" (count-up faults)))))

;;; --- the guard ----------------------------------------------------------------------------------

(defun announced-exit-code ()
  "The code given to EXIT, or NIL. EXIT in another thread hands it to this one as a list."
  (let ((exit *exit-in-progress*))
    (find-if #'integerp (if (listp exit) exit (list exit)))))

(defun run-exit-hooks ()
  "Run the user's exit hooks, as EXIT does, within the timeout of the call; what they print belongs
to the answer."
  (handler-bind ((serious-condition
                   (lambda (condition)
                     (format *captured-error* "~&exit hook: ~A~%" (condition-message condition))
                     (return-from run-exit-hooks))))
    (catch *call-end*                   ; where a stop leads to
      (mapc #'funcall sb-ext:*exit-hooks*))))

(defun announce-exit ()
  "The stack is being unwound past the agent, so the code ends its process. Send the exit notice and
leave before waiting threads can delay it; the effects are rolled back anyway."
  (let* ((announced (announced-exit-code))
         (code (or announced 1)))
    (when announced (run-exit-hooks))
    (when (agent-fork *agent*) (announce-exit-of-test code))
    (flush-streams)
    (send-message +exiting+ 0
                  (object "exit_code" (logand code 255)
                          "reason" (if announced "exit" "terminated")))
    (exit-now code)))

(defun end-call (&optional value)
  "Leave the call by its catch tag. Cleanup forms of the user run."
  (throw *call-end* value))

(defun guarded (call function)
  "Members of the result that FUNCTION returns, or NIL when the call failed."
  (let ((completed nil))
    (unwind-protect
         (multiple-value-prog1
             (catch *call-end*
               ;; Nothing outside the call may be seen or reached from inside it.
               (let ((sb-kernel:*restart-clusters* nil))
                 (handler-bind ((warning #'record-warning)
                                (sb-ext:compiler-note #'record-compiler-note)
                                (sb-c:compiler-error #'record-compiler-error))
                   (setf (call-stoppable call) t)
                   (apply-early-stop call)
                   (multiple-value-prog1 (funcall function)
                     (setf (call-stoppable call) :over)))))
           (setf completed t
                 (call-stoppable call) :over))
      (unless completed (announce-exit)))))

(defun prepare-call (call)
  "Before the guard: give the call its streams, limits and clocks."
  (repair-descriptors)
  (unblock-output)
  (install-streams)
  (install-input call)
  (install-heap-limit)
  (limit-address-space)
  (when (and (user-threads) (null *trial*)) (ensure-thread-channel))
  (setf *place-values* :ask
        (call-threads call) (user-threads)
        (call-clocks call) (read-clocks)))

(defun finish-call (call)
  "After the guard: nothing here runs user code except what the health check tries out."
  (when (call-timed-out call) (end-threads-of call))
  (ensure-live-package)
  (forget-assumptions call)
  ;; A trial prints nothing. A thread may: when two flush a stream, its text is written twice.
  (unless *trial* (flush-streams))
  (repair-descriptors)
  (detach-filter)
  (when (call-memory-fault call)
    (setf (call-rollback call)
          (object "cause" "memory-fault"
                  "reason" "a memory fault may have corrupted the image")))
  (unless (or (call-rollback call) *trial*) ; the call before a trial was checked
    (let ((failed (health-problem)))
      (when failed
        (setf (call-rollback call)
              (object "cause" "unusable"
                      "reason" (text "the evaluation left the image unusable (" failed " failed)"))
              (call-error call)
              (cadre-error "SESSION-UNUSABLE" "unusable"
                           (text "The evaluation left the image unusable (" failed
                                 " failed); its effects were discarded.")))))))

(defun ensure-live-package ()
  "Leave a package that the user has deleted."
  (unless (package-name *package*)
    (setf *package* (session-package))))

(defun unusable-p (call)
  "True when the health check after CALL failed."
  (equal "unusable" (member-of (call-rollback call) "cause")))

(defun result-object (call members timing thread-errors)
  "Payload of the RESULT of CALL, with the operation's MEMBERS."
  (let* ((members (cond ((unusable-p call)
                         (failure-members call)) ; MEMBERS were made by what is broken
                        ((or (call-error call) (null members))
                         (append (failure-members call) members))
                        (t members)))
         (error (call-error call)))
    (list* :object
           "op" (call-operation call)
           "ok" (json-boolean (not error))
           "error" error
           "postmortem" (call-postmortem call)
           "adoptable" (and (call-memory-fault call) :false)
           "rollback" (call-rollback call)
           "thread_errors" thread-errors
           "notices" (and (call-notices call) (coerce (reverse (call-notices call)) 'simple-vector))
           "timing" timing
           "state" (session-state)
           members)))

(defun perform-call (call function)
  "Run FUNCTION under the guard and send the RESULT. CALL may leave here in another process than
it came in: a copy of a post-mortem resumes in the middle of FUNCTION and answers another message."
  (setf *call* call)
  (prepare-call call)
  (answer-call call (guarded call function)))

(defun answer-call (call members)
  "Send the RESULT of CALL, whose operation returned MEMBERS."
  (let ((timing (timing-since (call-clocks call))))
    (without-interrupts                 ; a timer that fails now would fail the health check
      (finish-call call)
      (send-message +result+ (call-number call)
                    (result-object call members timing (detach-thread-errors)))
      (setf *call* nil))))

;;; --- state of the session -----------------------------------------------------------------------

(defun package-label (package)
  "The shortest of PACKAGE's name and nicknames, as people write it."
  (reduce (lambda (best name) (if (< (length name) (length best)) name best))
          (package-nicknames package) :initial-value (package-name package)))

(defun session-state ()
  "What the supervisor shows of the session in every answer."
  (let ((package (session-package)))
    (object "package" (package-name package)
            "package_label" (package-label package)
            "threads" (map 'simple-vector #'thread-label (user-threads))
            "live_bytes" (sb-kernel:dynamic-usage)
            "systems" (coerce (loaded-systems) 'simple-vector))))
