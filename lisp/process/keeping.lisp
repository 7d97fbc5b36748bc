;;;; Keeping the session: a copy of a snapshot saves itself as a core, from which the session starts
;;;; again in another process (docs/session-protocol.md 4).
;;;;
;;;; Threads, open files and connections do not come back. The streams on them are closed in the
;;;; core, so that nothing that is opened later under their numbers is taken for theirs.

(in-package "CADRE-AGENT")

(defun descriptor-streams ()
  "Open streams on descriptors of this process."
  (sb-vm:list-allocated-objects
   :dynamic
   :type sb-vm:instance-widetag
   :test (lambda (object)
           (and (typep object 'fd-stream)
                (open-stream-p object)
                (integerp (fd-stream-fd object))))))

(defun user-stream-p (stream)
  "True when the descriptor of STREAM is neither a standard one nor the agent's."
  (and (> (fd-stream-fd stream) 2) (not (agent-descriptor-p (fd-stream-fd stream)))))

(defun abandon-stream (stream)
  "Let STREAM be closed, without touching its descriptor."
  (ignore-errors (sb-ext:cancel-finalization stream))
  (mark-stream-closed stream))

(defun listening-sockets ()
  "Number of sockets of this process without another end."
  (count-if (lambda (fd) (and (eq (file-type fd) :socket) (not (connected-p fd))))
            (open-descriptors)))

(defun forget-process ()
  "Reset what the agent knows about this process and not about the session. Buffers of streams are
outside of the heap: all streams are made anew."
  (setf *call* nil
        *captured-input* nil
        *captured-output* nil
        *captured-error* nil
        (agent-copy-p *agent*) nil
        (agent-idle-offsets *agent*) '()
        (agent-parked-connections *agent*) '()
        (agent-thread-errors *agent*) '()
        (agent-early-stop *agent*) 0
        (agent-situation *agent*) nil
        (agent-frozen-descriptors *agent*) '()))

(defun save-session-core (number fd)
  "Report to the supervisor, as the answer to NUMBER, what is not going to be saved; then save this
process as a core into FD, and end."
  (handler-bind ((serious-condition
                   (lambda (condition)
                     (ignore-errors
                      (send-message +saving+ number
                                    (object "failed" (condition-message condition))))
                     (exit-now 1))))
    (let ((streams (descriptor-streams)))
      (send-message +saving+ number
                    (object "files" (count-if #'user-stream-p streams)
                            "listening" (listening-sockets)))
      (silence-descriptors)
      (mapc #'abandon-stream streams))
    (forget-process)
    (set-soft-address-space +no-limit+)
    (setf uiop:*image-dumped-p* nil)
    (save-core (sb-ext:parse-native-namestring (format nil "/proc/self/fd/~D" fd)))))

(defun silence-descriptors ()
  "Let standard output and standard error go nowhere: SBCL reports its progress there."
  (let ((null (open-null)))
    (duplicate-onto null 1)
    (duplicate-onto null 2)))

(defun keep-session (number)
  "Serve the message NUMBER, which brings the file to save into."
  (let ((fd (received-descriptor 0)))
    (setf *received-count* 0)
    (if fd (save-session-core number fd) (exit-now 1))))
