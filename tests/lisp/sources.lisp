;;;; Rules about the agent's source and about what loading it does.

(in-package "CADRE-AGENT")

(defun source-lines (file)
  "Lines of the agent's FILE, with the number of each."
  (with-open-file (stream file :external-format :utf-8)
    (loop for line = (read-line stream nil)
          for number from 1
          while line collect (cons number line))))

(defun source-files ()
  (directory (merge-pathnames "**/*.lisp" (asdf:system-source-directory "cadre-agent"))))

(defun component-name-of (file)
  "FILE as cadre-agent.asd names it: FOLDER/NAME."
  (namestring (make-pathname :type nil
                             :defaults (enough-namestring
                                        file (asdf:system-source-directory "cadre-agent")))))

(define-test "sources: every file is part of the system"
  (check (sort (remove "build" (mapcar #'component-name-of (source-files)) :test #'string=) #'string<)
         (sort (mapcar #'asdf:component-name
                       (asdf:component-children (asdf:find-system "cadre-agent")))
               #'string<)))

(define-test "sources: every file begins with a comment that says what it is"
  (check (remove-if (lambda (file) (eql 0 (search ";;;; " (cdr (first (source-lines file))))))
                    (source-files))
         '()))

(define-test "sources: lines have at most 100 characters"
  (check (loop for file in (source-files)
               append (loop for (number . line) in (source-lines file)
                            when (> (length line) 100)
                              collect (list (pathname-name file) number)))
         '()))

(defun top-level-forms (file)
  (with-open-file (stream file :external-format :utf-8)
    (loop for form = (read stream nil stream)
          until (eq form stream) collect form)))

(define-test "sources: every function has a docstring"
  (check (loop for file in (source-files)
               unless (string= (pathname-name file) "build")
                 append (loop for form in (top-level-forms file)
                              when (and (member (first form) '(defun defmacro define-operation))
                                        (not (stringp (fourth form))))
                                collect (list (pathname-name file) (second form))))
         '()))

(defun accessor-names (form)
  "Names of the accessors that FORM, a DEFSTRUCT with the usual ones, defines."
  (let* ((options (if (consp (second form)) (second form) (list (second form)))))
    (unless (assoc :conc-name (remove-if-not #'consp (rest options)))
      (loop for slot in (cddr form)
            unless (stringp slot)
              collect (intern (format nil "~A-~A" (first options)
                                      (if (consp slot) (first slot) slot))
                              "CADRE-AGENT")))))

(defun defined-names (form)
  "Names of the functions that FORM defines."
  (case (first form)
    ((defun defmacro) (list (second form)))
    (defstruct (accessor-names form))))

(define-test "sources: no function is defined twice"
  ;; All files share one package: the later definition would win.
  (let ((names (loop for file in (source-files)
                     unless (string= (pathname-name file) "build")
                       append (loop for form in (top-level-forms file)
                                    append (and (consp form) (defined-names form))))))
    (check (remove-duplicates (loop for (name . others) on names
                                    when (member name others :test #'equal) collect name))
           '())))

(defun internal-symbol-position (line)
  "Where LINE names a symbol that its package of SBCL does not export, or NIL."
  (loop for start = (search "sb-" line :test #'char-equal)
          then (search "sb-" line :start2 (1+ start) :test #'char-equal)
        while start
        do (let ((end (position-if-not (lambda (character)
                                         (or (alphanumericp character) (char= character #\-)))
                                       line :start start)))
             (when (and end (eql end (search "::" line :start2 end))) (return start)))))

(define-test "sources: internals of SBCL are named in two files only"
  (check (internal-symbol-position "(sb-ext:gc) (SB-DI::foo)") 13)
  (check (internal-symbol-position "(sb-ext:gc) \"::\"") nil)
  (check (loop for file in (source-files)
               unless (member (pathname-name file) '("sbcl" "sbcl-compiler") :test #'string=)
                 append (loop for (number . line) in (source-lines file)
                              when (internal-symbol-position line)
                                collect (list (pathname-name file) number)))
         '()))

(define-test "sources: this SBCL has every internal that has no replacement"
  (check (set-difference *missing-internals*
                         '("SB-IMPL::FINALIZER-ID-MAP" "SB-IMPL::HASH-TABLE-CULLED-VALUES")
                         :test #'string=)
         '()))

(define-test "sources: an internal that is missing is a symbol without a meaning"
  (let* ((known *missing-internals*)
         (symbol (internal "SB-IMPL" "NO-SUCH-NAME")))
    (check (find-symbol "NO-SUCH-NAME" "SB-IMPL") nil)
    (check (fboundp symbol) nil)
    (check (set-difference *missing-internals* known) '("SB-IMPL::NO-SUCH-NAME"))
    (setf *missing-internals* known)
    (unintern symbol "CADRE-AGENT")))

(define-test "loading: the agent is not started"
  (check (agent-main-thread *agent*) nil)
  (check (agent-registered-pid *agent*) 0)
  (check (agent-channel-inode *agent*) nil)
  (check *captured-output* nil)
  (check *probes* '()))

(define-test "loading: SBCL is not changed"
  (check (remove-if-not (lambda (name) (sb-int:encapsulated-p name 'cadre))
                        '(invoke-debugger load close sb-ext:make-timer sb-unix:unix-close))
         '())
  (check *after-gc-hooks* '())
  (check (sb-ext:package-locked-p "CADRE-AGENT") nil))
