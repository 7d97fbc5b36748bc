;;;; What cadre:show makes of its argument.

(in-package "CADRE-AGENT")

(defun octets-of (&rest octets)
  "OCTETS as the vector that files give."
  (coerce octets 'octets))

(define-test "show: base64"
  (check (base64 (octets-of)) "")
  (check (base64 (octets-of 77)) "TQ==")
  (check (base64 (octets-of 77 97)) "TWE=")
  (check (base64 (octets-of 77 97 110)) "TWFu")
  (check (base64 (octets-of 255 254 253 252)) "//79/A=="))

(define-test "show: kinds"
  (check (octets-p #(1 2 255)) t)
  (check (octets-p #(1 2 256)) nil)
  (check (octets-p #()) nil)
  (check (octets-p "text") nil)
  (check (and (svg-text-p " <svg></svg>") t) t)
  (check (and (svg-text-p "<?xml version='1.0'?><!-- x --><SVG/>") t) t)
  (check (svg-text-p "# about <svg>") nil)
  (check (svg-text-p "") nil)
  (check (mapcar #'rows-p (list '((1) (2)) #((1) (2)) #2A((1)) '(1 2) '((1) . 2) "rows" 3))
         '(t t t nil nil nil nil)))

(define-test "show: tables"
  (check (table-text '((1 "a|b") (2)) '("n" "text") 1000)
         (format nil "| n | text |~%|---|---|~%| 1 | a\\|b |~%| 2 |  |"))
  (check (table-text '((:a 1) (:b 2)) nil 1000)
         (format nil "| a | b |~%|---|---|~%| 1 |  |~%|  | 2 |"))
  (check (table-text '((1) (2) (3)) nil 20)
         (format nil "|  |~%|---|~%| 1 |~%~%[2 more rows]")))
