;;;; Messages of the control channel.

(in-package "CADRE-AGENT")

(define-test "channel: little-endian words"
  (let ((octets (octets "01234567")))
    (setf (u32-at octets 2) #x04030201)
    (check octets (coerce '(48 49 1 2 3 4 54 55) 'octets))
    (check (u32-at octets 2) #x04030201)
    (setf (u32-at octets 0) #xffffffff)
    (check (u32-at octets 0) #xffffffff)))

(define-test "channel: a payload is one JSON object"
  (flet ((payload (text &optional (start 0))
           (let ((octets (octets text))) (parse-payload octets start (- (length octets) start)))))
    (check (payload "") '(:object))
    (check (payload "{\"a\":1} ") '(:object "a" 1))
    (check (payload "xx{\"a\":1}" 2) '(:object "a" 1))
    (dolist (text '("[1]" "1" "{" "{} {}" "no"))
      (check (payload text) :malformed))))

(define-test "channel: limits of a request"
  (let ((call (make-request-call 7 (parse "{\"op\":\"evaluate\",\"limits\":{\"timeout\":5}}"))))
    (check (call-number call) 7)
    (check (call-operation call) "evaluate")
    (check (call-timeout call) 5)
    (check (call-max-output call) 20000))
  (check (call-operation (make-request-call 1 (parse "{\"op\":3}"))) "")
  (check (call-max-output (make-request-call 1 (parse "{\"limits\":{\"max_output\":0}}"))) 1))

;;; --- the other side -----------------------------------------------------------------------------

(defun c-constant (line prefix)
  "Name after PREFIX and value when LINE is like `PREFIX_NAME = 1,`; else NIL."
  (let* ((text (string-trim " " line))
         (equals (search " = " text)))
    (and (eql 0 (search prefix text))
         equals
         (cons (subseq text (length prefix) equals)
               (parse-integer text :start (+ equals 3) :junk-allowed t)))))

(defun c-constants (header prefix)
  "Names and values of the constants that begin with PREFIX in the C file HEADER."
  (loop for (nil . line) in (source-lines (merge-pathnames
                                           header (asdf:system-source-directory "cadre-agent")))
        for constant = (c-constant line prefix)
        when constant collect constant))

(defun agent-constant (name)
  "Value of the agent's constant for the C name NAME."
  (symbol-value (find-symbol (text "+" (substitute #\- #\_ name) "+") "CADRE-AGENT")))

(define-test "channel: the agent and src/session/channel.h have the same numbers"
  (let ((constants (c-constants "../src/session/channel.h" "CHANNEL_")))
    (check (>= (length constants) 18))
    (loop for (name . value) in constants
          do (cond ((member name '("GARBAGE" "CLOSED") :test #'string=)) ; never on the wire
                   ((eql 0 (search "FLAG_" name)))
                   ((string= name "PAYLOAD_MAX") (check +payload-limit+ value))
                   (t (check (agent-constant name) value))))))
