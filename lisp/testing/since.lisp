;;;; Which tests a run since the last one needs: those that failed or are new, and those that depend
;;;; on a definition that has changed (docs/workbench.md).
;;;;
;;;; Each run ends with a record: the tests, those that failed, and a hash of every top-level form
;;;; of the files. The forms that differ later name the symbols that changed; a form that mentions
;;;; one of those changes what it defines, and so on. What mentions a symbol is taken from the
;;;; files, so macros, variables and classes count as functions do; the image adds what a form
;;;; defines without naming it, such as the accessors of a structure. In doubt a test is run.

(in-package "CADRE-AGENT")

(defconstant +record-files+ 2000)

;;; --- the record ---------------------------------------------------------------------------------

(defun form-key (form)
  "What tells FORM from others of its file, as far as people name them."
  (string-downcase (form-title form)))

(defun form-hash (string form)
  "A text that differs when FORM of STRING does."
  (format nil "~36R~36R"
          (sxhash (text-form-text string form))
          (sxhash (reverse (text-form-text string form)))))

(defun file-record (path)
  "The forms of the file PATH for a record: texts `KEY HASH'."
  (multiple-value-bind (string forms) (read-forms-of path)
    (object "path" path
            "forms" (map 'simple-vector
                         (lambda (form) (text (form-hash string form) " " (form-key form)))
                         forms))))

(defun current-evaluation ()
  "Number of the evaluation that a request is part of."
  (or (and *call* (call-evaluation *call*)) 0))

(defun run-files (names)
  "Native names of the files that the tests of the systems NAMES depend on, as far as they are the
user's own: those of NAMES and of all systems of the workspace that are loaded."
  (let ((own (loop for name in (asdf "ALREADY-LOADED-SYSTEMS")
                   for system = (asdf "REGISTERED-SYSTEM" name)
                   when (and system (string= "the workspace" (system-origin system)))
                     collect name)))
    (remove-duplicates (mapcan (lambda (name) (ignore-errors (system-files name)))
                               (union (copy-list names) own :test #'string=))
                       :test #'string= :from-end t)))

(defun test-record (run tests files)
  "What the next run needs to know of RUN; TESTS and FILES are all that there were."
  (object "tests" (map 'simple-vector #'test-name tests)
          "failed" (coerce (loop for result in (run-results run)
                                 when (string= (member-of result "status") "failed")
                                   collect (member-of result "name"))
                           'simple-vector)
          "evaluation" (current-evaluation)
          "files" (map 'simple-vector #'file-record
                       (subseq files 0 (min +record-files+ (length files))))))

(defun recorded-forms (record path)
  "Hash table of the forms that RECORD has of the file PATH; NIL when it knows nothing of it."
  (let ((file (find path (member-of record "files" #())
                    :key (lambda (file) (member-of file "path")) :test #'equal)))
    (when file
      (let ((table (make-hash-table :test #'equal)))
        (loop for text across (member-of file "forms" #())
              when (stringp text) do (setf (gethash text table) t))
        table))))

;;; --- symbols of forms ---------------------------------------------------------------------------

(defun form-symbols (string form)
  "The symbols that FORM of STRING mentions; those that the image does not have are none."
  (let ((package (form-package form)) (symbols '()))
    (when package
      (map-tokens (lambda (start end kind)
                    (when (eq kind :symbol)
                      (let ((symbol (token-symbol (subseq string start end) package)))
                        (when symbol (pushnew symbol symbols :test #'eq)))))
                  string (text-form-start form) (text-form-end form)))
    symbols))

(defun token-symbol (token package)
  "The symbol that the reader finds for TOKEN in PACKAGE, if it is there and somebody's own."
  (multiple-value-bind (prefix name) (split-name token)
    (let* ((home (if prefix
                     (let ((*package* package)) (find-package prefix))
                     package))
           (symbol (and home (find-symbol name home))))
      (and symbol
           (not (keywordp symbol))
           (not (eq (symbol-package symbol) (find-package "COMMON-LISP")))
           symbol))))

(defparameter *plain-definers*
  '("DEFUN" "DEFMACRO" "DEFMETHOD" "DEFGENERIC" "DEFVAR" "DEFPARAMETER" "DEFCONSTANT" "DEFTYPE")
  "Operators that define the second of their words and nothing else.")

(defun plain-definition-p (form)
  "True when FORM defines the second of its words and nothing else."
  (member (text-form-operator form) *plain-definers* :test #'string=))

(defun name-symbols (string form)
  "Symbols in the second of the words of FORM."
  (let ((place (second (element-places string (text-form-inner form))))
        (package (form-package form)) (symbols '()))
    (when (and place package)
      (map-tokens (lambda (start end kind)
                    (when (eq kind :symbol)
                      (let ((symbol (token-symbol (subseq string start end) package)))
                        (when symbol (push symbol symbols)))))
                  string (car place) (cdr place)))
    symbols))

(defvar *function-places* nil)          ; file to (line . symbol) of functions, during a choice

(defun function-places (packages)
  "Hash table of the lines where functions begin that PACKAGES name, by file."
  (let ((table (make-hash-table :test #'equal)))
    (dolist (package packages table)
      (do-symbols (symbol package)
        (when (and (eq (symbol-package symbol) package)
                   (fboundp symbol)
                   (not (macro-function symbol)))
          (let* ((source (ignore-errors
                          (sb-introspect:find-definition-source (fdefinition symbol))))
                 (path (and source (source-file source)))
                 (line (and path (source-line source path))))
            (when line (push (cons line symbol) (gethash path table)))))))))

(defun functions-from-form (path string form)
  "Symbols of functions that the image has from FORM of the file PATH, named there or not."
  (let ((first (text-form-line form))
        (last (place-line (advance-place (make-place) string (text-form-end form)))))
    (loop for (line . symbol) in (gethash path *function-places*)
          when (<= first line last) collect symbol)))

(defun defining-symbols (path string form)
  "Symbols that FORM of the file PATH gives a meaning; of one that is not known to define just a
name, all that it mentions, and the functions that came from it."
  (if (plain-definition-p form)
      (name-symbols string form)
      (append (functions-from-form path string form) (form-symbols string form))))

;;; --- what has changed ---------------------------------------------------------------------------

(defstruct file-form
  path string form
  symbols                               ; that it mentions
  (affected nil))                       ; what it defines has changed, or what that needs

(defun all-file-forms (files)
  "The forms of FILES as FILE-FORMs."
  (loop for path in files
        append (multiple-value-bind (string forms) (read-forms-of path)
                 (loop for form in forms
                       collect (make-file-form :path path :string string :form form
                                               :symbols (form-symbols string form))))))

(defun changed-file-forms (record forms)
  "Those of FORMS that RECORD does not have as they are; and true when a file is new, a package has
changed or a definition is gone, so that all tests count."
  (let ((changed '()) (everything nil) (seen (make-hash-table :test #'equal)))
    (dolist (each forms)
      (let* ((path (file-form-path each))
             (known (multiple-value-bind (table found) (gethash path seen)
                      (if found table (setf (gethash path seen) (recorded-forms record path)))))
             (key (text (form-hash (file-form-string each) (file-form-form each)) " "
                        (form-key (file-form-form each)))))
        (cond ((null known) (setf everything t))
              ((gethash key known) (setf (gethash key known) :there))
              (t (push each changed)
                 (when (package-definition-p (file-form-form each)) (setf everything t))))))
    (values changed (or everything (gone-names seen changed)))))

(defun gone-names (tables changed)
  "Names of definitions that the record of a file in TABLES has, that its file has not, and that no
form in CHANGED is the new version of."
  (let ((keys (mapcar (lambda (each) (form-key (file-form-form each))) changed)))
    (loop for table being the hash-values of tables
          append (and table
                      (loop for text being the hash-keys of table using (hash-value state)
                            for key = (subseq text (1+ (or (position #\Space text) -1)))
                            unless (or (eq state :there) (member key keys :test #'string=))
                              collect key)))))

(defun evaluated-since (evaluation)
  "Symbols of functions that were defined by an evaluation after that of the number EVALUATION."
  (let ((symbols '()))
    (dolist (package (session-packages) symbols)
      (dolist (symbol (user-symbols package))
        (let* ((source (and (fboundp symbol) (not (macro-function symbol))
                            (ignore-errors
                             (sb-introspect:find-definition-source (fdefinition symbol)))))
               (number (and source
                            (getf (sb-introspect:definition-source-plist source)
                                  :cadre-evaluation))))
          (when (and (integerp number) (> number evaluation)) (push symbol symbols)))))))

(defun file-form-symbols-defined (each)
  "Symbols that EACH, a FILE-FORM, gives a meaning."
  (defining-symbols (file-form-path each) (file-form-string each) (file-form-form each)))

(defun spread (forms symbols)
  "Mark those of FORMS as affected that mention one of SYMBOLS, or a symbol that such a form
defines."
  (let ((affected (make-hash-table :test #'eq)) (grown t))
    (dolist (symbol symbols) (setf (gethash symbol affected) t))
    (loop while grown
          do (setf grown nil)
             (dolist (each forms)
               (when (and (not (file-form-affected each))
                          (some (lambda (symbol) (gethash symbol affected))
                                (file-form-symbols each)))
                 (setf (file-form-affected each) t
                       grown t)
                 (unless (test-definition-p each)
                   (dolist (symbol (file-form-symbols-defined each))
                     (setf (gethash symbol affected) t))))))))

(defvar *test-names* nil)               ; hash table of the names of tests, without packages

(defun test-form-name (form)
  "The name of the test that FORM may define, or NIL."
  (let ((words (text-form-words form)))
    (and (rest words)
         (not (plain-definition-p form))
         (defined-name (second words)))))

(defun test-definition-p (each)
  "True when EACH, a FILE-FORM, defines a test: nothing depends on that."
  (let ((name (test-form-name (file-form-form each))))
    (and name (gethash (string-trim "\"" name) *test-names*))))

(defun plain-test-name (test)
  "The name of TEST as DEFINED-NAME has it."
  (let* ((name (test-name test)) (colons (search "::" name)))
    (string-upcase (if colons (subseq name (+ colons 2)) name))))

(defun forms-of-test (test forms)
  "Those of FORMS that define TEST; where none has its name, those of its package of which one may
be a macro that makes it."
  (let ((name (plain-test-name test)))
    (flet ((named-p (each)
             (let ((own (test-form-name (file-form-form each))))
               (and own (string= name (string-trim "\"" own)))))
           (maker-p (each)
             (and (test-form-name (file-form-form each))
                  (not (test-definition-p each))
                  (eq (form-package (file-form-form each)) (test-package test)))))
      (or (remove-if-not #'named-p forms) (remove-if-not #'maker-p forms)))))

(defun affected-test-p (test forms)
  "True unless the definitions of TEST are among FORMS and none is affected."
  (let ((own (forms-of-test test forms)))
    (or (null own) (some #'file-form-affected own))))

;;; --- the choice ---------------------------------------------------------------------------------

(defun changed-symbols (record changed)
  "The symbols that the forms CHANGED, and evaluations since RECORD, have given a meaning."
  (append (evaluated-since (integer-member record "evaluation" 0))
          (loop for each in changed
                unless (test-definition-p each)
                  append (file-form-symbols-defined each))))

(defun choose-tests (request tests files)
  "Those of TESTS that REQUEST wants to run, and a sentence when these are not simply all."
  (let ((record (member-of request "last")))
    (cond ((not (true-p (member-of request "since"))) tests)
          ((not (object-p record))
           (values tests "All tests are run: nothing is known of a run before."))
          (t (tests-since record tests files)))))

(defun tests-since (record tests files)
  "Those of TESTS that have to run again, as RECORD, of the last run, and FILES have it; and a
sentence about it."
  (let* ((*test-names* (make-hash-table :test #'equal))
         (forms (all-file-forms files))
         (*function-places*
           (function-places (remove nil (remove-duplicates
                                         (mapcar (lambda (each)
                                                   (form-package (file-form-form each)))
                                                 forms)))))
         (failed (member-of record "failed" #()))
         (before (member-of record "tests" #())))
    (loop for test across tests do (setf (gethash (plain-test-name test) *test-names*) t))
    (multiple-value-bind (changed everything) (changed-file-forms record forms)
      (when everything
        (return-from tests-since
          (values tests "All tests are run: files, packages or definitions have come or gone.")))
      (dolist (each changed) (setf (file-form-affected each) t))
      (spread forms (changed-symbols record changed))
      (flet ((failed-p (test) (find (test-name test) failed :test #'equal))
             (new-p (test) (not (find (test-name test) before :test #'equal))))
        (let ((chosen (remove-if-not (lambda (test)
                                       (or (failed-p test) (new-p test)
                                           (affected-test-p test forms)))
                                     tests)))
          (values chosen (since-sentence (length tests) (length chosen)
                                         (count-if #'failed-p chosen) changed)))))))

(defun since-sentence (total chosen failed changed)
  "How many of TOTAL tests a run since the last one has CHOSEN, of which so many have FAILED, and
why: the forms CHANGED."
  (format nil "Since the last run: ~D of ~A chosen, ~D that failed; changed: ~
               ~:[nothing~;~:*~{~A~^, ~}~]."
          chosen (plural total "test") failed
          (let ((titles (mapcar (lambda (each) (form-title (file-form-form each)))
                                (reverse changed))))
            (if (> (length titles) 5)
                (append (subseq titles 0 5) (list (text "and " (- (length titles) 5) " more")))
                titles))))
