;;;; The places of a symbol in Lisp files: tokens that the reader would take for it, in the package
;;;; that the file has there. Nothing is read or interned; strings, comments and characters do not
;;;; count, and what DEFPACKAGE names does.

(in-package "CADRE-AGENT")

(defconstant +workspace-files+ 5000)
(defconstant +source-depth+ 12)
(defconstant +source-directories+ 20000)
(defconstant +source-octets+ (* 8 1024 1024))

;;; --- files of the workspace ---------------------------------------------------------------------

(defun lisp-file-name-p (name)
  "True for the NAME of a file of Lisp code."
  (some (lambda (type)
          (let ((end (- (length name) (length type))))
            (and (plusp end) (string-equal type name :start2 end))))
        '(".lisp" ".lsp" ".cl" ".asd")))

(defun workspace-lisp-files ()
  "Native names of the Lisp files of the workspace, without what was fetched for it."
  (let ((files '()) (count 0) (directories 0))
    (scan-directory (workspace-directory) +source-depth+ #'lisp-file-name-p
                    (lambda (name stamp)
                      (cond (stamp (< (incf directories) +source-directories+))
                            ((< (incf count) +workspace-files+) (push name files)))))
    (nreverse files)))

(defun source-string (path)
  "Contents of the file PATH, or NIL when it cannot be read, is no UTF-8 or too long."
  (let ((status (file-status path)))
    (and status
         (<= (aref status 6) +source-octets+)
         (ignore-errors
          (coerce (file-text path :utf-8) '(simple-array character (*)))))))

;;; --- tokens -------------------------------------------------------------------------------------

(defun sharp-end (string index)
  "Where to go on after the # at INDEX: behind a character, a number or the features of a
conditional; or at what follows a prefix. A second value is true for the token of #:NAME."
  (declare (type (simple-array character (*)) string))
  (let ((next (and (< (1+ index) (length string)) (schar string (1+ index)))))
    (multiple-value-bind (prefix features) (prefix-length string index)
      (cond (features
             (let ((start (skip-blank string (+ index prefix))))
               (or (and (< start (length string)) (form-end string start)) (length string))))
            ((plusp prefix) (+ index prefix))
            ((eql next #\\) (or (atom-end string (min (length string) (+ index 3)))
                                (length string)))
            (t (values (or (atom-end string (1+ index)) (length string)) (eql next #\:)))))))

(defun map-tokens (function string start end)
  "Call FUNCTION with the start, the end and the kind of each word of STRING between START and END:
a :SYMBOL, which may be a number, an :UNINTERNED one, or a :STRING."
  (declare (type (simple-array character (*)) string))
  (loop with index = (skip-blank string start)
        while (< index end)
        do (let ((character (schar string index)) (next nil))
             (cond ((find character "()'`") (setf next (1+ index)))
                   ((char= character #\,)
                    (setf next (+ index (prefix-length string index))))
                   ((char= character #\")
                    (setf next (or (closing-index #\" string (1+ index)) end))
                    (funcall function index next :string))
                   ((char= character #\#)
                    (multiple-value-bind (after uninterned) (sharp-end string index)
                      (when uninterned (funcall function (+ index 2) after :uninterned))
                      (setf next after)))
                   (t (setf next (max (1+ index) (or (atom-end string index) end)))
                      (funcall function index next :symbol)))
             (setf index (skip-blank string next)))))

(defun token-means-p (token package symbol)
  "True when the reader takes TOKEN for SYMBOL in PACKAGE, NIL where that is not known."
  (multiple-value-bind (prefix name) (split-name token)
    (and (string= name (symbol-name symbol))
         (let ((home (if prefix
                         (let ((*package* (or package *package*))) (find-package prefix))
                         package)))
           (and home (eq symbol (find-symbol name home)))))))

;;; --- what DEFPACKAGE names ----------------------------------------------------------------------

(defun element-places (string start)
  "Start and end of the elements of the list at START."
  (let ((end (form-end string start)) (index (skip-blank string (1+ start))))
    (loop while (< index (1- end))
          collect (let ((next (form-end string index)))
                    (prog1 (cons index next)
                      (setf index (skip-blank string next)))))))

(defun designated-name (token kind)
  "The name that TOKEN designates where a string is wanted, or NIL."
  (if (eq kind :string)
      (string-trim "\"" token)
      (nth-value 1 (split-name token))))

(defun map-clause-names (function string clause)
  "Call FUNCTION as MAP-TOKENS does for the names of symbols in the CLAUSE of a DEFPACKAGE; CLAUSE
is its start and end."
  (let* ((parts (and (char= (schar string (car clause)) #\() (element-places string (car clause))))
         (head (and parts (plain-name (subseq string (car (first parts)) (cdr (first parts))))))
         (names (cond ((member head '("EXPORT" "SHADOW" "INTERN" "UNEXPORT") :test #'equal)
                       (rest parts))
                      ((member head '("IMPORT-FROM" "SHADOWING-IMPORT-FROM") :test #'equal)
                       (cddr parts)))))
    (loop for (start . end) in names do (map-tokens function string start end))))

(defun map-package-names (function string form symbol)
  "Call FUNCTION with the places of SYMBOL in FORM, a DEFPACKAGE."
  (let* ((words (text-form-words form))
         (package (find-package (designated-name (string-left-trim "#" (second words))
                                                 (if (char= (char (second words) 0) #\")
                                                     :string :symbol)))))
    (when (and package (eq symbol (find-symbol (symbol-name symbol) package)))
      (loop for clause in (cddr (element-places string (text-form-inner form)))
            do (map-clause-names
                (lambda (start end kind)
                  (when (equal (symbol-name symbol)
                               (designated-name (subseq string start end) kind))
                    (funcall function start end)))
                string clause)))))

;;; --- the places of a symbol ---------------------------------------------------------------------

(defun package-definition-p (form)
  "True for FORM that defines a package."
  (and (rest (text-form-words form))
       (member (text-form-operator form) '("DEFPACKAGE" "DEFINE-PACKAGE") :test #'string=)))

(defun form-package (form)
  "The package in which FORM is read, or NIL when it is not there."
  (let ((name (text-form-package form)))
    (if name (find-package name) (find-package "COMMON-LISP-USER"))))

(defun map-symbol-places (function string form symbol)
  "Call FUNCTION with start and end of each token of FORM that means SYMBOL."
  (if (package-definition-p form)
      (map-package-names function string form symbol)
      (let ((package (form-package form)) (size (length (symbol-name symbol))))
        (map-tokens (lambda (start end kind)
                      (when (and (eq kind :symbol)
                                 (<= size (- end start))
                                 (token-means-p (subseq string start end) package symbol))
                        (funcall function start end)))
                    string (text-form-start form) (text-form-end form)))))

(defun symbol-places (string forms symbol)
  "Start and end of all tokens of FORMS of STRING that mean SYMBOL, in order."
  (let ((places '()))
    (dolist (form forms (sort (nreverse places) #'< :key #'car))
      (map-symbol-places (lambda (start end) (push (cons start end) places))
                         string form symbol))))

(defun line-around (string index)
  "The line of STRING that INDEX is in."
  (let ((start (1+ (or (position #\Newline string :end index :from-end t) -1))))
    (subseq string start (or (position #\Newline string :start index) (length string)))))
