;;;; Clones beside running threads: no lock of a thread that a clone lacks stays locked in it.
;;;;
;;;; A lock of the user's own that a lost thread held is the user's. Those of SBCL and of the C
;;;; library are not: with one of them locked for ever, files, threads, programs or memory hang in
;;;; the snapshot and in all that come from it. So
;;;;
;;;;   * the clone is made at a moment at which no thread holds a lock of SBCL, is inside code that
;;;;     must not be interrupted (where such locks are taken) or inside the C library, starts or
;;;;     ends;
;;;;   * if that moment does not come, it is made all the same. The locks of SBCL that lost threads
;;;;     hold are released in the clone. Those of the C library cannot be seen: the clone uses what
;;;;     they protect, and the head waits to hear that it succeeded. A clone that hangs is killed,
;;;;     and another one is made.

(in-package "CADRE-AGENT")

;;; --- locks of SBCL ------------------------------------------------------------------------------

(defglobal *system-mutexes* (vector))   ; all that are in the image when the core is built,
(defglobal *system-variables* (vector)) ; and variables with mutexes and hash tables: what is in
(declaim (type simple-vector *system-mutexes* *system-variables*)) ; them may be made anew when the
                                                                   ; core starts

(defun mutexes-of-image ()
  "All mutexes there are. A thread is a mutex too, and is not meant."
  (sb-vm:list-allocated-objects :all
                                :type sb-vm:instance-widetag
                                :test (lambda (object)
                                        (and (typep object 'sb-thread:mutex)
                                             (not (typep object 'sb-thread:thread))))))

(defun lock-variables ()
  "Variables of SBCL whose global values are mutexes or hash tables."
  (let ((variables '()))
    (do-all-symbols (symbol (remove-duplicates variables))
      (when (and (typep (ignore-errors (sb-ext:symbol-global-value symbol))
                        '(or hash-table (and sb-thread:mutex (not sb-thread:thread))))
                 (symbol-package symbol)
                 (system-package-p (package-name (symbol-package symbol))))
        (push symbol variables)))))

(defun record-system-mutexes ()
  "Find SBCL's mutexes; once, when the core is built."
  (setf *system-mutexes* (coerce (mutexes-of-image) 'simple-vector)
        *system-variables* (coerce (lock-variables) 'simple-vector)))

(defun held-elsewhere-p (mutex)
  "True when a thread other than this one holds MUTEX."
  (and (mutex-locked-p mutex) (not (sb-thread:holding-mutex-p mutex))))

(defun variable-mutex (variable)
  "The mutex that is the value of VARIABLE, or that of the hash table there, or NIL."
  (let ((value (sb-ext:symbol-global-value variable)))
    (typecase value
      (sb-thread:mutex value)
      (hash-table (hash-table-mutex value)))))

(defun find-held-mutex ()
  "A mutex of SBCL that another thread holds, or NIL."
  (or (find-if #'held-elsewhere-p *system-mutexes*)
      (loop for variable across *system-variables*
              thereis (let ((mutex (variable-mutex variable)))
                        (and mutex (held-elsewhere-p mutex) mutex)))))

(defun release-lost-mutexes ()
  "In a clone: release SBCL's mutexes that lost threads hold."
  (loop for mutex = (find-held-mutex)
        while mutex do (reset-mutex mutex)))

;;; --- the moment ---------------------------------------------------------------------------------

(defun kernel-thread-count ()
  "How many threads the kernel has of this process; NIL when it does not tell."
  (with-alien ((name c-string "/proc/self/task") (status (array unsigned-long 18)))
    (when (zerop (c-call "syscall" long (long +sys-stat+) (c-string name)
                         (unsigned-long (sap-int (sb-alien:alien-sap status)))))
      (- (deref status 2) 2))))         ; links of a directory: itself, its name, directories in it

(defglobal *c-library-code* :unknown)   ; list of (start . end)

(defun c-library-line-p (line)
  "True for a line of /proc/self/maps that is about code of the C library."
  (and (search " r-xp " line)
       (or (search "/libc.so" line) (search "/libc-2" line) (search "/ld-linux" line)
           (search "/ld-2" line) (search "/libpthread" line))))

(defun mapped-range (line)
  "Start and end of the mapping that LINE of /proc/self/maps is about."
  (let ((dash (position #\- line)))
    (cons (parse-integer line :end dash :radix 16)
          (parse-integer line :start (1+ dash) :end (position #\Space line) :radix 16))))

(defun c-library-code ()
  "Where the code of the C library is; read once, since it never moves."
  (when (eq *c-library-code* :unknown)
    (setf *c-library-code*
          (ignore-errors
           (with-open-file (stream "/proc/self/maps" :external-format :latin-1)
             (loop for line = (read-line stream nil)
                   while line
                   when (c-library-line-p line) collect (mapped-range line))))))
  *c-library-code*)

(defun system-call-at-p (address)
  "True when the instruction at ADDRESS is a system call."
  (= #x050F (sap-ref-16 (int-sap address) 0)))

(defun waiting-p (context)
  "True when CONTEXT, the registers of a thread, is in a system call that was interrupted: it goes
on from its start, or returns EINTR."
  (let ((address (sap-int (sb-vm:context-pc context))))
    (or (system-call-at-p address)
        (and (system-call-at-p (- address 2))
             (= (context-result context) (- (ash 1 64) +eintr+))))))

(defun in-c-library-p (context)
  "True when CONTEXT, the registers of a thread, is inside the C library."
  (let ((address (sap-int (sb-vm:context-pc context))))
    (loop for (start . end) in (c-library-code) thereis (< start address end))))

(defun at-rest-p (thread)
  "With the world stopped: true when THREAD waits, or is in code that may be interrupted."
  (let* ((structure (thread-structure thread))
         (context (and (plusp structure) (stopped-context structure))))
    (cond ((zerop structure) nil)       ; starting or ending
          ((null context) (interrupts-enabled-p structure))
          ((in-c-library-p context) (waiting-p context))
          (t (interrupts-enabled-p structure)))))

(defconstant +patience-for-strangers+ 5000) ; microseconds; a foreign library may have threads
(defconstant +patience+ 100000)         ; a thread may compile a large file

(defun good-moment-p (waited)
  "With the world stopped: whether to clone now, after having WAITED so many microseconds. A thread
that the kernel has and SBCL does not is starting or ending, or a foreign library's."
  (or (> waited +patience+)
      (let ((threads (remove sb-thread:*current-thread* (all-thread-objects))))
        (and (every #'at-rest-p threads)
             (null (find-held-mutex))
             (or (> waited +patience-for-strangers+)
                 (eql (kernel-thread-count) (1+ (length threads))))))))

;;; --- locks of the C library ---------------------------------------------------------------------

(defun use-threads-of-c-library ()
  "Start a thread and wait for its end."
  (with-alien ((thread unsigned-long) (attributes (array unsigned-long 16)))
    (let ((attributes (sap-int (sb-alien:alien-sap attributes))))
      (c-call "pthread_attr_init" int (unsigned-long attributes))
      (c-call "pthread_attr_setstacksize" int (unsigned-long attributes) (unsigned-long 65536))
      (when (zerop (c-call "pthread_create" int ((* unsigned-long) (addr thread))
                           (unsigned-long attributes)
                           (unsigned-long (sb-sys:find-foreign-symbol-address "getppid"))
                           (unsigned-long 0)))
        (c-call "pthread_join" int (unsigned-long thread) (unsigned-long 0)))
      (c-call "pthread_attr_destroy" int (unsigned-long attributes)))))

(defun use-c-library ()
  "Call what takes the locks of the C library: of every heap of malloc, of the environment, of the
streams, of the dynamic linker, of time zones, of threads."
  (with-alien ((information (array unsigned-long 32)) (now long 0))
    ;; A structure as result is written to where a hidden first argument points.
    (c-call "mallinfo" void (unsigned-long (sap-int (sb-alien:alien-sap information))))
    (c-call "unsetenv" int (c-string "CADRE_NOT_THERE"))
    (let ((file (c-call "fopen" unsigned-long (c-string "/dev/null") (c-string "re"))))
      (unless (zerop file) (c-call "fclose" int (unsigned-long file))))
    (c-call "dlsym" unsigned-long (unsigned-long 0) (c-string "cadre_not_there"))
    (c-call "localtime_r" unsigned-long ((* long) (addr now))
            (unsigned-long (sap-int (sb-alien:alien-sap information)))))
  (use-threads-of-c-library))

(defconstant +clone-tries+ 5)
(defconstant +first-patience+ 50)       ; milliseconds to prove itself, then twice as many

(defun make-pipe ()
  "Read and write end of a pipe that no program inherits; NIL when there is none."
  (with-alien ((ends (array int 2)))
    (when (zerop (c-call "pipe2" int ((* (array int 2)) (addr ends)) (int #x80000))) ; O_CLOEXEC
      (values (deref ends 0) (deref ends 1)))))

(defun readable-within-p (fd milliseconds)
  "True when FD has something to read, or its end, before the time is over."
  (with-alien ((poll (array int 2)))
    (setf (deref poll 0) fd (deref poll 1) 1) ; POLLIN
    (loop
      (let ((ready (c-call "poll" int ((* (array int 2)) (addr poll)) (unsigned-long 1)
                           (int milliseconds))))
        (unless (and (minusp ready) (= (errno) +eintr+)) (return (plusp ready)))))))

(defun hears-from-clone-p (pid fd milliseconds)
  "True when the clone PID says on FD, a pipe, that it is sound. One that does not is killed."
  (with-alien ((octet (unsigned 8) 0))
    (or (and (readable-within-p fd milliseconds)
             (= 1 (c-call "read" long (int fd) ((* (unsigned 8)) (addr octet)) (unsigned-long 1))))
        (progn (c-call "kill" int (int pid) (int 9)) nil))))

(defun prove-clone (fd)
  "In a clone: use the C library, then say on FD that it worked."
  (use-c-library)
  (with-alien ((octet (unsigned 8) 1))
    (c-call "write" long (int fd) ((* (unsigned 8)) (addr octet)) (unsigned-long 1))))

(defun clone-and-prove (milliseconds)
  "Like CLONE-AT-REST; but when the clone has not proved itself within MILLISECONDS, NIL."
  (multiple-value-bind (read-end write-end) (make-pipe)
    (if (null read-end)
        -1
        (let ((pid (clone-at-rest)))
          (when (zerop pid) (prove-clone write-end))
          (close-descriptor write-end)
          (prog1 (if (or (not (plusp pid)) (hears-from-clone-p pid read-end milliseconds)) pid nil)
            (close-descriptor read-end))))))

(defun clone-with-threads ()
  "Like CLONE-PROCESS, while other threads run."
  (c-library-code)                      ; read before the world is stopped
  (loop repeat +clone-tries+
        for patience = +first-patience+ then (* 2 patience)
        do (let ((pid (clone-and-prove patience)))
             (when pid (return pid)))
        finally (store-errno +edeadlk+)
                (return -1)))
