;;;; Printing what belongs to the user, safely.
;;;;
;;;; Every printed object may run user code (PRINT-OBJECT methods, condition reports). These
;;;; functions bound its output, survive its errors, and never let the user's print variables
;;;; reach texts of Cadre's own. Loops are ended by the deadline, since all of this runs inside a
;;;; call (call.lisp).

(in-package "CADRE-AGENT")

(defun cut (text limit)
  "TEXT, or its beginning with ... when it is longer than LIMIT characters."
  (if (<= (length text) limit)
      text
      (concatenate 'string (subseq text 0 (max 0 (- limit 3))) "...")))

(defun one-line (text)
  "TEXT with spaces for newlines."
  (substitute #\Space #\Newline text))

(defun trim-right (text)
  "TEXT without white space at its end."
  (string-right-trim '(#\Space #\Tab #\Newline #\Return) text))

(defun decimal (integer)
  "INTEGER in digits, whatever *PRINT-BASE* and *PRINT-RADIX* are."
  (let ((*print-base* 10) (*print-radix* nil) (*print-pretty* nil))
    (princ-to-string integer)))

(defun text (&rest parts)
  "Concatenation of strings and integers: the only formatter for Cadre's own sentences."
  (apply #'concatenate 'string
         (mapcar (lambda (part) (if (integerp part) (decimal part) part)) parts)))

(defun plural (count singular &optional (many (text singular "s")))
  "COUNT with the noun for it."
  (text count " " (if (= count 1) singular many)))

;;; --- names --------------------------------------------------------------------------------------

(defglobal *user-package-name* "COMMON-LISP-USER")

(defun session-package ()
  "The package user texts are printed in: *PACKAGE*, unless the user destroyed it. When even
COMMON-LISP-USER is gone the agent's own keeps texts printable until the session is rolled back."
  (if (package-name *package*)
      *package*
      (or (find-package *user-package-name*)
          (load-time-value (find-package "CADRE-AGENT")))))

(defun qualified-label (symbol)
  "PACKAGE:NAME or PACKAGE::NAME."
  (let ((package (symbol-package symbol)))
    (if package
        (text (package-name package)
              (if (eq :external (nth-value 1 (find-symbol (symbol-name symbol) package)))
                  ":" "::")
              (symbol-name symbol))
        (text "#:" (symbol-name symbol)))))

(defun symbol-label (symbol)
  "NAME alone where that is clear: external in COMMON-LISP or accessible in the session's package."
  (if (or (multiple-value-bind (found status)
              (find-symbol (symbol-name symbol) "COMMON-LISP")
            (and (eq status :external) (eq found symbol)))
          (multiple-value-bind (found status)
              (find-symbol (symbol-name symbol) (session-package))
            (and status (eq found symbol))))
      (symbol-name symbol)
      (qualified-label symbol)))

(defun type-label (object)
  "Name of the class of OBJECT."
  (let ((name (class-name (class-of object))))
    (if (symbolp name) (symbol-label name) "anonymous")))

;;; --- backquotes ---------------------------------------------------------------------------------
;;;
;;; SBCL knows only in its pretty printer how to write a backquote. A text that needs one is printed
;;; prettily, with a table that knows nothing else and on a line that never ends.

(defun backquote-p (object)
  "True for a list that is a backquote, as the reader makes it."
  (and (consp object) (eq (car object) 'sb-int:quasiquote)))

(defun make-backquote-table ()
  "A pretty-printer table for backquotes and nothing else. The type of a backquote is not written
(CONS (EQL …)): a table with few of these finds none of them in SBCL 2.5.2 and 2.6.4."
  (let ((table (make-empty-pprint-dispatch))
        (standard (copy-pprint-dispatch nil)))
    (flet ((take (type example)
             (set-pprint-dispatch type (pprint-dispatch example standard) 0 table)))
      (take '(satisfies backquote-p) '`(,x))
      (take 'comma (sb-int:unquote 'x)))
    table))

(defvar *backquote-table* (make-backquote-table))

(defun shows-backquote-p (text)
  "True when TEXT, printed without the pretty printer, has the representation of a backquote."
  (and (not *print-pretty*)
       (some (lambda (part) (search part text :test #'char-equal))
             *backquote-representations*)))

(defun call-with-backquotes (function)
  "Call FUNCTION, which prints, so that backquotes are shown as such."
  (let ((*print-pretty* t)
        (*print-pprint-dispatch* *backquote-table*)
        (*print-right-margin* most-positive-fixnum))
    (funcall function)))

;;; --- objects ------------------------------------------------------------------------------------

(defmacro with-print-limits ((&key length level pretty (circle t)) &body body)
  "Run BODY with these print variables, whatever the user's are."
  `(let ((*print-length* ,length)
         (*print-level* ,level)
         (*print-pretty* ,pretty)
         (*print-circle* ,circle)
         (*print-readably* nil)
         (*package* (session-package)))
     ;; What is printed here is no part of what the user may be printing.
     (with-fresh-circularity ,@body)))

(defun note-memory-fault (condition)
  "Remember that a memory fault happened: the image may be corrupt, even if it was handled."
  (when (and (typep condition 'memory-fault-error) *call*)
    (setf (call-memory-fault *call*) t)))

(defun brief-report (condition)
  "First line of CONDITION's report for texts inside other texts; NIL when it has none."
  (handler-case
      (let* ((text (with-print-limits (:length 10 :level 4)
                     (values (with-bounded-text (stream 200) (princ condition stream)))))
             (line (subseq text 0 (or (position #\Newline text) (length text)))))
        (and (plusp (length line)) line))
    (serious-condition () nil)))

(defun unprintable (object condition with-message)
  "Text in place of OBJECT, whose printer signalled CONDITION."
  (note-memory-fault condition)
  (let ((message (and with-message (brief-report condition))))
    (text "#<unprintable " (type-label object) ": " (type-label condition)
          (if message ": " "") (or message "") ">")))

(defun print-guarded (object print message)
  "What PRINT returns, which prints OBJECT. A printer that fails is named: that of a part, where
OBJECT is a list or an array and the rest can be shown, or else that of OBJECT."
  (let ((failure nil))
    (flet ((try ()
             (handler-case (return-from print-guarded (funcall print))
               (serious-condition (condition) (setf failure condition)))))
      (declare (dynamic-extent #'try))
      (try)
      (note-memory-fault failure)
      (when (typep object '(or cons (and array (not string))))
        (let ((first failure)
              (sb-ext:*suppress-print-errors* '(and error (not memory-fault-error))))
          (try)
          (setf failure first)))
      (let ((text (unprintable object failure message)))
        (values text (length text) nil)))))

(defun printed (object &key (limit 200) (length 8) (level 4) pretty (message nil))
  "OBJECT as PRIN1 shows it, on at most LIMIT characters; a failing printer is named instead."
  (multiple-value-bind (text total)
      (flet ((print-it ()
               (with-print-limits (:length length :level level :pretty pretty)
                 (with-bounded-text (stream limit) (prin1 object stream)))))
        (declare (dynamic-extent #'print-it))
        (print-guarded object #'print-it message))
    (if (> total limit) (text (subseq text 0 (max 0 (- limit 3))) "...") text)))

;;; Values are shown by the user's own print variables. *PRINT-LENGTH* and *PRINT-LEVEL* are not set
;;; by default, and answers have defaults of their own.

(defun value-length ()
  "How many elements of a list or array of a value are shown, or NIL."
  (let ((length (or *print-length* cadre:*value-length*)))
    (and (typep length 'unsigned-byte) length)))

(defun value-level ()
  "How many levels of a value are shown, or NIL."
  (let ((level (or *print-level* cadre:*value-level*)))
    (and (typep level 'unsigned-byte) level)))

(defconstant +cut-search-limit+ 20000)  ; parts of a value that are searched for something cut

(defun element-count (object)
  "How many elements OBJECT, a list or vector, has; NIL for anything else."
  (typecase object
    (cons (ignore-errors (list-length object)))
    (string nil)
    (vector (length object))))

(defun inner-cut-p (object length level budget &optional around)
  "True when LENGTH or LEVEL, each may be NIL, cuts a part of OBJECT. BUDGET is a list of the number
of parts that may still be looked at. One of those AROUND it is printed as a reference."
  (let ((count (element-count object)))
    (and count
         (plusp (decf (first budget)))
         (not (member object around :test #'eq))
         (or (and level (zerop level))
             (and length (> count length))
             (let ((around (cons object around)) (level (and level (1- level))))
               (some (lambda (part) (inner-cut-p part length level budget around)) object))))))

(defun cut-text (values)
  "What the print limits have left out of VALUES, as the beginning of a sentence, or NIL."
  (let ((length (value-length)) (level (value-level)))
    (loop for value in values
          for count = (element-count value)
          do (cond ((and count length (> count length))
                    (return (text (- count length) " of " count " elements not shown")))
                   ((inner-cut-p value length level (list +cut-search-limit+))
                    (return "parts not shown"))))))

(defun printed-values (values limit)
  "Texts of VALUES on LIMIT characters in all, characters left out, whether a printer had to be
stopped. Counting goes on beyond the limit so that the number of missing characters is exact."
  (let ((texts '()) (room limit) (omitted 0) (stopped nil))
    (loop for value in values
          for number from 1
          do (setf (call-value-number *call*) number)
             (multiple-value-bind (text total over)
                 (flet ((print-it ()
                          (with-print-limits (:length (value-length) :level (value-level)
                                              :pretty *print-pretty*)
                            (with-bounded-text (stream room (+ room limit 16000000))
                              (prin1 value stream)))))
                   (declare (dynamic-extent #'print-it))
                   (print-guarded value #'print-it t))
               (when (> (length text) room) (setf text (subseq text 0 room)))
               (when (or (plusp room) (zerop total)) (push text texts))
               (decf room (length text))
               (incf omitted (- total (length text)))
               (when over (setf stopped t) (return))))
    (values (coerce (nreverse texts) 'simple-vector) omitted stopped)))
