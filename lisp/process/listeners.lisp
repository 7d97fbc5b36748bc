;;;; Listening sockets of threads that a clone does not have (docs/reference/sessions.md 7).
;;;;
;;;; A clone has the sockets of its parent, but not the threads that wait for connections on them:
;;;; the port would be taken, and nobody would answer. So before a clone is made it is noted which
;;;; thread waits on which listening socket. A clone that becomes the head closes these, in the
;;;; parked processes too, and says so beside the names of the threads.

(in-package "CADRE-AGENT")

(defconstant +awaited-max+ 256)         ; descriptors that one thread waits for

;;; --- sockets ------------------------------------------------------------------------------------

(defun listening-p (fd)
  "True when the socket FD listens."
  (with-alien ((word int 0) (size unsigned-int 4))
    (and (zerop (c-call "getsockopt" int (int fd) (int 1) (int 30) ; SOL_SOCKET, SO_ACCEPTCONN
                        ((* int) (addr word)) ((* unsigned-int) (addr size))))
         (= 1 word))))

(defun socket-port (fd)
  "Port of the socket FD; NIL when it has none."
  (with-alien ((address (array (unsigned 8) 128)) (size unsigned-int 128))
    (when (and (zerop (c-call "getsockname" int (int fd)
                              ((* (array (unsigned 8) 128)) (addr address))
                              ((* unsigned-int) (addr size))))
               (member (deref address 0) '(2 10))) ; AF_INET, AF_INET6
      (+ (* 256 (deref address 2)) (deref address 3)))))

;;; --- what a thread waits for --------------------------------------------------------------------

(defun small-file (path)
  "Text of the file PATH, a small one of the kernel's, or NIL."
  (ignore-errors
   (with-open-file (stream path :external-format :latin-1)
     (let* ((text (make-string 8192)) (end (read-sequence text stream)))
       (subseq text 0 end)))))

(defun thread-system-call (thread)
  "Number and arguments of the system call in which THREAD waits, or NIL."
  (let ((text (small-file (text "/proc/self/task/" (sb-thread:thread-os-tid thread) "/syscall"))))
    (and text
         (plusp (length text))
         (digit-char-p (char text 0))
         (loop for start = 0 then (1+ space)
               for space = (position #\Space text :start start)
               for hexadecimal = (eql start (search "0x" text :start2 start))
               while space
               collect (parse-integer text :start (if hexadecimal (+ start 2) start) :end space
                                           :radix (if hexadecimal 16 10))))))

(defun own-memory (address size)
  "SIZE octets from ADDRESS, or NIL. The thread they belong to goes on, and may end: they are read
as from a file, which cannot fault."
  (let ((octets (make-octets size)) (fd (open-to-read "/proc/self/mem")))
    (unless (minusp fd)
      (prog1 (and (= size (with-pinned-objects (octets)
                            (c-call "pread" long (int fd)
                                    (system-area-pointer (vector-sap octets))
                                    (unsigned-long size) (unsigned-long address))))
                  octets)
        (close-descriptor fd)))))

(defun polled-descriptors (address count)
  "Descriptors of COUNT structures for poll(2) at ADDRESS."
  (let* ((count (min count +awaited-max+)) (octets (own-memory address (* 8 count))))
    (and octets (loop for index below count collect (u32-at octets (* 8 index))))))

(defun selected-descriptors (count address)
  "Descriptors below COUNT in the set for select(2) at ADDRESS."
  (let* ((count (min count 1024)) (octets (own-memory address 128)))
    (and octets (loop for fd below count
                      when (logbitp (mod fd 8) (aref octets (floor fd 8))) collect fd))))

(defun epoll-descriptors (fd)
  "Descriptors that the epoll instance FD watches."
  (loop with text = (or (small-file (text "/proc/self/fdinfo/" fd)) "")
        repeat +awaited-max+
        for start = (search "tfd:" text) then (search "tfd:" text :start2 (1+ start))
        while start
        collect (parse-integer text :start (+ start 4) :junk-allowed t)))

(defun awaited-descriptors (thread)
  "Descriptors for which THREAD waits."
  (destructuring-bind (&optional number (first 0) (second 0) &rest others)
      (thread-system-call thread)
    (declare (ignore others))
    (case number
      ((43 288) (list first))           ; accept, accept4
      ((7 271) (polled-descriptors first second)) ; poll, ppoll
      ((23 270) (selected-descriptors first second)) ; select, pselect6
      ((232 281) (epoll-descriptors first))))) ; epoll_wait, epoll_pwait

;;; --- before a clone and after it ----------------------------------------------------------------

(defstruct (listener (:constructor make-listener (connection port thread)))
  connection                            ; (descriptor device inode)
  port
  thread)

(defun note-listeners (threads)
  "Before a clone: note on which listening sockets THREADS wait. One that is busy at this moment
keeps those it had."
  (let ((sockets (and threads
                      (remove-if-not #'listening-p (agent-parked-connections *agent*)
                                     :key #'first)))
        (before (agent-listeners *agent*)))
    (setf (agent-listeners *agent*)
          (when sockets
            (let ((awaited (loop for thread in threads
                                 collect (cons thread (ignore-errors
                                                       (awaited-descriptors thread))))))
              (loop for connection in sockets
                    for thread = (or (car (find-if (lambda (entry)
                                                     (member (first connection) (cdr entry)))
                                                   awaited))
                                     (let ((old (find connection before
                                                      :key #'listener-connection :test #'equal)))
                                       (and old (find (listener-thread old) threads))))
                    when thread
                      collect (make-listener connection (socket-port (first connection))
                                             thread)))))))

(defun close-lost-listeners ()
  "In a clone that becomes the head: close the listening sockets whose threads are lost. Returns
what is to be said of the threads, an alist from their names."
  (loop for listener in (shiftf (agent-listeners *agent*) '())
        for (fd) = (listener-connection listener)
        for port = (listener-port listener)
        for name = (thread-label (listener-thread listener))
        when (still-open-p (listener-connection listener))
          collect (cons name (text name " (it listened on " (if port "port " "a socket")
                                   (if port (princ-to-string port) "") ", now closed)"))
          and do (disconnect-descriptor fd)
        finally (propagate-closing)))

(defun name-lost-threads (names remarks)
  "NAMES as a vector, with the REMARKS of CLOSE-LOST-LISTENERS."
  (map 'simple-vector
       (lambda (name)
         (let ((remark (assoc name remarks :test #'string=)))
           (if remark (cdr remark) name)))
       names))
