;;;; Stopping a call.

(in-package "CADRE-AGENT")

(define-test "stop: a call that is stopped before it begins has no form yet"
  (check (let ((call (make-call :number 7 :timeout 1)))
           (setf (agent-early-stop *agent*) 7)
           (catch *call-end* (apply-early-stop call))
           (and (search "It had not begun." (member-of (call-error call) "message")) t))))
