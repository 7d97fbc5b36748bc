;;;; Lisp functions of the session as tools of programs: JSON in, JSON out.

(in-package "CADRE-AGENT")

;;; --- JSON to Lisp -------------------------------------------------------------------------------

(defun lisp-value (json)
  "JSON as read by json.lisp → what a Lisp programmer expects."
  (cond ((eq json :true) t)
        ((member json '(:false :null)) nil)
        ((object-p json)
         (let ((table (make-hash-table :test 'equal)))
           (loop for (name value) on (cdr json) by #'cddr
                 do (setf (gethash name table) (lisp-value value)))
           table))
        ((simple-vector-p json) (map 'vector #'lisp-value json))
        (t json)))

(defun fits-p (value type)
  "A type that is not known any more is no reason to refuse."
  (handler-case (typep value type) (error () t)))

(defun element-type (type)
  "Type of the elements of the array TYPE."
  (if (and (consp type) (member (first type) '(vector array simple-array)) (rest type))
      (second type)
      t))

(defun text-forms (text type)
  "What a string may stand for, where a string will not do."
  (append
   (when (and (consp type) (member (first type) '(member eql)))
     (remove-if-not (lambda (item) (and (symbolp item) (string-equal item text))) (rest type)))
   (when (fits-p :keyword type) (list (intern (string-upcase text) "KEYWORD")))
   (when (= (length text) 1) (list (char text 0)))
   (when (ignore-errors (subtypep type 'string)) (ignore-errors (list (coerce text type))))))

(defun number-forms (number)
  "Other numbers that NUMBER may stand for."
  (append (when (floatp number) (list (rational number)))
          (loop for type in '(double-float single-float)
                append (ignore-errors (list (coerce number type))))))

(defun vector-forms (vector type)
  "Other sequences that VECTOR may stand for."
  (cons (coerce vector 'list)
        (ignore-errors
         (let ((element-type (element-type type)))
           (list (coerce (map 'vector (lambda (item) (fitting-value item element-type)) vector)
                         type))))))

(defun other-forms (value type)
  "What VALUE may stand for, where TYPE does not accept it."
  (cond ((and (consp type) (eq (first type) 'or))
         (mapcar (lambda (alternative) (fitting-value value alternative)) (rest type)))
        ((stringp value) (text-forms value type))
        ((realp value) (number-forms value))
        ((vectorp value) (vector-forms value type))))

(defun fitting-value (value type)
  "VALUE, which came from JSON, as a value of the declared TYPE when there is such a form of it."
  (if (fits-p value type)
      value
      (loop for form in (other-forms value type)
            when (fits-p form type) return form
            finally (return value))))

;;; --- Lisp to JSON -------------------------------------------------------------------------------
;;;
;;; A list is written as an object only where nothing is lost and it cannot be a list of rows.

(defun key-text (key)
  "KEY of a table or list as the name of a member."
  (typecase key
    (string key)
    (keyword (string-downcase (symbol-name key)))
    (symbol (symbol-name key))
    (t (princ-to-string key))))

(defun distinct-p (keys)
  "True when no two KEYS have the same text."
  (let ((seen (make-hash-table :test 'equal)))
    (loop for key in keys
          never (shiftf (gethash (key-text key) seen) t))))

(defun proper-list-p (value)
  "True for a list with an end."
  (and (listp value) (ignore-errors (list-length value))))

(defun alist-p (value)
  "Entries with distinct names, one of which at least is a dotted pair: rows of a table are not."
  (and (every (lambda (entry)
                (and (consp entry) (typep (car entry) '(and (or string symbol) (not boolean)))))
              value)
       (notevery (lambda (entry) (listp (cdr entry))) value)
       (distinct-p (mapcar #'car value))))

(defun plist-p (value)
  "Distinct keywords and their values, one of which at least is no keyword: a list of names is not."
  (and (evenp (length value))
       (loop for key in value by #'cddr always (keywordp key))
       (loop for (nil each) on value by #'cddr thereis (not (keywordp each)))
       (distinct-p (loop for key in value by #'cddr collect key))))

(defun list-pairs (list)
  "The (key . value) pairs of a property or association list; NIL for any other."
  (cond ((not (proper-list-p list)) '())
        ((plist-p list) (loop for (key each) on list by #'cddr collect (cons key each)))
        ((alist-p list) list)))

(defun float-value (number)
  "NUMBER as a double; fails where JSON has none."
  (let ((float (coerce number 'double-float)))
    (when (or (sb-ext:float-infinity-p float) (sb-ext:float-nan-p float))
      (error "~A has no JSON form." (if (sb-ext:float-nan-p float) "NaN" "An infinite number")))
    float))

(defun pairs-value (pairs depth)
  "JSON object of PAIRS, a list of (key . value)."
  (cons :object (loop for (key . value) in pairs
                      append (list (key-text key) (json-value value depth)))))

(defun table-value (table depth)
  "JSON of a hash table: an object, or an array of pairs when two keys have the same text."
  (let ((pairs (loop for key being the hash-keys of table using (hash-value value)
                     collect (cons key value))))
    (if (distinct-p (mapcar #'car pairs))
        (pairs-value pairs depth)
        (map 'simple-vector
             (lambda (pair)
               (vector (json-value (car pair) depth) (json-value (cdr pair) depth)))
             pairs))))

(defun cons-value (list depth)
  "JSON of LIST: an object, an array, or an array of the two parts of a pair."
  (let ((pairs (list-pairs list)))
    (cond (pairs (pairs-value pairs depth))
          ((proper-list-p list) (map 'simple-vector (lambda (each) (json-value each depth)) list))
          (t (vector (json-value (car list) depth) (json-value (cdr list) depth))))))

(defun json-value (value &optional (depth 0))
  "Lisp VALUE → what json.lisp writes; fails on structures without end."
  (when (> depth 100) (error "The value is nested too deeply or circular; it has no JSON form."))
  (let ((inner (1+ depth)))
    (typecase value
      (null :null)
      ((eql t) :true)
      (integer value)
      ((or ratio float) (float-value value))
      (string (coerce value '(simple-array character (*))))
      (character (string value))
      (keyword (string-downcase (symbol-name value)))
      (symbol (symbol-name value))
      (hash-table (table-value value inner))
      (cons (cons-value value inner))
      (vector (map 'simple-vector (lambda (each) (json-value each inner)) value))
      (t (printed value :limit 2000)))))

(defun result-value (value type)
  "The JSON for VALUE of a function declared to return TYPE: NIL is false, or an empty list, where
the type says so."
  (let ((kind (tool-type type)))
    (cond ((string= kind "bool") (json-boolean value))
          ((and (string= kind "list") (or (proper-list-p value) (vectorp value)))
           (map 'simple-vector (lambda (each) (json-value each 1)) value))
          (t (json-value value)))))

;;; --- lambda lists -------------------------------------------------------------------------------

(defstruct parameter name kind keyword lisp-type)

(defun lambda-list-parameters (lambda-list)
  "Parameters of LAMBDA-LIST, without types."
  (multiple-value-bind (flags required optional rest keys)
      (sb-int:parse-lambda-list lambda-list :silent t)
    (declare (ignore flags))
    (flet ((name-of (item) (if (consp item) (first item) item)))
      (append
       (mapcar (lambda (item) (make-parameter :name (name-of item) :kind "required")) required)
       (mapcar (lambda (item) (make-parameter :name (name-of item) :kind "optional")) optional)
       (mapcar (lambda (item) (make-parameter :name (name-of item) :kind "rest")) rest)
       (mapcar (lambda (item)
                 (let ((specifier (name-of item)))
                   (if (consp specifier)
                       (make-parameter :name (second specifier) :kind "key"
                                       :keyword (first specifier))
                       (make-parameter :name specifier :kind "key"
                                       :keyword (intern (symbol-name specifier) "KEYWORD")))))
               keys)))))

(defun add-declared-types (parameters function-type)
  "Types of the ftype's argument list, position by position and keyword by keyword."
  (let ((section "required") (positional (remove "key" parameters :key #'parameter-kind
                                                                  :test #'string=)))
    (loop for item in (and (consp function-type) (listp (second function-type))
                           (second function-type))
          do (case item
               (&optional (setf section "optional"))
               (&rest (setf section "rest"))
               (&key (setf section "key"))
               (&allow-other-keys)
               (t (if (string= section "key")
                      (let ((parameter (find (first item) parameters :key #'parameter-keyword)))
                        (when parameter (setf (parameter-lisp-type parameter) (second item))))
                      (when positional
                        (setf (parameter-lisp-type (pop positional)) item))))))
    parameters))

(defun tool-type (lisp-type)
  "The program language's name for LISP-TYPE, as far as there is one."
  (flet ((within (type) (ignore-errors (subtypep lisp-type type))))
    (cond ((or (null lisp-type) (member lisp-type '(t *))) "any")
          ((within 'integer) "int")
          ((within 'float) "float")
          ((within 'real) "number")
          ((within 'string) "string")
          ((within 'boolean) "bool")
          ((within 'keyword) "keyword")
          ((within 'hash-table) "map")
          ((within 'sequence) "list")
          (t "any"))))

(defun declared-type (name)
  "The ftype that was declared for NAME, or NIL: a derived one says too little or too much."
  (and (symbolp name)
       (eq (sb-int:info :function :where-from name) :declared)
       (sb-kernel:type-specifier (sb-int:global-ftype name))))

(defun function-argument (request)
  "The function REQUEST names; ends the call when there is none."
  (let ((symbol (symbol-argument request (required-string request "function"))))
    (if (and (fboundp symbol) (not (macro-function symbol)) (not (special-operator-p symbol)))
        symbol
        (not-found (full-name symbol) " is not a function"))))

;;; --- files of tools -----------------------------------------------------------------------------
;;;
;;; The list of loaded files is kept in the image: a reset or rollback undoes it with their effects.

(defstruct tool-file path version problem)

(defun file-version (path)
  "What changes with the file; its date alone is only as fine as a second."
  (ignore-errors
   (with-open-file (stream (sb-ext:parse-native-namestring path))
     (list (file-write-date stream) (file-length stream)))))

(defun find-tool-file (path)
  "The TOOL-FILE of PATH, or NIL."
  (find path (agent-tool-files *agent*) :key #'tool-file-path :test #'string=))

(defun load-is-due-p (path)
  "False when the file as it is now was loaded already: loading it again would only repeat its
effects."
  (let ((file (find-tool-file path)))
    (or (null file) (not (equal (tool-file-version file) (file-version path))))))

(define-operation "load-tool-file" (call request)
  "Load a file that defines tools."
  (let* ((path (required-string request "path"))
         (file (make-tool-file :path path :version (file-version path))))
    (setf (agent-tool-files *agent*)
          (cons file (remove path (agent-tool-files *agent*) :key #'tool-file-path
                                                             :test #'string=)))
    (unwind-protect (evaluate-file call request path)
      (when (call-error call)
        (setf (tool-file-problem file) (member-of (call-error call) "message"))))))

(defun tool-function (request)
  "The function of a tool. When there is none the call ends with the reason, that of its file too."
  (let ((found (catch *call-end* (function-argument request)))
        (path (member-of request "file")))
    (when (null found) (end-call))
    (when (symbolp found) (return-from tool-function found))
    (let* ((file (and path (find-tool-file path)))
           (problem (and file (tool-file-problem file))))
      (end-call (list "found" :false
                      "message" (text (member-of (cons :object found) "message")
                                      (if problem (text "; loading " path " failed: " problem) ""))
                      "load" (json-boolean (and path (load-is-due-p path))))))))

(defun function-parameters (name)
  "Parameters of the function NAME, with declared types."
  (add-declared-types
   (lambda-list-parameters (sb-introspect:function-lambda-list (fdefinition name)))
   (declared-type name)))

(defun result-type (type)
  "Of the first value. SBCL writes one that may be NIL as (values &optional type …)."
  (let ((values (and (consp type) (third type))))
    (if (and (consp values) (eq (first values) 'values))
        (find '&optional (rest values) :test-not #'eq)
        values)))

(define-operation "describe-function" (call request)
  "Signature of a function, for a tool."
  (setf (call-phase call) "inspect")
  (let* ((name (tool-function request))
         (result (result-type (declared-type name))))
    (list "found" :true
          "name" (full-name name)
          "documentation" (symbol-documentation name "FUNCTION")
          "lambda_list" (lambda-list-text (fdefinition name))
          "parameters"
          (map 'simple-vector
               (lambda (parameter)
                 (object "name" (string-downcase (parameter-name parameter))
                         "kind" (parameter-kind parameter)
                         "lisp_type" (and (parameter-lisp-type parameter)
                                          (one-line (printed (parameter-lisp-type parameter))))
                         "type" (tool-type (parameter-lisp-type parameter))))
               (function-parameters name))
          "result_lisp_type" (and result (one-line (printed result)))
          "result_type" (tool-type result))))

;;; --- calling ------------------------------------------------------------------------------------

(defun same-name-p (json-name parameter)
  "True when JSON-NAME means PARAMETER; case and - or _ do not count."
  (flet ((normal (name) (substitute #\- #\_ (string-upcase name))))
    (string= (normal json-name) (normal (symbol-name (parameter-name parameter))))))

(defun member-for (parameter members)
  "The (name value) of MEMBERS that PARAMETER takes, or NIL."
  (loop for (name value) on members by #'cddr
        when (same-name-p name parameter) return (list name value)))

(defun missing-argument (parameter)
  "Fail because PARAMETER has no argument."
  (fail "invalid-argument"
        (text "The argument " (string-downcase (parameter-name parameter)) " is missing.")))

(defun out-of-order (parameter absent)
  "Arguments after an optional one that is absent have no place."
  (fail "invalid-argument"
        (text "The argument " (string-downcase (parameter-name parameter))
              " cannot be given without " (string-downcase (parameter-name absent)) ".")))

(defun argument-value (parameter json)
  "The declared type of a rest parameter is that of each of its values."
  (let ((value (lisp-value json)) (type (or (parameter-lisp-type parameter) t)))
    (if (string= (parameter-kind parameter) "rest")
        (map 'list (lambda (each) (fitting-value each type)) value)
        (fitting-value value type))))

(defun argument-list (parameters members)
  "Arguments for a function with PARAMETERS from the MEMBERS of a JSON object."
  (let ((required (remove "required" parameters :key #'parameter-kind :test-not #'string=)))
    (if (and (= (length parameters) 1) (= (length required) 1)
             (null (member-for (first required) members)))
        (list (argument-value (first required) (cons :object members)))
        (let ((arguments '()) (absent nil))
          (dolist (parameter parameters (nreverse arguments))
            (let ((given (member-for parameter members))
                  (kind (parameter-kind parameter)))
              (cond (given
                     (when absent (out-of-order parameter absent))
                     (let ((value (argument-value parameter (second given))))
                       (cond ((string= kind "key")
                              (push (parameter-keyword parameter) arguments)
                              (push value arguments))
                             ((string= kind "rest")
                              (setf arguments (revappend value arguments)))
                             (t (push value arguments)))))
                    ((string= kind "required") (missing-argument parameter))
                    ((string= kind "optional")
                     (setf absent (or absent parameter))))))))))

(define-operation "call-function" (call request)
  "Call a function with arguments from JSON."
  (let ((arguments (member-of request "arguments" (object))))
    (with-package-argument (request)
      (let ((name (tool-function request)))
        (setf (call-form-number call) 1)
        (let ((values (evaluate-form
                       call
                       `(,name ,@(mapcar (lambda (argument) `',argument)
                                         (argument-list (function-parameters name)
                                                        (cdr arguments)))))))
          (setf (call-phase call) "print")
          (list* "found" :true
                 "value" (result-value (first values) (result-type (declared-type name)))
                 (warning-members call)))))))
