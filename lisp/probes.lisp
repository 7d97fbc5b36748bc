;;;; Probes of SBCL's internals, made when the core is built (docs/reference/sessions.md 11).
;;;;
;;;; Each internal the agent leans on is tried out by use, in a child process where a failure may
;;;; crash or hang. The results are kept in the core, decide between a mechanism and its fallback,
;;;; and are sent with HELLO for `cadre doctor`.
;;;;
;;;; For tests of the fallbacks: CADRE_FALLBACKS in the environment of the build names probes that
;;;; fail whatever they find, separated by spaces, or is "all".

(in-package "CADRE-AGENT")

(defglobal *probes* '())                ; list of (name ok detail), in order
(defconstant +probe-passed+ 42)
(defconstant +probe-seconds+ 20)        ; a probe takes less than one, but the machine may be busy

(defun forced-to-fail-p (name)
  "True when the build is to use the fallback of the probe NAME."
  (let ((names (text " " (or (sb-posix:getenv "CADRE_FALLBACKS") "") " ")))
    (or (string= names " all ") (search (text " " name " ") names))))

(defun add-probe (name ok with without)
  "Record the result of the probe NAME: WITH says what works, WITHOUT what is done instead."
  (let ((ok (and ok (not (forced-to-fail-p name)))))
    (setf *probes* (append *probes* (list (list name ok (if ok with without)))))
    ok))

(defun child-exit-code (pid)
  "Exit code of the child PID; NIL when a signal ended it or it was killed because of its time."
  (with-alien ((status int))
    (flet ((ended-p (options)
             (= pid (c-call "waitpid" int (int pid) ((* int) (addr status)) (int options)))))
      (loop repeat (* 100 +probe-seconds+)
            do (when (ended-p 1)        ; WNOHANG
                 (return (and (zerop (logand status 127)) (ldb (byte 8 8) status))))
               (c-call "usleep" int (unsigned-int 10000))
            finally (c-call "kill" int (int pid) (int 9))
                    (loop until (or (ended-p 0) (/= (errno) +eintr+)))
                    (return nil)))))

(defun exit-with-result (function)
  "End this process with the result of a probe's FUNCTION."
  (exit-now (if (ignore-errors (funcall function)) +probe-passed+ 1)))

(defun passes-in-child-p (function &optional (clone (lambda () (c-call "fork" int))))
  "True when FUNCTION returns true in a process made by CLONE."
  (let ((pid (funcall clone)))
    (cond ((zerop pid)
           (die-with-parent)
           (exit-with-result function))
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

(defun clone-beside-thread-p ()
  "Clone while a thread conses; true when the clone survives collections."
  (sb-thread:make-thread (lambda () (loop (make-list 50))) :name "probe")
  (setf *clone-parent-works* nil)       ; a plain child, so that we can wait for it
  (passes-in-child-p #'collect-and-allocate #'clone-with-threads))

(defun probe-thread-recipe ()
  "Can a process be cloned while threads run? Both processes may hang with the world stopped, so the
one that is cloned is a child too."
  (setf *thread-recipe-works*
        (add-probe "clone-with-threads" (passes-in-child-p #'clone-beside-thread-p)
                   "snapshots are taken while user threads run"
                   "no snapshots while user threads run")))

(defun probe-thread-id ()
  "Is the cached thread id found?"
  (setf *clone-parent-works*
        (add-probe "thread-id" (find-tid-address-offset)
                   "clones are siblings (CLONE_PARENT)"
                   "clones are children (fork); the supervisor adopts them")))

(defun finalizers-run-p ()
  "Finalize objects and let them die; true when they are found in the queue and called once."
  (let ((called 0))
    (loop repeat 100 do (sb-ext:finalize (make-list 10) (lambda () (incf called)) :dont-save t))
    (sb-sys:scrub-control-stack)
    (sb-ext:gc :full t)
    (let ((pending (length (pending-finalizers)))) ; SBCL's own may be among them
      (and (zerop called)
           (= pending (run-finalizers))
           (<= 1 called pending)
           (null (pending-finalizers))))))

(defun probe-finalizers ()
  "Can the queue of the finalizers be read, and be run without the finalizer thread?"
  (setf *finalizers-work*
        (add-probe "finalizers" (passes-in-child-p #'finalizers-run-p)
                   "finalizers run after collections and between calls"
                   "finalizers do not run")))

(defun probe-frames ()
  "Do frames have names and arguments?"
  (setf *frame-calls-work*
        (add-probe "frames"
                   (ignore-errors
                    (multiple-value-bind (name arguments) (stack-frame-call (sb-di:top-frame))
                      (and name (listp arguments))))
                   "frames have arguments and variables"
                   "frames have names only")))

(defun evaluations-have-policy-p ()
  "True when EVAL compiles with full debug information, COMPILE without, and the user's word wins."
  (unmark-debug-quality)
  (encapsulate-evaluation-compiler 'evaluation-policy)
  (let ((quality '(let () ; EVAL compiles a LET
                   (macrolet ((quality (&environment environment) (debug-quality environment)))
                     (quality)))))
    (and (= 3 (eval quality))
         (= 3 (eval `(locally (declare (optimize speed)) ,quality)))
         (= 1 (funcall (compile nil `(lambda () ,quality))))
         (= 2 (eval `(locally (declare (optimize (debug 2))) ,quality)))
         (progn (proclaim '(optimize (debug 1)))
                (= 1 (eval quality))))))

(defun probe-evaluation-policy ()
  "Can evaluated forms have a policy of their own?"
  (setf *evaluation-policy-works*
        (add-probe "evaluation-policy" (passes-in-child-p #'evaluations-have-policy-p)
                   "evaluated forms have debug 3, files the user's policy"
                   "debug 3 for all code, files included")))

(defun has-variable-p (function name)
  "True when the debugger knows a variable NAME of FUNCTION."
  (sb-di:do-debug-fun-vars (variable (sb-di:fun-debug-fun function))
    (when (string= (sb-di:debug-var-symbol variable) name) (return t))))

(defun temporaries-drop-p ()
  "True when evaluated code works and has the variables that the user named, and no others; where
the user asked for them it has all."
  (unmark-debug-quality)
  (encapsulate-evaluation-compiler 'evaluation-policy)
  (drop-temporary-variables)
  (let* ((*package* (find-package "COMMON-LISP-USER"))
         (temporary (make-symbol "TEMPORARY"))
         (source `(lambda (list)
                    (let* ((,temporary (first list)) (named (1+ ,temporary)))
                      (list named list))))
         (evaluated (eval source))
         (declared (eval `(locally (declare (optimize (debug 3))) ,source))))
    (and (equal '(2 (1)) (funcall evaluated '(1)))
         (has-variable-p evaluated "NAMED")
         (not (has-variable-p evaluated "TEMPORARY"))
         (has-variable-p declared "TEMPORARY"))))

(defun probe-temporary-variables ()
  "Can what macros bind for themselves be told from the user's variables?"
  (add-probe "temporary-variables" (passes-in-child-p #'temporaries-drop-p)
             "evaluated code keeps named variables only"
             "evaluated code keeps the variables of macros too, and is slower"))

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
  (probe-finalizers)
  (probe-frames))

(defun probe-objects ()
  "JSON of all results."
  (map 'simple-vector
       (lambda (probe)
         (destructuring-bind (name ok detail) probe
           (object "name" name "ok" (json-boolean ok) "detail" detail)))
       *probes*))
