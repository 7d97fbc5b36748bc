;;;; Unit tests of the agent's pure parts: sbcl --script tests/lisp/run.lisp
;;;;
;;;; Loads the agent's source into a plain SBCL and prints one line per failed check; the exit code
;;;; is 1 when there is one. What needs processes is tested through the server (tests/e2e, fault).

(require :sb-posix)
(require :sb-introspect)
(require :sb-sprof)

(defvar *root* (merge-pathnames "../../" (directory-namestring *load-truename*)))

(handler-bind ((warning #'muffle-warning))
  (let ((*error-output* (make-broadcast-stream)))
    (with-compilation-unit ()
      (with-open-file (names (merge-pathnames "lisp/files" *root*))
        (loop for name = (read-line names nil)
              while name
              do (load (merge-pathnames (concatenate 'string "lisp/" name) *root*)))))))

(in-package "CADRE-AGENT")

(defvar *checks* 0)
(defvar *failures* 0)

(defmacro check (form &optional (expected t))
  `(let ((value (handler-case ,form (serious-condition (condition) (princ-to-string condition)))))
     (incf *checks*)
     (unless (equalp value ,expected)
       (incf *failures*)
       (format t "FAILED ~S~%  expected ~S~%  got      ~S~%" ',form ,expected value))))

(defun octets (text)
  (coerce (sb-ext:string-to-octets text :external-format :utf-8) 'octets))

(defun parse (text) (let ((octets (octets text))) (parse-json octets (length octets))))
(defun written (value) (sb-ext:octets-to-string (json-text value) :external-format :utf-8))
(defun refused-p (text) (handler-case (progn (parse text) nil) (json-error () t)))

(load (merge-pathnames "json.lisp" *load-truename*))
(load (merge-pathnames "reader.lisp" *load-truename*))
(load (merge-pathnames "texts.lisp" *load-truename*))
(load (merge-pathnames "memory.lisp" *load-truename*))
(load (merge-pathnames "functions.lisp" *load-truename*))

(format t "~D passed, ~D failed~%" (- *checks* *failures*) *failures*)
(sb-ext:exit :code (if (zerop *failures*) 0 1) :abort t)
