;;;; Questions about the image.

(in-package "CADRE-AGENT")

(define-test "introspect: names as the user types them"
  (check (multiple-value-list (split-name "cl:mapcar")) '("CL" "MAPCAR"))
  (check (multiple-value-list (split-name "|Foo bar|")) '(nil "Foo bar"))
  (check (multiple-value-list (split-name ":key")) '("KEYWORD" "KEY")))
