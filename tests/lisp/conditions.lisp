;;;; Reports of conditions and restarts.

(in-package "CADRE-AGENT")

(define-condition failing-report (error) ()
  (:report (lambda (condition stream) (error "in the report of ~A" (type-of condition)) stream)))

(define-condition silent-error (error) ()
  (:report (lambda (condition stream) (declare (ignore condition stream)))))

(define-condition slotted-error (error)
  ((size :initarg :size) (unbound)))

(define-test "conditions: messages"
  (flet ((message (&rest arguments) (condition-message (apply #'make-condition arguments))))
    (check (message 'simple-error :format-control "a ~S~%" :format-arguments '((1 2))) "a (1 2)")
    (check (message 'silent-error) "(SILENT-ERROR without a message)")
    (check (message 'failing-report) "(the report of this FAILING-REPORT failed: SIMPLE-ERROR)")
    (let ((long (message 'simple-error :format-control (make-string 5000 :initial-element #\a))))
      (check (length long) 4000)
      (check (subseq long 3996) "a..."))))

(define-test "conditions: classes and slots"
  (check (condition-superclasses (make-condition 'division-by-zero))
         #("COMMON-LISP:ARITHMETIC-ERROR" "COMMON-LISP:ERROR" "COMMON-LISP:SERIOUS-CONDITION"
           "COMMON-LISP:CONDITION"))
  (check (condition-slots (make-condition 'slotted-error :size '(1 2)))
         (vector (object "name" "SIZE" "value" "(1 2)")))
  (check (condition-slots (make-condition 'simple-error :format-control "x")) #()))

(define-test "conditions: restarts"
  (flet ((first-restart ()
           (member-of (svref (restart-objects (compute-restarts)) 0) "description")))
    (check (with-simple-restart (skip "Skip ~D." 3) (first-restart)) "Skip 3.")
    (check (restart-case (first-restart) (go-on ())) "go-on")
    (check (restart-case (first-restart)
             (odd () :report (lambda (stream) (declare (ignore stream)) (error "no"))))
           "odd")))

(define-test "conditions: hints"
  (as-user
    (evaluate-as-user "(defun square-root (x) x)" "(defvar *speed* 1)")
    (check (condition-hint (make-condition 'undefined-function
                                           :name (read-from-string "square-rot")))
           "did you mean SQUARE-ROOT?")
    (check (condition-hint (make-condition 'unbound-variable :name (read-from-string "*sped*")))
           "did you mean *SPEED*?")
    (check (condition-hint (make-condition 'simple-error :format-control "x")) nil)))
