;;;; A clone of a snapshot that becomes the head of another session.
;;;;
;;;; It must have nothing in common with the session it came from but the state of its heap: a
;;;; kernel session of its own, by which the supervisor knows what it starts; a Landlock domain of
;;;; its own, out of which it can neither signal the processes of the other session nor look into
;;;; them; files that are opened anew, so that their offsets are its own; and no connections, which
;;;; can have one reader only.

(in-package "CADRE-AGENT")

(defun set-environment-entry (entry)
  "Put ENTRY, \"NAME=value\", into the environment that programs get."
  (let ((end (position #\= entry)))
    (c-call "setenv" int (c-string (subseq entry 0 end)) (c-string (subseq entry (1+ end)))
            (int 1))))

(defun landlock-ruleset (&rest words)
  "A descriptor of a ruleset that WORDS of 64 bits describe; negative when the kernel has none."
  (let ((octets (make-array (* 8 (length words)) :element-type '(unsigned-byte 8))))
    (loop for word in words
          for at from 0 by 8
          do (dotimes (i 8) (setf (aref octets (+ at i)) (ldb (byte 8 (* 8 i)) word))))
    (with-pinned-objects (octets)
      (system-call +sys-landlock-create-ruleset+ (sap-int (vector-sap octets)) (length octets)
                   0))))

(defun enter-own-domain ()
  "Keep this process, and what it starts, from other processes of the session that it came from. An
older kernel has no scopes, and then the supervisor decides about signals; any domain keeps its
processes from looking into others, and nobody here may make devices anyway. Nothing more is given
up. The kernel allows 16 domains one in the other."
  (let* ((scopes 3)                     ; abstract sockets, signals
         (make-block-devices #x800)
         (newest (landlock-ruleset 0 0 scopes))
         (fd (if (minusp newest) (landlock-ruleset make-block-devices) newest)))
    (unless (minusp fd)
      (system-call +sys-landlock-restrict-self+ fd 0)
      (close-descriptor fd))))

(defun begin-own-session (entry)
  "Leave the kernel session for a new one; ENTRY of the environment names the session of Cadre."
  (c-call "setsid" int)
  (enter-own-domain)
  (set-environment-entry entry))

(defun reopen-descriptor (fd)
  "Let FD be an open file of its own, at the same place; false when the file cannot be opened."
  (let* ((offset (file-offset fd))
         (flags (c-call "fcntl" int (int fd) (int 3))) ; F_GETFL
         (own (open-to-read (text "/proc/self/fd/" fd) (logandc2 flags #o1300)))) ; CREAT EXCL TRUNC
    (unless (minusp own)
      (setf (file-offset own) offset)
      (duplicate-like own fd)
      (close-descriptor own)
      t)))

(defun own-descriptor (fd)
  "Share FD with no other process. False when nothing but a dead connection is left of it."
  (cond ((file-type fd) (disconnect-descriptor fd) nil)
        ((minusp (file-offset fd)) t)   ; no file: nothing is read from it
        ((reopen-descriptor fd) t)
        (t (disconnect-descriptor fd) nil)))

(defun own-descriptors (aliases)
  "Share no open file with the session that this process came from; how many connections and files
had to be given up. ALIASES belong to the standard streams, which are new."
  (setf (agent-parked-connections *agent*) '()
        (agent-listeners *agent*) '())
  (count-if-not (lambda (fd) (or (assoc fd aliases) (own-descriptor fd))) (open-descriptors)))
