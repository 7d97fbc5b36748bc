;;;; Places in source text, and what is open at its end.

(in-package "CADRE-AGENT")

(defun place-of (text index)
  (let ((place (advance-place (make-place) (coerce text '(simple-array character (*))) index)))
    (list (place-line place) (place-column place))))

(define-test "reader: places"
  (check (place-of "abc" 0) '(1 1))
  (check (place-of (format nil "a~%bc") 3) '(2 2))
  (check (place-of (format nil "a~%") 2) '(2 1))
  (check (place-of "abc" 99) '(1 4)))

(defun skipped (text)
  (skip-blank (coerce text '(simple-array character (*))) 0))

(define-test "reader: skipping blanks and comments"
  (check (skipped "  (a)") 2)
  (check (skipped (format nil "; c~% #| x #| y |# |# z")) 21)
  (check (skipped "#| never ends") 0)
  (check (skipped "   ") 3)
  (check (skipped "#+x y") 0))

(defun open-message (text)
  "What the message for TEXT says after the place where its form starts."
  (let* ((message (end-of-input-message (make-source-text text)))
         (beginning "end of input inside the form that starts at line 1, column 1"))
    (if (eql 0 (search beginning message))
        (subseq message (length beginning))
        message)))

(define-test "reader: end of input"
  (check (open-message "(+ 1 2")
         "; 1 parenthesis is open, the innermost since line 1, column 1")
  (check (open-message (format nil "(a~% (b~%  c"))
         "; 2 parentheses are open, the innermost since line 2, column 2")
  (check (open-message "(a \"b") "; a string is open since line 1, column 4")
  (check (open-message "(a #| b") "; a block comment is open since line 1, column 4")
  (check (open-message "(a |b") "; a symbol in bars is open since line 1, column 4")
  (check (open-message "'") ""))

;;; parentheses in characters, strings, comments and escapes do not count

(defun open-parentheses (text)
  (nth-value 0 (open-constructs (coerce text '(simple-array character (*))) 0)))

(define-test "reader: parentheses in characters, strings, comments and escapes"
  (check (open-parentheses "(+ 1 #\\(") 1)
  (check (open-parentheses "(a \"(\" \\( |(| #|(|# ") 1)
  (check (open-parentheses (format nil "(a ; (~% (b)")) 1))
