;;;; ASDF systems.

(in-package "CADRE-AGENT")

(defun loaded-systems () '())
