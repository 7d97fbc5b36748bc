;;;; edit-form and read-forms (docs/reference/evaluator.md 8): a file changed by its forms.
;;;;
;;;; The request is performed in a throw-away copy of the session: what the compiler does there is
;;;; lost with it, the file is not. Only a form that compiles is written.

(in-package "CADRE-AGENT")

(defconstant +outline-limit+ 400)       ; forms
(defconstant +bodies-limit+ 16000)      ; characters

(defun text-of-file (path)
  "Contents of the file PATH, which must be UTF-8, as a simple string."
  (handler-case (coerce (file-text path :utf-8) '(simple-array character (*)))
    (sb-int:stream-decoding-error ()
      (fail "invalid-argument" (text path " is not UTF-8.")))))

(defun forms-of-file (path string)
  "The forms of STRING, the text of the file PATH; fails when one is not complete."
  (multiple-value-bind (forms broken) (file-forms string)
    (when broken
      (fail "unbalanced"
            (text path ":" (place-line (advance-place (make-place) string broken))
                  ": the form that begins here is not complete, or a ) closes nothing; "
                  "`cadre fix` may repair the file.")))
    forms))

;;; --- read-forms ---------------------------------------------------------------------------------

(defun form-documentation (form)
  "First line of the documentation string of FORM, or NIL."
  (let* ((words (text-form-words form))
         (text (and (definition-form-p form)
                    (find #\" (cddr words) :key (lambda (word) (char word 0))))))
    (and text
         (let ((end (position #\Newline text)))
           (cut (string-trim "\"" (subseq text 0 end)) 80)))))

(defun form-item (string form with-text)
  "FORM as an object, whole when WITH-TEXT."
  (object "title" (form-title form)
          "line" (text-form-line form)
          "end_line" (place-line (advance-place (make-place 0 1 1) string (text-form-end form)))
          "documentation" (form-documentation form)
          "text" (and with-text (text-form-text string form))))

(defun form-items (string forms pattern)
  "FORMS as objects; those whose title has PATTERN with their texts, as far as there is room."
  (let ((room +bodies-limit+))
    (flet ((wanted (form)
             (and (plusp (length pattern))
                  (search (string-upcase pattern) (string-upcase (form-title form)))
                  (<= (- (text-form-end form) (text-form-inner form)) room))))
      (map 'simple-vector
           (lambda (form)
             (let ((with-text (wanted form)))
               (when with-text
                 (decf room (- (text-form-end form) (text-form-inner form))))
               (form-item string form with-text)))
           forms))))

(define-operation "read-forms" (call request)
  "The forms of a file: names, lines, first lines of documentation; bodies of those that match."
  (setf (call-phase call) "inspect")
  (let* ((path (existing-file (required-string request "path")))
         (string (text-of-file path))
         (forms (forms-of-file path string))
         (shown (subseq forms 0 (min +outline-limit+ (length forms)))))
    (list "path" path
          "total" (length forms)
          "outline" (form-items string shown (member-of request "pattern")))))

;;; --- the form to change -------------------------------------------------------------------------

(defun titles-text (forms)
  "FORMS by title and line, for messages."
  (with-output-to-string (out)
    (loop for form in forms
          for count from 0 below 20
          do (write-string (text (if (zerop count) "" ", ") (form-title form)
                                 " (line " (decimal (text-form-line form)) ")")
                           out)
          finally (when (> (length forms) 20)
                    (write-string (text " and " (- (length forms) 20) " more") out)))))

(defun similar-forms (forms wanted)
  "FORMS in whose name a part of that WANTED is, or all definitions."
  (let ((name (defined-name (or (second wanted) (first wanted) ""))))
    (or (remove-if-not (lambda (form)
                         (and (rest (text-form-words form))
                              (plusp (length name))
                              (or (search name (defined-name (second (text-form-words form))))
                                  (search (defined-name (second (text-form-words form))) name))))
                       forms)
        (remove-if-not #'definition-form-p forms))))

(defun find-form (path forms wanted-text)
  "The one form that WANTED-TEXT calls; fails when there is none, or more than one."
  (let* ((wanted (words-of-text wanted-text))
         (found (and wanted (remove-if-not (lambda (form) (form-matches-p form wanted)) forms))))
    (cond ((and found (null (rest found))) (first found))
          (found (fail "ambiguous-form"
                       (text "More than one form is called `" wanted-text "': "
                             (titles-text found) ".")))
          (t (fail "no-such-form"
                   (text "No form of " path " is called `" wanted-text "'. There are: "
                         (let ((titles (titles-text (similar-forms forms wanted))))
                           (if (string= titles "") "no definitions" titles))
                         "."))))))

;;; --- the change ---------------------------------------------------------------------------------

(defstruct (form-change (:constructor make-form-change (start end text)))
  start end                             ; indexes of what goes
  text)                                 ; what comes in its place

(defun count-occurrences (part string start end)
  "How often PART is in STRING between START and END."
  (loop for found = (search part string :start2 start :end2 end)
        while found count t
        do (setf start (+ found (length part)))))

(defun replaced-part (string form old new)
  "The change of OLD, which FORM must have once, to NEW."
  (let ((start (text-form-inner form)) (end (text-form-end form)))
    (case (if (string= old "") 0 (count-occurrences old string start end))
      (0 (fail "no-such-text" (text "`" (form-title form) "' does not have this text as it is "
                                    "given in `old'; read-forms shows it.")))
      (1 (let ((found (search old string :start2 start :end2 end)))
           (make-form-change found (+ found (length old)) new)))
      (t (fail "ambiguous-text" "`old' is there more than once in the form; give more of it.")))))

(defun comment-start (string form)
  "Start of the lines of comment directly above FORM, or of FORM."
  (let ((start (text-form-start form)))
    (loop
      (let* ((line-start (let ((newline (position #\Newline string :end start :from-end t)))
                           (if newline (1+ newline) 0)))
             (above-end (and (= line-start start) (plusp line-start) (1- line-start)))
             (above (and above-end
                         (let ((newline (position #\Newline string :end above-end :from-end t)))
                           (if newline (1+ newline) 0)))))
        (if (and above (< above above-end) (char= (schar string above) #\;))
            (setf start above)
            (return start))))))

(defun blank-lines-end (string form)
  "Where what follows FORM begins, behind the empty lines that part it from FORM."
  (or (position #\Newline string :start (text-form-end form) :test-not #'char=)
      (length string)))

(defun trimmed-content (content)
  "CONTENT without white space around it."
  (string-trim '(#\Space #\Tab #\Newline #\Return) content))

(defun requested-change (string form request)
  "What REQUEST does to FORM."
  (let ((content (member-of request "content")) (old (member-of request "old"))
        (new (member-of request "new")) (before (member-of request "insert_before"))
        (after (member-of request "insert_after"))
        (newlines (coerce '(#\Newline #\Newline) 'string)))
    (unless (= 1 (count-if #'stringp (list content old before after)))
      (fail "invalid-argument"
            "Give one of `content', `old' with `new', `insert-before', `insert-after'."))
    (cond ((and content (string= "" (trimmed-content content)))
           (make-form-change (text-form-start form) (blank-lines-end string form) ""))
          (content (make-form-change (text-form-inner form) (text-form-end form)
                                     (trimmed-content content)))
          (old (replaced-part string form old (if (stringp new) new "")))
          (before (let ((start (comment-start string form)))
                    (make-form-change start start (text (trimmed-content before) newlines))))
          (t (let ((end (text-form-end form)))
               (make-form-change end end (text newlines (trimmed-content after))))))))

(defun changed-text (string change)
  "STRING after CHANGE."
  (coerce (text (subseq string 0 (form-change-start change)) (form-change-text change)
                (subseq string (form-change-end change)))
          '(simple-array character (*))))

(defun touched-forms (before forms change after)
  "Forms of the text AFTER that the CHANGE of BEFORE, whose forms are FORMS, made or altered; fails
when it is not balanced, or reaches into other forms."
  (multiple-value-bind (now broken) (file-forms after)
    (when broken
      (fail "unbalanced"
            (text "The new text is not balanced: the form that begins at line "
                  (place-line (advance-place (make-place) after broken))
                  " is not complete, or a ) closes nothing.")))
    (let* ((grown (- (length after) (length before)))
           (head (count-if (lambda (form) (<= (text-form-end form) (form-change-start change)))
                           forms))
           (tail (count-if (lambda (form) (>= (text-form-start form) (form-change-end change)))
                           forms)))
      (unless (and (<= (+ head tail) (length now))
                   (loop for form in (last forms tail)
                         for other in (last now tail)
                         always (= (+ grown (text-form-start form)) (text-form-start other))))
        (fail "unbalanced" "The new text would swallow forms that follow it."))
      (subseq now head (- (length now) tail)))))

;;; --- compiling, writing -------------------------------------------------------------------------

(defun compile-touched (call string forms)
  "Compile FORMS of STRING as the file would; fails the call when they do not compile."
  (when forms
    (let* ((name (text-form-package (first forms)))
           (package (if name (find-package name) *package*)))
      (unless package
        (fail "unknown-package"
              (text "The package " name " is not there, so the form cannot be compiled: load the "
                    "system first, or give `compile': false.")))
      (let* ((*package* package)
             (source (make-source-text (subseq string 0 (text-form-end (car (last forms)))))))
        (file-position (source-text-stream source) (text-form-start (first forms)))
        (advance-place (source-text-place source) (source-text-string source)
                       (text-form-start (first forms)))
        (compile-forms call source)))))

(defun write-whole-file (path text expected)
  "Make TEXT the contents of the file PATH, at once, if they still are EXPECTED."
  (let* ((pathname (truename (sb-ext:parse-native-namestring path)))
         (target (native-namestring pathname))
         (temporary (text target "." (decimal (sb-posix:getpid)) ".new"))
         (mode (logand #o777 (sb-posix:stat-mode (sb-posix:stat target))))
         (written nil))
    (unwind-protect
         (progn
           (with-open-file (out (sb-ext:parse-native-namestring temporary)
                                :direction :output :if-exists :error :external-format :utf-8)
             (sb-posix:fchmod (sb-sys:fd-stream-fd out) mode)
             (write-string text out)
             (finish-output out)
             (sb-posix:fsync (sb-sys:fd-stream-fd out)))
           (unless (string= expected (text-of-file path))
             (fail "file-changed" (text path " was changed by somebody else meanwhile.")))
           (sb-posix:rename temporary target)
           (setf written t))
      (unless written (ignore-errors (sb-posix:unlink temporary))))))

(define-operation "edit-form" (call request)
  "Change a top-level form of a file."
  (let* ((path (existing-file (required-string request "path")))
         (before (text-of-file path))
         (forms (forms-of-file path before))
         (form (find-form path forms (required-string request "form")))
         (change (requested-change before form request))
         (after (changed-text before change))
         (touched (touched-forms before forms change after))
         (dry-run (true-p (member-of request "dry_run"))))
    (unless (eq :false (member-of request "compile"))
      (compile-touched call after touched))
    (let ((members (mark-compile-error call (compile-members call))))
      (when (call-error call)
        (return-from perform-edit-form (list* "path" path members)))
      (unless (or dry-run (string= before after))
        (write-whole-file path after before))
      (list* "path" path
             "before" before "after" after
             "written" (json-boolean (not (or dry-run (string= before after))))
             "code" (if touched
                        (subseq after (text-form-start (first touched))
                                (text-form-end (car (last touched))))
                        "")
             "package" (and touched (text-form-package (first touched)))
             "line" (if touched (text-form-line (first touched)) (text-form-line form))
             members))))

;;; --- loading what was written -------------------------------------------------------------------

(define-operation "load-forms" (call request)
  "Evaluate a part of the file `path', whose text is `code' and begins at `line', as LOAD would."
  (let* ((path (required-string request "path"))
         (line (integer-member request "line" 1))
         (lead (make-string (max 0 (1- line)) :initial-element #\Newline))
         (source (make-source-text (text lead (required-string request "code")) path))
         (pathname (sb-ext:parse-native-namestring path))
         (*load-pathname* pathname)
         (*load-truename* pathname)
         (*package* *package*))
    (with-source-file (path)
      (evaluate-source call request source))))
