;;;; A small test framework: named tests made of checks.
;;;;
;;;; The tests live in the agent's package, because they call its internals. What needs a supervisor
;;;; or several processes is tested through the server (tests/e2e, tests/fault).

(in-package "CADRE-AGENT")

(defvar *tests* '())                    ; (name . function), newest first
(defvar *checks* 0)
(defvar *failures* 0)

(defmacro define-test (name &body body)
  "Define the test NAME, a string that begins with the name of the file it tests."
  `(setf *tests* (cons (cons ,name (lambda () ,@body))
                       (remove ,name *tests* :key #'car :test #'string=))))

(defun count-check (form value expected)
  (incf *checks*)
  (unless (equalp value expected)
    (incf *failures*)
    (format t "FAILED ~S~%  expected ~S~%  got      ~S~%" form expected value)))

(defmacro check (form &optional (expected t))
  "FORM must return something EQUALP to EXPECTED. One that signals an error returns its report."
  `(count-check ',form
                (handler-case ,form
                  (serious-condition (condition) (princ-to-string condition)))
                ,expected))

(defun run-tests (&optional (prefix ""))
  "Run the tests whose names begin with PREFIX; true when all checks passed."
  (setf *checks* 0
        *failures* 0)
  (let ((*package* (find-package "CADRE-AGENT"))) ; printed symbols have no prefix
    (loop for (name . function) in (reverse *tests*)
          for before = *failures*
          when (eql 0 (search prefix name))
            do (funcall function)
               (when (> *failures* before) (format t "  in the test ~S~%" name))))
  (format t "~D passed, ~D failed~%" (- *checks* *failures*) *failures*)
  (zerop *failures*))

;;; Code of a user, in a package of its own: frames of the agent's package are never shown.

(defpackage "CADRE-TEST-USER" (:use "COMMON-LISP"))

(defmacro as-user (&body body)
  "Run BODY in the user's package, without the compiler's warnings."
  `(let ((*package* (find-package "CADRE-TEST-USER"))
         (*error-output* (make-broadcast-stream)))
     (handler-bind ((warning #'muffle-warning)) ,@body)))

(defun evaluate-as-user (&rest texts)
  "Value of the last of TEXTS, with the debug information that evaluations of a session have."
  (as-user
    (let ((value nil))
      (dolist (text texts value)
        (setf value (funcall (compile nil `(lambda ()
                                             (declare (optimize (debug 3)))
                                             ,(read-from-string text)))))))))
