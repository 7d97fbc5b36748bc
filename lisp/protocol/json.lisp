;;;; JSON in and out, for the control channel only.
;;;;
;;;; Our own, so that no readtable, print variable, redefined generic function or stream of the
;;;; user can reach it: it works on octet vectors and knows nothing but numbers, strings and lists.
;;;;
;;;; Lisp side of JSON:    object  (:object "name" value …)     array  simple-vector
;;;;                       string  string                        true, false, null  keywords
;;;;                       number  integer or double-float
;;;; When writing, a member whose value is NIL is left out: absent and unknown are the same thing.

(in-package "CADRE-AGENT")

(defconstant +maximum-depth+ 512)
(defconstant +first-printable+ 32)      ; lower codes are control characters
(defconstant +delete+ 127)              ; the last code of ASCII

(define-condition json-error (error)
  ((reason :initarg :reason :reader json-error-reason))
  (:report (lambda (condition stream) (write-string (json-error-reason condition) stream))))

(defun json-fail (reason)
  "Refuse the text for REASON."
  (error 'json-error :reason reason))

;;; --- objects ------------------------------------------------------------------------------------

(declaim (inline object))
(defun object (&rest members)
  "A JSON object of MEMBERS: name, value and so on."
  (cons :object members))

(defun object-p (value)
  "True for a JSON object."
  (and (consp value) (eq (car value) :object)))

(defun member-of (object name &optional default)
  "Value of member NAME; null counts as absent."
  (loop for (key value) on (cdr object) by #'cddr
        when (string= key name)
          return (if (eq value :null) default value)
        finally (return default)))

(defun json-boolean (generalized)
  "JSON's true or false."
  (if generalized :true :false))

;;; --- writing ------------------------------------------------------------------------------------

;;; A writer is an octet vector that grows. The channel keeps one for all its messages and wants
;;; room in front of the text for its frame header, hence START.

(defstruct (writer (:constructor make-writer (&optional (fill 0))))
  (octets (make-octets 4096) :type octets)
  (fill 0 :type index))

(declaim (inline write-octet))
(defun write-octet (octet writer)
  "Add OCTET to WRITER."
  (declare (type (unsigned-byte 8) octet) (type writer writer))
  (when (= (writer-fill writer) (length (writer-octets writer)))
    (grow-writer writer))
  (setf (aref (writer-octets writer) (writer-fill writer)) octet)
  (incf (writer-fill writer)))

(declaim (notinline grow-writer))
(defun grow-writer (writer)
  "Double the room of WRITER."
  (let ((larger (make-octets (* 2 (length (writer-octets writer))))))
    (replace larger (writer-octets writer))
    (setf (writer-octets writer) larger)))

(defun write-code-point (code writer)
  "Write CODE in UTF-8. What is no Unicode scalar value becomes U+FFFD."
  (declare (type (integer 0 #x10ffff) code) (type writer writer) (optimize speed))
  (flet ((continuation (position)
           (write-octet (logior #x80 (ldb (byte 6 position) code)) writer)))
    (declare (inline continuation))
    (cond ((< code #x80) (write-octet code writer))
          ((< code #x800)
           (write-octet (logior #xc0 (ash code -6)) writer)
           (continuation 0))
          ((<= #xd800 code #xdfff) (write-code-point #xfffd writer))
          ((< code #x10000)
           (write-octet (logior #xe0 (ash code -12)) writer)
           (continuation 6)
           (continuation 0))
          (t
           (write-octet (logior #xf0 (ash code -18)) writer)
           (continuation 12)
           (continuation 6)
           (continuation 0)))))

(defun write-ascii (text writer)
  "Write TEXT, which needs no escapes, as it is."
  (declare (type simple-string text) (type writer writer))
  (loop for character across text
        do (write-octet (logand #x7f (char-code character)) writer)))

(defun write-escaped (code writer)
  "Write a character that may not stand in a JSON string as it is."
  (declare (type (unsigned-byte 8) code))
  (flet ((hexadecimal (digit) (char-code (schar "0123456789abcdef" digit))))
    (write-octet (octet #\\) writer)
    (case (code-char code)
      ((#\" #\\) (write-octet code writer))
      (#\Newline (write-octet (octet #\n) writer))
      (t (write-ascii "u00" writer)
         (write-octet (hexadecimal (ash code -4)) writer)
         (write-octet (hexadecimal (logand code 15)) writer)))))

(defun write-json-string (string writer)
  "Write STRING in quotes. The loop is compiled for each of the two kinds of simple string, because
every character of every answer passes here."
  (declare (type string string) (type writer writer) (optimize speed))
  (macrolet ((write-characters (type)
               `(loop for character across (the ,type string)
                      for code = (char-code character)
                      do (cond ((or (< code +first-printable+)
                                    (= code (octet #\")) (= code (octet #\\))
                                    (= code +delete+))
                                (write-escaped code writer))
                               ((< code +delete+) (write-octet code writer))
                               (t (write-code-point code writer))))))
    (write-octet (octet #\") writer)
    (etypecase string
      (simple-base-string (write-characters simple-base-string))
      ((simple-array character (*)) (write-characters (simple-array character (*))))
      (string (let ((string (coerce string '(simple-array character (*)))))
                (write-characters (simple-array character (*))))))
    (write-octet (octet #\") writer)))

(defun write-json-integer (integer writer)
  "Write INTEGER in decimal digits. A bignum is written digit by digit, in quadratic time."
  (cond ((minusp integer)
         (write-octet (octet #\-) writer)
         (write-json-integer (- integer) writer))
        ((typep integer 'fixnum) (write-digits integer writer))
        (t
         (multiple-value-bind (rest digit) (truncate integer 10)
           (write-json-integer rest writer)
           (write-octet (+ (octet #\0) digit) writer)))))

(defun write-digits (integer writer)
  "Write a fixnum that is not negative."
  (declare (type (and fixnum unsigned-byte) integer) (optimize speed))
  (multiple-value-bind (rest digit) (truncate integer 10)
    (when (plusp rest) (write-digits rest writer))
    (write-octet (+ (octet #\0) digit) writer)))

(defun write-json-float (float writer)
  "Shortest digits that read back as FLOAT; infinities and NaN have no JSON and become null."
  (cond ((or (sb-ext:float-infinity-p float) (sb-ext:float-nan-p float))
         (write-ascii "null" writer))
        ((zerop float) (write-ascii (if (minusp (float-sign float)) "-0.0" "0.0") writer))
        (t
         (when (minusp float) (write-octet (octet #\-) writer))
         (multiple-value-bind (position digits) (shortest-digits (abs float))
           (write-octet (char-code (char digits 0)) writer)
           (write-octet (octet #\.) writer)
           (if (= (length digits) 1)
               (write-octet (octet #\0) writer)
               (write-ascii (coerce (subseq digits 1) 'simple-string) writer))
           (unless (= position 1)
             (write-octet (octet #\e) writer)
             (write-json-integer (1- position) writer))))))

(defun write-json (value writer)
  "Write VALUE, of the types above, as JSON."
  (etypecase value
    (string (write-json-string value writer))
    (integer (write-json-integer value writer))
    (float (write-json-float (coerce value 'double-float) writer))
    (keyword (write-ascii (ecase value (:true "true") (:false "false") (:null "null")) writer))
    (cons
     (write-octet (octet #\{) writer)
     (loop with first = t
           for (name member) on (cdr value) by #'cddr
           when member
             do (if first (setf first nil) (write-octet (octet #\,) writer))
                (write-json-string name writer)
                (write-octet (octet #\:) writer)
                (write-json member writer))
     (write-octet (octet #\}) writer))
    (simple-vector
     (write-octet (octet #\[) writer)
     (loop for element across value
           for first = t then nil
           do (unless first (write-octet (octet #\,) writer))
              (write-json element writer))
     (write-octet (octet #\]) writer))))

(defun json-text (value)
  "VALUE as octets, for tests and for messages outside the channel."
  (let ((writer (make-writer)))
    (write-json value writer)
    (subseq (writer-octets writer) 0 (writer-fill writer))))

;;; --- reading ------------------------------------------------------------------------------------

(defstruct (source (:constructor make-source (octets end)))
  (octets nil :type octets)
  (position 0 :type index)
  (end 0 :type index)
  (depth 0 :type fixnum))

(declaim (inline peek-octet next-octet))
(defun peek-octet (source)
  "The next octet, or 0 at the end: no JSON token begins with it."
  (if (< (source-position source) (source-end source))
      (aref (source-octets source) (source-position source))
      0))

(defun next-octet (source)
  "Read the next octet, or 0 at the end."
  (prog1 (peek-octet source) (incf (source-position source))))

(defun skip-json-space (source)
  "Move SOURCE over white space."
  (declare (type source source) (optimize speed))
  (loop while (member (code-char (peek-octet source)) '(#\Space #\Newline #\Return #\Tab))
        do (incf (source-position source))))

(defun expect (text source)
  "Read TEXT; anything else is refused."
  (declare (type source source))
  (loop for character across (the simple-string text)
        unless (= (next-octet source) (char-code character))
          do (json-fail "unexpected character")))

(defun read-hex4 (source)
  "Value of the four hexadecimal digits that follow."
  (loop with code = 0
        repeat 4
        for digit = (digit-char-p (code-char (next-octet source)) 16)
        do (if digit (setf code (+ digit (* 16 code))) (json-fail "bad \\u escape"))
        finally (return code)))

(defun read-escaped-code-point (source)
  "After \\u: a lone half of a surrogate pair is U+FFFD."
  (let ((code (read-hex4 source)))
    (cond ((<= #xdc00 code #xdfff) #xfffd)
          ((not (<= #xd800 code #xdbff)) code)
          ((and (< (1+ (source-position source)) (source-end source))
                (= (aref (source-octets source) (source-position source)) (octet #\\))
                (= (aref (source-octets source) (1+ (source-position source))) (octet #\u)))
           (let ((mark (source-position source)))
             (incf (source-position source) 2)
             (let ((low (read-hex4 source)))
               (cond ((<= #xdc00 low #xdfff)
                      (+ #x10000 (ash (- code #xd800) 10) (- low #xdc00)))
                     (t (setf (source-position source) mark) #xfffd)))))
          (t #xfffd))))

(defun read-utf8-rest (first source)
  "Code point whose first octet was FIRST; malformed sequences are U+FFFD, one per octet."
  (declare (type (unsigned-byte 8) first))
  (multiple-value-bind (count code minimum)
      (cond ((<= #xc2 first #xdf) (values 1 (logand first #x1f) #x80))
            ((<= #xe0 first #xef) (values 2 (logand first #x0f) #x800))
            ((<= #xf0 first #xf4) (values 3 (logand first #x07) #x10000))
            (t (return-from read-utf8-rest #xfffd)))
    (let ((start (source-position source)))
      (loop repeat count
            for octet = (peek-octet source)
            do (unless (= (logand octet #xc0) #x80)
                 (setf (source-position source) start)
                 (return-from read-utf8-rest #xfffd))
               (incf (source-position source))
               (setf code (logior (ash code 6) (logand octet #x3f))))
      (cond ((and (<= minimum code #x10ffff) (not (<= #xd800 code #xdfff))) code)
            (t (setf (source-position source) start) #xfffd)))))

(defun read-plain-string (source)
  "A string of ASCII without escapes, after the opening quote. NIL, and nothing is read, when it is
of another kind."
  (declare (type source source) (optimize speed))
  (let* ((octets (source-octets source))
         (start (source-position source))
         (end (loop for index of-type index from start below (source-end source)
                    for octet = (aref octets index)
                    do (cond ((= octet (octet #\")) (return index))
                             ((or (< octet +first-printable+)
                                  (= octet (octet #\\))
                                  (> octet +delete+))
                              (return nil))))))
    (when end
      (let ((text (make-string (- end start))))
        (loop for to of-type index from 0
              for from of-type index from start below end
              do (setf (schar text to) (code-char (aref octets from))))
        (setf (source-position source) (1+ end))
        text))))

(defun read-json-string (source)
  "After the opening quote."
  (or (read-plain-string source) (read-any-string source)))

(defun read-escape (source)
  "Code point of an escape, after the backslash."
  (let ((letter (next-octet source)))
    (case (code-char letter)
      (#\n (octet #\Newline))
      (#\t (octet #\Tab))
      (#\r (octet #\Return))
      (#\b (octet #\Backspace))
      (#\f (octet #\Page))
      ((#\" #\\ #\/) letter)
      (#\u (read-escaped-code-point source))
      (t (json-fail "bad escape")))))

(defun read-any-string (source)
  "A string with escapes or characters beyond ASCII, after the opening quote."
  (declare (type source source) (optimize speed))
  (let* ((size 64) (text (make-string size)) (fill 0))
    (declare (type index size fill) (type (simple-array character (*)) text))
    (flet ((add (code)
             (when (= fill size)
               (setf size (* 2 size))
               (let ((larger (make-string size)))
                 (replace larger text)
                 (setf text larger)))
             (setf (schar text fill) (code-char (the (integer 0 #x10ffff) code)))
             (incf fill)))
      (declare (inline add))
      (loop
        (when (>= (source-position source) (source-end source)) (json-fail "unterminated string"))
        (let ((octet (next-octet source)))
          (cond ((= octet (octet #\")) (return (subseq text 0 fill)))
                ((= octet (octet #\\)) (add (read-escape source)))
                ((< octet +first-printable+) (json-fail "control character in string"))
                ((<= octet +delete+) (add octet))
                (t (add (read-utf8-rest octet source)))))))))

(defconstant +plain-digits+ 18)         ; they fit into a fixnum

(defun read-plain-integer (source)
  "A short integer without a sign. NIL, and nothing is read, when it is a number of another kind."
  (declare (type source source) (optimize speed))
  (let* ((octets (source-octets source))
         (start (source-position source))
         (end (min (source-end source) (+ start +plain-digits+)))
         (value 0)
         (behind (loop for index of-type index from start below end
                       for digit = (octet-digit (aref octets index))
                       while digit
                       do (setf value (+ (* 10 value) digit))
                       finally (return index))))
    (declare (type index start end behind) (type (integer 0 #.(1- (expt 10 18))) value))
    (setf (source-position source) behind)
    (cond ((or (= behind start)
               (member (code-char (peek-octet source)) '(#\. #\E #\e)) ; a float
               (octet-digit (peek-octet source))                      ; more digits
               (and (= (octet #\0) (aref octets start)) (> behind (1+ start))))
           (setf (source-position source) start)
           nil)
          (t value))))

(defun read-json-number (source)
  "A number; its first octet has not been read."
  (or (read-plain-integer source) (read-any-number source)))

(defun read-digits (source)
  "Value and number of the decimal digits that follow, of which there must be one."
  (loop with value = 0
        for digit = (octet-digit (peek-octet source))
        while digit
        count t into count
        do (incf (source-position source))
           (setf value (+ (* 10 value) digit))
        finally (if (zerop count)
                    (json-fail "digit expected")
                    (return (values value count)))))

(defun read-integer-part (source)
  "The digits before fraction and exponent."
  (let ((leading-zero (= (peek-octet source) (octet #\0))))
    (multiple-value-bind (value count) (read-digits source)
      (when (and leading-zero (> count 1)) (json-fail "leading zero"))
      value)))

(defun read-exponent (source)
  "Value of the exponent, after the E."
  (let ((sign (case (code-char (peek-octet source))
                (#\- (next-octet source) -1)
                (#\+ (next-octet source) 1)
                (t 1))))
    (* sign (read-digits source))))

(defun read-any-number (source)
  "A number with a sign, a fraction or an exponent, or with many digits."
  (let* ((negative (and (= (peek-octet source) (octet #\-)) (next-octet source)))
         (integer (read-integer-part source))
         (fraction 0) (fraction-count 0) (exponent 0) (floating nil))
    (when (= (peek-octet source) (octet #\.))
      (next-octet source)
      (setf floating t)
      (multiple-value-setq (fraction fraction-count) (read-digits source)))
    (when (member (code-char (peek-octet source)) '(#\E #\e))
      (next-octet source)
      (setf floating t
            exponent (read-exponent source)))
    (let ((value (if floating
                     (decimal-float (+ fraction (* integer (expt 10 fraction-count)))
                                    (- exponent fraction-count))
                     integer)))
      (if negative (- value) value))))

(defun decimal-float (mantissa exponent)
  "MANTISSA * 10^EXPONENT as the nearest double; out of range is refused."
  (cond ((zerop mantissa) 0d0)
        ((> (+ exponent (integer-length mantissa)) 1100) (json-fail "number out of range"))
        ((< exponent -1500) 0d0)
        (t (let ((ratio (* mantissa (expt 10 exponent))))
             (cond ((> ratio (rational most-positive-double-float))
                    (json-fail "number out of range"))
                   ((< ratio (rational double-float-epsilon))
                    (handler-case (coerce ratio 'double-float) (arithmetic-error () 0d0)))
                   (t (coerce ratio 'double-float)))))))

(defun read-json-value (source)
  "The next value, with the white space before it."
  (declare (type source source))
  (skip-json-space source)
  (case (code-char (peek-octet source))
    (#\{ (read-json-members source))
    (#\[ (read-json-elements source))
    (#\" (next-octet source) (read-json-string source))
    (#\t (expect "true" source) :true)
    (#\f (expect "false" source) :false)
    (#\n (expect "null" source) :null)
    (t (read-json-number source))))

(defmacro with-json-depth ((source) &body body)
  "Run BODY, which reads what is inside brackets; too many levels are refused."
  `(progn
     (when (> (incf (source-depth ,source)) +maximum-depth+) (json-fail "nested too deeply"))
     (multiple-value-prog1 (progn ,@body) (decf (source-depth ,source)))))

(defun read-json-members (source)
  "An object, from its opening brace."
  (with-json-depth (source)
    (next-octet source)
    (skip-json-space source)
    (let ((members '()))
      (if (= (peek-octet source) (octet #\}))
          (next-octet source)
          (loop
            (skip-json-space source)
            (expect "\"" source)
            (push (read-json-string source) members)
            (skip-json-space source)
            (expect ":" source)
            (push (read-json-value source) members)
            (skip-json-space source)
            (case (code-char (next-octet source))
              (#\,)
              (#\} (return))
              (t (json-fail "comma or brace expected")))))
      (cons :object (nreverse members)))))

(defun read-json-elements (source)
  "An array, from its opening bracket."
  (with-json-depth (source)
    (next-octet source)
    (skip-json-space source)
    (let ((elements '()))
      (if (= (peek-octet source) (octet #\]))
          (next-octet source)
          (loop
            (push (read-json-value source) elements)
            (skip-json-space source)
            (case (code-char (next-octet source))
              (#\,)
              (#\] (return))
              (t (json-fail "comma or bracket expected")))))
      (coerce (nreverse elements) 'simple-vector))))

(defun parse-json (octets end)
  "The one JSON value in OCTETS; anything else signals JSON-ERROR."
  (let* ((source (make-source octets end))
         (value (read-json-value source)))
    (skip-json-space source)
    (when (< (source-position source) (source-end source)) (json-fail "text after the value"))
    value))
