;;;; Lisp functions of the session as tools of programs: JSON in, JSON out.

(in-package "CADRE-AGENT")

;;; --- conversion ---------------------------------------------------------------------------------

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

(defun key-text (key)
  (typecase key
    (string key)
    (keyword (string-downcase (symbol-name key)))
    (t (princ-to-string key))))

(defun alist-p (value)
  "A list of (keyword or string . value) pairs."
  (and (consp value)
       (listp (cdr (last value)))
       (every (lambda (entry) (and (consp entry) (typep (car entry) '(or keyword string)))) value)))

(defun plist-p (value)
  (and (consp value) (ignore-errors (evenp (list-length value)))
       (loop for key in value by #'cddr always (keywordp key))))

(defun json-value (value &optional (depth 0))
  "Lisp VALUE → what json.lisp writes; fails on structures without end."
  (when (> depth 100) (error "The value is nested too deeply or circular; it has no JSON form."))
  (flet ((inner (value) (json-value value (1+ depth))))
    (typecase value
      (null :null)
      ((eql t) :true)
      (integer value)
      (ratio (coerce value 'double-float))
      (float (coerce value 'double-float))
      (string (coerce value '(simple-array character (*))))
      (character (string value))
      (keyword (string-downcase (symbol-name value)))
      (symbol (symbol-name value))
      (hash-table
       (cons :object (loop for key being the hash-keys of value using (hash-value each)
                           append (list (key-text key) (inner each)))))
      (cons
       (cond ((plist-p value)
              (cons :object (loop for (key each) on value by #'cddr
                                  append (list (key-text key) (inner each)))))
             ((alist-p value)
              (cons :object (loop for (key . each) in value
                                  append (list (key-text key) (inner each)))))
             ((ignore-errors (list-length value)) (map 'simple-vector #'inner value))
             (t (vector (inner (car value)) (inner (cdr value))))))
      (vector (map 'simple-vector #'inner value))
      (t (printed value :limit 2000)))))

;;; --- lambda lists -------------------------------------------------------------------------------

(defstruct parameter name kind keyword lisp-type)

(defun lambda-list-parameters (lambda-list)
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
  "The ftype somebody declared for NAME, or NIL: a derived one says too little or too much."
  (and (symbolp name)
       (eq (sb-int:info :function :where-from name) :declared)
       (sb-kernel:type-specifier (sb-int:global-ftype name))))

(defun function-argument (request)
  (let ((symbol (symbol-argument request (required-string request "function"))))
    (if (and (fboundp symbol) (not (macro-function symbol)) (not (special-operator-p symbol)))
        symbol
        (not-found (full-name symbol) " is not a function"))))

(defun function-parameters (name)
  (add-declared-types
   (lambda-list-parameters (sb-introspect:function-lambda-list (fdefinition name)))
   (declared-type name)))

(defun result-type (type)
  (let ((values (and (consp type) (third type))))
    (if (and (consp values) (eq (first values) 'values))
        (second values)
        values)))

(define-operation "describe-function" (call request)
  (setf (call-phase call) "inspect")
  (let* ((name (function-argument request))
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
  (flet ((normal (name) (substitute #\- #\_ (string-upcase name))))
    (string= (normal json-name) (normal (symbol-name (parameter-name parameter))))))

(defun member-for (parameter members)
  "The (name value) of MEMBERS that PARAMETER takes, or NIL."
  (loop for (name value) on members by #'cddr
        when (same-name-p name parameter) return (list name value)))

(defun missing-argument (parameter)
  (fail "invalid-argument"
        (text "The argument " (string-downcase (parameter-name parameter)) " is missing.")))

(defun argument-list (parameters members)
  "Arguments for a function with PARAMETERS from the MEMBERS of a JSON object."
  (let ((required (remove "required" parameters :key #'parameter-kind :test-not #'string=)))
    (if (and (= (length parameters) 1) (= (length required) 1)
             (null (member-for (first required) members)))
        (list (lisp-value (cons :object members)))
        (let ((arguments '()))
          (dolist (parameter parameters (nreverse arguments))
            (let ((given (member-for parameter members))
                  (kind (parameter-kind parameter)))
              (cond (given
                     (let ((value (lisp-value (second given))))
                       (cond ((string= kind "key")
                              (push (parameter-keyword parameter) arguments)
                              (push value arguments))
                             ((string= kind "rest")
                              (setf arguments (revappend (coerce value 'list) arguments)))
                             (t (push value arguments)))))
                    ((string= kind "required") (missing-argument parameter))
                    ((string= kind "optional")
                     ;; a later optional cannot be given without this one
                     (return (nreverse arguments))))))))))

(define-operation "call-function" (call request)
  (let ((arguments (member-of request "arguments" (object))))
    (with-package-argument (request)
      (let ((name (function-argument request)))
        (setf (call-form-number call) 1)
        (let ((values (evaluate-form
                       call
                       `(,name ,@(mapcar (lambda (argument) `',argument)
                                         (argument-list (function-parameters name)
                                                        (cdr arguments)))))))
          (setf (call-phase call) "print")
          (list* "value" (json-value (first values))
                 (warning-members call)))))))
