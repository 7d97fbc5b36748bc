;;;; Near names, bounded text, names of frames.

(in-package "CADRE-AGENT")

(check (edit-distance "SQUARE" "SQUAR" 2) 1)
(check (edit-distance "ABC" "ABC" 2) 0)
(check (edit-distance "KITTEN" "SITTING" 3) 3)
(check (edit-distance "KITTEN" "SITTING" 2) nil)
(check (edit-distance "A" "ABCDEF" 2) nil)
(check (near-names "SQUAR" '("SQUARE" "SQRT" "EQUAL" "CONS")) '("SQUARE" "EQUAL"))
(check (near-names "XX" '("*" "X" "XYZ")) '())
(check (near-names "LST" '("LIST" "CONS" "LAST")) '("LAST" "LIST"))
(check (did-you-mean '()) nil)
(check (did-you-mean '("A")) "did you mean A?")
(check (did-you-mean '("A" "B" "C")) "did you mean A, B or C?")

;;; bounded text counts what it does not keep, and stops what does not stop
(check (multiple-value-list (with-bounded-text (stream 5 100) (write-string "hello world" stream)))
       '("hello" 11 nil))
(check (third (multiple-value-list
               (with-bounded-text (stream 5 100) (loop (write-char #\a stream))))))
(check (with-bounded-text (stream 100) (format stream "a~%~&b~5Tc")) (format nil "a~%b    c"))

;;; a call that is stopped before it begins has no form yet
(check (let ((call (make-call :number 7 :timeout 1)))
         (setf *stop-early* 7)
         (catch *call-end* (obey-early-stop call))
         (and (search "It had not begun." (member-of (call-error call) "message")) t)))

(check (cut "abcdef" 5) "ab...")
(check (cut "abcde" 5) "abcde")
(check (plural 1 "second") "1 second")
(check (plural 2 "second") "2 seconds")
(check (let ((*print-base* 2) (*print-radix* t)) (text "n=" 10)) "n=10")
(check (replace-all "a.b.c" "." "--") "a--b--c")

;;; backquotes are shown as such, whatever else the text is
(check (printed '`(list ,z ,@(rest y) ,.w)) "`(LIST ,Z ,@(REST Y) ,.W)")
(check (printed '(a `(b `(c ,,d)) (quote e)) :level nil) "(A `(B `(C ,,D)) (QUOTE E))")
(check (printed (sb-int:unquote '(/ 1 0))) ",(/ 1 0)")
(check (let ((*print-case* :downcase)) (printed '`(a ,b))) "`(a ,b)")
(check (printed '`(a b c d e f g h i ,j) :length 3) "`(A B C ...)")
(check (printed '`(a ,(loop repeat 50 collect 'long)) :length nil :limit 20) "`(A ,(LOOP REPEAT...")
(check (warning-text (make-condition 'simple-warning :format-control "no ~S"
                                                     :format-arguments '(`(a ,b))))
       "no `(A ,B)")

;;; who a frame belongs to
(check (base-name '(flet x :in foo)) 'foo)
(check (base-name '(labels y :in (flet x :in bar))) 'bar)
(check (base-name '(:method area (sq))) 'area)
(check (base-name '(setf foo)) 'foo)
(check (and (part-name-p '(:method area (sq))) t))
(check (part-name-p '(sb-pcl::emf area)) nil)
(check (base-name '(lambda (x))) nil)
(check (and (internal-name-p 'sb-kernel:two-arg-+) t))
(check (internal-name-p 'car) nil)
(check (internal-name-p "undefined function") nil)
(check (and (internal-name-p "foreign function: read") t))

;;; names as the user types them
(check (multiple-value-list (split-name "cl:mapcar")) '("CL" "MAPCAR"))
(check (multiple-value-list (split-name "|Foo bar|")) '(nil "Foo bar"))
(check (multiple-value-list (split-name ":key")) '("KEYWORD" "KEY"))

;;; values of functions called as tools
(check (json-value '(:a 1 :b (1 2))) '(:object "a" 1 "b" #(1 2)))
(check (json-value '(("x" . 1) ("y" . nil))) '(:object "x" 1 "y" :null))
(check (json-value (list 1/2 t #\a 'sym)) (vector 0.5d0 :true "a" "SYM"))
(check (gethash "k" (lisp-value (object "k" #(1 :false)))) (vector 1 nil))
(check (tool-type '(integer 0 10)) "int")
(check (tool-type 'hash-table) "map")
(check (tool-type nil) "any")

;;; reports of the profiler: a block about a function of the agent goes as a whole
(defparameter *graph*
  (flet ((other (count name) (format nil "~6D 100.0                   ~A" count name))
         (subject (count name) (format nil "~6D   0.0     37 100.0   ~A" count name)))
    (let ((separator (make-string 72 :initial-element #\-)))
      (list " Count     %  Count     %      Callees" separator
            (other 1 "CADRE-AGENT::RUN-FORM [3]") (subject 1 "EVAL [1]") (other 1 "SPIN [2]")
            separator
            (other 1 "CADRE-AGENT::GUARDED [4]") (subject 1 "CADRE-AGENT::RUN-FORM [3]")
            (other 1 "EVAL [1]") separator
            (subject 1 "CADRE-AGENT::GUARDED [4]") separator
            (other 1 "EVAL [1]") (subject 1 "SPIN [2]") separator ""))))
(check (mapcar #'length (blocks (without-own-lines *graph*))) '(1 2 2))
(check (find-if (lambda (line) (search "CADRE" line)) (without-own-lines *graph*)) nil)
