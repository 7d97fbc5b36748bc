;;;; The top-level forms of a file as text: where each begins and ends, and what it is called.
;;;;
;;;; Nothing is read, so unknown packages, #. and missing features do not matter. The scanner knows
;;;; standard syntax only, as the one of evaluate/reader.lisp does, whose pieces it uses.

(in-package "CADRE-AGENT")

;;; --- the end of a form --------------------------------------------------------------------------

(defun terminating-p (character)
  "True for what ends a symbol or number."
  (find character '(#\Space #\Tab #\Newline #\Return #\Page #\( #\) #\" #\' #\; #\` #\,)))

(defun atom-end (string index)
  "Index after the symbol, number or character that begins at INDEX, or NIL."
  (declare (type (simple-array character (*)) string))
  (loop with end = (length string)
        while (and (< index end) (not (terminating-p (schar string index))))
        do (setf index (case (schar string index)
                         (#\\ (+ index 2))
                         (#\| (or (closing-index #\| string (1+ index)) (return nil)))
                         (t (1+ index))))
        finally (return (min index end))))

(defun prefix-length (string index)
  "How many characters of what begins at INDEX are a prefix of the form that follows; 0 for none. A
second value tells that features come first: #+ or #-."
  (declare (type (simple-array character (*)) string))
  (flet ((at (index) (and (< index (length string)) (schar string index))))
    (case (at index)
      ((#\' #\`) 1)
      (#\, (if (find (at (1+ index)) "@.") 2 1))
      (#\# (let* ((kind-index (or (position-if-not #'digit-char-p string :start (1+ index))
                                  (length string)))
                  (kind (at kind-index))
                  (length (- (1+ kind-index) index)))
             (cond ((find kind "+-") (values length t))
                   ((find kind "(\"") (1- length))
                   ((find kind "'.=,") length)
                   ((and kind (alpha-char-p kind) (find (at (1+ kind-index)) "(\"")) length)
                   (t 0))))
      (t 0))))

(defun list-end (string index)
  "Index after the list whose ( is at INDEX, or NIL when it has no end."
  (declare (type (simple-array character (*)) string))
  (let ((index (1+ index)))
    (loop
      (setf index (skip-blank string index))
      (when (or (>= index (length string)) (at-open-comment-p string index)) (return nil))
      (when (char= (schar string index) #\)) (return (1+ index)))
      (setf index (or (form-end string index) (return nil))))))

(defun at-open-comment-p (string index)
  "True when the block comment that begins at INDEX has no end: SKIP-BLANK stops there."
  (and (< (1+ index) (length string))
       (char= (schar string index) #\#) (char= (schar string (1+ index)) #\|)))

(defun form-end (string index)
  "Index after the form that begins at INDEX, or NIL when it is not complete. A form under #+ or #-
belongs to it."
  (declare (type (simple-array character (*)) string))
  (multiple-value-bind (prefix features) (prefix-length string index)
    (when (plusp prefix)
      (let ((start (skip-blank string (+ index prefix))))
        (when features
          (let ((end (and (< start (length string)) (form-end string start))))
            (unless end (return-from form-end nil))
            (setf start (skip-blank string end))))
        (return-from form-end
          (and (< start (length string))
               (not (char= (schar string start) #\)))
               (form-end string start))))))
  (case (schar string index)
    (#\( (list-end string index))
    (#\) nil)
    (#\" (closing-index #\" string (1+ index)))
    (#\# (if (at-open-comment-p string index)
             nil
             (atom-end string (if (eql #\\ (and (< (1+ index) (length string))
                                                (schar string (1+ index))))
                                  (min (length string) (+ index 3))
                                  (1+ index)))))
    (t (atom-end string index))))

;;; --- forms and their names ----------------------------------------------------------------------

(defstruct (text-form (:constructor make-text-form (start inner end line words package)))
  start                                 ; index, of #+ or #- before it, too
  inner                                 ; index of the form itself
  end
  line                                  ; of INNER, from 1
  words                                 ; texts of its first elements, see FORM-WORDS
  package)                              ; name of the package it is read in, or NIL

(defun conditional-inner (string index)
  "Index of the form itself at or after INDEX, behind #+, #- and their features."
  (loop
    (multiple-value-bind (prefix features) (prefix-length string index)
      (unless features (return index))
      (let ((end (form-end string (skip-blank string (+ index prefix)))))
        (setf index (skip-blank string end))))))

(defconstant +words-limit+ 8)

(defun form-words (string start end)
  "Texts of the first elements of the list between START and END; (), when it is no list."
  (when (char= (schar string start) #\()
    (loop with index = (skip-blank string (1+ start))
          repeat +words-limit+
          while (< index (1- end))
          collect (let ((next (form-end string index)))
                    (prog1 (subseq string index next)
                      (setf index (skip-blank string next)))))))

(defun plain-name (text)
  "TEXT of a symbol as names are compared: without package, in upper case."
  (let ((colon (position #\: text :from-end t)))
    (string-upcase (if (and colon (< (1+ colon) (length text))) (subseq text (1+ colon)) text))))

(defun in-package-name (words)
  "The package that the form with WORDS changes to, or NIL."
  (when (and (rest words) (string= (plain-name (first words)) "IN-PACKAGE"))
    (let ((name (string-left-trim "#:" (second words))))
      (if (char= (char name 0) #\") (string-trim "\"" name) (string-upcase name)))))

(defun file-forms (string)
  "The top-level forms of STRING in order. When one is not complete, a second value is its index."
  (declare (type (simple-array character (*)) string))
  (let ((place (make-place)) (package nil) (forms '()) (index 0))
    (loop
      (setf index (skip-blank string index))
      (when (>= index (length string)) (return (nreverse forms)))
      (let ((end (form-end string index)))
        (unless end (return (values (nreverse forms) index)))
        (let* ((inner (conditional-inner string index))
               (words (form-words string inner end)))
          (advance-place place string inner)
          (push (make-text-form index inner end (place-line place) words package) forms)
          (setf package (or (in-package-name words) package)
                index end))))))

(defun text-form-text (string form)
  "The text of FORM in STRING."
  (subseq string (text-form-inner form) (text-form-end form)))

(defun text-form-operator (form)
  "The operator as it is compared, or an empty string."
  (if (text-form-words form) (plain-name (first (text-form-words form))) ""))

;;; --- finding a form by what it is called --------------------------------------------------------

(defun words-of-text (text)
  "The elements of TEXT, which people write without the outer parentheses."
  (let* ((text (string-trim '(#\Space #\Tab #\Newline #\Return) text))
         (string (coerce (if (and (plusp (length text)) (char= (char text 0) #\())
                             text
                             (text "(" text ")"))
                         '(simple-array character (*))))
         (end (form-end string 0)))
    (and end (form-words string 0 end))))

(defun defined-name (text)
  "What a definition defines, as names are compared: of (setf area) or a structure with options the
words, else the symbol."
  (if (and (plusp (length text)) (char= (char text 0) #\())
      (let ((words (words-of-text text)))
        (cond ((null words) "")
              ((string= (plain-name (first words)) "SETF")
               (text "(SETF " (plain-name (or (second words) "")) ")"))
              (t (plain-name (first words)))))
      (plain-name (string-left-trim "'#:" text))))

(defun parameter-class (text)
  "Specializer of a required parameter as it is compared."
  (let ((words (and (char= (char text 0) #\() (words-of-text text))))
    (if (rest words)
        (string-upcase (substitute #\Space #\Newline (second words)))
        "T")))

(defun method-signature (words)
  "Qualifiers and specializers of a method whose WORDS follow its name: what tells it from others."
  (let* ((list (position #\( words :key (lambda (word) (char word 0))))
         (qualifiers (mapcar #'string-upcase (subseq words 0 list)))
         (parameters (and list (words-of-text (nth list words)))))
    (values qualifiers
            (and list
                 (loop for parameter in parameters
                       until (char= (char parameter 0) #\&)
                       collect (parameter-class parameter)))
            (and list t))))

(defun same-method-p (wanted words)
  "True when WORDS, what follows a method's name, are those WANTED, as far as they are given."
  (multiple-value-bind (qualifiers classes has-list) (method-signature wanted)
    (multiple-value-bind (its-qualifiers its-classes) (method-signature words)
      (and (equal qualifiers its-qualifiers)
           (or (not has-list) (equal classes its-classes))))))

(defun form-matches-p (form wanted)
  "True when FORM is what the words WANTED call: operator and name, or a name alone; of methods
qualifiers and specializers, too."
  (let ((words (text-form-words form)))
    (cond ((null words) nil)
          ((null (rest wanted))
           (and (rest words) (string= (defined-name (first wanted)) (defined-name (second words)))))
          (t (and (string= (plain-name (first wanted)) (plain-name (first words)))
                  (rest words)
                  (string= (defined-name (second wanted)) (defined-name (second words)))
                  (or (null (cddr wanted))
                      (not (string= (plain-name (first words)) "DEFMETHOD"))
                      (same-method-p (cddr wanted) (cddr words))))))))

(defun form-title (form)
  "What people call FORM: `defun area', `defmethod area ((s square))'."
  (let* ((words (or (text-form-words form) '("")))
         (method (and (rest words) (string= (plain-name (first words)) "DEFMETHOD")))
         (count (cond ((null (rest words)) 1)
                      (method (let ((list (position #\( words :start 2
                                                              :key (lambda (word) (char word 0)))))
                                (if list (1+ list) 2)))
                      (t 2))))
    (cut (one-line (let ((title (first words)))
                     (dolist (word (rest (subseq words 0 (min count (length words)))) title)
                       (setf title (text title " " word)))))
         100)))

(defun definition-form-p (form)
  "True for forms that give something a name."
  (let ((operator (text-form-operator form)))
    (and (rest (text-form-words form))
         (> (length operator) 3)
         (or (string= operator "DEF" :end1 3)
             (search "DEFINE-" operator)))))
