;;;; Lisp functions as tools: values on their way in and out.

(in-package "CADRE-AGENT")

(define-test "functions: Lisp to JSON"
  (flet ((out (value) (written (json-value value))))
    (check (out '(("lamp" 3) ("lamp" 5) ("chair" 1)))
           "[[\"lamp\",3],[\"lamp\",5],[\"chair\",1]]")
    (check (out '(("lamp" 3) ("chair" 1))) "[[\"lamp\",3],[\"chair\",1]]")
    (check (out '(("lamp" . 3) ("chair" . 1))) "{\"lamp\":3,\"chair\":1}")
    (check (out '(("lamp" . 3) ("lamp" . 1))) "[[\"lamp\",3],[\"lamp\",1]]")
    (check (out '((:count . 2) (:items 1 2))) "{\"count\":2,\"items\":[1,2]}")
    (check (out '((size . 2))) "{\"SIZE\":2}")
    (check (out '((nil . 2))) "[[null,2]]")
    (check (out '(:red :green)) "[\"red\",\"green\"]")
    (check (out '(:a 1 :b nil)) "{\"a\":1,\"b\":null}")
    (check (out '(:a 1 :a 2)) "[\"a\",1,\"a\",2]")
    (check (out '(:a 1 :b)) "[\"a\",1,\"b\"]")
    (check (out '(1 . 2)) "[1,2]")
    (check (out (let ((list (list 1))) (setf (cdr list) list)))
           "The value is nested too deeply or circular; it has no JSON form.")
    (check (out sb-ext:double-float-positive-infinity) "An infinite number has no JSON form.")
    (check (out (list 1 sb-ext:single-float-negative-infinity))
           "An infinite number has no JSON form.")
    (let ((table (make-hash-table :test 'equal)))
      (setf (gethash :a table) 1)
      (check (out table) "{\"a\":1}")
      (setf (gethash "a" table) 2)
      (check (out table) "[[\"a\",1],[\"a\",2]]")))

  (check (written (result-value nil 'list)) "[]")
  (check (written (result-value '(:a 1) 'list)) "[\"a\",1]")
  (check (written (result-value nil 'boolean)) "false")
  (check (written (result-value nil t)) "null"))

(define-test "functions: JSON to Lisp"
  (flet ((in (text type) (fitting-value (lisp-value (parse text)) type)))
    (check (in "[1,2]" 'list) '(1 2))
    (check (in "[1,2]" 'vector) #(1 2))
    (check (in "[1,2]" '(or null cons)) '(1 2))
    (check (in "null" '(or null cons)) nil)
    (check (in "[1,2.5]" '(vector single-float)) #(1f0 2.5f0))
    (check (type-of (in "3" 'single-float)) 'single-float)
    (check (type-of (in "3.5" 'single-float)) 'single-float)
    (check (type-of (in "3" 'double-float)) 'double-float)
    (check (in "3.0" 'integer) 3)
    (check (in "0.5" 'rational) 1/2)
    (check (in "\"a\"" 'keyword) :a)
    (check (in "\"b\"" '(member :a :b)) :b)
    (check (in "\"b\"" '(or null (member :a :b))) :b)
    (check (in "\"z\"" '(member :a :b)) "z")
    (check (in "\"b\"" '(or string keyword)) "b")
    (check (eql (in "\"x\"" 'character) #\x))
    (check (in "\"abc\"" 'list) "abc")
    (check (in "true" 'boolean) t)
    (check (in "[1]" 'no-such-type) #(1))))

(defun rest-tool (first &rest more) (list first more))
(declaim (ftype (function (keyword &rest single-float) list) rest-tool))

(define-test "functions: rest arguments"
  (check (argument-list (function-parameters 'rest-tool) '("first" "x" "more" #(1 2)))
         '(:x 1f0 2f0)))

(defun optional-tool (a &optional (b 2) (c 3)) (list a b c))

(define-test "functions: optional arguments"
  (flet ((arguments (&rest members)
           (progn
             (setf *call* (make-call))
             (or (catch *call-end* (argument-list (function-parameters 'optional-tool) members))
                 (member-of (call-error *call*) "message")))))
    (check (arguments "a" 1) '(1))
    (check (arguments "a" 1 "b" 5) '(1 5))
    (check (arguments "a" 1 "c" 9) "The argument c cannot be given without b.")))

(define-test "functions: values and types"
  (check (json-value '(:a 1 :b (1 2))) '(:object "a" 1 "b" #(1 2)))
  (check (json-value '(("x" . 1) ("y" . nil))) '(:object "x" 1 "y" :null))
  (check (json-value (list 1/2 t #\a 'sym)) (vector 0.5d0 :true "a" "SYM"))
  (check (gethash "k" (lisp-value (object "k" #(1 :false)))) (vector 1 nil))
  (check (tool-type '(integer 0 10)) "int")
  (check (tool-type 'hash-table) "map")
  (check (tool-type nil) "any"))
