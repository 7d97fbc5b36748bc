;;;; Probes of SBCL's internals, made when the core is built (docs/reference/sessions.md 11).
;;;;
;;;; Each internal the agent leans on is tried out by use, in a child process where a failure may
;;;; crash. The results are kept in the core, decide between a mechanism and its fallback, and are
;;;; sent with HELLO for `cadre doctor`.

(in-package "CADRE-AGENT")

(defglobal *probes* '())                ; list of (name ok detail), in order
(defconstant +probe-passed+ 42)

(defun add-probe (name ok with without)
  "Record the result of the probe NAME: WITH says what works, WITHOUT what is done instead."
  (setf *probes* (append *probes* (list (list name (and ok t) (if ok with without)))))
  ok)

(defun child-exit-code (pid)
  "Exit code of the child PID, or NIL when a signal ended it."
  (with-alien ((status int))
    (loop while (and (minusp (c-call "waitpid" int (int pid) ((* int) (addr status)) (int 0)))
                     (= (errno) +eintr+)))
    (and (zerop (logand status 127)) (ldb (byte 8 8) status))))

(defun passes-in-child-p (function &optional (clone (lambda () (c-call "fork" int))))
  "True when FUNCTION returns true in a process made by CLONE."
  (let ((pid (funcall clone)))
    (cond ((zerop pid)
           (exit-now (if (ignore-errors (funcall function)) +probe-passed+ 1)))
          ((plusp pid) (eql (child-exit-code pid) +probe-passed+)))))

(defun collect-and-allocate ()
  "Allocate and collect; true when the heap is sound."
  (sb-ext:gc)
  (let ((list (loop repeat 100000 collect (make-string 10))))
    (sb-ext:gc :full t)
    (= (length list) 100000)))

(defun probe-decommit ()
  "Does the heap survive the release of its free pages?"
  (setf *decommit-works*
        (add-probe "decommit"
                   (passes-in-child-p (lambda ()
                                        (sb-ext:gc)
                                        (release-free-pages)
                                        (collect-and-allocate)))
                   "free pages of parked processes are given back"
                   "page table not understood; snapshots are larger")))

(defun probe-thread-recipe ()
  "Clone while a thread conses; the child must survive collections."
  (let ((thread (sb-thread:make-thread (lambda () (loop (make-list 50))) :name "probe"))
        (parent-works *clone-parent-works*))
    (setf *clone-parent-works* nil)     ; a plain child, so that we can wait for it
    (let ((works (ignore-errors
                  (passes-in-child-p #'collect-and-allocate #'clone-with-threads))))
      (setf *clone-parent-works* parent-works)
      (sb-thread:terminate-thread thread)
      (sb-thread:join-thread thread :default nil)
      (setf *thread-recipe-works*
            (add-probe "clone-with-threads" works
                       "snapshots are taken while user threads run"
                       "no snapshots while user threads run")))))

(defun probe-thread-id ()
  "Is the cached thread id found?"
  (add-probe "thread-id" (find-tid-address-offset)
             "clones are siblings (CLONE_PARENT)"
             "clones are children (fork); the supervisor adopts them"))

(defun probe-finalizers ()
  "Can the finalizer thread be replaced, and its queue be read?"
  (add-probe "finalizers"
             (ignore-errors
              (and (every #'fboundp *finalizer-thread-functions*)
                   (integerp (pending-finalizer-count))))
             "finalizers run between calls"
             "finalizers do not run"))

(defun probe-frames ()
  "Do frames have names and arguments?"
  (add-probe "frames"
             (ignore-errors
              (multiple-value-bind (name arguments) (stack-frame-call (sb-di:top-frame))
                (and name (listp arguments))))
             "frames have arguments and variables"
             "frames have names only"))

(defun probe-policy ()
  "Is there a policy without stepping code?"
  (add-probe "step-conditions"
             (ignore-errors
              (compile nil '(lambda ()
                             (declare (optimize (debug 3) (sb-c:insert-step-conditions 0)))
                             1)))
             "debug 3 without stepping code"
             "plain debug 3; loops are slower"))

(defun probe-file-compiler ()
  "Of two forms the second must know the macro that the first defines."
  (setf *file-compiler-works*
        (add-probe "file-compiler"
                   (passes-in-child-p
                    (lambda ()
                      (let ((call (make-call))
                            (*package* (find-package "COMMON-LISP-USER")))
                        (handler-bind ((warning (lambda (warning)
                                                  (declare (ignore warning))
                                                  (exit-now 1))))
                          (compile-forms call (make-source-text
                                               "(defmacro m () 1) (defun f () (m))")))
                        (= 2 (call-forms call)))))
                   "compile-form compiles as compile-file does"
                   "compile-form compiles forms one by one")))

(defun run-probes ()
  "The probes that need no change of the image."
  (probe-thread-id)
  (probe-decommit)
  (probe-thread-recipe)
  (probe-frames)
  (probe-policy))

(defun probe-objects ()
  "JSON of all results."
  (map 'simple-vector
       (lambda (probe)
         (destructuring-bind (name ok detail) probe
           (object "name" name "ok" (json-boolean ok) "detail" detail)))
       *probes*))
