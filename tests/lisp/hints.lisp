;;;; "Did you mean": near names.

(in-package "CADRE-AGENT")

(define-test "hints: near names"
  (check (edit-distance "SQUARE" "SQUAR" 2) 1)
  (check (edit-distance "ABC" "ABC" 2) 0)
  (check (edit-distance "KITTEN" "SITTING" 3) 3)
  (check (edit-distance "KITTEN" "SITTING" 2) nil)
  (check (edit-distance "A" "ABCDEF" 2) nil)
  (check (near-names "SQUAR" '("SQUARE" "SQRT" "EQUAL" "CONS")) '("SQUARE" "EQUAL"))
  (check (near-names "XX" '("*" "X" "XYZ")) '())
  (check (near-names "*X*" '("**" "***" "*Y*" "*XY*")) '("*XY*"))
  (check (near-names "++" '("+" "+++")) '("+++"))
  (check (near-names "LST" '("LIST" "CONS" "LAST")) '("LAST" "LIST"))
  (check (did-you-mean '()) nil)
  (check (did-you-mean '("A")) "did you mean A?")
  (check (did-you-mean '("A" "B" "C")) "did you mean A, B or C?"))
