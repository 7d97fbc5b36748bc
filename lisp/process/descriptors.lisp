;;;; Descriptors a process shares with its clones.
;;;;
;;;; A clone has the same open files as the process it was cloned from. Two consequences must not be
;;;; visible to the session: file offsets move in all of them at once, and a socket or pipe stays
;;;; open until the last of them closes it.

(in-package "CADRE-AGENT")

;;; --- what is open -------------------------------------------------------------------------------

(defglobal *directory-buffer* (make-octets 8192))
(declaim (type octets *directory-buffer*))

(defun agent-descriptor-p (fd)
  "True for a descriptor of the agent's own."
  (or (<= +channel+ fd +spare-error+)
      (eql fd (first (agent-thread-channel *agent*)))))

(defun open-descriptors ()
  "Descriptors of this process above the standard ones and outside the agent's own."
  (let ((directory (open-to-read "/proc/self/fd" #x10000)) ; O_DIRECTORY
        (result '()))
    (unless (minusp directory)
      (loop
        (let ((size (with-pinned-objects (*directory-buffer*)
                      (system-call +sys-getdents64+ directory
                                   (sap-int (vector-sap *directory-buffer*))
                                   (length *directory-buffer*)))))
          (unless (plusp size) (return))
          (loop with position of-type index = 0
                while (< position size)
                do (let ((fd (directory-entry-number (+ position 19))))
                     (when (and fd (> fd 2) (/= fd directory) (not (agent-descriptor-p fd)))
                       (push fd result)))
                   (incf position (logior (aref *directory-buffer* (+ position 16))
                                          (ash (aref *directory-buffer* (+ position 17)) 8))))))
      (c-call "close" int (int directory)))
    result))

(defun directory-entry-number (position)
  "The decimal number that is the entry's zero-terminated name, or NIL."
  (loop with number = nil
        for octet = (aref *directory-buffer* position)
        until (zerop octet)
        do (let ((digit (octet-digit octet)))
             (unless digit (return nil))
             (setf number (+ (* 10 (or number 0)) digit)))
           (incf position)
        finally (return number)))

;;; --- file offsets -------------------------------------------------------------------------------

(defun record-offsets (&optional (descriptors (open-descriptors)))
  "File offsets, an alist by descriptor. They live in the kernel and are shared by all clones; the
image alone would resume with its buffers at a place the file is no longer at."
  (loop for fd in descriptors
        for offset = (file-offset fd)
        unless (minusp offset) collect (cons fd offset)))

(defun restore-offsets (offsets)
  "Move files back to OFFSETS, an alist by descriptor."
  (loop for (fd . offset) in offsets
        unless (= offset (file-offset fd))
          do (setf (file-offset fd) offset)))

;;; --- closing ------------------------------------------------------------------------------------

;;; What the session closes is closed in its parked clones too: closing is an effect on the rest of
;;; the world, which no rollback undoes. Otherwise the other end of a pipe or connection would wait
;;; for its end, and a port be in use, until the last snapshot with it is gone.

(defconstant +closed-mark+ #x40000000)  ; in the value of a wake signal: the rest is a descriptor
(defconstant +closing-timeout+ 100000) ; microseconds

(defun file-type (fd)
  ":SOCKET, :PIPE or NIL."
  (case (ash (or (nth-value 2 (file-identity fd)) 0) -12)
    (#o14 :socket)
    (#o01 :pipe)))

(defun open-connections (descriptors)
  "Sockets and pipes among DESCRIPTORS."
  (loop for fd in descriptors
        for (device inode) = (multiple-value-list (file-identity fd))
        when (file-type fd) collect (list fd device inode)))

(defun still-open-p (connection)
  "True when CONNECTION is still what its descriptor refers to."
  (destructuring-bind (fd device inode) connection
    (multiple-value-bind (now-device now-inode) (file-identity fd)
      (and (eql device now-device) (eql inode now-inode)))))

(defun detach-closed-connections ()
  "Parked connections that are not open any more. Of threads that ask at once, one gets them."
  (loop
    (let* ((before (agent-parked-connections *agent*))
           (closed (remove-if #'still-open-p before)))
      (when (or (null closed)
                (eq before (sb-ext:compare-and-swap (agent-parked-connections *agent*)
                                                    before (set-difference before closed))))
        (return closed)))))

(defun sibling-processes ()
  "Process ids of the supervisor's children; all parked clones are among them."
  (let* ((supervisor (agent-supervisor-pid *agent*))
         (fd (open-to-read (text "/proc/" supervisor "/task/" supervisor "/children")))
         (octets (make-octets 4096))
         (pids '()) (pid nil))
    (loop
      (let ((size (with-pinned-objects (octets)
                    (c-call "read" long (int fd) (system-area-pointer (vector-sap octets))
                            (unsigned-long (length octets))))))
        (unless (plusp size) (return))
        (loop for octet across octets
              repeat size
              do (let ((digit (octet-digit octet)))
                   (cond (digit (setf pid (+ (* 10 (or pid 0)) digit)))
                         (pid (push (shiftf pid nil) pids))))))) ; a space follows each
    (c-call "close" int (int fd))
    pids))

(defun held-by-p (pid connection)
  "True when the process PID has CONNECTION open, under the same number."
  (destructuring-bind (fd device inode) connection
    (multiple-value-bind (its-device its-inode)
        (file-identity-of-path (text "/proc/" pid "/fd/" fd))
      (and (eql device its-device) (eql inode its-inode)))))

(defun close-in-clones (connections)
  "Have all parked clones give up CONNECTIONS, and wait until they have."
  (let ((holders (loop for pid in (sibling-processes)
                       append (loop for connection in connections
                                    when (held-by-p pid connection)
                                      collect (cons pid connection))))
        (end (+ (monotonic-microseconds) +closing-timeout+)))
    (loop for (pid fd) in holders
          do (c-call "sigqueue" int (int pid) (int +wake-signal+)
                     (unsigned-long (logior +closed-mark+ fd))))
    (loop while (and (loop for (pid . connection) in holders
                             thereis (held-by-p pid connection))
                     (< (monotonic-microseconds) end))
          do (c-call "usleep" int (unsigned-int 100)))))

(defun head-p ()
  "True in the process that is the session, and neither in a copy nor in a child of user code."
  (and (not (agent-copy-p *agent*)) (= (process-id) (agent-registered-pid *agent*))))

(defun propagate-closing ()
  "Close in the parked clones what this process has closed since they were made."
  (when (and (agent-parked-connections *agent*) (head-p))
    (without-interrupts
      (let ((closed (detach-closed-connections)))
        (when closed (ignore-errors (close-in-clones closed)))))))

(defun close-and-propagate (original &rest arguments)
  "Runs in place of functions that close descriptors."
  (multiple-value-prog1 (apply original arguments)
    (propagate-closing)))

(defun encapsulate-closing ()
  "Encapsulate the functions by which Lisp code closes descriptors, to propagate it at once; what
foreign code closes is found at the next clone. Sockets have a function of their own, in a module
that may have been loaded since the last clone."
  (dolist (name (list* 'sb-unix:unix-close 'sb-posix:close
                       (let ((sockets (find-package "SB-BSD-SOCKETS")))
                         (and sockets (list (find-symbol "SOCKET-CLOSE" sockets))))))
    (unless (sb-int:encapsulated-p name 'cadre)
      (sb-int:encapsulate name 'cadre #'close-and-propagate))))

(defun record-connections (descriptors)
  "Before a clone is made, which will share DESCRIPTORS. A copy does not propagate until it has been
adopted."
  (when (head-p)
    (propagate-closing)
    (when (setf (agent-parked-connections *agent*) (open-connections descriptors))
      (encapsulate-closing))))

(defun disconnect-descriptor (fd)
  "In a parked clone: put a dead connection in the place of FD. The number stays taken, so that a
stream of the image that has it never reads or writes what is opened later."
  (with-alien ((ends (array int 2)))
    (when (and (> fd 2) (not (agent-descriptor-p fd))
               (zerop (c-call "socketpair" int (int 1) (int #x80001) (int 0) ; UNIX, STREAM, CLOEXEC
                              ((* (array int 2)) (addr ends)))))
      (c-call "close" int (int (deref ends 0)))
      (duplicate-onto (deref ends 1) fd)
      (close-on-exec fd)
      (c-call "close" int (int (deref ends 1))))))

(defun connected-p (fd)
  "True when the socket FD has another end."
  (with-alien ((address (array char 128)) (size unsigned-int))
    (setf size 128)
    (zerop (c-call "getpeername" int (int fd) ((* (array char 128)) (addr address))
                   ((* unsigned-int) (addr size))))))

(defun stop-listening ()
  "In a parked clone of a state that is no longer current: free the addresses of its sockets."
  (loop for (fd) in (agent-parked-connections *agent*)
        when (and (eq (file-type fd) :socket) (not (connected-p fd)))
          do (disconnect-descriptor fd)))
