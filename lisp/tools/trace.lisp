;;;; trace-calls: the calls of some functions while a text is evaluated, as a tree.
;;;;
;;;; The functions are encapsulated for the evaluation only. Calls by other threads are not
;;;; recorded: they would belong to nobody's tree.

(in-package "CADRE-AGENT")

(defconstant +traced-limit+ 200)        ; calls that are kept
(defconstant +traced-text-limit+ 160)   ; characters of a call, and of each value

(defstruct traced-call
  depth text
  (values #())                          ; texts
  (returned nil)                        ; false: left by a non-local exit, or still running
  (duration 0))                         ; microseconds

(defstruct tracing
  (limit 0)                             ; depth from which calls are only counted
  (depth 0)                             ; of the next call
  (counts '())                          ; (name . number of calls) of each function
  (kept '())                            ; TRACED-CALLs, newest first
  (kept-count 0))

;;; Bound in the thread of the evaluation; false while the trace itself works, or its calls of
;;; traced functions would be traced.
(defvar *tracing* nil)

(defun traced-text (object)
  "OBJECT on one line of a trace."
  (one-line (printed object :limit +traced-text-limit+ :length 12)))

(defun begin-traced-call (trace name arguments)
  "Count a call of the function NAME; its TRACED-CALL when it is kept."
  (incf (cdr (assoc name (tracing-counts trace) :test #'equal)))
  (when (and (< (tracing-depth trace) (tracing-limit trace))
             (< (tracing-kept-count trace) +traced-limit+))
    (let ((traced (make-traced-call :depth (tracing-depth trace)
                                    :text (traced-text (cons name arguments)))))
      (push traced (tracing-kept trace))
      (incf (tracing-kept-count trace))
      traced)))

(defun end-traced-call (traced values)
  "TRACED returned VALUES."
  (setf (traced-call-values traced) (map 'simple-vector #'traced-text
                                         (subseq values 0 (min 8 (length values))))
        (traced-call-returned traced) t))

(defun call-recorded (trace name function arguments)
  "Values of FUNCTION, called NAME, for ARGUMENTS; the call is recorded in TRACE."
  (let* ((traced (let ((*tracing* nil)) (begin-traced-call trace name arguments)))
         (depth (tracing-depth trace))
         (start (monotonic-microseconds))
         (values '()))
    (setf (tracing-depth trace) (1+ depth))
    (unwind-protect (setf values (multiple-value-list (apply function arguments)))
      (setf (tracing-depth trace) depth)
      (when traced (setf (traced-call-duration traced) (- (monotonic-microseconds) start))))
    (when traced
      (let ((*tracing* nil)) (end-traced-call traced values)))
    (values-list values)))

(defun encapsulate-for-trace (name)
  "Let calls of the function NAME be recorded in the *TRACING* of their thread."
  (sb-int:encapsulate name 'cadre-trace
                      (lambda (function &rest arguments)
                        (let ((trace *tracing*))
                          (if trace
                              (call-recorded trace name function arguments)
                              (apply function arguments))))))

(defun call-traced (names trace function)
  "Call FUNCTION while calls of the functions NAMES are recorded in TRACE."
  (unwind-protect
       (progn
         (mapc #'encapsulate-for-trace names)
         (let ((*tracing* trace)) (funcall function)))
    (without-interrupts
      (dolist (name names) (sb-int:unencapsulate name 'cadre-trace)))))

;;; --- which functions ----------------------------------------------------------------------------

(defun named-symbol (request name)
  "The symbol NAME means, or NIL; fails when its package is not there."
  (multiple-value-bind (prefix symbol-name) (split-name name)
    (let ((package (or prefix (member-of request "package"))))
      (values (find-symbol symbol-name
                           (if package (find-package-or-fail package) (session-package)))))))

(defun traced-name (request string)
  "The name of a function that STRING is, `area' or `(setf area)'; fails when it cannot be traced."
  (let* ((string (string-trim " " string))
         (setf-p (and (> (length string) 7) (string-equal "(setf " string :end2 6)))
         (symbol (named-symbol request (if setf-p
                                           (string-trim " " (subseq string 6 (1- (length string))))
                                           string)))
         (name (if setf-p (list 'setf symbol) symbol)))
    (cond ((or (null symbol) (not (fboundp name)))
           (fail "undefined-function"
                 (text "There is no function " string "; what the code defines comes too late.")))
          ((and (symbolp name) (or (special-operator-p name) (macro-function name)))
           (fail "invalid-argument"
                 (text string " is no function: it is gone when code runs. macroexpand-form shows "
                       "what it makes.")))
          ((eq (symbol-package symbol) (find-package "CADRE-AGENT"))
           (fail "invalid-argument" (text string " is Cadre's own.")))
          (t name))))

(defun traced-names (request)
  "The names of the functions that REQUEST wants traced."
  (let ((strings (member-of request "functions")))
    (unless (and (vectorp strings) (plusp (length strings)) (every #'stringp strings))
      (fail "invalid-argument" "`functions' must name at least one function."))
    (remove-duplicates (map 'list (lambda (string) (traced-name request string)) strings)
                       :test #'equal :from-end t)))

;;; --- the operation ------------------------------------------------------------------------------

(defun traced-call-object (traced)
  "TRACED as an object."
  (object "depth" (traced-call-depth traced)
          "call" (traced-call-text traced)
          "values" (traced-call-values traced)
          "returned" (json-boolean (traced-call-returned traced))
          "real_us" (max 0 (traced-call-duration traced))))

(defun trace-members (call)
  "Members of the result of CALL that show its trace, if it has one."
  (let ((trace (call-trace call)))
    (when trace
      (list "functions" (map 'simple-vector
                             (lambda (entry) (object "name" (function-name-text (car entry))
                                                     "count" (cdr entry)))
                             (tracing-counts trace))
            "calls" (map 'simple-vector #'traced-call-object (reverse (tracing-kept trace)))))))

(define-operation "trace" (call request)
  "Evaluate a text and record the calls of some functions."
  (let* ((names (traced-names request))
         (source (make-source-text (required-string request "code")))
         (trace (make-tracing :limit (max 1 (integer-member request "depth" 20))
                                 :counts (mapcar (lambda (name) (cons name 0)) names))))
    (setf (call-trace call) trace)
    (let ((members (call-traced names trace (lambda () (evaluate-source call request source)))))
      (append (trace-members call) members))))
