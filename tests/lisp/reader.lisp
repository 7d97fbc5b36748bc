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

;;; --- forms of a text ----------------------------------------------------------------------------

(defun form-places (text)
  "Form, line and column of each form of TEXT."
  (let ((source (make-source-text text)) (call (make-call)))
    (loop for form = (read-form call source source)
          until (eq form source)
          collect (list form
                        (place-line (source-text-place source))
                        (place-column (source-text-place source))))))

(define-test "reader: places of forms"
  (check (form-places "") '())
  (check (form-places (format nil "~C1" (code-char #xfeff))) '((1 1 1))) ; a byte order mark
  (check (form-places (format nil "1 (2~%3) ; c~%  #| x~% |# 4")) '((1 1 1) ((2 3) 1 3) (4 4 5)))
  (check (form-places (format nil "\"a~%b\" :c")) `((,(format nil "a~%b") 1 1) (:c 2 4)))
  (check (form-places (format nil "#+nil (no)~%5")) '((5 1 1))))

(define-test "reader: the beginning of a form is cut"
  (let ((source (make-source-text (format nil "  (~A)" (make-string 100 :initial-element #\x)))))
    (source-next-place source)
    (check (length (form-beginning source)) 60)
    (check (subseq (form-beginning source) 0 3) "(xx")))

;;; --- what is wrong with a text ------------------------------------------------------------------

(defun reading-problem (text)
  "Message, line and column for the first form of TEXT that cannot be read; or the type of a
condition that is not about the text itself."
  (let ((source (make-source-text text)) (call (make-call)))
    (handler-case (loop until (eq source (read-form call source source)))
      (error (condition)
        (if (reader-condition-p condition source)
            (multiple-value-bind (message place) (reader-message condition source)
              (list message (place-line place) (place-column place)))
            (type-of condition))))))

(define-test "reader: messages have the place, and neither stream nor position of SBCL"
  (check (reading-problem "1 (2)") nil)
  (check (reading-problem ")") '("unmatched close parenthesis at line 1, column 1" 1 1))
  (check (reading-problem (format nil "(list 1)~% ) x"))
         '("unmatched close parenthesis at line 2, column 2" 2 2))
  (check (reading-problem "a ,b") '("Comma not inside a backquote. at line 1, column 3" 1 3))
  (check (reading-problem "#<x>") '("illegal sharp macro character: #\\< at line 1, column 2" 1 2))
  (check (first (reading-problem "cl:nosuch"))
         "Symbol \"NOSUCH\" not found in the COMMON-LISP package. at line 1, column 9")
  (let ((message (first (reading-problem "1/0"))))
    (check (and (search "(line 1, column 3)" message) t))
    (check (search "#<" message) nil)))

(define-test "reader: an end of input is about the form it is in"
  (check (rest (reading-problem (format nil "1~% (2 #|"))) '(2 2))
  (check (and (search "a block comment is open since line 2, column 5"
                      (first (reading-problem (format nil "1~% (2 #|"))))
              t)))

(define-test "reader: an error of #. or of another stream is not about the text"
  (check (reading-problem "#.(error \"x\")") 'simple-error)
  (check (reading-problem "#.(read-from-string \"(1\")") 'end-of-file))
