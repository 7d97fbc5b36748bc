;;;; compile-form and macroexpand-form (evaluator.md 4.1, 8).
;;;;
;;;; Both run in a throw-away copy of the session, so what macros, EVAL-WHEN and #. do to it is
;;;; lost with the copy.

(in-package "CADRE-AGENT")

;;; --- compile ------------------------------------------------------------------------------------

(defparameter *compile-time-definers*
  '(defmacro define-compiler-macro define-symbol-macro define-setf-expander defsetf deftype
    defstruct defconstant defpackage in-package declaim)
  "Forms whose effect later forms of the same text need to be read and compiled.")

(defparameter *function-definers* '(defun defgeneric defmethod defmacro))
(defparameter *variable-definers* '(defvar defparameter defconstant define-symbol-macro))

(defun defined-subjects (form)
  "What FORM would define, as subjects of warnings about undefined things."
  (when (and (consp form) (consp (cdr form)))
    (cond ((eq (first form) 'progn) (mapcan #'defined-subjects (rest form)))
          ((member (first form) *function-definers*) (list (cons :function (second form))))
          ((member (first form) *variable-definers*) (list (cons :variable (second form)))))))

(defun do-compile-time-effects (form)
  "What a file compiler would do with FORM at compile time."
  (when (consp form)
    (cond ((member (first form) *compile-time-definers*) (eval form))
          ((eq (first form) 'progn) (mapc #'do-compile-time-effects (rest form)))
          ((and (eq (first form) 'eval-when)
                (intersection (second form) '(:compile-toplevel compile)))
           (eval `(progn ,@(cddr form)))))))

(defun compile-forms (call source)
  "Compile each form of SOURCE, calling none; subjects that the forms define."
  (setf (call-source call) source)
  (let ((end (list :end)) (defined '()))
    (loop
      (let ((form (read-form call source end)))
        (when (eq form end)
          (decf (call-form-number call))
          (return defined))
        (setf (call-phase call) "compile")
        (compile nil `(lambda () ,form))
        (setf defined (append (defined-subjects form) defined))
        (do-compile-time-effects form)
        (incf (call-forms call))))))

(defun failed-item (call)
  "The failure that ended the compilation, as an item of the list of errors."
  (let* ((error (call-error call))
         (message (member-of error "message"))
         (reader (equal (member-of error "code") "reader")))
    (when (member (member-of error "code") '("reader" "condition") :test #'equal)
      (object "category" (if reader "READ-ERROR" "ERROR")
              "type" (member-of error "type_qualified")
              "message" (if reader
                            (text "Read error: " message)
                            (text (member-of error "type") ": " message))
              "form" (call-form-number call)
              "line" (member-of error "line")))))

(defun compile-members (call defined)
  (let* ((kept (remove-if (lambda (recorded)
                            (member (recorded-subject recorded) defined :test #'equal))
                          (kept-warnings call)))
         (failed (and (call-error call) (failed-item call))))
    (flet ((items (&rest categories)
             (warning-objects (remove-if-not (lambda (recorded)
                                               (member (recorded-category recorded) categories
                                                       :test #'string=))
                                             kept))))
      (let ((errors (items "COMPILE-ERROR")))
        (list "forms" (call-forms call)
              "warnings" (items "STYLE-WARNING" "WARNING")
              "notes" (items "COMPILER-WARNING")
              "errors" (if failed (concatenate 'simple-vector errors (list failed)) errors))))))

(defun mark-compile-error (call members)
  "A compilation with errors has failed, whatever ended it."
  (let ((errors (getf-loose members "errors")))
    (when (plusp (length errors))
      (setf (call-error call)
            (if (call-error call)
                (list* :object "code" "compile-error"
                       (cdr (remove-member (call-error call) "code")))
                (let ((first (find "COMPILE-ERROR" (reverse (call-warnings call))
                                   :key #'recorded-category :test #'string=)))
                  (append (cadre-error "COMPILE-ERROR" "compile-error" (recorded-message first))
                          (list "phase" "compile"
                                "form" (recorded-form first)
                                "line" (recorded-line first)
                                "column" (recorded-column first))))))))
  members)

(defun remove-member (object name)
  (cons :object (loop for (key value) on (cdr object) by #'cddr
                      unless (string= key name) append (list key value))))

(define-operation "compile" (call request)
  (with-package-argument (request)
    (let ((defined (compile-forms call (make-source-text (required-string request "code")))))
      (mark-compile-error call (compile-members call defined)))))

;;; --- macroexpand --------------------------------------------------------------------------------

(defun expansion-text (form)
  ;; Without circle notation: #1=#:item would hide the names of the macro's variables.
  (with-print-limits (:pretty t :circle nil)
    (let ((*print-case* :downcase) (*print-right-margin* 80))
      (values (with-bounded-text (stream (call-max-output *call*)) (prin1 form stream))))))

(define-operation "macroexpand" (call request)
  (with-package-argument (request)
    (let ((source (make-source-text (required-string request "form"))))
      (setf (call-source call) source)
      (let ((form (read-form call source nil)))
        (setf (call-phase call) "evaluate")
        (multiple-value-bind (expansion expanded) (expand-form form (member-of request "full"))
          (setf (call-phase call) "print")
          (list "form" (one-line (printed form :limit 1000 :length nil :level nil))
                "expansion" (expansion-text expansion)
                "expanded" (json-boolean expanded)))))))

(defun expand-form (form full)
  (if (true-p full) (macroexpand form) (macroexpand-1 form)))
