;;;; Rules about the agent's source and about what loading it does.

(in-package "CADRE-AGENT")

(defun source-lines (file)
  "Lines of the agent's FILE, with the number of each."
  (with-open-file (stream file :external-format :utf-8)
    (loop for line = (read-line stream nil)
          for number from 1
          while line collect (cons number line))))

(defun source-files ()
  (directory (merge-pathnames "*.lisp" (asdf:system-source-directory "cadre-agent"))))

(define-test "sources: every file is part of the system"
  (check (sort (remove "build" (mapcar #'pathname-name (source-files)) :test #'string=) #'string<)
         (sort (mapcar #'asdf:component-name
                       (asdf:component-children (asdf:find-system "cadre-agent")))
               #'string<)))

(define-test "sources: every file begins with a comment that says what it is"
  (check (remove-if (lambda (file) (eql 0 (search ";;;; " (cdr (first (source-lines file))))))
                    (source-files))
         '()))

(define-test "loading: the agent is not started"
  (check *main-thread* nil)
  (check *registered-pid* 0)
  (check *channel-inodes* '())
  (check *captured-output* nil)
  (check *probes* '()))

(define-test "loading: SBCL is not changed"
  (check (remove-if-not (lambda (name) (sb-int:encapsulated-p name 'cadre))
                        '(invoke-debugger load close sb-ext:make-timer sb-unix:unix-close))
         '())
  (check *after-gc-hooks* '())
  (check (sb-ext:package-locked-p "CADRE-AGENT") nil))
