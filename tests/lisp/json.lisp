;;;; JSON of the control channel.

(in-package "CADRE-AGENT")

(defun octets (text)
  (coerce (sb-ext:string-to-octets text :external-format :utf-8) 'octets))

(defun parse (text)
  (let ((octets (octets text))) (parse-json octets (length octets))))

(defun written (value)
  (sb-ext:octets-to-string (json-text value) :external-format :utf-8))

(defun refused-p (text)
  (handler-case (progn (parse text) nil) (json-error () t)))

(define-test "json: reading"
  (check (parse "{}") '(:object))
  (check (parse " [1, -2 ,3.5e1,\"a\"] ") #(1 -2 35d0 "a"))
  (check (parse "{\"a\":{\"b\":[]},\"c\":null}") '(:object "a" (:object "b" #()) "c" :null))
  (check (parse "[true,false]") #(:true :false))
  (check (parse "123456789012345678901234567890") 123456789012345678901234567890)
  (dolist (text '("0" "-0" "7" "999999999999999999" "1000000000000000000" "9999999999999999999"
                  "-12"))
    (let ((integer (parse-integer text)))
      (check (parse text) integer)
      (check (parse (format nil "[~A,~A ]" text text)) (vector integer integer))))
  (check (parse "[1e2,10.5,100000000000000000e1]") #(100d0 10.5d0 1d18))
  (check (parse "1.7976931348623157e308") most-positive-double-float)
  (check (parse "5e-324") 4.9406564584124654d-324)
  (check (parse "0.1") 0.1d0)
  (check (parse "\"\\u00e4\\n\\\"\\\\\\/\"") (format nil "~C~%\"\\/" (code-char #xe4)))
  (check (parse "\"\\ud83d\\ude00\"") (string (code-char #x1f600)))
  (check (parse "\"\\ud83d x\"") (format nil "~C x" (code-char #xfffd)))
  (check (parse "\"\\ude00\"") (string (code-char #xfffd)))
  (check (map 'list #'char-code (parse "\"ä€😀\"")) '(#xe4 #x20ac #x1f600)))

(define-test "json: octets that are no UTF-8, one replacement character each"
  (check (map 'list #'char-code
              (parse-json (coerce '(34 #xff #xe2 #x82 65 34) 'octets) 6))
         '(#xfffd #xfffd #xfffd 65)))

(define-test "json: overlong and surrogate encodings are no UTF-8"
  (check (every (lambda (code) (= code #xfffd))
                (map 'list #'char-code
                     (parse-json (coerce '(34 #xc0 #x80 #xed #xa0 #x80 34) 'octets) 7)))))

(define-test "json: what is no JSON is refused"
  (dolist (text '("" "{" "[1,]" "{\"a\"}" "{\"a\":1,}" "01" "[00]" "-" "[-]" "1." "1e" "+1" "nul"
                  "\"abc" "\"\\x\"" "[1] 2" "\"\\u12\"" "1e999" "'a'"))
    (check (refused-p text)))
  (check (refused-p (format nil "\"a~%b\"")))
  (check (refused-p (concatenate 'string (make-string 600 :initial-element #\[)
                                 (make-string 600 :initial-element #\])))))

(define-test "json: writing"
  (check (written (object "a" 1 "gone" nil "b" #("x" :true :null)))
         "{\"a\":1,\"b\":[\"x\",true,null]}")
  (check (written (format nil "q\"\\~%~C~C" (code-char 1) (code-char 127)))
         "\"q\\\"\\\\\\n\\u0001\\u007f\"")
  (check (written (string (code-char #xd800))) (format nil "\"~C\"" (code-char #xfffd)))
  (check (written -1234567890123) "-1234567890123")
  (check (written 0.5d0) "5.0e-1")
  (check (written sb-ext:double-float-positive-infinity) "null"))

(define-test "json: round trip"
  (dolist (number (list 0.1d0 1d300 -2.5d-10 4.9406564584124654d-324 most-positive-double-float
                        123d0))
    (check (parse (written number)) number))
  (let ((text (coerce (loop for code from 0 below #x3000
                            unless (<= #xd800 code #xdfff) collect (code-char code))
                      'string)))
    (check (string= text (parse (written text)))))

  (check (member-of (parse "{\"a\":1,\"b\":null}") "b" :default) :default))
