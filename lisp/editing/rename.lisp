;;;; rename (docs/reference/evaluator.md 8): another name for a symbol in all files of the
;;;; workspace.
;;;;
;;;; What counts is which symbol the reader would find, so other symbols of the same name stay, and
;;;; so do strings and comments. The request is performed in a throw-away copy of the session: the
;;;; files change, the image does not.

(in-package "CADRE-AGENT")

(defstruct (renamed-file (:constructor make-renamed-file (path before after places)))
  path before after
  places)                               ; in BEFORE: start, end, what comes there

;;; --- the new name -------------------------------------------------------------------------------

(defun new-name (text)
  "The name of a symbol that TEXT is when it is read; fails when it is no plain symbol."
  (let* ((text (string-trim " " text))
         (string (coerce text '(simple-array character (*)))))
    (when (or (string= text "")
              (find-if (lambda (character) (find character ":#\\.")) text)
              (not (eql (length text) (atom-end string 0)))
              (numberp (ignore-errors (let ((*read-eval* nil)) (read-from-string text)))))
      (fail "invalid-argument"
            (text "`to' must be the name of a symbol without a package, not `" text "'.")))
    (unbar text)))

(defun in-use-p (symbol)
  "True when SYMBOL means something in the image."
  (or (symbol-defined-p symbol)
      (fboundp `(setf ,symbol))
      (sb-int:info :type :kind symbol)))

(defun check-new-name (name packages)
  "Fail when NAME already means something in one of PACKAGES."
  (dolist (package packages)
    (let ((other (find-symbol name package)))
      (when (and other (in-use-p other))
        (fail "name-in-use" (text (full-name other) " is there already."))))))

;;; --- the tokens ---------------------------------------------------------------------------------

(defun token-start (token)
  "Where the name begins in TOKEN, behind a package prefix."
  (let ((bar (position #\| token)) (colon (position #\: token :from-end t)))
    (if (and colon (or (null bar) (< colon bar))) (1+ colon) 0)))

(defun new-token (token written name)
  "TOKEN with the new name, WRITTEN as the user did and NAME when it is read; in the case of TOKEN."
  (if (char= (char token 0) #\")
      (text "\"" name "\"")
      (let* ((start (token-start token)) (old (subseq token start)))
        (text (subseq token 0 start)
              (if (and (notany #'lower-case-p old) (some #'upper-case-p old)
                       (not (find #\| written)))
                  (string-upcase written)
                  written)))))

(defun renamed-string (string places)
  "STRING with what comes at PLACES, lists of start, end and a text."
  (coerce (with-output-to-string (out)
            (let ((index 0))
              (loop for (start end new) in places
                    do (write-string string out :start index :end start)
                       (write-string new out)
                       (setf index end))
              (write-string string out :start index)))
          '(simple-array character (*))))

;;; --- files --------------------------------------------------------------------------------------

(defstruct renaming
  (files '())                           ; RENAMED-FILEs
  (packages '())                        ; in which the symbol is written
  (unread '())                          ; paths of files that are not balanced
  (missing '()))                        ; names of packages that are not there

(defun note-packages (renaming forms string symbol)
  "Note the packages in which FORMS write SYMBOL, and those that are not there."
  (dolist (form forms)
    (let ((package (form-package form)))
      (if package
          (map-symbol-places (lambda (start end)
                               (declare (ignore start end))
                               (pushnew package (renaming-packages renaming)))
                             string form symbol)
          (pushnew (text-form-package form) (renaming-missing renaming) :test #'equal)))))

(defun rename-in-file (renaming path symbol written name)
  "Add to RENAMING what changes in the file PATH."
  (let ((string (source-string path)))
    (when (and string (search (symbol-name symbol) string :test #'char-equal))
      (multiple-value-bind (forms broken) (file-forms string)
        (when broken (push path (renaming-unread renaming)))
        (note-packages renaming forms string symbol)
        (let ((places (loop for (start . end) in (symbol-places string forms symbol)
                            collect (list start end
                                          (new-token (subseq string start end) written name)))))
          (when places
            (push (make-renamed-file path string (renamed-string string places) places)
                  (renaming-files renaming))))))))

(defun plan-renaming (symbol written)
  "The RENAMING of SYMBOL to WRITTEN in all files of the workspace; fails when the name is taken."
  (let ((renaming (make-renaming)) (name (new-name written)))
    (dolist (path (workspace-lisp-files))
      (rename-in-file renaming path symbol (string-trim " " written) name))
    (when (renaming-unread renaming)
      (fail "unbalanced"
            (format nil "Nothing was renamed: not balanced, and so not read, ~{~A~^, ~}. ~
                         `cadre fix` may repair them."
                    (reverse (renaming-unread renaming)))))
    (check-new-name name (adjoin (symbol-package symbol) (renaming-packages renaming)))
    (setf (renaming-files renaming) (nreverse (renaming-files renaming)))
    renaming))

(defun write-renamed-files (files)
  "Write FILES, all or none as far as that can be: each must be as it was read."
  (dolist (file files)
    (unless (string= (renamed-file-before file) (text-of-file (renamed-file-path file)))
      (fail "file-changed" (text (renamed-file-path file) " was changed meanwhile."))))
  (let ((written '()))
    (handler-bind ((error (lambda (condition)
                            (declare (ignore condition))
                            (dolist (file written)
                              (ignore-errors
                               (write-whole-file (renamed-file-path file)
                                                 (renamed-file-before file)
                                                 (renamed-file-after file)))))))
      (dolist (file files)
        (write-whole-file (renamed-file-path file) (renamed-file-after file)
                          (renamed-file-before file))
        (push file written)))))

;;; --- the answer ---------------------------------------------------------------------------------

(defun renamed-lines (file)
  "The lines of FILE that change, as objects."
  (let ((grown 0) (last nil) (place (make-place)) (objects '()))
    (loop for (start end new) in (renamed-file-places file)
          for line = (place-line (advance-place place (renamed-file-before file) start))
          do (unless (eql line last)
               (push (object "line" line
                             "before" (line-around (renamed-file-before file) start)
                             "after" (line-around (renamed-file-after file) (+ start grown)))
                     objects))
             (setf last line)
             (incf grown (- (length new) (- end start))))
    (coerce (nreverse objects) 'simple-vector)))

(define-operation "rename" (call request)
  "Give a symbol another name in the files of the workspace."
  (setf (call-phase call) "inspect")
  (let* ((symbol (symbol-argument request (required-string request "name")))
         (written (required-string request "to"))
         (dry-run (true-p (member-of request "dry_run")))
         (renaming (plan-renaming symbol written))
         (files (renaming-files renaming)))
    (unless dry-run (write-renamed-files files))
    (list "found" :true
          "symbol" (full-name symbol)
          "to" (string-trim " " written)
          "written" (json-boolean (and files (not dry-run)))
          "places" (loop for file in files sum (length (renamed-file-places file)))
          "files" (map 'simple-vector
                       (lambda (file)
                         (object "path" (renamed-file-path file)
                                 "changes" (first-of (renamed-lines file))))
                       (first-of files))
          "missing" (sorted-texts (renaming-missing renaming)))))
