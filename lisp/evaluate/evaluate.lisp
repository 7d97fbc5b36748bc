;;;; Reading and evaluating forms one by one (docs/reference/evaluator.md 2).

(in-package "CADRE-AGENT")

;;; --- policy -------------------------------------------------------------------------------------

(defvar *evaluation-qualities* '((debug 3) (sb-c:insert-step-conditions 0))
  "What evaluated forms are compiled with in addition to the user's policy: full debug information,
for complete backtraces and variables, without stepping code. Files are compiled, and loaded, as in
plain SBCL. A DEBUG quality that the user declares wins.")

(defglobal *evaluation-policy-works* t) ; result of a probe at build time

(defun evaluation-policy (policy)
  "The policy for a form that is evaluated where POLICY is in force."
  (if (or (null *evaluation-qualities*) (quality-given-p 'debug policy))
      policy
      (apply #'extended-policy policy *evaluation-qualities*)))

(defun extended-for-evaluation-p (policy)
  "True when POLICY is what EVALUATION-POLICY makes of the user's."
  (quality-given-p 'sb-c:insert-step-conditions policy))

(defun drop-temporary-variables ()
  "Let evaluated forms keep the variables that the user has named, and no others."
  (encapsulate-variable-preservation 'extended-for-evaluation-p)
  (encapsulate-variable-placement 'extended-for-evaluation-p))

(defun install-evaluation-policy ()
  "Give evaluated forms their policy; once, when the core is built."
  (when (probe-evaluation-policy)
    (encapsulate-evaluation-compiler 'evaluation-policy)
    (when (probe-temporary-variables) (drop-temporary-variables))))

;;; --- one form -----------------------------------------------------------------------------------

(defmacro with-form-frame-marked (&body body)
  "Remember where the stack of the user begins, for backtraces of very deep stacks."
  (let ((outer (gensym "OUTER")))
    `(let ((,outer *form-frame-pointer*))
       (setf *form-frame-pointer* (sap-int (sb-kernel:current-fp)))
       (multiple-value-prog1 (progn ,@body)
         (setf *form-frame-pointer* ,outer)))))

(declaim (notinline run-form))
(defun run-form (form)
  "Values of FORM as a list. Backtraces end at this function's frame, so it must have one."
  (with-form-frame-marked
    (multiple-value-list (eval form))))

(defvar *form-runner* #'run-form)       ; how a form's values are got; in a frame, for instance

(defun evaluate-form (call form)
  "Values of FORM, with the restarts every evaluation has."
  (loop
    (restart-case (return (funcall *form-runner* form))
      (retry ()
        :report (lambda (stream)
                  (write-string (text "Evaluate form " (call-form-number call) " again.") stream))
        (setf (call-phase call) "evaluate")))))

(defun call-with-abort (call function)
  "Call FUNCTION with the ABORT restart that every evaluation has."
  (restart-case (funcall function)
    (abort ()
      :report (lambda (stream) (write-string "Return to top level." stream))
      (capture-abort call))))

(defun read-form (call source end)
  "The next form of SOURCE, or END."
  (setf (call-phase call) "read")
  (incf (call-form-number call))
  (source-next-place source)
  (read (source-text-stream source) nil end))

(defun set-history (form values)
  "Set the variables that a REPL sets."
  (shiftf +++ ++ + form)
  (shiftf /// // / values)
  (shiftf *** ** * (first values)))

(defun source-plist (source)
  "What the compiler keeps with functions of a file, for describe-symbol."
  (and (source-text-path source)
       (list :cadre-line (place-line (source-text-place source)))))

(defun definition-origin (plist)
  "PLIST for the debug source of what is being defined, with the evaluation that defines it unless
PLIST says something already."
  (or plist
      (let ((evaluation (and *call* (call-evaluation *call*))))
        (and evaluation (list :cadre-evaluation evaluation)))))

(defvar *form-transform* nil)           ; function of a form that is evaluated in its place, or NIL

(defun evaluate-forms (call source)
  "Read and evaluate the forms of SOURCE one after the other; values of the last."
  (setf (call-source call) source)
  (let ((values '()) (end (list :end)))
    (loop
      (let ((form (read-form call source end)))
        (when (eq form end)
          (decf (call-form-number call))
          (return values))
        (setf (call-phase call) "evaluate")
        (let ((before -) (completed nil))
          (setf - form)
          (unwind-protect (setf values (with-source-properties ((source-plist source))
                                         (evaluate-form call (if *form-transform*
                                                                 (funcall *form-transform* form)
                                                                 form)))
                                completed t)
            (unless completed (setf - before))))
        (set-history form values)
        (ignore-errors (finish-output *captured-output*)) ; for one who watches
        (incf (call-forms call))))))

;;; --- the operation ------------------------------------------------------------------------------

(defconstant +kept-characters+ 4000000) ; of values; the supervisor shows as many as it likes

(defun value-members (call values)
  "Members of the result of CALL that show VALUES."
  (setf (call-phase call) "print")
  (multiple-value-bind (texts omitted stopped) (printed-values values +kept-characters+)
    (list "values" texts
          "no_values" (and (null values) (plusp (call-forms call)) :true)
          "values_omitted" (and (plusp omitted) omitted)
          "values_cut" (and (zerop omitted) (ignore-errors (cut-text values)))
          "values_stopped" (and stopped :true))))

(defun evaluation-members (call)
  "Members of the result of CALL that every evaluation has."
  (list* "forms" (call-forms call)
         "restart" (call-restart call)
         "aborted" (and (call-aborted call) :true)
         (append (shown-members call) (warning-members call))))

(defun failure-members (call)
  "Members of the result of a failed call."
  (if (string= (call-operation call) "compile")
      (mark-compile-error call (compile-members call))
      (list* "values" #()
             "samples" (and (string= (call-operation call) "profile") (call-samples call))
             (append (trace-members call) (evaluation-members call)))))

(defun find-package-or-fail (name)
  "The package NAME; ends the call when there is none."
  (or (find-package name)
      (find-package (string-upcase name))
      (progn
        (setf (call-error *call*)
              (list :object
                    "code" "unknown-package"
                    "message" (text "The name \"" name "\" does not designate any package.")
                    "hint" (package-hint (string-upcase name))
                    "type" "PACKAGE-DOES-NOT-EXIST"
                    "type_qualified" "SB-EXT:PACKAGE-DOES-NOT-EXIST"
                    "superclasses" #() "frames" #() "depth" 0))
        (end-call))))

(defmacro with-package-argument ((request) &body body)
  "Bind *PACKAGE* around BODY when the request names one; otherwise IN-PACKAGE persists."
  `(call-with-package-argument ,request (lambda () ,@body)))

(defun call-with-package-argument (request function)
  "What WITH-PACKAGE-ARGUMENT does."
  (let ((name (member-of request "package")))
    (if name
        (let ((*package* (find-package-or-fail name))) (funcall function))
        (funcall function))))

(defun evaluate-source (call request source)
  "Evaluate SOURCE for REQUEST: members of the evaluation result."
  (with-package-argument (request)
    (let ((values (evaluate-forms call source)))
      (when (call-evaluation call) (keep-values (call-evaluation call) values))
      (append (value-members call values) (evaluation-members call)))))

(define-operation "evaluate" (call request)
  "Read and evaluate a text. With a command line the code is a script, and this is what it sees."
  (when (true-p (member-of request "whole_values")) (show-whole-values))
  (let ((command-line (member-of request "command_line")))
    (when (vectorp command-line)
      (setf sb-ext:*posix-argv* (coerce command-line 'list))))
  (evaluate-source call request (make-source-text (required-string request "code"))))

;;; --- finalizers ---------------------------------------------------------------------------------

(define-operation "finalize" (call request)
  "Run finalizers, when the session is idle."
  (list "run" (run-finalizers)))
