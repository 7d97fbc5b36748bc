;;;; The worker's life: start, the message loop, snapshots.

(in-package "CADRE-AGENT")

(defconstant +protocol-version+ 1)

;;; --- snapshots ----------------------------------------------------------------------------------

(defun collect-garbage ()
  "Before a clone: what is garbage now would stay in the snapshot. Hooks are not run: they are user
code, and no call is running. Garbage in older generations, such as a stopped runaway leaves, is
collected when usage has more than doubled; the stack is cleared of stale pointers first, one of
which could keep all of it."
  (let ((hooks *after-gc-hooks*))
    (setf *after-gc-hooks* '())
    (sb-sys:scrub-control-stack)
    (sb-ext:gc)
    (when (> (sb-kernel:dynamic-usage)
             (+ (* 2 (agent-live-bytes *agent*)) (floor (sb-ext:dynamic-space-size) 10)))
      (sb-ext:gc :full t)
      (setf (agent-live-bytes *agent*) (sb-kernel:dynamic-usage)))
    (setf *after-gc-hooks* hooks)))

(defun take-snapshot (message request)
  "Leave a snapshot of this process behind, report it as the answer to MESSAGE, and warm up."
  (c-call "usleep" int (unsigned-int (integer-member request "after_us" 0)))
  (let* ((number (integer-member request "number" 0))
         (start (monotonic-microseconds))
         (collected (progn (collect-garbage) (monotonic-microseconds))))
    (repair-descriptors)
    (run-system-finalizers)
    (setf (agent-idle-offsets *agent*) (record-offsets))
    (multiple-value-bind (pid reason) (freeze "snapshot" number)
      (cond ((eq pid :woken))
            (pid
             (send-message +snapped+ message
                           (object "number" number "pid" pid
                                   "gc_us" (- collected start)
                                   "clone_us" (- (monotonic-microseconds) collected)
                                   "finalizers" (pending-finalizer-count)
                                   "state" (session-state)))
             (warm-up-head))
            (t
             (send-message +snap-failed+ message (object "number" number "reason" reason)))))))

(defun become-head ()
  "A copy is adopted: the old head is gone, from now on this process reads MAIN."
  (setf (agent-channel *agent*) +main-channel+)
  (drain-channel)
  (release-frozen-files)
  (send-message +adopted+ 0 (object "pid" (agent-registered-pid *agent*) "state" (session-state))))

;;; --- the loop -----------------------------------------------------------------------------------

(defun next-message ()
  "Wait for a message. Timers of the user may run in this thread while it waits."
  (multiple-value-bind (type number request) (receive-message)
    (loop while (eql type +prewake+)
          do (spin-for-request)
             (setf (values type number request) (receive-message)))
    (values type number request)))

(defun message-loop ()
  "Serve the supervisor's messages."
  (loop
    (multiple-value-bind (type number request) (next-message)
      (case type
        (#.+request+ (perform-request number request))
        (#.+snap+ (take-snapshot number request))
        (#.+adopt+ (become-head))
        (#.+offsets+ (restore-offsets (agent-idle-offsets *agent*)))
        (#.+quit+ (exit-now 0))))))

;;; --- unhandled conditions -----------------------------------------------------------------------

(defun enter-debugger (original condition)
  "Runs in place of INVOKE-DEBUGGER, in every thread. The user's *DEBUGGER-HOOK* is called;
*INVOKE-DEBUGGER-HOOK* is not, so DISABLE-DEBUGGER cannot turn an error into a dead process."
  (declare (ignore original))
  (when (typep condition 'sb-ext:step-condition)
    (invoke-restart 'sb-ext:step-continue)) ; there is no stepper: STEP just evaluates
  (let ((hook *debugger-hook*))
    (when hook
      (let ((*debugger-hook* nil)) (funcall hook condition hook))))
  (cond ((not (in-main-thread-p)) (abort-thread-after condition))
        ((and *in-timer* (not (typep condition 'sb-ext:timeout))) (abort-timer-after condition))
        ((and *call* (eq (call-stoppable *call*) t)) (capture-condition condition))
        (t (agent-failure condition))))

(defun agent-failure (condition)
  "A failure of the agent itself outside any call: leave the session to its last snapshot."
  (ignore-errors
   (format *captured-error* "~&fatal error in the Cadre agent: ~A~%" (type-label condition))
   (finish-output *captured-error*))
  (exit-now 1))

;;; --- start --------------------------------------------------------------------------------------

(defun start-failed (reason)
  "End the process before it has a channel."
  (let ((octets (sb-ext:string-to-octets (format nil "cadre agent: ~A~%" reason))))
    (sb-unix:unix-write 2 octets 0 (length octets))
    (exit-now +exit-start-failed+)))

(defglobal *contrib-home* nil)          ; SBCL_HOME of the SBCL that built the core

(defun set-home ()
  "REQUIRE finds SBCL's modules by SBCL_HOME; a core elsewhere would not find them."
  (unless (sb-posix:getenv "SBCL_HOME")
    (when *contrib-home* (sb-posix:setenv "SBCL_HOME" *contrib-home* 1))))

(defun set-user-policy ()
  "Full debug information without stepping code: complete backtraces and variables at about the
speed of the default. At start and not in the core, because LOAD binds the policy while the core
is built. PROCLAIM and not RESTRICT-COMPILER-POLICY: the user's declarations win."
  (proclaim '(optimize (speed 1) (safety 1) (debug 3)))
  (ignore-errors (proclaim '(optimize (sb-c:insert-step-conditions 0)))))

(defun main ()
  "Entry of the saved core."
  (setf (agent-main-thread *agent*) sb-thread:*current-thread*
        (agent-supervisor-pid *agent*) (parent-process-id)
        (agent-channel *agent*) +main-channel+)
  (block-wake-signal)
  (name-process "cadre-lisp")
  (die-with-parent)
  (register-process)
  (unless (register-channels) (start-failed "descriptors 240 and 241 are not open"))
  (register-descriptors)
  (find-tid-address-offset)
  (use-huge-pages)
  (remap-clean-core-pages)
  (limit-thread-stacks)
  (set-home)
  (set-user-policy)
  (install-stop-handlers)
  (install-streams)
  (send-message +hello+ 0 (hello))
  (unwind-protect (message-loop)
    (announce-exit)))                    ; the loop ends only when something ends the process

(defconstant +thread-stack-bytes+ (* 8 1024 1024))

(defun limit-thread-stacks ()
  "The size on the command line is for the main thread, which runs the evaluations; a thread of
the user with as much would take the address space of the whole session."
  (set-thread-stack-size +thread-stack-bytes+))

(defun hello ()
  "Payload of the first message."
  (object "protocol" +protocol-version+
          "pid" (agent-registered-pid *agent*)
          "sbcl" (lisp-implementation-version)
          "heap_bytes" (sb-ext:dynamic-space-size)
          "probes" (probe-objects)
          "state" (session-state)))
