;;;; Reports of the profiler.

(in-package "CADRE-AGENT")

(defparameter *graph*
  (flet ((other (count name) (format nil "~6D 100.0                   ~A" count name))
         (subject (count name) (format nil "~6D   0.0     37 100.0   ~A" count name)))
    (let ((separator (make-string 72 :initial-element #\-)))
      (list " Count     %  Count     %      Callees" separator
            (other 1 "CADRE-AGENT::RUN-FORM [3]") (subject 1 "EVAL [1]") (other 1 "SPIN [2]")
            separator
            (other 1 "CADRE-AGENT::GUARDED [4]") (subject 1 "CADRE-AGENT::RUN-FORM [3]")
            (other 1 "EVAL [1]") separator
            (subject 1 "CADRE-AGENT::GUARDED [4]") separator
            (other 1 "EVAL [1]") (subject 1 "SPIN [2]") separator ""))))

(define-test "profile: a block about a function of the agent is left out"
  (check (mapcar #'length (blocks (without-own-lines *graph*))) '(1 2 2))
  (check (find-if (lambda (line) (search "CADRE" line)) (without-own-lines *graph*)) nil))
