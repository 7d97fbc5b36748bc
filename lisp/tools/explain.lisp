;;;; explain: what the compiler makes of a form: expansion, type, notes, size of the machine code.
;;;;
;;;; The request is performed in a throw-away copy of the session. A form is compiled and not
;;;; called; only DEFUN and FUNCTION are, to have the function that is meant.

(in-package "CADRE-AGENT")

(defun means-function-p (form)
  "True when FORM is asked about for the sake of the function it defines or names."
  (and (consp form) (member (first form) '(defun function)) (consp (rest form))))

(defun explained-function (form)
  "The function FORM means, or one that would evaluate FORM, compiled as in a file."
  (let ((function (compile nil `(lambda () ,form))))
    (if (means-function-p form)
        (progn (funcall function) (fdefinition (second form)))
        function)))

(defun inferred-type (function form)
  "What the compiler has found out of the type of FUNCTION, or of the value of FORM."
  (let* ((type (sb-introspect:function-type function))
         (result (and (consp type) (third type))))
    (cond ((means-function-p form) type)
          ((and (consp result) (eq (first result) 'values) (eq (third result) '&optional)
                (null (cdddr result)))
           (second result))
          (t result))))

(defun machine-code-size (function)
  "Bytes of the machine code of FUNCTION, or NIL."
  (let* ((listing (with-output-to-string (stream) (disassemble function :stream stream)))
         (size (search "Size: " listing)))
    (and size (parse-integer listing :start (+ size 6) :junk-allowed t))))

(define-operation "explain" (call request)
  "Expand and compile one form."
  (with-package-argument (request)
    (let* ((code (required-string request "form"))
           (form (read-only-form call code)))
      (setf (call-phase call) "evaluate")
      (multiple-value-bind (expansion expanded) (expand-form form :true)
        (setf (call-form-number call) 0)
        (compile-forms call (make-source-text code))
        (let ((members (mark-compile-error call (compile-members call))))
          (if (call-error call)
              members
              (let ((function (explained-function form)))
                (list* "form" (one-line (printed form :limit 200 :length nil :level nil))
                       "expansion" (and expanded (expansion-text expansion))
                       "type" (one-line (printed (inferred-type function form)
                                                 :limit 1000 :length nil :level nil))
                       "bytes" (machine-code-size function)
                       members))))))))
