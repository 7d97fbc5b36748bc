;;;; The descriptors by which a process of a session is connected to the supervisor.
;;;;
;;;; A working process has a channel and two pipes, which no other process of the session has: what
;;;; user code does to them ends with the process. A clone that is parked has a channel that its
;;;; parent was sent for it, and no pipes. When it is woken, its own clone is sent a channel and
;;;; pipes. User code may have used up every descriptor, so a number for each of them is reserved.

(in-package "CADRE-AGENT")

;;; --- a channel for a clone ----------------------------------------------------------------------

(defconstant +offer-milliseconds+ 300)  ; less than it takes from the soft stop to the hard one

(defun receive-offer (number milliseconds)
  "The descriptor that the supervisor sends as the answer to NUMBER; NIL when it does not come."
  (loop with end = (+ (monotonic-microseconds) (* 1000 milliseconds))
        for left = (ceiling (- end (monotonic-microseconds)) 1000)
        while (plusp left)
        do (when (and (wait-for-channel +poll-in+ left)
                      (receive-packet +no-wait+)
                      (= (u32-at *incoming* 0) +offer+)
                      (= (u32-at *incoming* 8) number))
             (return (received-descriptor 0)))))

(defun request-channel (&optional kept (milliseconds +offer-milliseconds+))
  "Ask for the channel of a clone; its descriptor, or NIL. KEPT: it is for later, for the error of a
\"thread\" or a \"test\"."
  (let ((number (setf (agent-wanted *agent*) (ldb (byte 32 0) (1+ (agent-wanted *agent*))))))
    (c-call "close" int (int +reserve+))
    (send-message +wanted+ number (object "for" kept))
    (prog1 (receive-offer number milliseconds)
      (unless (file-identity +reserve+)
        (duplicate-privately +spare-null+ +reserve+)))))

;;; --- parked -------------------------------------------------------------------------------------

(defun output-aliases (descriptors)
  "Those of DESCRIPTORS that user code made the same as standard output or standard error: an alist
to 1 or 2."
  (let ((output (nth-value 1 (file-identity 1)))
        (error (nth-value 1 (file-identity 2))))
    (loop for fd in descriptors
          for inode = (and (eq (file-type fd) :pipe) (nth-value 1 (file-identity fd)))
          when (and inode (eql inode output)) collect (cons fd 1)
          when (and inode (eql inode error)) collect (cons fd 2))))

(defun duplicate-like (fd target)
  "Make TARGET the same open file as FD, inherited by programs as TARGET was."
  (if (logtest 1 (c-call "fcntl" int (int target) (int 1))) ; F_GETFD, FD_CLOEXEC
      (duplicate-privately fd target)
      (duplicate-onto fd target)))

(defun close-temporary (fd)
  "Close FD, unless it happens to be one of the agent's own numbers or a standard descriptor."
  (unless (or (<= fd 2) (agent-descriptor-p fd))
    (c-call "close" int (int fd))))

(defun open-null ()
  "A descriptor of /dev/null; the spare one when it cannot be opened."
  (let ((fd (open-to-read "/dev/null" 2))) ; O_RDWR
    (if (minusp fd) +spare-null+ fd)))

(defun leave-link (channel aliases)
  "In a fresh clone that is going to be parked: let go of the parent's link, and use CHANNEL."
  (setf *received-count* 0)
  (duplicate-privately channel +channel+)
  (unless (= channel +channel+) (close-temporary channel))
  (register-channel)
  (let ((null (open-null)))
    (duplicate-privately null +spare-null+)
    (fill-room-for-link)
    (duplicate-onto null 1)
    (duplicate-onto null 2)
    (loop for (fd) in aliases do (duplicate-like null fd))
    (close-temporary null)))

(defun make-room-for-link ()
  "Before a message that may carry three descriptors is received, in a parked process."
  (c-call "close" int (int +reserve+))
  (c-call "close" int (int +spare-output+))
  (c-call "close" int (int +spare-error+)))

(defun fill-room-for-link ()
  "Nothing that is opened later may have these numbers."
  (duplicate-privately +spare-null+ +reserve+)
  (duplicate-privately +spare-null+ +spare-output+)
  (duplicate-privately +spare-null+ +spare-error+))

;;; --- awake --------------------------------------------------------------------------------------

(defun take-link (aliases)
  "In the clone of a parked process: use the channel and pipes that came with the message. They may
have come to lie on the agent's own numbers, in this order."
  (let ((channel (received-descriptor 0))
        (output (received-descriptor 1))
        (error (received-descriptor 2)))
    (setf *received-count* 0)
    (duplicate-privately channel +channel+)
    (duplicate-onto output 1)
    (duplicate-onto error 2)
    (duplicate-privately 1 +spare-output+)
    (duplicate-privately 2 +spare-error+)
    (duplicate-privately +spare-null+ +reserve+)
    (close-temporary channel)
    (close-temporary output)
    (close-temporary error)
    (register-channel)
    (register-descriptors)
    (loop for (fd . standard) in aliases do (duplicate-like standard fd))))
