;;;; compile-form and macroexpand-form (docs/reference/evaluator.md 4.1, 8).
;;;;
;;;; Both run in a throw-away copy of the session, so what macros, EVAL-WHEN and #. do to it is
;;;; lost with the copy.

(in-package "CADRE-AGENT")

;;; --- compile ------------------------------------------------------------------------------------
;;;
;;; Only SBCL's file compiler knows what a top-level form is, what happens to it at compile time and
;;; what to warn of. It is given the text in place of a file; its output is thrown away, so nothing
;;; the forms would do at run time is ever called.

(defstruct (text-compilation (:constructor make-text-compilation (call source information)))
  call
  source                                ; SOURCE-TEXT
  information                           ; what stands for the file, see MAKE-TEXT-INFORMATION
  (places (make-array 16 :adjustable t :fill-pointer 0))) ; where each top-level form starts

(defvar *text-compilation* nil)

(defun feed-forms (compilation function)
  "Read the forms of the text one by one, as evaluations do, and let the compiler's FUNCTION process
each."
  (let* ((call (text-compilation-call compilation))
         (source (text-compilation-source compilation))
         (information (text-compilation-information compilation))
         (end (list :end)))
    (loop for index from 0
          for form = (read-form call source end)
          do (setf (call-phase call) "compile")
             (when (eq form end)
               (decf (call-form-number call))
               (return))
             (vector-push-extend (copy-place (source-text-place source))
                                 (text-compilation-places compilation))
             (add-text-form information form (place-index (source-text-place source)))
             (funcall function form :current-index index)
             (incf (call-forms call)))))

(defun install-text-compiler ()
  "Let the file compiler read the forms of a *TEXT-COMPILATION* from its text; once, when the core
is built. Files that the code compiles at the same time are read as usual."
  (encapsulate-form-reader
   (lambda (original function information &rest arguments)
     (let ((compilation *text-compilation*))
       (if (and compilation (eq information (text-compilation-information compilation)))
           (feed-forms compilation function)
           (apply original function information arguments))))))

(defglobal *file-compiler-works* t)     ; result of a probe at build time

(defun compile-forms (call source)
  "Compile the forms of SOURCE, calling none."
  (setf (call-source call) source)
  (if *file-compiler-works*
      (compile-as-file call source)
      (compile-one-by-one call source)))

(defun compile-one-by-one (call source)
  "Each form by itself: what earlier forms do at compile time is not known to later ones."
  (let ((end (list :end)))
    (loop for form = (read-form call source end)
          until (eq form end)
          do (setf (call-phase call) "compile")
             (compile nil `(lambda () ,form))
             (incf (call-forms call)))
    (decf (call-form-number call))))

(defun compile-as-file (call source)
  "Compile SOURCE by the file compiler."
  (let* ((information (make-text-information))
         (*text-compilation* (make-text-compilation call source information)))
    (with-open-file (stream "/dev/null" :direction :output :if-exists :append
                                        :element-type '(unsigned-byte 8))
      (call-file-compiler information stream))))

(defun text-origin (context)
  "Origin of what the compiler says, if CONTEXT is about a *TEXT-COMPILATION*."
  (let ((compilation *text-compilation*))
    (when (and compilation
               (eq (current-information) (text-compilation-information compilation))
               ;; At the end the compiler also warns about files that the code has loaded.
               (eq :lisp (context-file-name context)))
      (let ((index (context-form-index context))
            (places (text-compilation-places compilation)))
        (when (< index (fill-pointer places))
          (make-origin :form (1+ index)
                       :place (aref places index)
                       :source (compiled-form-text context)))))))

(defun compiled-form-text (context)
  "The subform CONTEXT is about, printed short, or NIL."
  (ignore-errors
   (one-line (printed (context-form context)
                      :limit 200 :length 10 :level 6))))

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

(defun compile-members (call)
  "Members of the result of a compilation."
  (let* ((kept (kept-warnings call))
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
                (let* ((first (find "COMPILE-ERROR" (reverse (call-warnings call))
                                    :key #'recorded-category :test #'string=))
                       (origin (recorded-origin first))
                       (place (origin-place origin)))
                  (append (cadre-error "COMPILE-ERROR" "compile-error" (recorded-message first))
                          (list "phase" "compile"
                                "form" (origin-form origin)
                                "line" (and place (place-line place))
                                "column" (and place (place-column place)))))))))
  members)

(defun remove-member (object name)
  "OBJECT without the member NAME."
  (cons :object (loop for (key value) on (cdr object) by #'cddr
                      unless (string= key name) append (list key value))))

(define-operation "compile" (call request)
  "Compile a text without running it."
  (with-package-argument (request)
    (compile-forms call (make-source-text (required-string request "code")))
    (mark-compile-error call (compile-members call))))

;;; --- macroexpand --------------------------------------------------------------------------------

(defun expansion-text (form)
  "FORM, pretty-printed."
  ;; Without circle notation: #1=#:item would hide the names of the macro's variables.
  (with-print-limits (:pretty t :circle nil)
    (let ((*print-case* :downcase) (*print-right-margin* 80))
      (values (with-bounded-text (stream (call-max-output *call*)) (prin1 form stream))))))

(defun begin-text (call text)
  "Make TEXT what CALL works on, and its first form the one it is at."
  (let ((source (make-source-text text)))
    (source-next-place source)
    (setf (call-form-number call) 1
          (call-source call) source)))

(defun read-only-form (call text)
  "The form of TEXT, which must have exactly one."
  (let* ((source (setf (call-source call) (make-source-text text)))
         (end (list :end))
         (form (read-form call source end)))
    (when (eq form end)
      (fail "invalid-argument" "There is no form to expand."))
    (unless (let ((*read-suppress* t)) (eq end (read-form call source end)))
      (fail "invalid-argument" "There is more than one form; expand them one by one."))
    (begin-text call text)
    form))

(define-operation "macroexpand" (call request)
  "Expand the form of a text once or completely."
  (with-package-argument (request)
    (let ((form (read-only-form call (required-string request "form"))))
      (setf (call-phase call) "evaluate")
      (multiple-value-bind (expansion expanded) (expand-form form (member-of request "full"))
        (setf (call-phase call) "print")
        (list "form" (one-line (printed form :limit 1000 :length nil :level nil))
              "expansion" (expansion-text expansion)
              "expanded" (json-boolean expanded))))))

(defun expand-form (form full)
  "Expansion of FORM, and whether there was one."
  (if (true-p full) (macroexpand form) (macroexpand-1 form)))
