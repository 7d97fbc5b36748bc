;;;; The project of a workspace: its init file and systems, loaded when a session starts, and what
;;;; that has read from disk, so that a core saved afterwards is known to be stale
;;;; (docs/workbench.md).
;;;;
;;;; Whatever is looked at while a layer is loaded counts: files that are opened, files that are
;;;; looked for, also in vain, and directories that are listed. Compiled files and temporary ones do
;;;; not: they follow from the others.

(in-package "CADRE-AGENT")

(defconstant +project-files-max+ 20000)

(defstruct project-record
  (files (make-hash-table :test #'equal) :type hash-table) ; native name to kind and stamp
  (derived (derived-directories) :type list) ; what is below them does not count
  (racy nil))                           ; a file that was written just before it was read

(defvar *project-record* nil)           ; a PROJECT-RECORD while a layer is recorded

;;; --- stamps -------------------------------------------------------------------------------------

(defun file-status (name)
  "The words of the status of the file with the native NAME, or NIL."
  (with-alien ((path c-string name) (status (array unsigned-long 18)))
    (and (zerop (c-call "syscall" long (long +sys-stat+) (c-string path)
                        (unsigned-long (sap-int (sb-alien:alien-sap status)))))
         (coerce (loop for i below 18 collect (deref status i)) 'simple-vector))))

(defun directory-status-p (status)
  "True for the status of a directory."
  (= #o040000 (logand #o170000 (aref status 3))))

(defun status-stamp (status kind)
  "What changes when a file does: times of its content and of itself, size, number."
  (cond
    ((null status) "absent")
    ((and (string= kind "file") (directory-status-p status)) "directory")
    (t (format nil "~D.~9,'0D ~D.~9,'0D ~D ~D" (aref status 11) (aref status 12)
               (aref status 13) (aref status 14) (aref status 6) (aref status 1)))))

(defun written-just-now-p (status)
  "True when the file may be written again without its times being different from now."
  (multiple-value-bind (seconds microseconds) (sb-ext:get-time-of-day)
    (< (- (+ (* 1000000 seconds) microseconds)
          (+ (* 1000000 (aref status 13)) (floor (aref status 14) 1000)))
       20000)))

;;; --- recording ----------------------------------------------------------------------------------

(defun derived-directories ()
  "Native names of directories in which files are made from other files, or are none."
  (loop for directory in (list #p"/proc/" #p"/dev/" (uiop:xdg-cache-home)
                               (uiop:temporary-directory))
        for name = (ignore-errors (native-namestring directory))
        when (plusp (length name)) collect name))

(defun whole-name (pathname)
  "Native name of the file PATHNAME from the root, or NIL when it names no file."
  (let* ((merged (merge-pathnames (translate-logical-pathname pathname)))
         (name (and (not (wild-pathname-p merged)) (native-namestring merged))))
    (cond ((null name) nil)
          ((eql 0 (position #\/ name)) name)
          (t (text (native-namestring (working-directory)) name)))))

(defun record-file (record pathname kind)
  "Remember in RECORD how the file PATHNAME is now, the first time that it is looked at."
  (let ((name (whole-name pathname))
        (files (project-record-files record)))
    (when (and name
               (notany (lambda (prefix) (eql 0 (search prefix name)))
                       (project-record-derived record))
               (or (not (gethash name files)) (string= kind "directory")))
      (let ((status (file-status name)))
        (when (and status (string= kind "file") (written-just-now-p status))
          (setf (project-record-racy record) name))
        (setf (gethash name files) (cons kind (status-stamp status kind)))))))

(defun record-quietly (pathname kind)
  "RECORD-FILE, where the pathname comes from anywhere. What it looks at itself is not recorded."
  (let ((record *project-record*) (*project-record* nil))
    (when record
      (ignore-errors (record-file record (pathname pathname) kind)))))

(defun listed-directory (pathspec)
  "The directory whose entries DIRECTORY looks at first, of PATHSPEC."
  (let* ((pathname (merge-pathnames pathspec))
         (parts (pathname-directory pathname))
         (wild (position-if-not #'stringp parts :start (min 1 (length parts)))))
    (make-pathname :name nil :type nil :version nil :directory (subseq parts 0 wild)
                   :defaults pathname)))

(defun watch-files ()
  "Let reading, looking for and listing files be recorded."
  (sb-int:encapsulate 'open 'cadre-project
                      (lambda (original file &rest arguments)
                        (when (member (getf arguments :direction :input) '(:input :probe))
                          (record-quietly file "file"))
                        (apply original file arguments)))
  (sb-int:encapsulate 'probe-file 'cadre-project
                      (lambda (original file)
                        (record-quietly file "file")
                        (funcall original file)))
  (sb-int:encapsulate 'file-write-date 'cadre-project
                      (lambda (original file)
                        (record-quietly file "file")
                        (funcall original file)))
  ;; ASDF lists directories by a function that is bound to SBCL's own.
  (dolist (name '(directory uiop:directory*))
    (sb-int:encapsulate name 'cadre-project
                        (lambda (original pathspec &rest arguments)
                          (ignore-errors
                           (record-quietly (listed-directory pathspec) "directory"))
                          (apply original pathspec arguments)))))

(defun unwatch-files ()
  "Undo WATCH-FILES."
  (dolist (name '(open probe-file file-write-date directory uiop:directory*))
    (sb-int:unencapsulate name 'cadre-project)))

(defmacro with-files-recorded ((record) &body body)
  "Run BODY, what it looks at remembered in RECORD, or nowhere when that is NIL."
  `(let ((*project-record* ,record))
     (unwind-protect (progn (when *project-record* (watch-files)) ,@body)
       (when *project-record* (unwatch-files)))))

(defun recorded-files (record)
  "The files of RECORD, as lists of name, kind and stamp."
  (loop for name being the hash-keys of (project-record-files record) using (hash-value entry)
        collect (list name (car entry) (cdr entry))))

(defun record-objects (record)
  "The files of RECORD for the supervisor."
  (map 'simple-vector
       (lambda (file)
         (destructuring-bind (name kind stamp) file
           (object "path" name "kind" kind "stamp" stamp)))
       (recorded-files record)))

;;; --- the layers ---------------------------------------------------------------------------------

(defun workspace-file-p (path)
  "True for a native PATH in the workspace that is the user's own."
  (let ((workspace (sb-posix:getenv "CADRE_WORKSPACE")))
    (and workspace path
         (eql 0 (search (text workspace "/") path))
         (not (library-file-p path)))))

(defun system-file-name (system)
  "Native name of the file that defines SYSTEM, or NIL."
  (let ((file (ignore-errors (asdf "SYSTEM-SOURCE-FILE" system))))
    (and file (native-namestring file))))

(defun foreign-dependencies (names)
  "Names of the systems that the systems NAMES need and that are not the workspace's, in the order
in which they can be loaded."
  (let ((seen '()) (found '()))
    (labels ((visit (name)
               (unless (member name seen :test #'equal)
                 (push name seen)
                 (let ((system (ignore-errors (asdf "FIND-SYSTEM" name nil))))
                   (cond ((null system))
                         ((workspace-file-p (system-file-name system))
                          (mapc #'visit (mapcar #'dependency-name
                                                (append (asdf "SYSTEM-DEFSYSTEM-DEPENDS-ON" system)
                                                        (asdf "SYSTEM-DEPENDS-ON" system)))))
                         (t (push (asdf "COMPONENT-NAME" system) found)))))))
      (mapc #'visit names))
    (nreverse found)))

(defun report-dependencies (names fd)
  "In a child: write FOREIGN-DEPENDENCIES of NAMES, and what finding them has looked at, to FD."
  (let* ((record (make-project-record))
         (found (ignore-errors (with-files-recorded (record) (foreign-dependencies names)))))
    (with-open-stream (stream (make-fd-stream fd :output t :external-format :utf-8))
      (with-standard-io-syntax
        (let ((*print-readably* nil))
          (prin1 (list found (recorded-files record) (project-record-racy record)) stream))))
    (exit-now 0)))

(defun dependencies-by-child (names)
  "FOREIGN-DEPENDENCIES, found in a child: reading the definitions of the workspace's systems runs
code of theirs, which must not be in a core of the dependencies. More values: what it has looked at,
and what was written just then."
  (multiple-value-bind (in out) (sb-posix:pipe)
    (let ((pid (c-call "fork" int)))
      (when (zerop pid)
        (die-with-parent)
        (report-dependencies names out))
      (sb-posix:close out)
      (when (minusp pid) (error "There is no process to read the systems in."))
      (let ((report (read-descriptor in)))
        (wait-for-child pid)
        (with-standard-io-syntax
          (let ((*read-eval* nil)) (values-list (read-from-string report))))))))

(defun load-dependencies (names)
  "Load what the systems NAMES need and the workspace does not have; their names. One that cannot be
loaded is left to the systems that need it."
  (multiple-value-bind (found files racy) (dependencies-by-child names)
    (when *project-record*
      (loop for (name kind stamp) in files
            do (setf (gethash name (project-record-files *project-record*)) (cons kind stamp)))
      (when racy (setf (project-record-racy *project-record*) racy)))
    (loop for name in found
          when (ignore-errors (load-named-system name nil nil) t)
            collect name)))

(defun load-init (path)
  "Load the init file of the workspace."
  (let ((*package* (find-package "COMMON-LISP-USER")))
    (load (sb-ext:parse-native-namestring path)))
  '())

(defun load-systems (names)
  "Load the systems NAMES."
  (dolist (name names names) (load-named-system name nil nil)))

(defun unsavable-reason ()
  "Why this process cannot be saved as a core, as part of a sentence; or NIL."
  (let* ((record *project-record*)
         (threads (user-threads)))
    (cond (threads (text "a thread runs (" (thread-label (first threads)) ")"))
          ((plusp (listening-sockets)) "a socket is open")
          ((some #'user-stream-p (descriptor-streams)) "a file or connection is open")
          ((project-record-racy record)
           (text (project-record-racy record) " was written while it was read"))
          ((> (hash-table-count (project-record-files record)) +project-files-max+)
           (format nil "more than ~D files were read" +project-files-max+)))))

(defun load-layer (request)
  "Load what REQUEST says: dependencies of systems, an init file, or systems. Names of systems."
  (let ((systems (coerce (or (member-of request "systems") #()) 'list))
        (init (member-of request "init")))
    (cond ((true-p (member-of request "dependencies")) (load-dependencies systems))
          (init (load-init init))
          (t (load-systems systems)))))

;;; Which versions of libraries are wanted, as qlot and ocicl write it.
(defparameter *lock-files* '("qlfile.lock" "ocicl.csv" "systems.csv"))

(defun record-lock-files ()
  "Let a change of a lock file of the workspace count, whether or not it was read."
  (let ((workspace (sb-posix:getenv "CADRE_WORKSPACE")))
    (when workspace
      (dolist (name *lock-files*)
        (record-quietly (merge-pathnames name (directory-pathname workspace)) "file")))))

(defun load-layer-recorded (request record)
  "LOAD-LAYER, with what it looks at in RECORD: names of systems, what an init file has printed, why
the result cannot be saved."
  (let* ((output (make-string-output-stream))
         (*standard-output* (if (member-of request "init") output *standard-output*)))
    (with-files-recorded (record)
      (record-lock-files)
      (let ((loaded (load-layer request)))
        (list loaded (get-output-stream-string output) (and record (unsavable-reason)))))))

(define-operation "load-project" (call request)
  "Load a part of the project of the workspace."
  (let ((record (and (true-p (member-of request "record")) (make-project-record)))
        (*build* (make-build :system "the project")))
    (setf (call-form-number call) 1)
    (destructuring-bind (loaded printed reason)
        (first (evaluate-form call `(load-layer-recorded ',request ',record)))
      (list* "systems_loaded" (coerce loaded 'simple-vector)
             "printed" (and (plusp (length printed)) (cut printed 500))
             "inputs" (and record (record-objects record))
             "unsavable" reason
             "values" #()
             "forms" 1
             (warning-members call)))))
