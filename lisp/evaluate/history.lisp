;;;; The values of evaluations by number: "$3" in tools, (cadre:$ 3) in code.

(defpackage "CADRE"
  (:documentation "What code of the user may call of Cadre.")
  (:use)
  (:export "$" "SHOW" "*VALUE-LENGTH*" "*VALUE-LEVEL*"))

(in-package "CADRE-AGENT")

(defvar cadre:*value-length* 100
  "How many elements of a list or array an answer shows; NIL: all. *PRINT-LENGTH* wins where it is
set.")
(defvar cadre:*value-level* 10
  "How many levels of a value an answer shows; NIL: all. *PRINT-LEVEL* wins where it is set.")

(defglobal *whole-values* nil)          ; true once SHOW-WHOLE-VALUES has been called

(defun show-whole-values ()
  "Let *PRINT-LENGTH* and *PRINT-LEVEL* alone decide how much of a value is shown, as in plain SBCL.
Once in an image: what the user sets afterwards stays."
  (unless *whole-values*
    (setf *whole-values* t
          cadre:*value-length* nil
          cadre:*value-level* nil)))

(defconstant +kept-evaluations+ 64)

(defstruct (kept (:constructor make-kept (number values)))
  number                                ; of the evaluation
  values                                ; a list, of weak pointers when WEAK
  weak)

(defglobal *kept* '())                  ; newest first

(defun weaken (kept)
  "Let go of large values: they stay while something else of the session needs them."
  (unless (kept-weak kept)
    (setf (kept-values kept) (mapcar #'sb-ext:make-weak-pointer (kept-values kept))
          (kept-weak kept) t)))

(defun memory-is-scarce-p ()
  "True when the heap holds so much that old values should not add to it."
  (> (sb-kernel:dynamic-usage) (floor (sb-ext:dynamic-space-size) 4)))

(defun keep-values (number values)
  "Remember the VALUES of the evaluation NUMBER; forget those of the oldest."
  (push (make-kept number values) *kept*)
  (let ((rest (nthcdr (1- +kept-evaluations+) *kept*)))
    (when rest (setf (cdr rest) '())))
  (when (memory-is-scarce-p) (mapc #'weaken (rest *kept*))))

(defun kept-value (number index)
  "The value INDEX, from 0, of the evaluation NUMBER; and whether it is there."
  (let* ((kept (find number *kept* :key #'kept-number))
         (cell (and kept (nthcdr index (kept-values kept)))))
    (cond ((null cell) (values nil nil))
          ((kept-weak kept) (sb-ext:weak-pointer-value (car cell)))
          (t (values (car cell) t)))))

(defun missing-value-text (number index)
  "Why there is no value INDEX of the evaluation NUMBER."
  (let ((kept (find number *kept* :key #'kept-number)))
    (cond ((and kept (< index (length (kept-values kept))))
           (text "The value of evaluation " number " is gone: memory was scarce."))
          (kept (text "Evaluation " number " has " (length (kept-values kept)) " values."))
          (t (text "There is no value of evaluation " number " (any more); the last "
                   +kept-evaluations+ " are kept.")))))

(defun cadre:$ (evaluation &optional (index 0))
  "The value that EVALUATION returned, by default its first."
  (multiple-value-bind (value found) (kept-value evaluation index)
    (if found value (error "~A" (missing-value-text evaluation index)))))
