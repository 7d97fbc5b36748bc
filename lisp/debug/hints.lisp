;;;; "Did you mean": near names for what does not exist.

(in-package "CADRE-AGENT")

(defun edit-distance (a b limit)
  "Levenshtein distance of the strings A and B, or NIL when it is over LIMIT."
  (declare (type simple-string a b) (type fixnum limit))
  (let ((rows (length a)) (columns (length b)))
    (when (> (abs (- rows columns)) limit)
      (return-from edit-distance nil))
    (let ((previous (make-array (1+ columns) :element-type 'fixnum))
          (current (make-array (1+ columns) :element-type 'fixnum)))
      (dotimes (column (1+ columns)) (setf (aref previous column) column))
      (dotimes (row rows)
        (setf (aref current 0) (1+ row))
        (dotimes (column columns)
          (setf (aref current (1+ column))
                (min (1+ (aref current column))
                     (1+ (aref previous (1+ column)))
                     (+ (aref previous column)
                        (if (char= (char a row) (char b column)) 0 1)))))
        (when (> (loop for distance of-type fixnum across current minimize distance) limit)
          (return-from edit-distance nil))
        (rotatef previous current))
      (let ((distance (aref previous columns)))
        (and (<= distance limit) distance)))))

(defun near-names (name candidates)
  "At most three of the strings CANDIDATES near NAME, nearest first, ties by name. A short name is
near to nearly everything, so it must be closer; stars and plus signs around a name are no reason
to call it near."
  (let* ((around (if (every (lambda (character) (find character "*+")) name) "" "*+"))
         (limit (if (< (length name) 4) 1 2))
         (near (loop for candidate in candidates
                     for distance = (edit-distance name candidate limit)
                     when (and distance (plusp distance)
                               (< distance (length (string-trim around candidate))))
                       collect (cons distance candidate)))
         (sorted (sort (remove-duplicates near :key #'cdr :test #'string=)
                       (lambda (a b)
                         (or (< (car a) (car b))
                             (and (= (car a) (car b)) (string< (cdr a) (cdr b))))))))
    (mapcar #'cdr (subseq sorted 0 (min 3 (length sorted))))))

(defun did-you-mean (names)
  "The question for NAMES, or NIL without any."
  (case (length names)
    (0 nil)
    (1 (text "did you mean " (first names) "?"))
    (t (format nil "did you mean ~{~A~^, ~} or ~A?" (butlast names) (first (last names))))))

(defun accessible-names (package test length)
  "Names of about LENGTH characters of the symbols accessible in PACKAGE that pass TEST: those that
the session has defined, and the others."
  (let ((own '()) (others '()))
    (do-symbols (symbol package (values own others))
      (let ((name (symbol-name symbol)))
        (when (and (<= (abs (- length (length name))) 2) (funcall test symbol))
          (if (own-definition-p symbol)
              (push (coerce name 'simple-string) own)
              (push (coerce name 'simple-string) others)))))))

(defun same-names-elsewhere (name test)
  "The symbols of the user's packages that have the name of the symbol NAME and pass TEST."
  (loop for package in (sort (user-packages) #'string<)
        for symbol = (find-symbol (symbol-name name) package)
        when (and symbol (not (eq symbol name)) (own-definition-p symbol) (funcall test symbol))
          collect (qualified-label symbol)))

(defun external-names (package)
  "Names of the external symbols of PACKAGE."
  (let ((names '()))
    (do-external-symbols (symbol package names)
      (push (coerce (symbol-name symbol) 'simple-string) names))))

(defun all-package-names ()
  "Names and nicknames of all packages."
  (loop for package in (list-all-packages)
        append (mapcar (lambda (name) (coerce name 'simple-string))
                       (cons (package-name package) (package-nicknames package)))))

(defun undefined-name-hint (name test)
  "Hint for a symbol NAME that lacks what TEST tests for."
  (when (and name (symbolp name))
    (let ((text (coerce (symbol-name name) 'simple-string)))
      (multiple-value-bind (own others)
          (accessible-names (session-package) test (length text))
        (let ((names (remove-duplicates (append (same-names-elsewhere name test)
                                                (near-names text own)
                                                (near-names text others))
                                        :test #'string= :from-end t)))
          (did-you-mean (subseq names 0 (min 3 (length names)))))))))

(defun package-hint (designator)
  "Hint for a package that does not exist."
  (when (typep designator '(or string symbol character))
    (did-you-mean (near-names (coerce (string designator) 'simple-string) (all-package-names)))))

(defun token-before (source)
  "The token that ends where SOURCE was read up to, in upper case."
  (let* ((string (source-text-string source))
         (end (min (length string) (or (source-index source) 0)))
         (end (or (position-if-not #'blank-or-close-p string :end end :from-end t) 0))
         (start (position-if (lambda (character)
                               (or (blank-or-close-p character) (find character "('`,\"#")))
                             string :end end :from-end t)))
    (string-upcase (subseq string (if start (1+ start) 0) (min (length string) (1+ end))))))

(defun blank-or-close-p (character)
  "True for white space and closing parentheses."
  (find character '(#\Space #\Tab #\Newline #\Return #\))))

(defun prefixed-symbol-hint (source)
  "For PKG:NAME that the reader refused."
  (let* ((token (token-before source))
         (colon (position #\: token)))
    (when colon
      (let* ((package-name (subseq token 0 colon))
             (name (string-left-trim ":" (subseq token colon)))
             (package (find-package package-name)))
        (cond ((member package-name '("QL" "QUICKLISP") :test #'string=)
               "Quicklisp itself is not loaded; load-system loads its systems")
              ((null package) (package-hint package-name))
              ((eq :internal (nth-value 1 (find-symbol name package)))
               (text name " exists in " package-name " but is not external; use "
                     package-name "::" name))
              (t (did-you-mean (near-names (coerce name 'simple-string)
                                           (external-names package)))))))))

(defun input-hint (condition)
  "Hint for code that reads where there is nothing to read: what it asked."
  (when (member (underlying-stream (stream-error-stream condition))
                (list *captured-input* *silent-terminal* *terminal*))
    (let ((question (last-question)))
      (text "there is no standard input to read"
            (if question (text "; the question was: " (one-line question)) "")
            (if (equal (call-operation *call*) "invoke-restart")
                "; invoke-restart takes `values` for new values"
                "; evaluate-lisp takes `input`, the text to read, or `interactive` to ask")))))

(defun accessible-p (path mode)
  "True when the owner and mode of the file allow MODE (4 read, 2 write, 0 only that it exists). The
sandbox has no say in that."
  (with-alien ((name c-string path))
    (zerop (c-call "access" int (c-string name) (int mode)))))

(defun readable-p (path)
  "True when the file can be opened."
  (let ((fd (open-to-read path #x800))) ; O_NONBLOCK: it may be a pipe
    (unless (minusp fd) (c-call "close" int (int fd)) t)))

(defun refused-access (path)
  "What the sandbox refuses to do with PATH that the user may: :READ, :WRITE or NIL."
  (let ((directory (subseq path 0 (max 1 (or (position #\/ path :from-end t) 0)))))
    (cond ((and (accessible-p path 4) (not (readable-p path))) :read)
          ((accessible-p path 2) :write)
          ((and (not (accessible-p path 0)) (accessible-p directory 2)) :write))))

(defun protected-path-p (path)
  "True for what a session may not change in its workspace."
  (let* ((workspace (or (sb-posix:getenv "CADRE_WORKSPACE") ""))
         (start (1+ (length workspace))))
    (and (> (length path) start)
         (string= (text workspace "/") (subseq path 0 start))
         (not (string= (sb-posix:getenv "CADRE_SANDBOX") "strict")))))

(defun sandbox-hint (condition)
  "For a file that the sandbox refused. Outside of what it may write, all is read-only for a
session; where there are no mount namespaces, permission is denied instead."
  (let* ((mode (sb-posix:getenv "CADRE_SANDBOX"))
         (path (native-namestring (merge-pathnames (file-error-pathname condition))))
         (directory (subseq path 0 (max 1 (or (position #\/ path :from-end t) 0))))
         (message (princ-to-string condition))
         (read-only (search "Read-only file system" message)))
    (cond ((or (null mode) (string= mode "off")) nil)
          ((and read-only (protected-path-p path))
           (text "the sandbox (" mode ") keeps " path " from being changed, because it decides what"
                 " other programs do here; --sandbox off allows it"))
          (t
           (case (cond (read-only :write)
                       ((search "Permission denied" message) (refused-access path)))
             (:read (text "the sandbox (" mode ") does not let this session read " path
                          "; the option --allow-read " directory " allows it"))
             (:write (text "the sandbox (" mode ") does not let this session write " path
                           " (Permission denied); the option --allow-write " directory
                           " allows it")))))))

(defun condition-hint (condition)
  "A sentence that helps, or NIL."
  (handler-case
      (typecase condition
        (undefined-function (undefined-name-hint (cell-error-name condition) #'fboundp))
        (unbound-variable
         (undefined-name-hint (cell-error-name condition)
                              (lambda (symbol)
                                (and (boundp symbol) (not (keywordp symbol))
                                     (not (member symbol '(nil t)))))))
        (reader-error
         (and (typep condition 'package-error) *call* (call-source *call*)
              (prefixed-symbol-hint (call-source *call*))))
        (end-of-file (input-hint condition))
        (package-error (package-hint (package-error-package condition)))
        (file-error (sandbox-hint condition))
        (sb-pcl:class-not-found-error
         (undefined-name-hint (cell-error-name condition)
                              (lambda (symbol) (find-class symbol nil))))
        (t (missing-system-hint condition)))
    (serious-condition () nil)))
