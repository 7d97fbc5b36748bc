;;;; Cloning, parking and waking processes (docs/reference/sessions.md 3 and 7).
;;;;
;;;; A session is a family of sibling processes, all children of the supervisor. FREEZE is the one
;;;; entry: the caller goes on, and a child keeps the state of that moment, parked. A parked
;;;; process is never used up: when it is woken it clones itself again, parks again, and the clone
;;;; returns from FREEZE in the state of that moment.

(in-package "CADRE-AGENT")

;;; Results of the probes at build time (probes.lisp); fallbacks are chosen by them.
(defglobal *clone-parent-works* t)
(defglobal *thread-recipe-works* t)

(defglobal *tid-address-offset* nil)

;;; --- the clone system call ----------------------------------------------------------------------

(defun find-tid-address-offset ()
  "Where glibc caches the thread id inside the thread descriptor. A clone must update it, or
pthread_kill of the main thread (and with it SBCL's stop-the-world) fails after a rollback."
  (let ((self (c-call "pthread_self" unsigned-long))
        (tid (system-call +sys-gettid+)))
    (setf *tid-address-offset*
          (loop for offset from 512 below 1024 by 4
                when (= (sap-ref-32 (int-sap self) offset) tid) return offset))))

(defun clones-are-siblings-p ()
  "True when clones can be children of the supervisor."
  (and *clone-parent-works* *tid-address-offset*))

(defvar *clone-function* 'clone-as-sibling
  "How CLONE-PROCESS makes a clone; tests run in forks, whose clones are made in other ways.")

(defun clone-process ()
  "Clone this process. Child: 0; parent: its pid; negative: failed."
  (funcall *clone-function*))

(defun clone-as-child ()
  "As fork does it."
  (c-call "fork" int))

(defun clone-as-sibling ()
  "Like fork, but the child's parent is our parent."
  (if (clones-are-siblings-p)
      (let ((pid (clone-sibling)))
        (cond ((and (= pid -1) (= (errno) +einval+))
               ;; The first process of a pid namespace cannot have siblings.
               (setf *clone-parent-works* nil)
               (clone-as-sibling))
              (t pid)))
      (clone-as-child)))

(defun clone-sibling ()
  "The clone system call: the child has our parent, and its thread id where glibc keeps it."
  (system-call +sys-clone+
               (logior #x8000           ; CLONE_PARENT
                       #x01000000       ; CLONE_CHILD_SETTID
                       #x00200000       ; CLONE_CHILD_CLEARTID
                       17)              ; SIGCHLD
               0 0 (+ (c-call "pthread_self" unsigned-long) *tid-address-offset*) 0))

;;; --- threads ------------------------------------------------------------------------------------

(defun user-threads ()
  "All threads but the one of the agent."
  (remove (agent-main-thread *agent*) (sb-thread:list-all-threads)))

(defun thread-label (thread)
  "Name of THREAD."
  (let ((name (sb-thread:thread-name thread)))
    (if (stringp name) name "anonymous")))

(defun unmap (start end)
  "Give back the memory from START to END."
  (c-call "munmap" int (unsigned-long start) (unsigned-long (- (logandc2 end 4095) start))))

(defun release-stacks (structure)
  "Unmap the stacks of a thread that does not exist in this clone: generations of lost threads
would use up the address space. The uppermost part of the control stack holds the C library's
descriptor of the thread, which it may still follow in its lists. Binding and alien stack lie one
behind the other, right before the thread's STRUCTURE."
  (multiple-value-bind (control-start control-end binding-start) (thread-stack-bounds structure)
    (unmap control-start (- control-end #x40000))
    (unmap binding-start structure)))

(defun forget-other-threads ()
  "In a fresh clone only the calling thread exists: make SBCL believe that."
  (let ((self sb-thread:*current-thread*))
    (dolist (structure (all-thread-structures))
      (unless (= structure (thread-structure self))
        (close-thread-regions structure)))
    (dolist (thread (all-thread-objects))
      (let ((structure (thread-structure thread)))
        (unless (or (eq thread self) (zerop structure))
          (release-stacks structure)
          (remove-thread thread))))
    (make-only-thread (thread-structure self))))

(defun clone-at-rest ()
  "Clone while other threads run: they are stopped at safe points first, as for a collection, so
that the child's heap has no half-filled allocation region. A raw clone dies at its first GC. The
moment is chosen by the locks they hold (locks.lisp)."
  (let ((start (monotonic-microseconds)))
    (without-interrupts
      (loop
        (without-gcing
          (when (try-stop-world)
            (when (good-moment-p (- (monotonic-microseconds) start))
              (let ((pid (clone-process)))
                (when (zerop pid)
                  (forget-other-threads)
                  (release-lost-mutexes))
                (start-world)
                (return pid)))
            (start-world)))
        (c-call "usleep" int (unsigned-int 100))))))

;;; --- parking ------------------------------------------------------------------------------------

(defglobal *wake-set* (make-signal-set +wake-signal+))
;; Not those of faults and traps: they are how SBCL's code signals errors.
(defglobal *deferred-signals*
    (let ((set (make-octets 128)) (faults (make-signal-set 4 5 7 8 11)))
      (map-into set (lambda (fault) (logandc2 255 fault)) faults)))
(defglobal *saved-mask* (make-signal-set))
(defglobal *signal-information* (make-octets 128))
(declaim (type octets *wake-set* *deferred-signals* *saved-mask* *signal-information*))

(defun block-wake-signal ()
  "In the whole process, before any thread exists: a wake-up sent early stays pending."
  (change-signal-mask +sig-block+ *wake-set*))

(defun wait-for-wake-signal ()
  "The signal that came, or -1 when a second has passed."
  (with-alien ((patience (array long 2)))
    (setf (deref patience 0) 1 (deref patience 1) 0)
    (with-pinned-objects (*wake-set* *signal-information*)
      (if (clones-are-siblings-p)
          (c-call "sigwaitinfo" int (system-area-pointer (vector-sap *wake-set*))
                  (system-area-pointer (vector-sap *signal-information*)))
          (c-call "sigtimedwait" int (system-area-pointer (vector-sap *wake-set*))
                  (system-area-pointer (vector-sap *signal-information*))
                  ((* (array long 2)) (addr patience)))))))

(defun receive-while-parked ()
  "Type of the message that waits on the channel of this parked process, or NIL."
  (when (message-waiting-p)
    (make-room-for-link)
    (receive-packet +no-wait+)
    (u32-at *incoming* 0)))

(defun obey-messages ()
  "Do what the supervisor's messages say; true when one of them is to wake up."
  (loop
    (case (receive-while-parked)
      ((nil) (return nil))
      (#.+wake+ (return t))
      (t (when (= (u32-at *incoming* 0) +stop-listening+) (stop-listening))
         (close-received)
         (fill-room-for-link)))))

(defun wait-for-wake-up ()
  "Wait until the supervisor says so on our channel; the signal says only that there is a message,
so that no other process can wake this one. The head sends the same signal with a descriptor that
it has closed."
  (loop
    (let ((signal (wait-for-wake-signal))
          (sender (u32-at *signal-information* 16)) ; si_pid
          (value (u32-at *signal-information* 24))) ; si_value
      (when (obey-messages) (return))
      (cond ((and (= signal +wake-signal+) (logtest value +closed-mark+)
                  (/= sender (agent-supervisor-pid *agent*)))
             (disconnect-descriptor (logxor value +closed-mark+)))
            ((zerop (peek-packet)) (exit-now 0)))))) ; the supervisor is gone

(defun die-with-supervisor ()
  "Make sure that this clone does not outlive the supervisor. A sibling is its child and asks for
SIGKILL, which came too late if the supervisor died before. A child by plain fork cannot, because
its parent is the head, which it must outlive; parked, it checks once a second; working, it finds
its channel closed."
  (when (clones-are-siblings-p)
    (die-with-parent)
    (unless (= (parent-process-id) (agent-supervisor-pid *agent*)) (exit-now 0))))

(defstruct (parked (:constructor make-parked (kind number offsets aliases threads)))
  kind number offsets aliases threads)

(defun park (parked)
  "Wait to be woken, again and again; returns only in a clone of this process. Every signal is
blocked, because nothing may run in a parked process."
  (change-signal-mask +sig-setmask+ *deferred-signals* *saved-mask*)
  (loop
    (wait-for-wake-up)
    (let* ((complete (= *received-count* +descriptors-max+))
           (pid (if complete (clone-process) -1))
           (reason (if complete (errno) +emfile+)))
      (when (zerop pid)
        (change-signal-mask +sig-setmask+ *saved-mask*)
        (wake-up parked)
        (return))
      (close-received)
      (fill-room-for-link)
      (when (minusp pid)
        (send-message +wake-failed+ 0
                      (object "pid" (process-id) "reason" (sb-int:strerror reason)))))))

(defun wake-up (parked)
  "Make this clone of a parked process a working one and report it. Timers come last: one that is
due may end the process, which must not be taken for a snapshot that cannot be woken."
  (let* ((from (agent-registered-pid *agent*))
         (how (parse-payload *incoming* +header-size+ (u32-at *incoming* 12)))
         (discard (member-of how "discard"))
         (fork (member-of how "fork"))
         (remarks '())
         (connections 0)
         (unscheduled 0))
    (die-with-supervisor)
    (if fork (begin-own-session fork) (leave-process-group))
    (register-process)
    (take-link (parked-aliases parked))
    (when fork (setf connections (own-descriptors (parked-aliases parked))))
    (setf (agent-copy-p *agent*) (equal (member-of how "as") "copy"))
    ;; Beside a head that works its files are where it has them.
    (unless (true-p (member-of how "beside")) (restore-offsets (parked-offsets parked)))
    (unless (agent-copy-p *agent*) (setf remarks (close-lost-listeners)))
    (when (equal discard "finalizers") (discard-pending-finalizers))
    (when (equal discard "timers") (setf unscheduled (discard-timers)))
    (send-message +woke+ 0
                  (object "pid" (agent-registered-pid *agent*)
                          "from" from
                          "kind" (parked-kind parked)
                          "number" (parked-number parked)
                          "lost_threads" (name-lost-threads (parked-threads parked) remarks)
                          "finalizers" (pending-finalizer-count)
                          "unscheduled" unscheduled
                          "connections" connections
                          "state" (session-state)))
    ;; A copy of a snapshot does one job beside the head, which runs the timers.
    (when (or fork (not (agent-copy-p *agent*)) (string/= (parked-kind parked) "snapshot"))
      (rearm-timers))))

(defun rearm-timers ()
  "Interval timers are not inherited by clones, SBCL's schedule is."
  (restart-system-timer))

(defun discard-timers ()
  "Unschedule all timers; how many there were."
  (length (ignore-errors (mapc #'sb-ext:unschedule-timer (sb-ext:list-all-timers)))))

(defun yield-to-reply (kind)
  "A snapshot is taken after the reply, but a post-mortem before it: let the head send it first."
  (when (string= kind "postmortem")
    (c-call "usleep" int (unsigned-int 2000))))

(sb-ext:define-load-time-global *clone-lock* (sb-thread:make-mutex :name "clone")
  "Held while a clone is made: the functions that look at descriptors have one buffer.")

(defun begin-parking (kind channel parked)
  "In a fresh clone: let go of the parent and park. Returns in a clone of it that has been woken."
  (drop-thread-channel)
  (die-with-supervisor)
  (leave-process-group)
  (register-process)
  (yield-to-reply kind)
  (leave-link channel (parked-aliases parked))
  (send-message +parked+ 0 (object))
  (when *decommit-works* (release-free-pages))
  (park parked))

(defun freeze (kind number channel)
  "FREEZE-UNLOCKED, while no other thread makes a clone."
  (sb-thread:with-recursive-lock (*clone-lock*) (freeze-unlocked kind number channel)))

(defun freeze-unlocked (kind number channel)
  "Leave a parked clone of this process behind, which has CHANNEL. Returns its pid; or :WOKEN in a
clone of it that has been woken; or NIL and the reason why there is none."
  (join-ended-threads)
  (let* ((threads (user-threads))
         (descriptors (open-descriptors))
         (parked (make-parked kind number (record-offsets descriptors)
                              (output-aliases descriptors)
                              (mapcar #'thread-label threads))))
    (unless channel
      (return-from freeze-unlocked (values nil "no channel could be made for the snapshot")))
    (when (and threads (not *thread-recipe-works*))
      (close-received)
      (return-from freeze-unlocked (values nil "threads are running")))
    (record-connections (remove channel descriptors))
    (when (head-p) (note-listeners threads))
    (let* ((pid (if threads (clone-with-threads) (clone-process)))
           (reason (errno)))
      (unless (zerop pid) (close-received))
      (cond ((plusp pid) pid)
            ((and (minusp pid) (= reason +edeadlk+))
             (values nil "threads hold locks of the C library"))
            ((minusp pid) (values nil (sb-int:strerror reason)))
            (t
             (begin-parking kind channel parked)
             :woken)))))
