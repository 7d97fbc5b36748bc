;;;; Texts, names and objects.

(in-package "CADRE-AGENT")

(define-test "printing: texts"
  (check (cut "abcdef" 5) "ab...")
  (check (cut "abcde" 5) "abcde")
  (check (plural 1 "second") "1 second")
  (check (plural 2 "second") "2 seconds")
  (check (let ((*print-base* 2) (*print-radix* t)) (text "n=" 10)) "n=10")
  (check (replace-all "a.b.c" "." "--") "a--b--c"))

(define-test "printing: backquotes are shown as such"
  (check (printed '`(list ,z ,@(rest y) ,.w)) "`(LIST ,Z ,@(REST Y) ,.W)")
  (check (printed '(a `(b `(c ,,d)) (quote e)) :level nil) "(A `(B `(C ,,D)) (QUOTE E))")
  (check (printed (sb-int:unquote '(/ 1 0))) ",(/ 1 0)")
  (check (let ((*print-case* :downcase)) (printed '`(a ,b))) "`(a ,b)")
  (check (printed '`(a b c d e f g h i ,j) :length 3) "`(A B C ...)")
  (check (printed '`(a ,(loop repeat 50 collect 'long))
                  :length nil :limit 20)
         "`(A ,(LOOP REPEAT...")
  (check (warning-text (make-condition 'simple-warning :format-control "no ~S"
                                                       :format-arguments '(`(a ,b))))
         "no `(A ,B)"))

(define-test "printing: names of symbols"
  (check (mapcar #'symbol-label '(car text sb-ext:gc :key))
         '("CAR" "TEXT" "SB-EXT:GC" "KEYWORD:KEY"))
  (check (symbol-label (make-symbol "U")) "#:U")
  (check (mapcar #'qualified-label '(text main car))
         '("CADRE-AGENT::TEXT" "CADRE-AGENT:MAIN" "COMMON-LISP:CAR"))
  (as-user (check (symbol-label 'text) "CADRE-AGENT::TEXT"))
  (check (type-label 1) "FIXNUM")
  (check (type-label (make-condition 'simple-error)) "SIMPLE-ERROR"))

(define-test "printing: the session's package may have been deleted"
  (let ((*package* (make-package "CADRE-TEST-DELETED" :use '())))
    (delete-package *package*)
    (check (package-name (session-package)) "COMMON-LISP-USER")
    (check (symbol-label 'text) "CADRE-AGENT::TEXT")))

(define-test "printing: objects are cut in length, level and characters"
  (check (printed '(1 2 3 4 5 6 7 8 9)) "(1 2 3 4 5 6 7 8 ...)")
  (check (printed '(1 (2 (3 (4 (5))))) :level 3) "(1 (2 (3 #)))")
  (check (printed (make-string 300 :initial-element #\a) :limit 10) "\"aaaaaa...")
  (check (printed (let ((list (list 1 2))) (setf (cddr list) list))) "#1=(1 2 . #1#)"))

(define-test "printing: settings of the user change values, not sentences"
  (let ((*print-base* 2) (*print-length* 1) (*print-level* 0) (*print-readably* t))
    (check (printed '(2 3)) "(10 11)")
    (check (text "line " 10) "line 10")
    (check (plural 3 "frame") "3 frames")))

(define-test "printing: a value printed while another one is being printed"
  (let ((nested (evaluate-as-user
                 "(unless (find-class 'nested nil) (eval '(defstruct nested)))"
                 "(defmethod print-object ((object nested) stream)
                    (let ((list (list 1)))
                      (setf (cdr list) list)
                      (write-string (cadre-agent::printed list) stream)))"
                 "(funcall 'make-nested)"))
        (shared (list 7))
        (*print-circle* t) (*print-pretty* nil))
    (check (prin1-to-string (list shared shared nested)) "(#1=(7) #1# #1=(1 . #1#))")))

(defun unprintable-object ()
  (evaluate-as-user "(unless (find-class 'bad nil) (eval '(defstruct bad)))"
                    "(defmethod print-object ((object bad) stream) (error \"no ~A\" 1))"
                    "(funcall 'make-bad)"))

(define-test "printing: a printer that fails is named"
  (as-user
    (let ((bad (unprintable-object)))
      (check (printed bad) "#<unprintable BAD: SIMPLE-ERROR>")
      (check (printed bad :message t) "#<unprintable BAD: SIMPLE-ERROR: no 1>")
      (check (and (search "(1 #<error printing a BAD" (printed (list 1 bad 3))) t))
      (check (argument-text bad) "#<unprintable BAD: SIMPLE-ERROR>")
      (let ((*plain-arguments* t))      ; its printer is not called
        (check (argument-text bad) "#<BAD>")
        (check (argument-text (list 1 bad "x")) "(1 #<BAD> \"x\")")))))

(define-test "printing: values share one limit, and what is left out is counted"
  (setf *call* (make-call))
  (flet ((values-text (limit &rest values) (multiple-value-list (printed-values values limit))))
    (check (values-text 100 1 "b") '(#("1" "\"b\"") 0 nil))
    (check (values-text 10 "abc" (make-string 50 :initial-element #\x))
           '(#("\"abc\"" "\"xxxx") 47 nil))
    (check (values-text 1 1 'b) '(#("1") 1 nil))
    (check (values-text 10) '(#() 0 nil)))
  (setf *call* nil))
