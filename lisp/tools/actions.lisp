;;;; ASDF as a build tool: what load-system has done, what it failed at, what is out of date.
;;;;
;;;; ASDF is part of the core; two of its functions are encapsulated when the core is built. While a
;;;; load-system runs, *BUILD* counts the actions that ASDF performs and knows the file it is at, so
;;;; that a failure is reported by file, line and form instead of by ASDF's own words.

(in-package "CADRE-AGENT")

(defstruct build
  (system "" :type string)
  (actions 0 :type fixnum)              ; performed, of whatever kind
  (compiled 0 :type fixnum)             ; files
  (file nil))                           ; native name of the file of the action being performed

(defvar *build* nil)                    ; the BUILD of the load-system that runs

;;; --- actions ------------------------------------------------------------------------------------

(defun component-file (component)
  "Native name of the Lisp source file that COMPONENT is, or NIL."
  (and (typep component 'asdf:cl-source-file)
       (ignore-errors (native-namestring (asdf:component-pathname component)))))

(defun perform-counted (build original operation component)
  "Perform an action of ASDF by ORIGINAL and count it for BUILD."
  (let ((file (component-file component))
        (outer (build-file build)))
    (incf (build-actions build))
    (when (and file (typep operation 'asdf:compile-op)) (incf (build-compiled build)))
    (when file (setf (build-file build) file))
    (multiple-value-prog1 (funcall original operation component)
      (setf (build-file build) outer)))) ; not when it fails: the report needs to know it

(defun observe-actions ()
  "Let *BUILD* know of each action; once, when the core is built."
  (sb-int:encapsulate 'asdf:perform 'cadre
                      (lambda (original operation component)
                        (if (and *build* (not (typep operation 'asdf:define-op)))
                            (perform-counted *build* original operation component)
                            (funcall original operation component)))))

;;; --- stamps -------------------------------------------------------------------------------------

(defun write-nanoseconds (namestring)
  "The nanoseconds within its second at which the file NAMESTRING was written, or 0."
  (with-alien ((name c-string (sb-ext:native-namestring namestring))
               (status (array unsigned-long 18)))
    (if (zerop (c-call "syscall" long (long +sys-stat+) (c-string name)
                       (unsigned-long (sap-int (sb-alien:alien-sap status)))))
        (deref status 12)               ; st_mtim.tv_nsec
        0)))

(defun refine-stamps ()
  "Let ASDF compare the times of files in nanoseconds: with whole seconds a file that is changed
within a second of its compilation is taken for up to date. Its stamps are integers that it only
compares with each other. Once, when the core is built."
  (sb-int:encapsulate 'asdf/session:compute-file-stamp 'cadre
                      (lambda (original namestring)
                        (let ((stamp (funcall original namestring)))
                          (if (integerp stamp)
                              (+ (* 1000000000 stamp) (write-nanoseconds namestring))
                              stamp)))))

;;; --- whose code it is ---------------------------------------------------------------------------

(defparameter *library-places*
  '("/common-lisp/source/" "/quicklisp/" "/.qlot/" "/ocicl/" "/.roswell/")
  "Parts of the names of directories in which package managers put the code of others.")

(defun library-file-p (path)
  "True for the file PATH when it is not the user's own."
  (and path (some (lambda (place) (search place path)) *library-places*)))

;;; --- failures -----------------------------------------------------------------------------------

(defun compile-failure-p (condition)
  "True for an error by which ASDF reports that a file or system had warnings or errors."
  (typep condition '(or uiop:compile-file-error uiop:compile-warned-error
                     uiop:compile-failed-error)))

(defun form-line (path index)
  "The first line of the top-level form INDEX of the file, or NIL."
  (ignore-errors
   (let* ((source (file-form-source path index))
          (text (source-text-string source))
          (start (place-index (source-text-place source))))
     (cut (trim-right (subseq text start (or (position #\Newline text :start start)
                                             (length text))))
          100))))

(defun problem-text (recorded)
  "File, line, message and form of a RECORDED warning or error."
  (let* ((origin (recorded-origin recorded))
         (line (origin-line origin))
         (form (and (origin-index origin) (form-line (origin-path origin) (origin-index origin)))))
    (text (origin-path origin) (if line (text ":" line) "") ": "
          (if (string= (recorded-category recorded) "COMPILE-ERROR")
              ""
              (text (recorded-category recorded) ": "))
          (recorded-message recorded)
          (if form (text (string #\Newline) "  in " form) ""))))

(defun failing-problems (call file)
  "What was recorded of FILE that fails a build: errors and warnings; or else style warnings, which
fail it where the user wants that."
  (flet ((of (&rest categories)
           (remove-if-not (lambda (recorded)
                            (and (equal (origin-path (recorded-origin recorded)) file)
                                 (member (recorded-category recorded) categories :test #'string=)))
                          (reverse (call-warnings call)))))
    (or (of "COMPILE-ERROR" "WARNING") (of "STYLE-WARNING"))))

(defun replace-members (object &rest members)
  "OBJECT with MEMBERS, a flat list, in place of those of the same name."
  (let ((result object))
    (loop for name in members by #'cddr
          do (setf result (remove-member result name)))
    (append result members)))

(defun compile-failure-error (call error file problems)
  "ERROR, of a compilation that failed, in words about FILE and PROBLEMS."
  (setf (call-warnings call) (set-difference (call-warnings call) problems))
  (replace-members error
                   "message" (format nil "~A failed to build: ~A~{~%~A~}"
                                     (build-system *build*) file (mapcar #'problem-text problems))
                   "phase" "compile"))

(defun build-error (call condition error frames)
  "ERROR, of CONDITION, as a build tool reports it, when a system is being loaded."
  (let ((file (and *build* (build-file *build*))))
    (cond ((null file) error)
          ((compile-failure-p condition)
           (let ((problems (failing-problems call file)))
             (if problems (compile-failure-error call error file problems) error)))
          (t
           (let* ((index (ignore-errors (file-form-index frames)))
                  (line (and index (file-form-line file index))))
             (if line
                 (replace-members error "form" (1+ index) "line" line "path" file)
                 (replace-members error "message" (text (member-of error "message")
                                                        (string #\Newline) "while building "
                                                        file))))))))

;;; --- the operation ------------------------------------------------------------------------------

(defun quicklisp-load (name)
  "True when the user's image has Quicklisp and it has loaded the system."
  (let ((quickload (and (find-package "QL") (find-symbol "QUICKLOAD" "QL"))))
    (and quickload (fboundp quickload)
         (progn (funcall quickload name :silent t) t))))

(defun load-named-system (name force test)
  "Load the system NAME by Quicklisp or ASDF; FORCE: compile all its files again; TEST: run its
tests, too."
  (let ((*compile-verbose* nil) (*load-verbose* nil))
    (if force
        (asdf "LOAD-SYSTEM" name :force t :verbose nil)
        (or (quicklisp-load name) (asdf "LOAD-SYSTEM" name :verbose nil)))
    (when test (asdf "TEST-SYSTEM" name))))

(defun loaded-since (before name)
  "Names of the systems that were not loaded BEFORE, and NAME."
  (adjoin name (set-difference (asdf "ALREADY-LOADED-SYSTEMS") before :test #'string=)
          :test #'string=))

(defun perform-load-of-system (call request name)
  "Load the system NAME as REQUEST says: members of the result."
  (let ((*build* (make-build :system name))
        (before (asdf "ALREADY-LOADED-SYSTEMS")))
    (evaluate-form call `(load-named-system ,name ,(true-p (member-of request "force"))
                                            ,(true-p (member-of request "test"))))
    (pushnew name (agent-loaded-systems *agent*) :test #'string=)
    (let ((system (asdf "FIND-SYSTEM" name)))
      (list* "system" (asdf "COMPONENT-NAME" system)
             "version" (system-version system)
             "up_to_date" (and (zerop (build-actions *build*)) :true)
             "files_compiled" (build-compiled *build*)
             "origins" (origin-objects (loaded-since before name))
             "tested" (and (true-p (member-of request "test")) :true)
             "directories" (loaded-system-directories)
             "values" #()
             "forms" 1
             (warning-members call)))))

(define-operation "load-system" (call request)
  "Load an ASDF system."
  (let ((name (string-downcase (required-string request "system"))))
    (setf (call-form-number call) 1)
    (restore-directories (member-of request "directories"))
    (perform-load-of-system call request name)))
