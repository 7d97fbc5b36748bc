;;;; Operations by name: what a REQUEST may ask for.

(in-package "CADRE-AGENT")

(defglobal *operations* (make-hash-table :test 'equal))

(defmacro define-operation (name (call request) &body body)
  "BODY runs under the guard and returns the members of the result as a flat list."
  (let ((function (intern (format nil "PERFORM-~:@(~A~)" name) "CADRE-AGENT")))
    `(progn
       (defun ,function (,call ,request)
         (declare (ignorable ,call ,request))
         ,@body)
       (setf (gethash ,name *operations*) ',function))))

(defun fail (code message &rest members)
  "End the current call with an error that is no condition of the user's code."
  (setf (call-error *call*)
        (list* :object "code" code "message" message "type" (string-upcase code)
               "type_qualified" (text "CADRE:" (string-upcase code))
               "superclasses" #() "frames" #() "depth" 0 members))
  (end-call))

(defun required-string (request name)
  "The string NAME of REQUEST; fails when there is none."
  (let ((value (member-of request name)))
    (if (stringp value)
        value
        (fail "protocol" (text "The request has no string member " name ".")))))

(defun integer-member (request name default)
  "The integer NAME of REQUEST, or DEFAULT."
  (let ((value (member-of request name default)))
    (if (integerp value) value default)))

(defun true-p (value)
  "True for JSON's true."
  (eq value :true))

(defun make-request-call (number request)
  "The call for REQUEST, which is message NUMBER."
  (let ((limits (member-of request "limits" (object)))
        (operation (member-of request "op" "")))
    (make-call :operation (if (stringp operation) operation "")
               :number number
               :timeout (integer-member limits "timeout" 30)
               :max-output (max 1 (integer-member limits "max_output" 20000))
               :max-memory (integer-member limits "max_memory" 1024)
               :evaluation (let ((number (member-of request "evaluation")))
                             (and (integerp number) number))
               :interactive (true-p (member-of request "interactive"))
               :raise-timeout (member-of limits "raise_timeout" "configure-limits")
               :raise-memory (member-of limits "raise_memory" "configure-limits"))))

(declaim (notinline find-operation))
(defun find-operation (call)
  "Name of the function for the operation of CALL, or NIL."
  (gethash (call-operation call) *operations*))

(defun perform-request (number request)
  "Perform the REQUEST that is message NUMBER and send its RESULT."
  (let* ((request (if (object-p request) request (object)))
         (call (make-request-call number request))
         (function (find-operation call)))
    (perform-call call
                  (lambda ()
                    (if function
                        (call-with-abort call (lambda () (funcall function call request)))
                        (fail "protocol" "The request names no known operation."))))))

(define-operation "trial" (call request)
  "What the agent asks itself before a snapshot (health.lisp). Nobody wants a trace of it."
  (let ((*trace-output* *silence*))
    (list "trial" (eval '(+ 1 2)))))
