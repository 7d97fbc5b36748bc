;;;; The health check after each call (docs/reference/sessions.md 8).
;;;;
;;;; User code can redefine what the agent and every later evaluation depend on. A short trial of
;;;; reading, printing and evaluating says whether the image is still usable; if not the
;;;; supervisor rolls it back.
;;;;
;;;; The agent's own functions are behind a package lock, which user code can open. Before each
;;;; snapshot a request is performed on trial, through all that performs requests: a snapshot of an
;;;; agent that cannot answer would fail every call from then on.

(in-package "CADRE-AGENT")

(defglobal *standard-readtable-copy* (copy-readtable nil))

(defglobal *silence* (make-broadcast-stream))

(defmacro check-that (name form)
  "Fail the health check with NAME unless FORM returns true."
  `(unless (handler-case ,form (serious-condition () nil))
     (return-from health-problem ,name)))

(defun list-of-foo-p (value)
  "True for what (CAR 1 2) must be read as."
  (and (consp value) (= (length value) 3)
       (symbolp (first value)) (equal (cdr value) '(1 2))))

(declaim (notinline health-problem))
(defun health-problem ()
  "NIL, or the name of the first check that failed."
  (declare (notinline car cdr format find-package prin1 replace)) ; else bound when compiled
  (let ((probe (list 1 2))
        (*trace-output* *silence*)      ; traces and breaks of the user are not
        (*break-on-signals* nil))       ; for these trials
    (check-that "FIND-PACKAGE" (and (find-package "COMMON-LISP-USER") (find-package "COMMON-LISP")))
    (check-that "CAR" (eql 1 (car probe)))
    (check-that "CDR" (equal (cdr probe) '(2)))
    (check-that "FORMAT" (string= (let ((*print-base* 10) (*print-radix* nil) (*print-pretty* nil))
                                    (format nil "~A ~D" "a" 1))
                                  "a 1"))
    (check-that "HANDLER-CASE" (eq :seen (handler-case (error "trial") (error () :seen))))
    (check-that "READ" (list-of-foo-p
                        (let ((*package* (find-package "COMMON-LISP-USER"))
                              (*readtable* *standard-readtable-copy*) (*read-base* 10))
                          (read-from-string "(CAR 1 2)"))))
    (check-that "READ" (let ((*package* (find-package "COMMON-LISP-USER")) (*read-base* 10))
                         (list-of-foo-p (read-from-string "(CAR 1 2)"))))
    (check-that "REPLACE" (equal '(3 2) (replace probe '(3))))
    (check-that "PRINT" (string= "(1 :A \"b\")"
                                 (with-standard-io-syntax
                                   (with-output-to-string (stream) (prin1 '(1 :a "b") stream)))))
    (check-that "EVAL" (eql 3 (eval '(funcall #'+ 1 2))))
    nil))

;;; --- the agent itself ---------------------------------------------------------------------------

(defconstant +trial-number+ #xFFFFFFFF) ; of no message

(defun answers-trial-p (messages)
  "True when MESSAGES, lists of type, number and payload, are the answer to the request on trial."
  (let ((payload (third (first messages))))
    (and (= 1 (length messages))
         (eql +result+ (first (first messages)))
         (eql +trial-number+ (second (first messages)))
         (true-p (member-of payload "ok"))
         (eql 3 (member-of payload "trial")))))

(declaim (notinline perform-request))
(defun answering-p ()
  "Perform a request on trial; true when the agent has answered it. Errors of other threads stay for
the next real answer."
  (let ((errors (agent-thread-errors *agent*))
        (trial (list :trial)))
    (setf (agent-thread-errors *agent*) '()
          *trial* trial)
    (unwind-protect
         (handler-case
             (without-interrupts        ; a timer of the user would run as part of it
               (perform-request +trial-number+ (object "op" "trial")))
           (serious-condition () nil))
      (setf *trial* nil
            *call* nil
            (agent-thread-errors *agent*) (append (agent-thread-errors *agent*) errors)))
    (ignore-errors (answers-trial-p (rest trial)))))
