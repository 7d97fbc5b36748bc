;;;; Bounded text.

(in-package "CADRE-AGENT")

(define-test "streams: bounded text counts the rest and ends printers that do not stop"
  (check (multiple-value-list (with-bounded-text (stream 5 100)
                                (write-string "hello world" stream)))
         '("hello" 11 nil))
  (check (third (multiple-value-list
                 (with-bounded-text (stream 5 100) (loop (write-char #\a stream))))))
  (check (with-bounded-text (stream 100) (format stream "a~%~&b~5Tc")) (format nil "a~%b    c")))
