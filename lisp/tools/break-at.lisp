;;;; break-at: an evaluation that freezes where a function is called, or before a form is evaluated,
;;;; as it would at an error; CONTINUE goes on to the next time.
;;;;
;;;; A function is encapsulated for the evaluation; for a form in it, it is compiled from its source
;;;; with a BREAK before the form, and is the old one again afterwards. In the post-mortem it is as
;;;; it was when the evaluation froze.

(in-package "CADRE-AGENT")

(defun break-before (form)
  "FORM with a BREAK before it."
  `(progn (break "Break at ~A" ',(one-line (printed form :limit 200))) ,form))

(defun with-breaks (tree form)
  "TREE with a BREAK before each part that is like FORM, and how many there are. What is quoted is
no code."
  (let ((count 0))
    (labels ((walk (part)
               (cond ((equal part form) (incf count) (break-before part))
                     ((atom part) part)
                     ((eq (first part) 'quote) part)
                     (t (let ((walked (walk-elements part)))
                          (if (equal walked part) part walked)))))
             (walk-elements (list)
               (loop for rest = list then (cdr rest)
                     while (consp rest)
                     collect (walk (car rest)) into elements
                     finally (return (nconc elements rest)))))
      (let ((walked (walk tree)))
        (values walked count)))))

;;; --- a function when it is called ---------------------------------------------------------------

(defvar *breaking* nil)                 ; true in the thread of the evaluation

(defun break-when-called (name)
  "Freeze the evaluation whenever the function NAME is called."
  (sb-int:encapsulate name 'cadre-break
                      (lambda (function &rest arguments)
                        (when *breaking*
                          (break "Break at ~A"
                                 (one-line (printed (cons name arguments) :limit 500))))
                        (apply function arguments))))

(defun call-breaking-at-calls (name function)
  "Call FUNCTION, and freeze it whenever the function NAME is called."
  (unwind-protect
       (progn
         (break-when-called name)
         (let ((*breaking* t)) (funcall function)))
    (without-interrupts (sb-int:unencapsulate name 'cadre-break))))

;;; --- a form in a function -----------------------------------------------------------------------

(defun definition-to-break (name)
  "The DEFUN of the function NAME, read from its file, and the package it is read in."
  (let* ((*read-files* (make-hash-table :test #'equal))
         (source (ignore-errors (sb-introspect:find-definition-source (fdefinition name))))
         (path (and source (source-file source))))
    (multiple-value-bind (string forms) (and path (read-forms-of path))
      (let ((form (and string (find-if (lambda (form)
                                         (and (form-defines-p form (compared-name name))
                                              (string= "DEFUN" (text-form-operator form))))
                                       forms))))
        (unless form
          (fail "no-source" (text "The DEFUN of " (function-name-text name)
                                  " is in no file, so its forms are not known.")))
        (let ((*package* (or (form-package form) *package*)))
          (values (read-from-string (text-form-text string form)) *package*))))))

(defun call-breaking-in (name form-text function)
  "Call FUNCTION while the function NAME freezes before the form that FORM-TEXT is."
  (multiple-value-bind (definition package) (definition-to-break name)
    (let ((form (let ((*package* package)) (read-from-string form-text)))
          (old (fdefinition name)))
      (multiple-value-bind (broken count) (with-breaks (cdddr definition) form)
        (when (zerop count)
          (fail "no-such-form" (text (function-name-text name) " has no form " form-text
                                     "; find-definition shows it.")))
        (unwind-protect
             (progn
               (let ((*package* package))
                 (handler-bind ((warning #'muffle-warning))
                   (setf (fdefinition name)
                         (compile nil `(sb-int:named-lambda ,name ,(third definition)
                                         ,@(bodies-in-block name broken))))))
               (funcall function))
          (without-interrupts (setf (fdefinition name) old)))))))

(defun bodies-in-block (name body)
  "BODY of a DEFUN of NAME as the body of a lambda: declarations first, the rest in its block."
  (let ((start (or (position-if-not (lambda (form)
                                      (or (and (stringp form) (rest body))
                                          (and (consp form) (eq (first form) 'declare))))
                                    body)
                   (length body))))
    (append (subseq body 0 start)
            `((block ,(if (consp name) (second name) name) ,@(subseq body start))))))

;;; --- the operation ------------------------------------------------------------------------------

(defun break-in-code (form-text)
  "A function that puts a BREAK into each form of the code, and one that says how many there were."
  (let ((total 0) (form nil) (known nil))
    (values (lambda (code)
              (unless known
                (setf form (read-from-string form-text) known t))
              (multiple-value-bind (broken count) (with-breaks code form)
                (incf total count)
                broken))
            (lambda () total))))

(define-operation "break-at" (call request)
  "Evaluate a text that freezes where a function is called, or before a form."
  (let ((source (make-source-text (required-string request "code")))
        (function (member-of request "function"))
        (form (member-of request "form")))
    (flet ((run () (evaluate-source call request source)))
      (cond ((and function form)
             (call-breaking-in (traced-name request function) form #'run))
            (function (call-breaking-at-calls (traced-name request function) #'run))
            (form (multiple-value-bind (transform count) (break-in-code form)
                    (let ((members (let ((*form-transform* transform)) (run))))
                      (when (zerop (funcall count))
                        (fail "no-such-form" (text "The code has no form " form ".")))
                      members)))
            (t (fail "invalid-argument" "Give `function', `form' or both."))))))
