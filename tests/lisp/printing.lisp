;;;; Texts, names and objects.

(in-package "CADRE-AGENT")

(define-test "printing: texts"
  (check (cut "abcdef" 5) "ab...")
  (check (cut "abcde" 5) "abcde")
  (check (plural 1 "second") "1 second")
  (check (plural 2 "second") "2 seconds")
  (check (let ((*print-base* 2) (*print-radix* t)) (text "n=" 10)) "n=10")
  (check (replace-all "a.b.c" "." "--") "a--b--c"))

(define-test "printing: backquotes are shown as such"
  (check (printed '`(list ,z ,@(rest y) ,.w)) "`(LIST ,Z ,@(REST Y) ,.W)")
  (check (printed '(a `(b `(c ,,d)) (quote e)) :level nil) "(A `(B `(C ,,D)) (QUOTE E))")
  (check (printed (sb-int:unquote '(/ 1 0))) ",(/ 1 0)")
  (check (let ((*print-case* :downcase)) (printed '`(a ,b))) "`(a ,b)")
  (check (printed '`(a b c d e f g h i ,j) :length 3) "`(A B C ...)")
  (check (printed '`(a ,(loop repeat 50 collect 'long))
                  :length nil :limit 20)
         "`(A ,(LOOP REPEAT...")
  (check (warning-text (make-condition 'simple-warning :format-control "no ~S"
                                                       :format-arguments '(`(a ,b))))
         "no `(A ,B)"))
