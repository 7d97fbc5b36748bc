;;;; Questions about the image (docs/reference/evaluator.md 5 and 8). They intern, bind and define
;;;; nothing.

(in-package "CADRE-AGENT")

;;; --- what a fresh image has ---------------------------------------------------------------------

(defglobal *fresh-symbols* nil)         ; hash table of the symbols defined in the core
(defglobal *fresh-packages* '())        ; names

(defun symbol-defined-p (symbol)
  "True when SYMBOL names a function, variable or class."
  (or (fboundp symbol) (boundp symbol) (find-class symbol nil)))

(defun record-fresh-image ()
  "Called when the core is built: later, what is not in here is the user's."
  (let ((table (make-hash-table :test 'eq)))
    (dolist (package (list-all-packages))
      (do-symbols (symbol package)
        (when (symbol-defined-p symbol) (setf (gethash symbol table) t))))
    (setf *fresh-symbols* table
          *fresh-packages* (mapcar #'package-name (list-all-packages)))))

(defun library-package-p (name)
  "Packages of what Cadre itself loads on demand."
  (or (member name *fresh-packages* :test #'string=)
      (some (lambda (prefix)
              (and (>= (length name) (length prefix)) (string= prefix name :end2 (length prefix))))
            '("ASDF" "UIOP" "SB-"))))

(defun user-packages ()
  "Names of the packages that the user made."
  (remove-if #'library-package-p (mapcar #'package-name (list-all-packages))))

(defun user-symbols (package)
  "Symbols at home in PACKAGE that the fresh image did not define, sorted by name."
  (let ((symbols '()))
    (do-symbols (symbol package)
      (when (and (eq (symbol-package symbol) package)
                 (not (gethash symbol *fresh-symbols*)))
        (pushnew symbol symbols)))
    (sort symbols #'string< :key #'symbol-name)))

;;; --- texts --------------------------------------------------------------------------------------

(defun lambda-list-text (function)
  "Lambda list of FUNCTION as text, or NIL."
  (handler-case
      (let ((lambda-list (sb-introspect:function-lambda-list function)))
        (if lambda-list
            (one-line (printed lambda-list :length nil :level nil :limit 1000))
            "()"))
    (serious-condition () nil)))

(defun full-name (symbol)
  "PACKAGE::NAME, the notation of the introspection tools."
  (text (if (symbol-package symbol) (package-name (symbol-package symbol)) "#")
        "::" (symbol-name symbol)))

(defun function-name-text (name)
  "NAME of a function in the notation of FULL-NAME."
  (cond ((symbolp name) (full-name name))
        ((and (consp name) (eq (first name) 'setf) (symbolp (second name)))
         (text "(SETF " (full-name (second name)) ")"))
        (t (one-line (printed name :length nil :level nil)))))

(defconstant +listed-limit+ 200)

(defun first-of (sequence)
  "As much of SEQUENCE as an answer lists."
  (subseq sequence 0 (min +listed-limit+ (length sequence))))

(defun sorted-texts (texts)
  "TEXTS in order, each once."
  (coerce (sort (remove-duplicates texts :test #'string=) #'string<) 'simple-vector))

;;; --- names --------------------------------------------------------------------------------------

(defun unbar (token)
  "A token as the reader would take it: upcased outside bars."
  (with-output-to-string (out)
    (let ((barred nil))
      (loop for character across token
            do (cond ((char= character #\|) (setf barred (not barred)))
                     (barred (write-char character out))
                     (t (write-char (char-upcase character) out)))))))

(defun split-name (name)
  "Package part (NIL when there is none) and symbol part of NAME."
  (let ((colon (position #\: name)))
    (if colon
        (values (if (zerop colon) "KEYWORD" (unbar (subseq name 0 colon)))
                (unbar (string-left-trim ":" (subseq name colon))))
        (values nil (unbar name)))))

(defun not-found (&rest message)
  "End the call with a result that says what is missing."
  (end-call (list "found" :false "message" (apply #'text message))))

(defun package-argument (request &optional prefix)
  "The package PREFIX or that of REQUEST; by default the session's."
  (let ((name (or prefix (member-of request "package"))))
    (if name
        (or (find-package name) (find-package (string-upcase name))
            (not-found "Package " name " not found"))
        (session-package))))

(defun symbol-argument (request name)
  "The symbol NAME means, without interning it; ends the call when there is none."
  (multiple-value-bind (prefix symbol-name) (split-name name)
    (let ((package (package-argument request prefix)))
      (multiple-value-bind (symbol status) (find-symbol symbol-name package)
        (if status
            symbol
            (not-found "Symbol " symbol-name " not found in package " (package-name package)
                       " (status: NIL)"))))))

(defun symbol-kind (symbol)
  "What SYMBOL is, in one word."
  (cond ((macro-function symbol) "MACRO")
        ((fboundp symbol)
         (if (typep (fdefinition symbol) 'generic-function) "GENERIC-FUNCTION" "FUNCTION"))
        ((find-class symbol nil) "CLASS")
        ((boundp symbol) "VARIABLE")
        (t "SYMBOL")))

;;; --- list-definitions ---------------------------------------------------------------------------

(defun defined-class (symbol)
  "The class SYMBOL names, unless it is only known as a superclass of others."
  (let ((class (find-class symbol nil)))
    (and (not (typep class 'sb-mop:forward-referenced-class)) class)))

;;; A definition is a list of its section, the symbol it is found by, and its name, which is the
;;; symbol or a list (SETF symbol). What a page shows is described only when the page is known: a
;;; session that has loaded libraries has thousands.

(defun symbol-definitions (symbol)
  "The definitions of SYMBOL."
  (let ((setf-name `(setf ,symbol)))
    (append (cond ((special-operator-p symbol) '())
                  ((macro-function symbol) `(("macros" ,symbol ,symbol)))
                  ((fboundp symbol) `(("functions" ,symbol ,symbol))))
            (and (fboundp setf-name) `(("functions" ,symbol ,setf-name)))
            (and (boundp symbol) `(("variables" ,symbol ,symbol)))
            (and (defined-class symbol) `(("classes" ,symbol ,symbol))))))

(defun definition-json (definition package)
  "JSON of DEFINITION. Its name has a prefix when it is not of PACKAGE."
  (destructuring-bind (section symbol name) definition
    (let* ((own (if (eq (symbol-package symbol) package) (symbol-name symbol) (full-name symbol)))
           (shown (if (consp name) (text "(SETF " own ")") own)))
      (cond ((string= section "classes") shown)
            ((string= section "variables")
             (object "name" shown
                     "value" (one-line (printed (symbol-value symbol)
                                                :length 10 :level 3 :limit 200))))
            (t (object "name" shown
                       "lambda_list" (lambda-list-text (if (string= section "macros")
                                                           symbol
                                                           (fdefinition name)))))))))

(defun session-packages ()
  "The packages with definitions of the session: its own, COMMON-LISP-USER, those it made."
  (remove-duplicates (list* (session-package) (find-package "COMMON-LISP-USER")
                            (mapcar #'find-package (sort (user-packages) #'string<)))
                     :from-end t))

(defun listed-definitions (packages type)
  "Definitions of PACKAGES of the TYPE asked for: by section, package and name."
  (let ((all (loop for package in packages
                   append (mapcan #'symbol-definitions (user-symbols package)))))
    (loop for section in '("functions" "variables" "macros" "classes")
          when (member type (list "all" section) :test #'equal)
            append (remove section all :key #'first :test-not #'string=))))

(define-operation "list-definitions" (call request)
  "What the user has defined, in one package or in all that are his."
  (setf (call-phase call) "inspect")
  (let* ((type (member-of request "type" "all"))
         (package (package-argument request))
         (all (listed-definitions (if (member-of request "package")
                                      (list package)
                                      (session-packages))
                                  type))
         (pages (max 1 (ceiling (length all) +listed-limit+)))
         (page (max 1 (min pages (integer-member request "page" 1))))
         (shown (first-of (nthcdr (* (1- page) +listed-limit+) all)))
         (more (and (equal type "all") (= page 1))))
    (flet ((listed (section)
             (map 'simple-vector (lambda (definition) (definition-json definition package))
                  (remove section shown :key #'first :test-not #'string=))))
      (list* "page" page "pages" pages "total" (length all)
             "packages" (and more (first-of (sorted-texts (user-packages))))
             "systems" (and more (first-of (sorted-texts (loaded-systems))))
             (loop for section in '("functions" "variables" "macros" "classes")
                   collect section
                   collect (and (member type (list "all" section) :test #'equal)
                                (listed section)))))))

;;; --- symbols ------------------------------------------------------------------------------------

(defun line-at (pathname offset)
  "Line of the first form at or after the character OFFSET of a file, or NIL."
  (ignore-errors
   (let ((text (coerce (file-text (native-namestring pathname)) '(simple-array character (*)))))
     (place-line (advance-place (make-place) text (skip-blank text offset))))))

(defun source-place (source)
  "file:line of SOURCE, a definition source, or NIL when it has no file."
  (let ((pathname (sb-introspect:definition-source-pathname source))
        (offset (sb-introspect:definition-source-character-offset source)))
    (when pathname
      (let ((line (or (getf (sb-introspect:definition-source-plist source) :cadre-line)
                      (and offset (line-at pathname offset)))))
        (text (namestring pathname) (if line ":" "") (if line (decimal line) ""))))))

(defun evaluation-text (source)
  "The evaluation of SOURCE, a definition source, or NIL."
  (let ((evaluation (getf (sb-introspect:definition-source-plist source) :cadre-evaluation)))
    (and evaluation (text "evaluation " evaluation))))

(defun source-text-of (definition)
  "Where a function, macro, method or class was defined: file:line, or evaluation 7; NIL when that
is not known."
  (ignore-errors
   (let ((source (sb-introspect:find-definition-source definition)))
     (or (source-place source)
         (evaluation-text (if (typep definition 'method)
                              (sb-introspect:find-definition-source
                               (method-body-function definition))
                              source))))))

(defun variable-source-text (symbol)
  "Where the variable SYMBOL was defined: file:line, or NIL."
  (ignore-errors
   (source-place (first (sb-introspect:find-definition-sources-by-name symbol :variable)))))

(defun symbol-documentation (symbol kind)
  "Documentation of SYMBOL as a KIND, or NIL."
  (flet ((text-of (type) (let ((text (ignore-errors (documentation symbol type))))
                           (and (stringp text) (plusp (length text)) text))))
    (cond ((string= kind "CLASS") (text-of 'type))
          ((string= kind "VARIABLE") (text-of 'variable))
          ((string= kind "SYMBOL") nil)
          (t (text-of 'function)))))

(defun kind-matches-p (symbol type)
  "True when SYMBOL is of the TYPE asked for."
  (or (null type)
      (cond ((string= type "function") (and (fboundp symbol) (not (macro-function symbol))
                                            (not (special-operator-p symbol))))
            ((string= type "macro") (macro-function symbol))
            ((string= type "variable") (boundp symbol))
            ((string= type "class") (find-class symbol nil))
            ((string= type "generic-function")
             (and (fboundp symbol) (not (macro-function symbol))
                  (typep (fdefinition symbol) 'generic-function))))))

(defun own-definition-p (symbol)
  "True when the session has defined SYMBOL."
  (let ((package (symbol-package symbol)))
    (and package
         (symbol-defined-p symbol)
         (or (null *fresh-symbols*) (not (gethash symbol *fresh-symbols*)))
         (or (eq package (find-package "COMMON-LISP-USER"))
             (not (library-package-p (package-name package)))))))

(defun search-rank (symbol)
  "Where SYMBOL comes among those found: what the session has defined, what packages export, the
rest."
  (cond ((own-definition-p symbol) 0)
        ((eq :external (nth-value 1 (find-symbol (symbol-name symbol) (symbol-package symbol)))) 1)
        (t 2)))

(defun matching-symbols (pattern package type)
  "Symbols whose name contains PATTERN, of PACKAGE or of all packages, in order of their ranks and
names. What is internal to the agent is nobody's."
  (let ((found (make-hash-table :test 'eq)) (agent (find-package "CADRE-AGENT")))
    (flet ((consider (symbol)
             (when (and (symbol-package symbol)
                        (search pattern (symbol-name symbol) :test #'char-equal)
                        (kind-matches-p symbol type))
               (setf (gethash symbol found) t))))
      (if package
          (do-symbols (symbol package) (consider symbol))
          (dolist (each (remove agent (list-all-packages)))
            (do-symbols (symbol each)
              (when (eq (symbol-package symbol) each) (consider symbol))))))
    (let ((ranked (loop for symbol being the hash-keys of found
                        collect (list (search-rank symbol) (full-name symbol) symbol))))
      (mapcar #'third (sort ranked (lambda (a b)
                                     (or (< (first a) (first b))
                                         (and (= (first a) (first b))
                                              (string< (second a) (second b))))))))))

(define-operation "apropos" (call request)
  "Symbols whose names contain a text."
  (setf (call-phase call) "inspect")
  (let* ((package (and (member-of request "package") (package-argument request)))
         (symbols (matching-symbols (required-string request "pattern") package
                                    (member-of request "type"))))
    (list "total" (length symbols)
          "matches" (map 'simple-vector
                         (lambda (symbol) (object "symbol" (full-name symbol)
                                                  "kind" (symbol-kind symbol)))
                         (first-of symbols)))))

(defun specializer-form (specializer)
  "SPECIALIZER of a method as SBCL has it in the method's name."
  (if (typep specializer 'sb-mop:eql-specializer)
      (list 'eql (sb-mop:eql-specializer-object specializer))
      (class-name specializer)))

(defun named-method (name)
  "The method of the NAME (FAST-METHOD function qualifier... (specializer...))."
  (find-if (lambda (method)
             (and (equal (method-qualifiers method) (butlast (cddr name)))
                  (equal (mapcar #'specializer-form (sb-mop:method-specializers method))
                         (first (last name)))))
           (sb-mop:generic-function-methods (fdefinition (second name)))))

(defun user-source-text (user)
  "Where the function or method of the name USER was defined, or NIL."
  (ignore-errors
   (source-text-of (if (and (consp user) (string= (first user) "FAST-METHOD"))
                       (named-method user)
                       (fdefinition user)))))

;;; --- classes ------------------------------------------------------------------------------------

(defun class-label (class)
  "Name of CLASS as text."
  (let ((name (class-name class)))
    (if (symbolp name) (symbol-label name) (one-line (printed name)))))

(defun class-labels (classes)
  "Names of CLASSES."
  (map 'simple-vector #'class-label classes))

(defun name-labels (names)
  "NAMES as texts; NIL without any."
  (and names (map 'simple-vector (lambda (name) (one-line (printed name))) names)))

(defun slot-initform (slot)
  "The initform of SLOT as it was written. That of a condition is kept as a form that returns it."
  (let ((form (sb-mop:slot-definition-initform slot)))
    (if (and (typep slot 'condition-slot)
             (consp form) (eq (first form) 'quote))
        (second form)
        form)))

(defun slot-object (slot)
  "JSON of a slot definition."
  (flet ((ask (reader) (ignore-errors (funcall reader slot))))
    (object "name" (symbol-name (sb-mop:slot-definition-name slot))
            "initargs" (name-labels (ask #'sb-mop:slot-definition-initargs))
            "initform" (and (ask #'sb-mop:slot-definition-initfunction)
                            (one-line (printed (slot-initform slot) :length 20 :level 5)))
            "type" (let ((type (ask #'sb-mop:slot-definition-type)))
                     (and (not (eq type t)) (one-line (printed type))))
            "allocation" (let ((allocation (ask #'sb-mop:slot-definition-allocation)))
                           (and (eq allocation :class) ":CLASS"))
            "readers" (name-labels (ask #'sb-mop:slot-definition-readers))
            "writers" (name-labels (ask #'sb-mop:slot-definition-writers))
            "documentation" (let ((text (ignore-errors (documentation slot t))))
                              (and (stringp text) text)))))

(defun class-precedence (class)
  "Also of a class that has no instances yet; NIL when a superclass is not defined."
  (if (sb-mop:class-finalized-p class)
      (sb-mop:class-precedence-list class)
      (ignore-errors (sb-mop:compute-class-precedence-list class))))

(defun inherited-slot-names (class)
  "Names of the slots that CLASS has from its superclasses."
  (sorted-texts
   (loop for each in (remove class (class-precedence class))
         append (mapcar (lambda (slot) (symbol-name (sb-mop:slot-definition-name slot)))
                        (sb-mop:class-direct-slots each)))))

(defun class-object (class)
  "JSON of CLASS."
  (object "metaclass" (class-label (class-of class))
          "direct_superclasses" (class-labels (sb-mop:class-direct-superclasses class))
          "direct_subclasses" (class-labels (sb-mop:class-direct-subclasses class))
          "precedence" (class-labels (class-precedence class))
          "finalized" (json-boolean (sb-mop:class-finalized-p class))
          "direct_slots" (map 'simple-vector #'slot-object (sb-mop:class-direct-slots class))
          "inherited_slots" (inherited-slot-names class)))

(defun specializer-label (specializer)
  "SPECIALIZER of a method as text."
  (if (typep specializer 'sb-mop:eql-specializer)
      (text "(EQL " (one-line (printed (sb-mop:eql-specializer-object specializer))) ")")
      (class-label specializer)))

(defun method-object (method)
  "JSON of METHOD."
  (let* ((function (sb-mop:method-generic-function method))
         (name (one-line (printed (and function (sb-mop:generic-function-name function)))))
         (qualifiers (mapcar (lambda (qualifier) (one-line (printed qualifier)))
                             (method-qualifiers method)))
         (specializers (mapcar #'specializer-label (sb-mop:method-specializers method))))
    (object "generic_function" name
            "qualifiers" (coerce qualifiers 'simple-vector)
            "specializers" (coerce specializers 'simple-vector)
            "text" (format nil "~A~{ ~A~} (~{~A~^, ~})" name qualifiers specializers)
            "source" (source-text-of method))))

(defun slot-accessor-method-p (method)
  "True for a method that SBCL makes by itself, for slot names that some code uses. It has no name
to call it by."
  (let ((function (sb-mop:method-generic-function method)))
    (and function (slot-accessor-name-p (sb-mop:generic-function-name function)))))

(defun class-methods (class inherited)
  "Methods that specialize on CLASS, or with INHERITED on a superclass."
  (remove-if #'slot-accessor-method-p
             (remove-duplicates
              (loop for each in (if inherited
                                    (remove (find-class t) (class-precedence class))
                                    (list class))
                    append (sb-mop:specializer-direct-methods each)))))

(defun sorted-method-objects (methods)
  "METHODS as JSON, at most as many as an answer lists, in order of their texts."
  (first-of (sort (map 'simple-vector #'method-object methods) #'string<
                  :key (lambda (method) (member-of method "text")))))

;;; --- all about a symbol -------------------------------------------------------------------------

(defun methods-of (symbol function inherited)
  "Methods of the generic function SYMBOL names, and those on the class it names."
  (let ((class (defined-class symbol)))
    (append (and (typep function 'generic-function) (sb-mop:generic-function-methods function))
            (and class (class-methods class inherited)))))

(define-operation "describe-symbol" (call request)
  "All about a symbol: as a function, a variable and a class."
  (setf (call-phase call) "inspect")
  (let* ((symbol (symbol-argument request (required-string request "name")))
         (kind (symbol-kind symbol))
         (function (and (fboundp symbol) (or (macro-function symbol) (fdefinition symbol))))
         (class (find-class symbol nil))
         (methods (methods-of symbol function (true-p (member-of request "inherited")))))
    (list* "found" :true
           "symbol" (full-name symbol)
           "kind" kind
           "arglist" (and function (lambda-list-text (if (macro-function symbol) symbol function)))
           "value" (and (boundp symbol)
                        (one-line (printed (symbol-value symbol) :length 20 :level 3 :limit 500)))
           "documentation" (symbol-documentation symbol kind)
           "source" (if (or function class)
                        (source-text-of (or function class))
                        (variable-source-text symbol))
           "class" (and class (class-object class))
           "methods" (and methods (sorted-method-objects methods))
           "methods_total" (and methods (length methods))
           (hyperspec-members symbol))))

;;; --- memory, completion -------------------------------------------------------------------------

(defun generation-objects ()
  "JSON of the generations of the heap."
  (coerce (loop for number from 0 below sb-vm:+pseudo-static-generation+
                collect (object "number" number
                                "bytes" (generation-bytes number)
                                "collections" (ignore-errors
                                               (sb-ext:generation-number-of-gcs number))))
          'simple-vector))

(defun generation-bytes (number)
  "Bytes on the pages of generation NUMBER."
  (let ((total 0) (size sb-vm:gencgc-page-bytes))
    (declare (type word total))
    (loop for page from 0 below next-free-page
          do (when (and (plusp (page-flags page)) (= number (page-generation page)))
               (incf total size)))
    total))

(define-operation "memory" (call request)
  "Figures about the heap, after a collection if asked for."
  (setf (call-phase call) "inspect")
  (when (true-p (member-of request "gc")) (sb-ext:gc :full t))
  (list "live_bytes" (sb-kernel:dynamic-usage)
        "heap_bytes" (sb-ext:dynamic-space-size)
        "nursery_bytes" (sb-ext:bytes-consed-between-gcs)
        "gc_count" (agent-collection-count *agent*)
        "gc_us" (third (read-clocks))
        "generations" (ignore-errors (generation-objects))))

(defun completion-candidates (prefix package externals-only)
  "Names in PACKAGE that begin with PREFIX."
  (let ((found '()))
    (flet ((consider (symbol)
             (let ((name (symbol-name symbol)))
               (when (and (<= (length prefix) (length name))
                          (string-equal prefix name :end2 (length prefix)))
                 (push name found)))))
      (if externals-only
          (do-external-symbols (symbol package) (consider symbol))
          (do-symbols (symbol package) (consider symbol))))
    (sort (remove-duplicates found :test #'string=) #'string<)))

(define-operation "complete" (call request)
  "Completions of a symbol."
  (setf (call-phase call) "inspect")
  (let* ((prefix (required-string request "prefix"))
         (colon (position #\: prefix :from-end t))
         (head (subseq prefix 0 (if colon (1+ colon) 0)))
         (package (cond ((null colon) (package-argument request))
                        ((string= (string-right-trim ":" head) "") (find-package "KEYWORD"))
                        (t (find-package (string-upcase (string-right-trim ":" head))))))
         (names (and package
                     (completion-candidates (subseq prefix (if colon (1+ colon) 0)) package
                                            (and colon (not (search "::" head))))))
         (convert (if (some #'upper-case-p prefix) #'string-upcase #'string-downcase)))
    (list "total" (length names)
          "completions" (map 'simple-vector
                             (lambda (name) (text head (funcall convert name)))
                             (first-of names)))))
