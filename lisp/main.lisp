;;;; The worker's life: start, the message loop, snapshots.

(in-package "CADRE-AGENT")

(defconstant +protocol-version+ 2)

;;; --- snapshots ----------------------------------------------------------------------------------

(defconstant +garbage-bytes+ (* 2 1024 1024)) ; what a snapshot may hold of it

(defun much-garbage-p ()
  "True when so much was allocated since the last collection that a clone should not keep it, or
when the user has made finalizers, which run when the session is idle. A collection takes as long as
several small evaluations, and the pages it writes have to be copied after a clone."
  (let ((usage (sb-kernel:dynamic-usage)) (collected (agent-collected-bytes *agent*)))
    (or (< usage collected)
        (> usage (+ collected +garbage-bytes+))
        (agent-finalizers-made *agent*))))

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
    (setf *after-gc-hooks* hooks
          (agent-collected-bytes *agent*) (sb-kernel:dynamic-usage))))

(defun take-snapshot (message request)
  "Leave a snapshot as REQUEST says, in answer to MESSAGE. An agent that cannot answer requests any
more leaves none, and says so."
  (if (answering-p)
      (leave-snapshot message request)
      (send-message +snap-failed+ message
                    (object "number" (integer-member request "number" 0)
                            "broken" :true
                            "reason" "the agent does not answer requests"))))

(defun leave-snapshot (message request)
  "Leave a snapshot of this process behind, report it as the answer to MESSAGE, and warm up."
  (let* ((number (integer-member request "number" 0))
         (start (monotonic-microseconds))
         (collected (progn (when (much-garbage-p) (collect-garbage)) (monotonic-microseconds))))
    (repair-descriptors)
    (run-system-finalizers)
    (release-stack-pages)
    (remap-clean-pages-again)
    (setf (agent-idle-offsets *agent*) (record-offsets))
    (multiple-value-bind (pid reason)
        (freeze "snapshot" number (or (received-descriptor 0) (request-channel)))
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
  "A copy is adopted: the old head is gone, and this process is the session from now on."
  (setf (agent-copy-p *agent*) nil)
  (release-frozen-files)
  (let ((remarks (close-lost-listeners)))
    (send-message +adopted+ 0 (object "pid" (agent-registered-pid *agent*)
                                      "lost_threads" (map 'simple-vector #'cdr remarks)
                                      "state" (session-state)))))

;;; --- the loop -----------------------------------------------------------------------------------

(defun message-loop ()
  "Serve the supervisor's messages. Timers of the user may run in this thread while it waits."
  (loop
    (multiple-value-bind (type number request) (receive-message)
      (case type
        (#.+request+ (perform-request number request))
        (#.+snap+ (take-snapshot number request))
        (#.+adopt+ (become-head))
        (#.+save+ (keep-session number))
        (#.+offsets+ (restore-offsets (agent-idle-offsets *agent*)))
        (#.+quit+ (exit-now 0))))))

;;; --- unhandled conditions -----------------------------------------------------------------------

(defun call-debugger-hook (name condition)
  "Call the user's function in the variable NAME as SBCL does, the variable bound to NIL. What
DISABLE-DEBUGGER puts there is no function of the user: it would turn an error into a dead process."
  (let ((hook (symbol-value name)))
    (when (and hook (not (member hook *debugger-disabled-hooks*)))
      (progv (list name) '(nil) (funcall hook condition hook)))))

(defun enter-debugger (original condition)
  "Runs in place of INVOKE-DEBUGGER, in every thread; hooks of the user come first, in the order of
SBCL."
  (declare (ignore original))
  (when (typep condition 'sb-ext:step-condition)
    (invoke-restart 'sb-ext:step-continue)) ; there is no stepper: STEP just evaluates
  (call-debugger-hook 'sb-ext:*invoke-debugger-hook* condition)
  (call-debugger-hook '*debugger-hook* condition)
  (let ((restart (and (in-test-p) (check-restart condition))))
    (when restart (capture-failed-check condition restart)))
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

;;; Directory of the contributed modules of the SBCL that built the core.
(defglobal *contrib-home* nil)

(defun modules-beside-runtime ()
  "The directory of the runtime, if contributed modules are in it: the SBCL that Cadre brings."
  (let ((home (make-pathname :name nil :type nil :version nil
                             :defaults sb-ext:*runtime-pathname*)))
    (and (probe-file (merge-pathnames "contrib/" home)) home)))

(defun set-home ()
  "Let REQUIRE find the modules that belong to this core. The environment stays as it is: SBCL_HOME
of the user may be that of another SBCL, and what the user's code starts must not get ours."
  (set-module-home (or (modules-beside-runtime) (directory-pathname *contrib-home*))))

(defun restore-asdf ()
  "ASDF was loaded when the core was built: let it look at the environment of this process, as it
does when it is loaded."
  (ignore-errors (asdf:clear-configuration))
  (ignore-errors (uiop:call-image-restore-hook)))

(defun set-user-policy ()
  "At start and not in the core, because LOAD binds the policy while the core is built. Where the
policy of evaluations cannot be told from that of files (a probe), all code has it."
  (if *evaluation-policy-works*
      (unmark-debug-quality)
      (proclaim `(optimize ,@*evaluation-qualities*))))

(defun save-again ()
  "With the arguments --save-core PATH: save the core for the heap size of this process, and end."
  (let ((path (second (member "--save-core" sb-ext:*posix-argv* :test #'string=))))
    (when path (save-core (sb-ext:parse-native-namestring path)))))

(defun main ()
  "Entry of the saved core."
  (save-again)
  (setf (agent-main-thread *agent*) sb-thread:*current-thread*
        (agent-supervisor-pid *agent*) (parent-process-id))
  (block-wake-signal)
  (name-process "cadre-lisp")
  (die-with-parent)
  (register-process)
  (unless (register-channel) (start-failed "descriptor 240 is not open"))
  (close-on-exec +channel+)
  (close-on-exec +reserve+)
  (register-descriptors)
  (find-tid-address-offset)
  (use-huge-pages)
  (remap-clean-core-pages)
  (limit-first-address-space)
  (set-home)
  (set-user-policy)
  (install-stop-handlers)
  (install-streams)
  (restore-asdf)
  (send-message +hello+ 0 (hello))
  (unwind-protect (message-loop)
    (announce-exit)))                    ; the loop ends only when something ends the process

(defun hello ()
  "Payload of the first message."
  (object "protocol" +protocol-version+
          "pid" (agent-registered-pid *agent*)
          "sbcl" (lisp-implementation-version)
          "heap_bytes" (sb-ext:dynamic-space-size)
          "probes" (probe-objects)
          "state" (session-state)))
