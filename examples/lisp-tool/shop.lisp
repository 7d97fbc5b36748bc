(defpackage :shop (:use :cl) (:export #:price))
(in-package :shop)

(defparameter *prices* '(("lamp" . 49.5) ("desk" . 310.0)))

(declaim (ftype (function (string &key (:quantity integer)) number) price))
(defun price (item &key (quantity 1))
  "Price of a quantity of an item"
  (let ((price (cdr (assoc item *prices* :test #'string-equal))))
    (unless price
      (error "We do not sell ~a." item))
    (* quantity price)))
