;;;; Frozen errors of threads (docs/reference/sessions.md 7).
;;;;
;;;; The thread that fails makes the clone, in which it is the only one: there it serves requests
;;;; about its error, as the main thread does after an error of an evaluation. A thread cannot ask
;;;; the supervisor for the channel of the clone, since the main thread uses the head's, so one is
;;;; kept at hand while threads run. What runs in such a clone ends with it: it cannot go on.

(in-package "CADRE-AGENT")

(defun frozen-thread-told-p ()
  "Whether the RESULT that tells of the clone with the last channel has been sent. With the next
channel the supervisor closes one that belongs to nobody it knows."
  (let ((thread (agent-frozen-thread *agent*)))
    (or (null thread)
        (and (not (sb-thread:thread-alive-p thread))
             (null (agent-thread-errors *agent*))))))

(defun ensure-thread-channel ()
  "In the main thread, during a call: have a channel at hand for the post-mortem of a thread."
  (when (and (null (agent-thread-channel *agent*)) (head-p) (frozen-thread-told-p))
    (let ((fd (request-channel "thread")))
      (when fd
        (setf *received-count* 0        ; it is taken
              (agent-thread-channel *agent*)
              (cons fd (subseq (multiple-value-list (file-identity fd)) 0 2)))))))

(defun take-thread-channel ()
  "The channel at hand, for one thread; NIL when there is none."
  (let ((channel (agent-thread-channel *agent*)))
    (and channel
         (eq channel (sb-ext:compare-and-swap (agent-thread-channel *agent*) channel nil))
         (still-open-p channel)
         (first channel))))

(defun drop-thread-channel ()
  "In a clone: the channel at hand is its parent's."
  (setf (agent-frozen-thread *agent*) nil)
  (let ((fd (take-thread-channel)))
    (when fd (close-descriptor fd))))

(defun become-only-thread ()
  "In the clone that this thread has made: do the work of the main thread."
  (setf (agent-main-thread *agent*) sb-thread:*current-thread*
        (agent-thread-errors *agent*) '()
        *call* nil)
  (close-received))

(defun freeze-thread ()
  "Leave a parked clone behind that has the stack of this thread. Returns its pid; :WOKEN in a clone
of it that was woken; NIL when there is none."
  (when *thread-recipe-works*
    (sb-thread:with-mutex (*clone-lock*)
      (without-interrupts
        (let ((channel (take-channel-for-me)))
          (and channel (freeze-thread-with channel)))))))

(defun take-channel-for-me ()
  "The channel at hand; NIL when there is none."
  (when (agent-thread-channel *agent*)
    (setf (agent-frozen-thread *agent*) sb-thread:*current-thread*)
    (take-thread-channel)))

(defun freeze-thread-with (channel)
  "FREEZE-THREAD, while no other thread makes a clone."
  (let* ((descriptors (remove channel (open-descriptors)))
         (parked (make-parked "postmortem" nil (record-offsets descriptors)
                              (output-aliases descriptors)
                              (mapcar #'thread-label (user-threads))))
         (pid (clone-with-threads)))
    (cond ((zerop pid)
           (become-only-thread)
           (begin-parking "postmortem" channel parked)
           :woken)
          (t
           (close-descriptor channel)
           (and (plusp pid) pid)))))

(declaim (notinline abort-thread-after))
(defun abort-thread-after (condition)
  "Record CONDITION, freeze it, and end the thread of the user in which it is unhandled, and nothing
else."
  (multiple-value-bind (frames depth error)
      (handler-case
          (multiple-value-bind (frames depth)
              (collect-frames (top-frame-below 'abort-thread-after) condition)
            (values frames depth
                    (append (condition-error condition frames depth '() nil)
                            (list "thread" (thread-label sb-thread:*current-thread*)
                                  "kind" "thread" "phase" "evaluate"))))
        (serious-condition () (values '() 0 nil)))
    (declare (ignore depth))
    (when error
      (let ((pid (freeze-thread)))
        (when (eq pid :woken) (debug-loop nil condition frames '()))
        (add-thread-error (append error (list "postmortem" pid))))))
  (sb-thread:abort-thread))
