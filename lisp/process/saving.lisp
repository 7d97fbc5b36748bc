;;;; SAVE-LISP-AND-DIE in a session: a child becomes the program, the session goes on.
;;;;
;;;; In plain SBCL the process that saves itself ends. Here a fork of it is made plain again, as if
;;;; the agent had never changed SBCL, and saves itself; the call ends as the process would have,
;;;; and the answer names the file.

(in-package "CADRE-AGENT")

;;; --- in the child -------------------------------------------------------------------------------

(defun remove-encapsulations ()
  "Let all functions that the agent has encapsulated be SBCL's own again."
  (let ((names '()))
    (do-all-symbols (name)
      (when (and (fboundp name)
                 (not (macro-function name))
                 (not (special-operator-p name))
                 (sb-int:encapsulated-p name 'cadre))
        (pushnew name names)))
    (sb-ext:without-package-locks
      (dolist (name names) (sb-int:unencapsulate name 'cadre)))))

(defun restore-plain-streams ()
  "Give the stream variables the streams that they have in plain SBCL."
  (setf *standard-input* (make-synonym-stream '*stdin*)
        *standard-output* (make-synonym-stream '*stdout*)
        *error-output* (make-synonym-stream '*stderr*)
        *trace-output* (make-synonym-stream '*standard-output*)
        *terminal-io* (make-synonym-stream 'sb-sys:*tty*)
        *query-io* (make-synonym-stream '*terminal-io*)
        *debug-io* *query-io*))

(defun become-plain ()
  "Undo in this process what the agent has changed in SBCL."
  (remove-encapsulations)
  (restore-finalizer-thread-functions)
  (restore-plain-streams)
  (setf *after-gc-hooks* (remove 'check-heap-limit *after-gc-hooks*)
        *call* nil)
  (set-soft-address-space +no-limit+))

(defun save-in-child (original arguments failure-fd)
  "Save this child by ORIGINAL; what it fails with is written to FAILURE-FD."
  (handler-bind ((serious-condition
                   (lambda (condition)
                     (let ((octets (sb-ext:string-to-octets (condition-message condition)
                                                            :external-format :utf-8)))
                       (sb-unix:unix-write failure-fd octets 0 (length octets))
                       (exit-now 1)))))
    (flush-streams)
    (become-plain)
    (apply original arguments)
    (exit-now 0)))

;;; --- in the session -----------------------------------------------------------------------------

(defun read-descriptor (fd)
  "Text that can be read from FD up to its end; closes it."
  (with-open-stream (stream (make-fd-stream fd :input t
                                               :external-format '(:utf-8 :replacement #\?)))
    (with-output-to-string (text)
      (loop for line = (read-line stream nil)
            while line
            do (write-line line text)))))

(defun wait-for-child (pid)
  "Exit code of the child PID; NIL when a signal ended it."
  (with-alien ((status int))
    (loop until (or (= pid (c-call "waitpid" int (int pid) ((* int) (addr status)) (int 0)))
                    (/= (errno) +eintr+)))
    (and (zerop (logand status 127)) (ldb (byte 8 8) status))))

(defun saved-members (call file)
  "Members of the result of CALL, which has saved FILE."
  (let ((size (with-open-file (stream file :element-type '(unsigned-byte 8)) (file-length stream))))
    (push (format nil "Saved ~A, ~:D bytes. The session goes on." (native-namestring file) size)
          (call-notices call))
    (incf (call-forms call))
    (append (value-members call (list file)) (evaluation-members call))))

(defun save-session (original file arguments)
  "Let a child of this process save itself as FILE, and end the call."
  (when (user-threads)
    (error "Cannot save core with multiple threads running:~%~{  ~A~^~%~}"
           (mapcar #'thread-label (user-threads))))
  (flush-streams)
  (multiple-value-bind (failure-in failure-out) (sb-posix:pipe)
    (let ((pid (c-call "fork" int))
          (file (merge-pathnames file)))
      (cond ((zerop pid)
             (die-with-parent)
             (save-in-child original (cons file arguments) failure-out))
            ((minusp pid)
             (error "Saving ~A failed: ~A." file (sb-int:strerror (errno)))))
      (sb-posix:close failure-out)
      (let ((failure (trim-right (read-descriptor failure-in)))
            (code (wait-for-child pid)))
        (setf uiop:*image-dumped-p* nil)
        (unless (eql code 0)
          (error "Saving ~A failed~@[: ~A~]." (native-namestring file)
                 (and (plusp (length failure)) failure)))
        (end-call (saved-members *call* (truename file)))))))

(defun keep-session-when-saving ()
  "Let SAVE-LISP-AND-DIE save a child of the session; once, when the core is built."
  (sb-int:encapsulate 'sb-ext:save-lisp-and-die 'cadre
                      (lambda (original file &rest arguments)
                        (if (and *call* (in-main-thread-p)
                                 (= (process-id) (agent-registered-pid *agent*)))
                            (save-session original file arguments)
                            (apply original file arguments)))))
