;;;; Looking into objects, by path and in pages of their parts (docs/reference/evaluator.md 7).

(in-package "CADRE-AGENT")

(defun part-text (value)
  "VALUE of a variable or part, as text."
  (printed value :length 20 :level 5 :limit 500 :message t))

(defun no-such-path (step object)
  "Fail because OBJECT has no part STEP."
  (fail "no-such-path" (text "There is no part " step " in " (printed object) ".")))

(defun object-slots (object)
  "List of (name . value) of OBJECT's slots; unbound ones are left out."
  (loop for slot in (ignore-errors (sb-mop:class-slots (class-of object)))
        for name = (sb-mop:slot-definition-name slot)
        when (ignore-errors (slot-boundp object name))
          collect (cons (symbol-name name) (slot-value object name))))

(defun unbound-slot-p (object name)
  "True when OBJECT has a slot NAME, bound or not."
  (find name (ignore-errors (sb-mop:class-slots (class-of object)))
        :key #'sb-mop:slot-definition-name :test #'string-equal))

(defun list-cell (list index)
  "The cons with the element INDEX of LIST, which may be dotted, or NIL."
  (loop repeat index while (consp list) do (pop list))
  (and (consp list) list))

(defun part-at-index (object index)
  "The element INDEX of a list or vector."
  (let ((cell (and (consp object) (<= 0 index) (list-cell object index))))
    (cond (cell (car cell))
          ((and (vectorp object) (< -1 index (length object))) (aref object index))
          (t (no-such-path (decimal index) object)))))

;;; Objects whose slots are SBCL's own business have parts that people know.

(defun symbol-parts (symbol)
  "What SYMBOL is the name of."
  (append `(("NAME" . ,(symbol-name symbol)) ("PACKAGE" . ,(symbol-package symbol)))
          (and (boundp symbol) `(("VALUE" . ,(symbol-value symbol))))
          (cond ((macro-function symbol) `(("MACRO" . ,(macro-function symbol))))
                ((fboundp symbol) `(("FUNCTION" . ,(fdefinition symbol)))))
          (let ((class (find-class symbol nil))) (and class `(("CLASS" . ,class))))
          (and (symbol-plist symbol) `(("PLIST" . ,(symbol-plist symbol))))))

(defun function-parts (function)
  "What is known of FUNCTION; the values that a closure has closed over."
  (let ((documentation (ignore-errors (documentation function t)))
        (source (source-text-of function)))
    (append `(("NAME" . ,(sb-kernel:%fun-name function))
              ("ARGLIST" . ,(ignore-errors (sb-introspect:function-lambda-list function))))
            (and documentation `(("DOCUMENTATION" . ,documentation)))
            (and source `(("SOURCE" . ,source)))
            (and (typep function 'generic-function)
                 `(("METHODS" . ,(sb-mop:generic-function-methods function))))
            (and (typep function 'sb-kernel:closure)
                 `(("VALUES" . ,(sb-kernel:%closure-values function)))))))

(defun package-parts (package)
  "Names, uses and symbols of PACKAGE."
  (let ((external '()) (internal 0))
    (do-external-symbols (symbol package) (push symbol external))
    (do-symbols (symbol package)
      (when (eq (symbol-package symbol) package) (incf internal)))
    `(("NAME" . ,(package-name package))
      ("NICKNAMES" . ,(package-nicknames package))
      ("USES" . ,(package-use-list package))
      ("USED-BY" . ,(package-used-by-list package))
      ("EXPORTS" . ,(sort external #'string< :key #'symbol-name))
      ("SYMBOLS" . ,internal))))

(defun class-parts (class)
  "What people ask of CLASS."
  `(("NAME" . ,(class-name class))
    ("SUPERCLASSES" . ,(sb-mop:class-direct-superclasses class))
    ("SUBCLASSES" . ,(sb-mop:class-direct-subclasses class))
    ("PRECEDENCE" . ,(ignore-errors (sb-mop:class-precedence-list class)))
    ("SLOTS" . ,(mapcar #'sb-mop:slot-definition-name
                        (ignore-errors (sb-mop:class-slots class))))
    ("METHODS" . ,(sb-mop:specializer-direct-methods class))))

(defun known-parts (object)
  "List of (name . value) for an object that has neither elements nor slots of the user."
  (typecase object
    (symbol (symbol-parts object))
    (function (function-parts object))
    (package (package-parts object))
    (class (class-parts object))
    (pathname `(("DIRECTORY" . ,(pathname-directory object))
                ("NAME" . ,(pathname-name object))
                ("TYPE" . ,(pathname-type object))
                ("VERSION" . ,(pathname-version object))))
    (ratio `(("NUMERATOR" . ,(numerator object)) ("DENOMINATOR" . ,(denominator object))))
    (complex `(("REALPART" . ,(realpart object)) ("IMAGPART" . ,(imagpart object))))
    (character `(("NAME" . ,(char-name object)) ("CODE" . ,(char-code object))))))

(defun part-by-name (object name)
  "The slot NAME of OBJECT, or what the accessor NAME returns for it."
  (let ((slot (assoc name (or (known-parts object) (object-slots object)) :test #'string-equal))
        (accessor (find-symbol (string-upcase name) (session-package))))
    (cond (slot (cdr slot))
          ((unbound-slot-p object name)
           (fail "no-such-path" (text "The slot " (string-upcase name) " is unbound in "
                                      (printed object) ".")))
          ((and accessor (fboundp accessor)) (funcall accessor object))
          (t (no-such-path name object)))))

(defun index-step-p (object step)
  "True when STEP, a string, is the index of an element of OBJECT."
  (and (or (consp object) (vectorp object))
       (plusp (length step))
       (every #'digit-char-p step)))

(defun table-entry (table form-text)
  "Value in TABLE for the key that FORM-TEXT evaluates to."
  (multiple-value-bind (value found) (gethash (eval (read-from-string form-text)) table)
    (if found value (no-such-path form-text table))))

(defun object-at-path (object label steps from)
  "Follow STEPS from OBJECT, which LABEL names; the parts from FROM on of what is there."
  (let ((labels (list label)))
    (loop while steps
          do (let ((step (pop steps)))
               (setf object
                     (cond ((integerp step)
                            (push (decimal step) labels)
                            (part-at-index object step))
                           ((and (stringp step) (index-step-p object step))
                            (push step labels)
                            (part-at-index object (parse-integer step)))
                           ((not (stringp step))
                            (fail "no-such-path" "A step of a path is an integer or a string."))
                           ((and (hash-table-p object) (string-equal step "key")
                                 (stringp (first steps)))
                            (push (first steps) labels)
                            (table-entry object (pop steps)))
                           (t (push (string-upcase step) labels)
                              (part-by-name object step))))))
    (object-description object (format nil "~{~A~^.~}" (nreverse labels)) (max 0 from))))

(defconstant +page-of-parts+ 50)

(defun cells-of (list)
  "How many conses LIST has: one that is circular, up to where it comes back; at most a million."
  (let ((seen (make-hash-table :test 'eq)))
    (if (ignore-errors (list-length list))
        (list-length list)
        (loop for rest = list then (cdr rest)
              while (and (consp rest) (not (gethash rest seen)) (< (hash-table-count seen) 1000000))
              do (setf (gethash rest seen) t)
              finally (return (hash-table-count seen))))))

(defun list-parts (list from)
  "A page of the elements of LIST by index, and the end of a dotted or circular one."
  (loop with cells = (cells-of list)
        for rest = (loop repeat from while (consp list) do (pop list) finally (return list))
          then (cdr rest)
        for index from from below (+ from +page-of-parts+)
        while (and (consp rest) (< index cells))
        collect (cons (decimal index) (car rest)) into parts
        finally (return (if (or (null rest) (< index cells))
                            parts
                            (append parts (list (cons "CDR" rest)))))))

(defun array-parts (array from)
  "A page of the elements of ARRAY by row-major index."
  (loop for index from from below (min (+ from +page-of-parts+) (array-total-size array))
        collect (cons (if (= 1 (array-rank array))
                          (decimal index)
                          (index-label array index))
                      (row-major-aref array index))))

(defun index-label (array index)
  "The subscripts of the element at the row-major INDEX of ARRAY."
  (let ((subscripts '()))
    (dolist (dimension (reverse (array-dimensions array)))
      (multiple-value-bind (rest subscript) (floor index dimension)
        (push (decimal subscript) subscripts)
        (setf index rest)))
    (format nil "~{~A~^,~}" subscripts)))

(defun table-parts (table from)
  "A page of the entries of TABLE."
  (let ((position 0) (parts '()))
    (maphash (lambda (key value)
               (when (<= from position (+ from +page-of-parts+ -1))
                 (push (cons (printed key :length 10 :level 3 :limit 200) value) parts))
               (incf position))
             table)
    (nreverse parts)))

(defun page-of (parts from)
  "A page of the list PARTS."
  (subseq parts (min from (length parts)) (min (+ from +page-of-parts+) (length parts))))

(defun slot-parts (object from)
  "A page of the slots of OBJECT."
  (page-of (object-slots object) from))

(defun part-count (object)
  "How many parts OBJECT has."
  (typecase object
    (string 0)
    (cons (cells-of object))
    (vector (length object))
    (array (array-total-size object))
    (hash-table (hash-table-count object))
    ((or null (satisfies known-parts)) (length (known-parts object)))
    ((or standard-object structure-object condition) (length (object-slots object)))
    (t 0)))

(defun object-parts (object from)
  "A page of parts as a list of (name . value), beginning with the part FROM."
  (typecase object
    (string '())
    (cons (list-parts object from))
    (vector (let ((end (length object)))
              (loop for index from from below (min (+ from +page-of-parts+) end)
                    collect (cons (decimal index) (aref object index)))))
    (array (array-parts object from))
    (hash-table (table-parts object from))
    ((or null (satisfies known-parts)) (page-of (known-parts object) from))
    ((or standard-object structure-object condition) (slot-parts object from))))

(defun object-description (object path from)
  "JSON of OBJECT and a page of its parts."
  (let* ((parts (object-parts object from))
         (count (part-count object))
         (more (- count from (length parts))))
    (object "path" path
            "type" (printed (type-of object) :limit 200)
            "value" (part-text object)
            "count" (if (stringp object) (length object) (and (plusp count) count))
            "from" (and (plusp from) from)
            "parts" (map 'simple-vector
                         (lambda (part) (object "name" (car part) "value" (part-text (cdr part))))
                         parts)
            "more" (and (plusp more) more))))

;;; --- values -------------------------------------------------------------------------------------

(defun parse-value-name (name)
  "Evaluation and index of \"$3\" or \"$3.1\"; NIL for anything else."
  (let ((dot (position #\. name)))
    (flet ((number-at (start end)
             (and (< start end) (every #'digit-char-p (subseq name start end))
                  (parse-integer name :start start :end end))))
      (when (and (plusp (length name)) (char= #\$ (char name 0)))
        (let ((evaluation (number-at 1 (or dot (length name))))
              (index (if dot (number-at (1+ dot) (length name)) 0)))
          (and evaluation index (values evaluation index)))))))

(defun named-value (name)
  "The value NAME stands for: \"$3\", or a form."
  (multiple-value-bind (evaluation index) (parse-value-name name)
    (if evaluation
        (multiple-value-bind (value found) (kept-value evaluation index)
          (if found value (fail "no-such-value" (missing-value-text evaluation index))))
        (first (evaluate-forms *call* (make-source-text name))))))

(defun value-label (name path)
  "How to show NAME before PATH: \"$3\" is \"$3.0\" there, for \"$3.1\" is its second value."
  (if (and path (parse-value-name name) (not (find #\. name)))
      (text name ".0")
      (one-line name)))

(define-operation "inspect-value" (call request)
  "A value that an evaluation returned, or that of a form, and what is at a path in it."
  (let* ((name (required-string request "value"))
         (object (with-package-argument (request) (named-value name)))
         (steps (member-of request "path"))
         (path (and (vectorp steps) (coerce steps 'list))))
    (setf (call-phase call) "inspect")
    (list "object" (object-at-path object (value-label name path) path
                                   (integer-member request "from" 0)))))
