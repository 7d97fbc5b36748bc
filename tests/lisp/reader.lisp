;;;; Places in source text, and what is open at its end.

(in-package "CADRE-AGENT")

(defun place-of (text index)
  (let ((place (advance-place (make-place) (coerce text '(simple-array character (*))) index)))
    (list (place-line place) (place-column place))))

(check (place-of "abc" 0) '(1 1))
(check (place-of (format nil "a~%bc") 3) '(2 2))
(check (place-of (format nil "a~%") 2) '(2 1))
(check (place-of "abc" 99) '(1 4))

(defun skipped (text)
  (skip-blank (coerce text '(simple-array character (*))) 0))

(check (skipped "  (a)") 2)
(check (skipped (format nil "; c~% #| x #| y |# |# z")) 21)
(check (skipped "#| never ends") 0)
(check (skipped "   ") 3)
(check (skipped "#+x y") 0)

(defun message-for (text)
  (end-of-input-message (make-source-text text)))

(check (message-for "(+ 1 2")
       "end of input inside the form that starts at line 1, column 1; 1 parenthesis is open, the innermost since line 1, column 1")
(check (message-for (format nil "(a~% (b~%  c"))
       "end of input inside the form that starts at line 1, column 1; 2 parentheses are open, the innermost since line 2, column 2")
(check (message-for "(a \"b")
       "end of input inside the form that starts at line 1, column 1; a string is open since line 1, column 4")
(check (message-for "(a #| b")
       "end of input inside the form that starts at line 1, column 1; a block comment is open since line 1, column 4")
(check (message-for "(a |b")
       "end of input inside the form that starts at line 1, column 1; a symbol in bars is open since line 1, column 4")
;;; parentheses in characters, strings, comments and escapes do not count
(check (nth-value 0 (open-constructs (coerce "(+ 1 #\\(" '(simple-array character (*))) 0)) 1)
(check (nth-value 0 (open-constructs (coerce "(a \"(\" \\( |(| #|(|# " '(simple-array character (*))) 0)) 1)
(check (nth-value 0 (open-constructs (coerce (format nil "(a ; (~% (b)") '(simple-array character (*))) 0)) 1)
(check (message-for "'") "end of input inside the form that starts at line 1, column 1")
