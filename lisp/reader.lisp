;;;; Source text with positions, and what is wrong with it when reading ends early.
;;;;
;;;; Forms are read by READ from a string stream. Lines and columns come from the string itself:
;;;; 1-based, counted in characters. The scanner here knows standard syntax only; it places forms
;;;; and explains an unexpected end of input, it never decides what a form is.

(in-package "CADRE-AGENT")

;;; --- places -------------------------------------------------------------------------------------

(defstruct (place (:constructor make-place (&optional (index 0) (line 1) (column 1))))
  (index 0 :type index)
  (line 1 :type index)
  (column 1 :type index))

(defun advance-place (place text index)
  "Move PLACE forward to INDEX of TEXT."
  (declare (type (simple-array character (*)) text) (type index index))
  (loop while (< (place-index place) (min index (length text)))
        do (if (char= (schar text (place-index place)) #\Newline)
               (setf (place-line place) (1+ (place-line place))
                     (place-column place) 1)
               (incf (place-column place)))
           (incf (place-index place)))
  place)

(defun place-text (place)
  (text "line " (place-line place) ", column " (place-column place)))

;;; --- the source of a call -----------------------------------------------------------------------

(defstruct (source-text (:constructor %make-source-text (string stream path)))
  (string "" :type (simple-array character (*)))
  stream
  path                                  ; the file it comes from, or NIL
  (place (make-place)))                 ; start of the form being read or evaluated

(defun without-byte-order-mark (string)
  "Some editors begin a file with a character that is no part of its text."
  (if (and (plusp (length string)) (char= (char string 0) #\ufeff))
      (subseq string 1)
      string))

(defun make-source-text (string &optional path)
  (let ((string (coerce (without-byte-order-mark string) '(simple-array character (*)))))
    (%make-source-text string (make-string-input-stream string) path)))

(defun source-index (source)
  (file-position (source-text-stream source)))

(defun skip-blank (string start)
  "Index of the first character at or after START that is neither white space nor comment."
  (declare (type (simple-array character (*)) string) (type index start))
  (let ((end (length string)) (index start))
    (declare (type index index))
    (loop
      (when (>= index end) (return end))
      (let ((character (schar string index)))
        (cond ((member character '(#\Space #\Tab #\Newline #\Return #\Page #\Linefeed))
               (incf index))
              ((char= character #\;)
               (setf index (or (position #\Newline string :start index) end)))
              ((and (char= character #\#) (< (1+ index) end) (char= (schar string (1+ index)) #\|))
               (let ((close (block-comment-end string (+ index 2))))
                 (unless close (return index))
                 (setf index close)))
              (t (return index)))))))

(defun block-comment-end (string start)
  "Index after the |# that ends the block comment whose text begins at START, or NIL."
  (declare (type (simple-array character (*)) string))
  (loop with depth = 1
        with index of-type index = start
        while (< (1+ index) (length string))
        do (let ((here (schar string index)) (next (schar string (1+ index))))
             (cond ((and (char= here #\|) (char= next #\#))
                    (incf index 2)
                    (when (zerop (decf depth)) (return index)))
                   ((and (char= here #\#) (char= next #\|)) (incf index 2) (incf depth))
                   (t (incf index))))
        finally (return nil)))

(defun source-next-place (source)
  "Move the source's place to the start of the next form."
  (let ((string (source-text-string source)))
    (advance-place (source-text-place source) string
                   (skip-blank string (or (source-index source) (length string))))))

;;; --- unfinished forms ---------------------------------------------------------------------------

(defun open-constructs (string start)
  "Scan from START to the end: number of open parentheses, index of the innermost; kind and index
of the string, block comment or bar symbol that is open at the end, if one is."
  (declare (type (simple-array character (*)) string))
  (let ((parentheses '()) (index start) (end (length string)))
    (declare (type index index))
    (flet ((finish (&optional kind since)
             (return-from open-constructs
               (values (length parentheses) (first parentheses) kind since)))
           (closing (delimiter from)
             (loop with position = from
                   while (< position end)
                   do (let ((character (schar string position)))
                        (cond ((char= character #\\) (incf position 2))
                              ((char= character delimiter) (return (1+ position)))
                              (t (incf position))))
                   finally (return nil))))
      (loop
        (when (>= index end) (finish))
        (case (schar string index)
          (#\( (push index parentheses) (incf index))
          (#\) (pop parentheses) (incf index))
          (#\\ (incf index 2))
          (#\; (setf index (or (position #\Newline string :start index) end)))
          (#\" (setf index (or (closing #\" (1+ index)) (finish "a string" index))))
          (#\| (setf index (or (closing #\| (1+ index)) (finish "a symbol in bars" index))))
          (#\#
           (case (and (< (1+ index) end) (schar string (1+ index)))
             (#\| (setf index (or (block-comment-end string (+ index 2))
                                  (finish "a block comment" index))))
             (#\\ (incf index 3))
             (t (incf index))))
          (t (incf index)))))))

(defun end-of-input-message (source)
  "What END-OF-FILE on SOURCE means, in the words of its author's text."
  (let* ((string (source-text-string source))
         (start (source-text-place source)))
    (flet ((where (index)
             (place-text (advance-place (copy-place start) string index))))
      (multiple-value-bind (count innermost kind since)
          (open-constructs string (place-index start))
        (text "end of input inside the form that starts at " (place-text start)
              (cond (kind (text "; " kind " is open since " (where since)))
                    ((zerop count) "")
                    (t (text "; " (plural count "parenthesis is" "parentheses are")
                             " open, the innermost since " (where innermost)))))))))

(defun form-beginning (source)
  "The first characters of the form being read."
  (let ((string (source-text-string source))
        (start (place-index (source-text-place source))))
    (subseq string start (min (length string) (+ start 60)))))

(defun noticed-place (source)
  "Place of the last character read."
  (let* ((string (source-text-string source))
         (index (or (source-index source) (length string)))
         (start (source-text-place source)))
    (advance-place (copy-place start) string (max (place-index start) (1- index)))))

(defun reader-condition-p (condition source)
  "True when CONDITION is about the text of SOURCE itself, not about something read by user code."
  (and source
       (typep condition 'stream-error)
       (typep condition '(or end-of-file reader-error))
       (eq (stream-error-stream condition) (source-text-stream source))))

(defun replace-all (text part replacement)
  (with-output-to-string (result)
    (loop with start = 0
          for found = (search part text :start2 start)
          do (write-string text result :start start :end found)
          while found
          do (write-string replacement result)
             (setf start (+ found (length part))))))

(defun reader-message (condition source)
  "Message for CONDITION without the stream object and the reader's own position lines; and the
place it is about."
  (if (typep condition 'end-of-file)
      (values (end-of-input-message source) (copy-place (source-text-place source)))
      (let ((place (noticed-place source)))
        (values
         (handler-case
             (if (typep condition '(and simple-condition
                                    (not sb-kernel:reader-impossible-number-error)))
                 (text (with-print-limits (:length 50 :level 8)
                         (apply #'format nil (simple-condition-format-control condition)
                                (simple-condition-format-arguments condition)))
                       " at " (place-text place))
                 (text (reader-report-head condition source) " (" (place-text place) ")"))
           (serious-condition () (text "reader error at " (place-text place))))
         place))))

(defun reader-report-head (condition source)
  "Report of CONDITION up to the blank line before the reader's own position lines."
  (with-print-limits (:length 50 :level 8)
    (let ((report (princ-to-string condition))
          (stream (source-text-stream source)))
      (dolist (name (list (prin1-to-string stream) (princ-to-string stream)))
        (setf report (replace-all report name "input")))
      (trim-right (subseq report 0 (search (format nil "~%~%") report))))))
