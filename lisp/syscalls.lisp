;;;; System calls the agent makes itself.
;;;;
;;;; Straight to libc, without sb-posix: these run in signal handlers, in freshly cloned processes
;;;; and between user evaluations, where signalling a Lisp condition or consing a stat object would
;;;; be wrong. All return the C result; -1 means failure and ERRNO is the reason.

(in-package "CADRE-AGENT")

(defmacro c-call (name result &rest arguments)
  "Call the C function NAME; ARGUMENTS are (type value) pairs."
  `(alien-funcall (extern-alien ,name (function ,result ,@(mapcar #'first arguments)))
                  ,@(mapcar #'second arguments)))

(defmacro system-call (number &rest arguments)
  "Call system call NUMBER with up to six word arguments."
  `(c-call "syscall" long (long ,number)
           ,@(mapcar (lambda (argument) `(long ,argument)) arguments)))

(defconstant +esrch+ 3)
(defconstant +eintr+ 4)
(defconstant +eagain+ 11)
(defconstant +einval+ 22)
(defconstant +emfile+ 24)
(defconstant +edeadlk+ 35)
(defconstant +emsgsize+ 90)
(defconstant +sys-stat+ 4)
(defconstant +sys-fstat+ 5)
(defconstant +sys-clone+ 56)
(defconstant +sys-gettid+ 186)
(defconstant +sys-getdents64+ 217)
(defconstant +sys-landlock-create-ruleset+ 444)
(defconstant +sys-landlock-restrict-self+ 446)

(deftype octets () '(simple-array (unsigned-byte 8) (*)))
(deftype index () '(integer 0 #.(ash most-positive-fixnum -2)))

(defun make-octets (size)
  "SIZE octets of any value."
  (make-array size :element-type '(unsigned-byte 8)))

(defmacro octet (character)
  "The octet that is the ASCII CHARACTER, as a constant."
  (char-code character))

(declaim (inline octet-digit))
(defun octet-digit (octet)
  "Value of the decimal digit OCTET; NIL when it is no digit."
  (declare (type (unsigned-byte 8) octet))
  (and (<= (octet #\0) octet (octet #\9)) (- octet (octet #\0))))

(declaim (inline errno))
(defun errno ()
  "Why the last call failed."
  (get-errno))

(defun store-errno (code)
  "Let ERRNO say CODE."
  (setf (deref (c-call "__errno_location" (* int))) code))

(defun exit-now (code)
  "End the process without unwinding, exit hooks or flushing."
  (c-call "_exit" void (int code)))

(defun process-id ()
  "Process id of this process."
  (c-call "getpid" int))
(defun parent-process-id ()
  "Process id of its parent."
  (c-call "getppid" int))

(defun file-identity (fd)
  "Device, inode and mode of FD, or NIL when it is not open."
  (with-alien ((status (array unsigned-long 18))) ; struct stat
    (when (zerop (system-call +sys-fstat+ fd (sap-int (sb-alien:alien-sap status))))
      (values (deref status 0) (deref status 1) (ldb (byte 32 0) (deref status 3))))))

(defun file-identity-of-path (path)
  "Device and inode of the file PATH, or NIL."
  (with-alien ((name c-string path) (status (array unsigned-long 18)))
    (when (zerop (c-call "syscall" long (long +sys-stat+) (c-string name)
                         (unsigned-long (sap-int (sb-alien:alien-sap status)))))
      (values (deref status 0) (deref status 1)))))

(defun open-to-read (path &optional (flags 0))
  "A descriptor of the file PATH that no program inherits, or -1."
  (with-alien ((name c-string path))
    (c-call "open" int (c-string name) (int (logior #x80000 flags))))) ; O_CLOEXEC

(defun close-on-exec (fd)
  "Let no program that is executed inherit FD."
  (c-call "fcntl" int (int fd) (int 2) (int 1))) ; F_SETFD, FD_CLOEXEC

(defun close-descriptor (fd)
  "Close FD."
  (c-call "close" int (int fd)))

(defun duplicate-onto (fd target)
  "Make TARGET the same open file as FD."
  (c-call "dup2" int (int fd) (int target)))

(defun duplicate-privately (fd target)
  "The same, and let no program that is executed inherit TARGET."
  (if (= fd target)
      (close-on-exec fd)
      (c-call "dup3" int (int fd) (int target) (int #x80000)))) ; O_CLOEXEC

(defun clear-nonblocking (fd)
  "Make FD blocking: a flag that is shared by all processes that have it, and any may set it."
  (let ((flags (c-call "fcntl" int (int fd) (int 3)))) ; F_GETFL
    (declare (type (signed-byte 32) flags))
    (when (and (plusp flags) (logtest flags #x800)) ; O_NONBLOCK
      (c-call "fcntl" int (int fd) (int 4) (int (logandc2 flags #x800)))))) ; F_SETFL

(defun file-offset (fd)
  "Current offset of FD, negative when it has none."
  (c-call "lseek" long (int fd) (long 0) (int 1)))

(defun (setf file-offset) (offset fd)
  "Move FD to OFFSET from the start of its file."
  (c-call "lseek" long (int fd) (long offset) (int 0)))

(defun die-with-parent ()
  "Ask for SIGKILL when the supervisor ends. Fork clears the request, so a clone asks again."
  (c-call "prctl" int (int 1) (unsigned-long 9)))

(defun name-process (name)
  "Set the name that PS and TOP show, at most 15 characters. With it KILLALL SBCL spares sessions."
  (with-alien ((name c-string name))
    (c-call "prctl" int (int 15) (c-string name)))) ; PR_SET_NAME

(defun leave-process-group ()
  "A group of its own, so that KILL of group 0 in one process of a session spares the others."
  (c-call "setpgid" int (int 0) (int 0)))

(defun monotonic-microseconds ()
  "Time since some start. SBCL's own real-time clock ticks in steps of 4 ms."
  (with-alien ((time (array long 2)))
    (c-call "clock_gettime" int (int 1) ((* (array long 2)) (addr time))) ; CLOCK_MONOTONIC
    (+ (* 1000000 (deref time 0)) (floor (deref time 1) 1000))))

(defun process-usage ()
  "Microseconds of processor time and page faults of this process so far."
  (with-alien ((usage (array long 18)))
    (c-call "getrusage" int (int 0) ((* (array long 18)) (addr usage)))
    ;; struct rusage: timevals of user and system time, 4 memory figures, minor and major faults
    (values (+ (* 1000000 (+ (deref usage 0) (deref usage 2))) (deref usage 1) (deref usage 3))
            (+ (deref usage 8) (deref usage 9)))))

(defun set-soft-address-space (bytes)
  "Let this process and its clones map at most BYTES, or as much as the hard limit allows. A program
that is started may raise it again."
  (with-alien ((limit (array unsigned-long 2))) ; struct rlimit
    (when (zerop (c-call "getrlimit" int (int 9) ((* (array unsigned-long 2)) (addr limit))))
      (setf (deref limit 0) (min bytes (deref limit 1)))
      (c-call "setrlimit" int (int 9) ((* (array unsigned-long 2)) (addr limit)))))) ; RLIMIT_AS

;;; Signal sets are 128 bytes of which the kernel uses the first eight.

(defconstant +wake-signal+ 36) ; SIGRTMIN+2 as glibc counts
(defconstant +sig-block+ 0)
(defconstant +sig-setmask+ 2)

(defun make-signal-set (&rest signals)
  "A set of SIGNALS, as pthread_sigmask wants it."
  (let ((set (make-octets 128)))
    (fill set 0)
    (dolist (signal signals set)
      (multiple-value-bind (byte bit) (floor (1- signal) 8)
        (setf (aref set byte) (logior (aref set byte) (ash 1 bit)))))))

(defun change-signal-mask (how set &optional old)
  "Apply SET to the calling thread's mask; OLD, a signal set, receives the mask before."
  (declare (type octets set))
  (if old
      (with-pinned-objects (set old)
        (c-call "pthread_sigmask" int (int how) (system-area-pointer (vector-sap set))
                (system-area-pointer (vector-sap (the octets old)))))
      (with-pinned-objects (set)
        (c-call "pthread_sigmask" int (int how) (system-area-pointer (vector-sap set))
                (unsigned-long 0)))))
