;;;; Top-level forms of files as text: where they are and what they are called.

(in-package "CADRE-AGENT")

(defun simple-text (&rest lines)
  (coerce (format nil "~{~A~^~%~}" lines) '(simple-array character (*))))

(defun titles-of (&rest lines)
  (multiple-value-bind (forms broken) (file-forms (apply #'simple-text lines))
    (append (mapcar #'form-title forms) (and broken (list broken)))))

(define-test "file forms: titles"
  (check (titles-of ";; c (" "(in-package :a)" "#| ( |#" "(defun f (x) \"(\" #\\( x)" "(x)")
         '("in-package :a" "defun f" "x"))
  (check (titles-of "(defmethod area :before ((s square) x &key y) 1)")
         '("defmethod area :before ((s square) x &key y)"))
  (check (titles-of "(defstruct (point (:conc-name p-)) x y)")
         '("defstruct (point (:conc-name p-))"))
  (check (titles-of "(a" "(b)") '(0))
  (check (titles-of "(a) )") '("a" 4))
  (check (titles-of "") '()))

(define-test "file forms: features and prefixes belong to their form"
  (let* ((text (simple-text "#+(and sbcl x)" "(defun f ())" "#.(g)" "#'(lambda ())"
                            "#1=(a . #1#)"))
         (forms (file-forms text)))
    (check (mapcar #'text-form-start forms) '(0 28 34 48))
    (check (text-form-inner (first forms)) 15)
    (check (text-form-line (first forms)) 2)
    (check (text-form-text text (first forms)) "(defun f ())")))

(define-test "file forms: the package they are read in"
  (check (mapcar #'text-form-package
                 (file-forms (simple-text "(a)" "(in-package #:foo)" "(b)"
                                          "(cl:in-package \"bar\")" "(c)")))
         '(nil nil "FOO" "FOO" "bar")))

(defun matching (wanted &rest lines)
  "Lines of the forms that WANTED calls."
  (let ((words (words-of-text wanted)))
    (mapcar #'text-form-line
            (remove-if-not (lambda (form) (form-matches-p form words))
                           (file-forms (apply #'simple-text lines))))))

(define-test "file forms: found by what people call them"
  (let ((lines '("(defun area (x) x)"
                 "(defmethod area ((s square)) 1)"
                 "(defmethod area ((c shapes:circle)) 2)"
                 "(defmethod area :around ((s square)) 3)"
                 "(defmethod (setf area) (new (s square)) 4)"
                 "(defstruct (point (:copier nil)) x)"
                 "(cl:defvar *x* 1)"
                 "(defmethod eat ((x (eql 'apple)) y) 5)")))
    (flet ((found (wanted) (apply #'matching wanted lines)))
      (check (found "defun area") '(1))
      (check (found "DEFUN Area") '(1))
      (check (found "(defun area)") '(1))
      (check (found "area") '(1 2 3 4))
      (check (found "defmethod area") '(2 3 4))
      (check (found "defmethod area ((s square))") '(2))
      (check (found "defmethod area ((any square))") '(2))
      (check (found "defmethod area :around ((s square))") '(4))
      (check (found "defmethod area :around") '(4))
      (check (found "defmethod (setf area) (new (s square))") '(5))
      (check (found "(setf area)") '())
      (check (found "defstruct point") '(6))
      (check (found "defvar *x*") '(7))
      (check (found "defmethod eat ((x (eql 'apple)) y)") '(8))
      (check (found "defmethod eat ((x (eql 'pear)) y)") '())
      (check (found "defun nothing") '())
      (check (found "") '())
      (check (found "(defun") '()))))
