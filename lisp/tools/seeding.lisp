;;;; Compiled files of the user: a session in the sandbox has a cache of its workspace, so that it
;;;; cannot change what the user's own Lisp loads. What is missing there and lies in the user's
;;;; cache is copied when ASDF asks for it.
;;;;
;;;; The copy has the time of the original, so ASDF decides about it as it does about its own: what
;;;; is older than its source, or than what it depends on, is compiled again.

(in-package "CADRE-AGENT")

(defun file-write-time (name)
  "Seconds and nanoseconds at which the regular file with the native NAME was written; or NIL."
  (with-alien ((status (array unsigned-long 18)))
    (when (and (zerop (c-call "syscall" long (long +sys-stat+) (c-string name)
                              (unsigned-long (sap-int (sb-alien:alien-sap status)))))
               (= #o100000 (logand #o170000 (deref status 3)))) ; st_mode: S_IFREG
      (values (deref status 11) (deref status 12)))))           ; st_mtim

(defun set-file-write-time (name seconds nanoseconds)
  "True when the file with the native NAME has that time now."
  (with-alien ((times (array unsigned-long 4)))
    (setf (deref times 0) seconds (deref times 1) nanoseconds
          (deref times 2) seconds (deref times 3) nanoseconds)
    (zerop (c-call "utimensat" int (int -100) (c-string name) ; AT_FDCWD
                   (unsigned-long (sap-int (sb-alien:alien-sap times))) (int 0)))))

(defun file-of-user-cache (name)
  "The file of the user's cache in whose place a session has NAME; NIL outside the sandbox."
  (let* ((own (sb-ext:posix-getenv "XDG_CACHE_HOME"))
         (users (sb-ext:posix-getenv "CADRE_USER_CACHE"))
         (beginning (and own users (text own "/common-lisp/")))
         (end (and beginning (mismatch beginning name))))
    (when (and beginning (eql end (length beginning)))
      (text users (subseq name (length own))))))

(defun copy-octets (from to)
  "Copy a file; both names are native."
  (with-open-file (input (sb-ext:parse-native-namestring from) :element-type '(unsigned-byte 8))
    (with-open-file (output (sb-ext:parse-native-namestring to) :element-type '(unsigned-byte 8)
                            :direction :output :if-exists :supersede)
      (loop with octets = (make-octets 65536)
            for count = (read-sequence octets input)
            until (zerop count)
            do (write-sequence octets output :end count)))))

(defun copy-with-time (from to)
  "Copy a file with its time, in one step for all who look at TO."
  (let ((new (format nil "~A.~D" to (process-id))))
    (unwind-protect
         (multiple-value-bind (seconds nanoseconds) (file-write-time from)
           (ensure-directories-exist (sb-ext:parse-native-namestring to))
           (copy-octets from new)
           (when (set-file-write-time new seconds nanoseconds)
             (c-call "rename" int (c-string new) (c-string to))))
      (c-call "unlink" int (c-string new)))))

(defun take-over-compiled-file (namestring)
  "Copy the file from the user's cache when only that has it. What cannot be copied is compiled."
  (ignore-errors
   (let* ((name (native-namestring namestring))
          (original (file-of-user-cache name)))
     (when (and original (file-write-time original) (not (file-write-time name)))
       (copy-with-time original name)))))

(defun seed-compiled-files ()
  "Let ASDF find the user's compiled files; once, when the core is built."
  (sb-int:encapsulate 'asdf/session:compute-file-stamp 'cadre-seeding
                      (lambda (original namestring)
                        (when (stringp namestring) (take-over-compiled-file namestring))
                        (funcall original namestring))))
