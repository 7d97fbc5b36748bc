;;;; Warnings: recorded, reported with the result (docs/reference/evaluator.md 2.7).
;;;;
;;;; The handlers are the outermost of a call, so user code that handles or muffles a warning
;;;; itself comes first and nothing is recorded. A warning of the compiler is left to the compiler,
;;;; which counts it: COMPILE and COMPILE-FILE return what they return in plain SBCL. A warning of
;;;; running code is muffled, because WARN would print it, unless the user has given *ERROR-OUTPUT*
;;;; a stream of his own.

(in-package "CADRE-AGENT")

(defconstant +warning-limit+ 50)
(defconstant +recorded-limit+ 1000)     ; some of them are dropped at the end
(defconstant +note-limit+ 10)
(defconstant +warning-text-limit+ 2000)

(defstruct recorded
  category type message origin
  subject)                              ; (kind . name) of an undefined thing, or NIL

(defstruct origin
  "What a warning is about."
  form                                  ; number of the form of the call
  place                                 ; where that starts, or NIL
  path                                  ; the file it is in, or NIL
  index                                 ; of the form in that file, when its place is not known
  source)                               ; subform the compiler was processing, or NIL

(defun indent-continuation (text)
  "TEXT with its later lines indented."
  (replace-all text (string #\Newline) (format nil "~%  ")))

(defun warning-text (condition)
  "Report of CONDITION, cut and indented; a report that fails is named."
  (handler-case
      (with-print-limits (:length 50 :level 8)
        (cut (indent-continuation
              (trim-right
               (values (with-bounded-text (stream (1+ +warning-text-limit+))
                         (princ condition stream)))))
             +warning-text-limit+))
    (serious-condition (failure)
      (note-memory-fault failure)
      (text "(the report of this " (type-label condition) " failed: " (type-label failure) ")"))))

(defun undefined-subject (condition)
  "What a compiler's summary warning says is undefined: (:function . name) or (:variable . name)."
  (when (typep condition 'simple-condition)
    (let* ((arguments (simple-condition-format-arguments condition))
           (control (simple-condition-format-control condition))
           (text (if (stringp control)
                     control
                     (ignore-errors (format-control-text control)))))
      (when (and (= (length arguments) 2)
                 (member (first arguments) '(:function :variable :type))
                 (stringp text)
                 (eql 0 (search "undefined" text)))
        (cons (first arguments) (second arguments))))))

(defun compiler-context ()
  "What the compiler is processing, or NIL when it is not at work."
  (ignore-errors (find-compiler-context)))

(defun call-origin (call)
  "Origin of what is signalled at the form CALL is at."
  (let ((source (call-source call)))
    (make-origin :form (call-form-number call)
                 :place (and source (copy-place (source-text-place source)))
                 :path (and source (source-text-path source)))))

(defun warning-origin (call)
  "Origin of a warning of CALL that is signalled now. The compiler warns of some forms only after it
has read others."
  (let ((context (compiler-context)))
    (or (and context (or (text-origin context) (file-origin call context)))
        (call-origin call))))

(defun origin-line (origin)
  "Line that ORIGIN is at, or NIL."
  (cond ((origin-place origin) (place-line (origin-place origin)))
        ((origin-index origin) (file-form-line (origin-path origin) (origin-index origin)))))

(defun add-warning (condition category &key (message (warning-text condition)) subject
                                         (origin (warning-origin *call*)))
  "Record CONDITION for the result of the call."
  (let ((call *call*))
    (when (<= (incf (call-warning-count call)) +recorded-limit+)
      (push (make-recorded :category category
                           :type (qualified-label (class-name (class-of condition)))
                           :message message
                           :origin origin
                           :subject subject)
            (call-warnings call)))))

(defun recording-p ()
  "True when conditions of this thread belong to a call."
  (and *call* (in-main-thread-p)))

(defun muffle (condition)
  "Let the code that warns go on."
  (let ((restart (find-restart 'muffle-warning condition)))
    (when restart (invoke-restart restart))))

(defun forget-assumed-function (subject)
  "Having compiled one call of an undefined function SBCL assumes that it exists, and EVAL then
applies its SYMBOL-FUNCTION: the next error would lack the call's frame and half of its restarts."
  (when (and (eq (car subject) :function)
             (sb-int:valid-function-name-p (cdr subject))
             (eq (sb-int:info :function :where-from (cdr subject)) :assumed))
    (sb-int:clear-info :function :kind (cdr subject))))

(defun muffled-by-user-p (condition)
  "SBCL asks *MUFFLED-WARNINGS* only after all handlers, of which ours is one. Its default is what
loading a file again redefines."
  (ignore-errors (typep condition sb-ext:*muffled-warnings*)))

(defun signalled-by-compiler-p ()
  "True when the compiler's own handler has signalled the warning again. It is among the innermost
frames; nothing else tells, since outer handlers run with the inner ones out of sight."
  (loop with frame = (sb-di:top-frame)
        repeat 20
        while frame
        do (when (member (ignore-errors (frame-function-name frame)) *compiler-handlers*)
             (return t))
           (setf frame (frame-below frame))))

(defun warning-of-asdf-p (condition)
  "True for a warning by which ASDF repeats that a file had warnings, which are recorded themselves,
or finds fault with the names in the definition of a library."
  (or (typep condition '(or uiop:compile-warned-warning uiop:compile-failed-warning))
      (and (string= (type-of condition) "BAD-SYSTEM-NAME")
           (library-file-p (ignore-errors
                            (native-namestring
                             (slot-value condition 'asdf/component:source-file)))))))

(defun record-warning (condition)
  "Handler of a call for warnings."
  (when (and (recording-p) (find-restart 'muffle-warning condition))
    (let ((of-compiler (signalled-by-compiler-p))
          (captured (captured-stream-p *error-output*)))
      (unless (or (muffled-by-user-p condition)
                  (not (or of-compiler captured))
                  (warning-of-asdf-p condition))
        (let ((subject (undefined-subject condition)))
          (when subject (forget-assumed-function subject))
          (add-warning condition
                       (if (typep condition 'style-warning) "STYLE-WARNING" "WARNING")
                       :subject subject)))
      (when (and captured (not of-compiler)) (muffle condition)))))

(defun record-compiler-note (condition)
  "Handler of a call for compiler notes, which goes on with the compiler's own count of them."
  (when (recording-p)
    (let ((origin (warning-origin *call*)))
      (cond ((library-file-p (origin-path origin)) (incf (call-library-notes *call*)))
            ((<= (incf (call-note-count *call*)) +note-limit+)
             (add-warning condition "COMPILER-WARNING" :origin origin))))))

(defun recorded-before-p (message origin)
  "True when the same error of the compiler is recorded for the same place."
  (find-if (lambda (recorded)
             (and (string= (recorded-category recorded) "COMPILE-ERROR")
                  (equalp (recorded-origin recorded) origin)
                  (string= (recorded-message recorded) message)))
           (call-warnings *call*)))

(defun record-compiler-error (condition)
  "Handler of a call for errors of the compiler, which goes on with a run-time error in place of the
form. It signals the same problem each time it processes the form, so only a new text counts."
  (when (recording-p)
    (let ((original (sb-int:encapsulated-condition condition)))
      (multiple-value-bind (message origin)
          (if (typep original 'unreadable-file-error)
              (unreadable-file-report *call* original)
              (values (warning-text original) (warning-origin *call*)))
        (unless (or (null message) (recorded-before-p message origin))
          (add-warning original "COMPILE-ERROR" :message message :origin origin))))))

;;; --- assumptions --------------------------------------------------------------------------------

(defun forget-assumption (name)
  "Once SBCL has compiled a call of an undefined function it takes the name for a function, and
evaluates the next call in another way, with fewer restarts. The same code should fail in the
same way each time. It assumes nothing about names of methods."
  (when (and (typep name '(or (and symbol (not null)) (cons (member setf sb-ext:cas))))
             (sb-int:valid-function-name-p name)
             (not (fboundp name)))
    (sb-int:clear-info :function :kind name)))

(defun forget-assumptions (call)
  "Forget what SBCL assumes about undefined functions that CALL has used."
  (forget-assumption (call-error-name call))
  (dolist (recorded (call-warnings call))
    (let ((subject (recorded-subject recorded)))
      (when (eq (car subject) :function) (forget-assumption (cdr subject))))))

;;; --- what is still true at the end --------------------------------------------------------------

(defun defined-by-now-p (subject)
  "True when SUBJECT has been defined since the warning about it."
  (destructuring-bind (kind . name) subject
    (ecase kind
      (:function (and (sb-int:valid-function-name-p name) (fboundp name)))
      (:variable (and (symbolp name)
                      (or (boundp name) (not (eq (sb-int:info :variable :kind name) :unknown)))))
      (:type (and (symbolp name) (find-class name nil))))))

(defun kept-warnings (call &optional error-name)
  "Warnings in order of occurrence, without those about names that are defined now or that the
call's error, about ERROR-NAME, reports anyway."
  (let ((seen '()))
    (remove-if (lambda (recorded)
                 (let ((subject (recorded-subject recorded)))
                   (and subject
                        (or (defined-by-now-p subject)
                            (and error-name (equal (cdr subject) error-name))
                            (member subject seen :test #'equal)
                            (progn (push subject seen) nil)))))
               (reverse (call-warnings call)))))

(defun warning-rank (recorded)
  "Place of RECORDED in a list of warnings: errors first, notes last, code of libraries after the
user's own."
  (let ((category (recorded-category recorded)))
    (+ (if (library-file-p (origin-path (recorded-origin recorded))) 3 0)
       (cond ((string= category "COMPILE-ERROR") 0)
             ((string= category "COMPILER-WARNING") 2)
             (t 1)))))

(defun warning-objects (warnings)
  "JSON of recorded warnings."
  (map 'simple-vector
       (lambda (recorded)
         (let ((origin (recorded-origin recorded)))
           (object "category" (recorded-category recorded)
                   "type" (recorded-type recorded)
                   "message" (recorded-message recorded)
                   "form" (origin-form origin)
                   "line" (origin-line origin)
                   "path" (origin-path origin)
                   "source" (origin-source origin))))
       warnings))

(defun library-style-p (recorded)
  "True for a style warning about a file of a library."
  (and (string= (recorded-category recorded) "STYLE-WARNING")
       (library-file-p (origin-path (recorded-origin recorded)))))

(defun file-names (warnings)
  "Names, without directories, of the files that WARNINGS are about."
  (remove-duplicates (mapcar (lambda (recorded)
                               (file-namestring (origin-path (recorded-origin recorded))))
                             warnings)
                     :test #'string= :from-end t))

(defun library-summary (call style)
  "What the compiler says of libraries, on one line, or NIL: notes and the STYLE warnings, which are
nothing the user would act on."
  (let ((notes (call-library-notes call)))
    (when (or style (plusp notes))
      (format nil "~@[~A~]~:[~;, ~]~@[~A~]~@[ (~{~A~^, ~})~]"
              (and (plusp notes) (plural notes "compiler note"))
              (and style (plusp notes))
              (and style (plural (length style) "style warning"))
              (file-names style)))))

(defun warning-members (call)
  "Members of the result of CALL that list its warnings."
  (let* ((all (stable-sort (kept-warnings call (call-error-name call)) #'< :key #'warning-rank))
         (kept (remove-if #'library-style-p all))
         (shown (subseq kept 0 (min +warning-limit+ (length kept))))
         (omitted (+ (- (length kept) (length shown))
                     (max 0 (- (call-warning-count call) +recorded-limit+)))))
    (list "warnings" (warning-objects shown)
          "library_summary" (library-summary call (remove-if-not #'library-style-p all))
          "warnings_omitted" (and (plusp omitted) omitted))))
