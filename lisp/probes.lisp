;;;; Probes of SBCL's internals, made when the core is built (sessions.md 11).

(in-package "CADRE-AGENT")

(defglobal *probes* '())                ; list of (name ok detail)

(defun probe-objects ()
  (map 'simple-vector
       (lambda (probe)
         (destructuring-bind (name ok detail) probe
           (object "name" name "ok" (json-boolean ok) "detail" detail)))
       *probes*))

(defun run-probes ()
  (setf *probes* '()))
