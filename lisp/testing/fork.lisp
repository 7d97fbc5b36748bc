;;;; The process that a test runs in: a fork of the copy that runs the tests (runner.lisp).
;;;;
;;;; It is a child of that copy, which learns from its end what became of a test that crashed. Its
;;;; standard output and standard error are one pipe, its TMPDIR is a directory of its own; what its
;;;; tests came to it writes on another pipe. A failure is frozen like the error of an evaluation:
;;;; the post-mortem is made by two forks, so that it is a child of the supervisor like all others.

(in-package "CADRE-AGENT")

(defstruct fork
  (runner 0 :type fixnum)               ; process id of the copy
  (pipe -1 :type fixnum)                ; outcomes are written to it
  (channel nil)                         ; of a post-mortem, until one is made
  (channel-number nil)                  ; of the message that asked for it
  (failures '()))                       ; objects, of the test that runs, newest first

(defun in-test-p ()
  "True in the thread of a fork that runs a test, while it may fail."
  (and (agent-fork *agent*) *call* (eq (call-stoppable *call*) t) (in-main-thread-p)))

;;; --- clones -------------------------------------------------------------------------------------

(defun write-pid (fd)
  "Tell the reader of the pipe FD the id of this process."
  (let ((octets (make-octets 4)))
    (setf (u32-at octets 0) (process-id))
    (sb-unix:unix-write fd octets 0 4)))

(defun read-pid (fd)
  "The id that another process writes to the pipe FD, or -1."
  (let ((octets (make-octets 4)))
    (with-pinned-objects (octets)
      (if (= 4 (c-call "read" long (int fd) (system-area-pointer (vector-sap octets))
                       (unsigned-long 4)))
          (u32-at octets 0)
          -1))))

(defun await-supervisor ()
  "In an orphan: until it is the supervisor's child."
  (loop repeat 2000
        until (= (parent-process-id) (agent-supervisor-pid *agent*))
        do (c-call "usleep" int (unsigned-int 1000))))

(defun clone-orphan ()
  "Like CLONE-PROCESS, but of a fork: the clone is made by a process between, which ends, so that
the supervisor inherits it. It is out of the fork's process group when its id is known."
  (multiple-value-bind (read-end write-end) (make-pipe)
    (unless read-end (return-from clone-orphan -1))
    (let ((between (c-call "fork" int)))
      (when (zerop between)
        (unless (zerop (c-call "fork" int)) (exit-now 0))
        (setf *clone-function* 'clone-as-sibling
              (agent-fork *agent*) nil)
        (leave-process-group)
        (await-supervisor)
        (write-pid write-end)
        (close-descriptor write-end)
        (close-descriptor read-end)
        (return-from clone-orphan 0))
      (close-descriptor write-end)
      (prog1 (if (plusp between) (read-pid read-end) -1)
        (close-descriptor read-end)
        (when (plusp between) (wait-for-process between))))))

(defun wait-for-process (pid &optional (options 0))
  "Wait for the end of the child PID: its id and status, or 0 when OPTIONS say not to wait."
  (with-alien ((status int 0))
    (loop
      (let ((result (c-call "waitpid" int (int pid) ((* int) (addr status)) (int options))))
        (unless (and (minusp result) (= (errno) +eintr+))
          (return (values result status)))))))

(defun clone-as (function)
  "Clone this process by FUNCTION, whatever threads run. Child: 0; parent: its id; negative: it
failed."
  (let ((*clone-function* function))
    (if (user-threads) (clone-with-threads) (clone-process))))

;;; --- freezing -----------------------------------------------------------------------------------

(defun freeze-test ()
  "As FREEZE, for a failure of the test that runs: once in a fork that has a channel for it."
  (let ((channel (fork-channel (agent-fork *agent*)))
        (fork (agent-fork *agent*)))
    (when channel
      (setf (fork-channel fork) nil)
      (let ((pid (let ((*clone-function* 'clone-orphan))
                   (freeze "postmortem" nil channel))))
        (unless (eq pid :woken) (close-descriptor channel))
        pid))))

(defun freeze-failure ()
  "Leave a post-mortem of the failing evaluation or test behind."
  (without-interrupts
    (if (agent-fork *agent*)
        (freeze-test)
        (freeze "postmortem" nil (request-channel)))))

;;; --- outcomes -----------------------------------------------------------------------------------

(defun write-octets (fd octets)
  "Write all OCTETS to FD."
  (loop with start = 0
        while (< start (length octets))
        do (let ((written (sb-unix:unix-write fd octets start (- (length octets) start))))
             (if written (incf start written) (exit-now 1)))))

(defun write-outcome (fork outcome)
  "Send the object OUTCOME to the runner, its length in front."
  (let ((octets (json-text outcome))
        (head (make-octets 4)))
    (setf (u32-at head 0) (length octets))
    (write-octets (fork-pipe fork) head)
    (write-octets (fork-pipe fork) octets)))

(defun note-failure (reason error postmortem check)
  "A test has failed for REASON, with the object ERROR; CHECK: members about the check that did."
  (push (append (object "reason" reason
                        "error" error
                        "postmortem" postmortem
                        "channel" (and postmortem (fork-channel-number (agent-fork *agent*))))
                check)
        (fork-failures (agent-fork *agent*))))

(defun failure-reason (call error)
  "Why the test of CALL failed, which ended with the object ERROR."
  (let ((code (member-of error "code")))
    (cond ((equal code "timeout") "timeout")
          ((equal code "heap-limit") "heap")
          ((call-memory-fault call) "crash")
          ((search "HEAP-EXHAUSTED" (member-of error "type" "")) "heap")
          (t "error"))))

(defun note-end-of-test (call error)
  "The test of CALL was ended by ERROR."
  (let ((reason (failure-reason call error)))
    (note-failure reason error (call-postmortem call)
                  (list "message"
                        (if (string= reason "timeout")
                            (text "It did not end within "
                                  (plural (call-timeout call) "second") ".")
                            (text (member-of error "type") ": " (member-of error "message")))))))

(defun test-outcome (call members started)
  "What the test that CALL ran came to; MEMBERS: what it returned, NIL when it failed."
  (when (call-error call) (note-end-of-test call (call-error call)))
  (list* :object
         "us" (- (monotonic-microseconds) started)
         "failures" (coerce (reverse (fork-failures (agent-fork *agent*))) 'simple-vector)
         members))

(defun announce-exit-of-test (code)
  "The test ends its process: that is its failure."
  (flush-streams)
  (note-failure "exit" nil nil
                (list "message" (text "It ended the process with exit code " code ".")
                      "exit_code" code))
  (write-outcome (agent-fork *agent*) (object "ended" :true
                                "failures" (coerce (reverse (fork-failures (agent-fork *agent*)))
                                                   'simple-vector)))
  (exit-now 0))

;;; --- a failed check -----------------------------------------------------------------------------

(defvar *check* '()
  "Members of the failure about the check that is being made: form, expected, got, message.")

(defvar *check-failure* nil
  "How a framework says that a check has failed: a type of conditions, and the name of the restart
by which the test goes on.")

(define-condition failed-check (error)
  ((text :initarg :text :reader failed-check-text))
  (:report (lambda (condition stream) (write-string (failed-check-text condition) stream))))

(defun printed-form (object)
  "OBJECT as text for an answer."
  (printed object :limit 1000 :length 50 :level 10))

(defun check-members (form &key (expected nil expected-p) (got nil got-p) message)
  "Members about a check."
  (append (list "expression" (and form (printed-form form)))
          (and expected-p (list "expected" (printed-form expected)))
          (and got-p (list "got" (printed-form got)))
          (list "message" (and (stringp message) (plusp (length message)) (cut message 2000)))))

(defun failed-check-message (check)
  "What the condition says of CHECK, members about a check."
  (let ((check (cons :object check)))
    (or (member-of check "message")
        (text "The check failed: " (member-of check "expression")))))

(defun report-failed-check (&rest check)
  "Enter the debugger because a check failed, for frameworks that do not by themselves. CHECK is as
for CHECK-MEMBERS."
  (let ((*check* (apply #'check-members check)))
    (with-simple-restart (continue "Go on with the test.")
      (invoke-debugger (make-condition 'failed-check :text (failed-check-message *check*))))))

(defun check-restart (condition)
  "The restart by which a test goes on after CONDITION, if that is the failure of a check."
  (cond ((typep condition 'failed-check) (find-restart 'continue condition))
        ((and *check-failure* (typep condition (first *check-failure*)))
         (find-restart (second *check-failure*) condition))))

(declaim (notinline capture-failed-check)) ; its frame marks where the user's begin
(defun capture-failed-check (condition restart)
  "CONDITION is the failure of a check: freeze it, note it, and go on by RESTART."
  (multiple-value-bind (frames depth)
      (collect-frames (top-frame-below 'capture-failed-check) condition)
    (let* ((call *call*)
           (restarts (compute-restarts condition))
           (error (condition-error condition frames depth restarts call)))
      (flush-streams)
      (let ((pid (freeze-failure)))
        (when (eq pid :woken) (debug-loop call condition frames restarts))
        (note-failure "failed" (and pid error) pid
                      (append *check* (list "message" (member-of error "message"))))
        (invoke-restart restart)))))

;;; --- running ------------------------------------------------------------------------------------

(defvar *running-test* nil)

(defun run-test-form (test &aux (*running-test* test))
  "Members about what TEST did, by its framework."
  (multiple-value-bind (checks skipped) (funcall (framework-run (test-framework test)) test)
    (list "checks" checks "skipped" skipped)))

(defun perform-test (call test)
  "Run TEST as CALL and write its outcome. In a copy of a post-mortem whose test goes on to its end,
this answers the request that let it go on, and serves further ones."
  (let ((started (monotonic-microseconds)))
    (setf (fork-failures (agent-fork *agent*)) '()
          *call* call)
    (let ((members (guarded call (lambda () (first (run-form `(run-test-form ,test)))))))
      (flush-streams)
      (unless (agent-fork *agent*)
        (answer-call call (list "values" (vector "the test has run to its end") "forms" 1))
        (message-loop))
      (write-outcome (agent-fork *agent*) (test-outcome call members started)))))

(defun make-test-call (call seconds)
  "A call like CALL for one test that may take so many SECONDS."
  (make-call :operation "run-tests" :number (call-number call) :timeout seconds
             :max-output (call-max-output call) :max-memory (call-max-memory call)
             :evaluation (call-evaluation call)
             :clocks (read-clocks)))

(defun use-output (fd)
  "Make FD standard output and standard error."
  (duplicate-onto fd 1)
  (duplicate-onto fd 2)
  (duplicate-privately fd +spare-output+)
  (duplicate-privately fd +spare-error+)
  (register-descriptors)
  (install-streams))

(defun use-temporary-directory (directory)
  "Let DIRECTORY be where this process makes temporary files."
  (sb-posix:setenv "TMPDIR" directory 1)
  (uiop:setup-temporary-directory))

(defun live-as-fork (fork output directory call tests seconds)
  "Run TESTS in this new process, and end it."
  (setf (agent-fork *agent*) fork
        (agent-early-stop *agent*) 0
        *received-count* 0)
  (leave-process-group)
  (use-output output)
  (use-temporary-directory directory)
  (install-heap-limit)
  (dolist (test tests) (perform-test (make-test-call call seconds) test))
  (exit-now 0))
