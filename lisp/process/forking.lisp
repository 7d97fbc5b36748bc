;;;; A clone of a snapshot that becomes the head of another session.
;;;;
;;;; It must have nothing in common with the session it came from but the state of its heap: a
;;;; kernel session of its own, by which the supervisor knows what it starts; files that are opened
;;;; anew, so that their offsets are its own; and no connections, which can have one reader only.

(in-package "CADRE-AGENT")

(defun set-environment-entry (entry)
  "Put ENTRY, \"NAME=value\", into the environment that programs get."
  (let ((end (position #\= entry)))
    (c-call "setenv" int (c-string (subseq entry 0 end)) (c-string (subseq entry (1+ end)))
            (int 1))))

(defun begin-own-session (entry)
  "Leave the kernel session for a new one; ENTRY of the environment names the session of Cadre."
  (c-call "setsid" int)
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
