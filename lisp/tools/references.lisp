;;;; find-definition and find-references: where a name is defined, and who uses it how
;;;; (docs/reference/evaluator.md 5). The image knows which definitions do; their files are read to
;;;; show the text. They intern and define nothing.

(in-package "CADRE-AGENT")

(defconstant +definitions-limit+ 40)
(defconstant +definition-octets+ 4000)
(defconstant +uses-limit+ 3)            ; lines of one user

;;; --- files, each read once ----------------------------------------------------------------------

(defvar *read-files* nil)               ; native name to (string . forms), during a request

(defun read-forms-of (path)
  "Text and forms of the file PATH; NIL when it cannot be read."
  (let ((known (gethash path *read-files*)))
    (unless known
      (let ((string (source-string path)))
        (setf known (cons string (and string (file-forms string)))
              (gethash path *read-files*) known)))
    (values (car known) (cdr known))))

(defun source-file (source)
  "Native name of the file of SOURCE, a definition source, if it is there."
  (ignore-errors
   (let ((pathname (sb-introspect:definition-source-pathname source)))
     (and pathname (native-namestring (truename pathname))))))

(defun source-line (source path)
  "The line of the file PATH in which SOURCE begins, or NIL."
  (or (getf (sb-introspect:definition-source-plist source) :cadre-line)
      (let ((offset (sb-introspect:definition-source-character-offset source))
            (string (read-forms-of path)))
        (and offset string (<= offset (length string))
             (place-line (advance-place (make-place) string (skip-blank string offset)))))))

(defun form-defines-p (form name)
  "True when FORM defines what is called NAME, a text."
  (and (definition-form-p form)
       (string= name (defined-name (second (text-form-words form))))))

(defun form-near (forms name line)
  "That of FORMS which defines NAME nearest to LINE, since a file may have changed; else the one
that LINE is in, such as a structure for its accessors."
  (let ((named (remove-if-not (lambda (form) (form-defines-p form name)) forms)))
    (cond (named (first (sort (copy-list named) #'<
                              :key (lambda (form) (abs (- (text-form-line form) (or line 1)))))))
          (line (find-if (lambda (form) (<= (text-form-line form) line)) forms :from-end t)))))

(defun compared-name (name)
  "The NAME of a function or symbol as DEFINED-NAME has it."
  (if (consp name)
      (text "(SETF " (symbol-name (second name)) ")")
      (symbol-name name)))

;;; --- find-definition ----------------------------------------------------------------------------

(defparameter *definition-kinds*
  '(:function :generic-function :macro :compiler-macro :setf-expander :variable :constant
    :symbol-macro :class :structure :condition :type :method-combination :package :alien-type)
  "What a name may be the name of, beside methods.")

(defun definition-sources (name)
  "Definition sources of NAME, a symbol or (SETF symbol), of all kinds but methods."
  (loop for kind in *definition-kinds*
        append (ignore-errors (sb-introspect:find-definition-sources-by-name name kind))))

(defun methods-called (name)
  "The methods of the generic function NAME that somebody has written."
  (let ((function (and (fboundp name) (ignore-errors (fdefinition name)))))
    (and (typep function 'generic-function)
         (remove-if #'accessor-method-p (sb-mop:generic-function-methods function)))))

(defun accessed-classes (name)
  "Names of the classes whose slots the function NAME reads or writes."
  (let ((function (and (fboundp name) (ignore-errors (fdefinition name)))))
    (and (typep function 'generic-function)
         (loop for method in (sb-mop:generic-function-methods function)
               when (accessor-method-p method)
                 collect (class-name (first (last (sb-mop:method-specializers method))))))))

(defun accessor-method-p (method)
  "True for a METHOD that a slot's definition made."
  (typep method 'sb-mop:standard-accessor-method))

(defun method-words (method)
  "Words by which a file's form for METHOD is found, as FORM-MATCHES-P wants them."
  (let ((name (sb-mop:generic-function-name (sb-mop:method-generic-function method))))
    (append (list "defmethod" (compared-name name))
            (mapcar #'prin1-to-string (method-qualifiers method))
            (list (format nil "(~{(_ ~A)~^ ~})"
                          (mapcar (lambda (specializer)
                                    (plain-name (specializer-label specializer)))
                                  (sb-mop:method-specializers method)))))))

(defun clipped-text (text limit)
  "TEXT, or its beginning up to about LIMIT characters with a line that says so."
  (if (<= (length text) limit)
      text
      (text (subseq text 0 limit) (string #\Newline) "[" (- (length text) limit)
            " more characters]")))

(defun file-definition (path form string loaded)
  "FORM of STRING, the text of the file PATH, as an object."
  (object "title" (form-title form)
          "path" path
          "line" (text-form-line form)
          "text" (clipped-text (text-form-text string form) +definition-octets+)
          "loaded" (json-boolean loaded)))

(defun source-definition (source find)
  "The definition at SOURCE as an object, or NIL when nothing is known of it. FIND gives its form,
of forms and the line where it was; or NIL."
  (let* ((path (source-file source))
         (evaluation (getf (sb-introspect:definition-source-plist source) :cadre-evaluation))
         (pathname (sb-introspect:definition-source-pathname source)))
    (cond (path
           (multiple-value-bind (string forms) (read-forms-of path)
             (let ((form (and string (funcall find forms (source-line source path)))))
               (if form
                   (file-definition path form string t)
                   (object "path" path "line" (source-line source path) "loaded" :true)))))
          (evaluation (object "evaluation" evaluation "loaded" :true))
          (pathname (object "path" (namestring pathname) "loaded" :true)))))

(defun method-definition (method)
  "The definition of METHOD as an object, or NIL."
  (let ((source (ignore-errors (sb-introspect:find-definition-source method)))
        (words (method-words method)))
    (and source
         (source-definition source
                            (lambda (forms line)
                              (declare (ignore line))
                              (find-if (lambda (form) (form-matches-p form words)) forms))))))

(defun same-definition-p (one other)
  "True when the objects ONE and OTHER are the same place."
  (loop for member in '("path" "line" "evaluation")
        always (equal (member-of one member) (member-of other member))))

(defun image-definitions (name)
  "The definitions of NAME that the image knows, as objects."
  (let ((label (compared-name name)))
    (remove-duplicates
     (remove nil (append (mapcar (lambda (source)
                                   (source-definition source
                                                      (lambda (forms line)
                                                        (form-near forms label line))))
                                 (definition-sources name))
                         (mapcar #'method-definition (methods-called name))
                         (mapcan #'image-definitions (accessed-classes name))))
     :test #'same-definition-p :from-end t)))

(defun own-symbols-called (symbol-name)
  "The symbols of that name that packages of the user define."
  (loop for package in (sort (user-packages) #'string<)
        for symbol = (find-symbol symbol-name package)
        when (and symbol (own-definition-p symbol)) collect symbol into symbols
        finally (return (remove-duplicates symbols))))

(defun workspace-definitions (wanted)
  "Definitions of WANTED, words, that files of the workspace have and the image does not."
  (loop for path in (workspace-lisp-files)
        for (string . forms) = (multiple-value-list (read-forms-of path))
        append (and string
                    (loop for form in (first forms)
                          when (and (definition-form-p form) (form-matches-p form wanted))
                            collect (file-definition path form string nil)))))

(defun setf-name-text (string)
  "The part of STRING that is X of (setf X), or NIL."
  (and (> (length string) 7)
       (string-equal "(setf " string :end2 6)
       (string-trim " " (subseq string 6 (1- (length string))))))

(defun names-meant (request string)
  "The symbols or lists (SETF symbol) that STRING may mean: that of its package; without a prefix
also those of other packages, if that is not defined."
  (let* ((inner (setf-name-text string))
         (text (or inner string))
         (symbol (ignore-errors (named-symbol request text)))
         (symbols (if (or (position #\: text) (member-of request "package")
                          (and symbol (own-definition-p symbol)))
                      (and symbol (list symbol))
                      (append (and symbol (list symbol)) (own-symbols-called (unbar text))))))
    (mapcar (lambda (symbol) (if inner (list 'setf symbol) symbol))
            (remove-duplicates symbols))))

(defun words-wanted (string)
  "The words of STRING without package prefixes: of a form, or a name alone."
  (let ((words (words-of-text string)))
    (cond ((null words) nil)
          ((setf-name-text string) (list (text "(setf " (plain-name (second words)) ")")))
          ((null (rest words)) (list (plain-name (first words))))
          (t words))))

(defun mark-loaded (definitions loaded)
  "DEFINITIONS, those said to be loaded that are among LOADED."
  (loop for definition in definitions
        collect (if (member definition loaded :test #'same-definition-p)
                    (replace-members definition "loaded" :true)
                    definition)))

(define-operation "find-definition" (call request)
  "Where a name is defined, with the text."
  (setf (call-phase call) "inspect")
  (let* ((*read-files* (make-hash-table :test #'equal))
         (string (string-trim " " (required-string request "name")))
         (wanted (words-wanted string))
         (found (if (rest wanted)
                    (mark-loaded (workspace-definitions wanted)
                                 (mapcan #'image-definitions
                                         (names-meant request (second wanted))))
                    (or (mapcan #'image-definitions (names-meant request string))
                        (and wanted (workspace-definitions wanted))))))
    (if (null found)
        (list "found" :false
              "message" (text "No definition of " string
                              " is known to the session or found in the workspace's files."))
        (list "found" :true
              "total" (length found)
              "definitions" (coerce (subseq found 0 (min +definitions-limit+ (length found)))
                                    'simple-vector)))))

;;; --- find-references ----------------------------------------------------------------------------

(defparameter *reference-kinds*
  '(("callers" ("calls" sb-introspect:who-calls) ("expands" sb-introspect:who-macroexpands))
    ("references" ("references" sb-introspect:who-references) ("binds" sb-introspect:who-binds)
     ("sets" sb-introspect:who-sets))
    ("methods" ("specializes" specializing-methods)))
  "What one may ask for, by the member of the answer that has it, and who knows.")

(defun specializing-methods (symbol)
  "Names and sources of the methods that specialize on the class SYMBOL names, or on SYMBOL itself."
  (let ((class (find-class symbol nil)))
    (loop for method in (append
                         (and class (sb-mop:specializer-direct-methods class))
                         (ignore-errors (sb-mop:specializer-direct-methods
                                         (sb-mop:intern-eql-specializer symbol))))
          for source = (ignore-errors (sb-introspect:find-definition-source method))
          unless (or (null source) (accessor-method-p method) (slot-accessor-method-p method))
            collect (cons method source))))

(defstruct user
  name                                  ; of a function or other definition; or a method
  source                                ; its definition source
  kinds)                                ; how it uses the symbol

(defun users-of (symbol questions)
  "The USERs of SYMBOL by QUESTIONS, lists of a kind and a function, in order of their names."
  (let ((users '()))
    (loop for (kind question) in questions
          do (loop for (name . source) in (ignore-errors (funcall question symbol))
                   for known = (find name users :key #'user-name :test #'equal)
                   do (if known
                          (pushnew kind (user-kinds known) :test #'string=)
                          (push (make-user :name name :source source :kinds (list kind)) users))))
    (sort users #'string< :key (lambda (user) (user-label (user-name user))))))

(defun user-label (name)
  "NAME of a user as text."
  (cond ((typep name 'method) (text "(METHOD " (member-of (method-object name) "text") ")"))
        ((and (consp name) (member (first name) '("FAST-METHOD" "SLOW-METHOD") :test #'string=))
         (text "(METHOD " (function-name-text (second name))
               (format nil "~{ ~A~})" (mapcar (lambda (part) (one-line (printed part)))
                                             (cddr name)))))
        (t (function-name-text name))))

(defun user-form (name forms line)
  "That of FORMS which is the definition NAME of a user, at LINE as far as that is known."
  (cond ((typep name 'method)
         (let ((words (method-words name)))
           (find-if (lambda (form) (form-matches-p form words)) forms)))
        ((and (consp name) (not (eq (first name) 'setf)))
         (and line
              (find-if (lambda (form) (<= (text-form-line form) line)) forms :from-end t)))
        (t (form-near forms (compared-name name) line))))

(defun uses-in-form (symbol string form)
  "The first lines of FORM of STRING that have SYMBOL, as objects."
  (let ((lines '()))
    (loop for (start) in (symbol-places string (list form) symbol)
          do (pushnew (cons (place-line (advance-place (make-place) string start))
                            (string-trim " " (line-around string start)))
                      lines :key #'car))
    (let ((lines (sort lines #'< :key #'car)))
      (map 'simple-vector
           (lambda (use) (object "line" (car use) "text" (cut (cdr use) 120)))
           (subseq lines 0 (min +uses-limit+ (length lines)))))))

(defun user-item (symbol user)
  "USER of SYMBOL as an object."
  (let* ((name (user-name user))
         (source (user-source user))
         (path (source-file source))
         (line (and path (source-line source path)))
         (evaluation (getf (sb-introspect:definition-source-plist source) :cadre-evaluation)))
    (multiple-value-bind (string forms) (and path (read-forms-of path))
      (let* ((form (and string (user-form name forms line)))
             (line (if form (text-form-line form) line)))
        (object "name" (user-label name)
                "kinds" (sorted-texts (user-kinds user))
                "source" (cond (path (text path (if line ":" "") (if line (decimal line) "")))
                               (evaluation (text "evaluation " evaluation))
                               (t (ignore-errors (source-place source))))
                "uses" (and form (uses-in-form symbol string form)))))))

(defun user-members (symbol member questions)
  "Members of the answer that list the users of SYMBOL by QUESTIONS, and count them."
  (let ((users (users-of symbol questions)))
    (list member (map 'simple-vector (lambda (user) (user-item symbol user)) (first-of users))
          (text member "_total") (length users))))

(define-operation "find-references" (call request)
  "Who calls, expands, reads, binds, sets or specializes on what a symbol names."
  (setf (call-phase call) "inspect")
  (let ((*read-files* (make-hash-table :test #'equal))
        (symbol (symbol-argument request (required-string request "name")))
        (wanted (member-of request "kind")))
    (list* "found" :true
           "symbol" (full-name symbol)
           (loop for (member . questions) in *reference-kinds*
                 append (user-members symbol member
                                      (if wanted
                                          (remove wanted questions :key #'first
                                                                   :test-not #'equal)
                                          questions))))))
