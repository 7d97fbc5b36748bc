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
  "PLACE as people write it."
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
  "STRING as a source of forms, of the file PATH if there is one."
  (let ((string (coerce (without-byte-order-mark string) '(simple-array character (*)))))
    (%make-source-text string (make-string-input-stream string) path)))

(defun source-index (source)
  "How far SOURCE has been read."
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

(defun closing-index (delimiter string start)
  "Index after the DELIMITER that ends what begins at START, or NIL. A backslash escapes."
  (declare (type (simple-array character (*)) string))
  (loop with index of-type index = start
        while (< index (length string))
        do (let ((character (schar string index)))
             (cond ((char= character #\\) (incf index 2))
                   ((char= character delimiter) (return (1+ index)))
                   (t (incf index))))
        finally (return nil)))

(defun dispatch-end (string index)
  "Index after the # at INDEX and what belongs to it for the scanner; NIL in an open comment."
  (declare (type (simple-array character (*)) string) (type index index))
  (case (and (< (1+ index) (length string)) (schar string (1+ index)))
    (#\| (block-comment-end string (+ index 2)))
    (#\\ (+ index 3))
    (t (1+ index))))

(defun open-constructs (string start)
  "Scan from START to the end: number of open parentheses, index of the innermost; kind and index
of the string, block comment or bar symbol that is open at the end, if one is."
  (declare (type (simple-array character (*)) string))
  (let ((parentheses '()) (index start) (end (length string)))
    (declare (type index index))
    (flet ((finish (&optional kind since)
             (return-from open-constructs
               (values (length parentheses) (first parentheses) kind since))))
      (loop
        (when (>= index end) (finish))
        (let ((here index))
          (incf index)
          (case (schar string here)
            (#\( (push here parentheses))
            (#\) (pop parentheses))
            (#\\ (incf index))
            (#\; (setf index (or (position #\Newline string :start index) end)))
            (#\" (setf index (or (closing-index #\" string index) (finish "a string" here))))
            (#\| (setf index (or (closing-index #\| string index)
                                 (finish "a symbol in bars" here))))
            (#\# (setf index (or (dispatch-end string here)
                                 (finish "a block comment" here))))))))))

(defun end-of-input-message (source)
  "Explain END-OF-FILE on SOURCE by what is open in its text."
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
  "TEXT with REPLACEMENT for every PART."
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
