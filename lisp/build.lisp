;;;; Builds the core: compiles and loads the agent, probes SBCL, saves.
;;;;
;;;; Run by scripts/build-core, in an SBCL started with the heap size the core will run with: a
;;;; core run at another size would be patched page by page at every start.

(require :sb-posix)
(require :sb-introspect)
(require :sb-sprof)
(require :asdf)                         ; last: it would look for the others by itself

(defpackage "CADRE-BUILD" (:use "COMMON-LISP"))
(in-package "CADRE-BUILD")

(defun agent-files (source-directory)
  "Names of the files of the system cadre-agent, in the order they are compiled and loaded. The
definition is read as data: ASDF is part of the core for the user, and stays as it was loaded."
  (with-open-file (stream (merge-pathnames "cadre-agent.asd" source-directory))
    (destructuring-bind (defsystem name &key components &allow-other-keys)
        (let ((*package* (find-package "CADRE-BUILD"))) (read stream))
      (declare (ignore defsystem))
      (assert (string= name "cadre-agent"))
      (loop for (type file) in components
            do (assert (eq type :file))
            collect (concatenate 'string file ".lisp")))))

(defun argument (name)
  "The path in an environment variable. Brackets and stars in it are characters like any others."
  (sb-ext:parse-native-namestring
   (or (sb-posix:getenv name) (error "~A is not set; use scripts/build-core" name))))

(defun fasl-file (name scratch-directory)
  "Where the file NAME is compiled to. The folders of the sources are made there too."
  (ensure-directories-exist
   (merge-pathnames (make-pathname :type "fasl" :defaults name) scratch-directory)))

(defun compile-agent (source-directory scratch-directory)
  "Compile and load every file; a warning of the compiler fails the build."
  (let ((*default-pathname-defaults* source-directory)
        (failed nil))
    (proclaim '(optimize (speed 1) (safety 1) (debug 1)))
    (with-compilation-unit ()
      (dolist (name (agent-files source-directory))
        (multiple-value-bind (fasl warnings failure)
            (compile-file name :output-file (fasl-file name scratch-directory))
          (declare (ignore warnings))
          (when failure (setf failed name))
          (load fasl))))
    (when failed (error "compiling ~A gave warnings" failed))))

(let ((*compile-verbose* nil) (*compile-print* nil))
  (handler-bind ((sb-ext:compiler-note #'muffle-warning)
                 ;; Files refer to functions of later files; the unit as a whole is checked. An
                 ;; internal that this SBCL lacks, SB-…::NAME, is found missing by the probes.
                 (warning (lambda (warning)
                            (let ((text (princ-to-string warning)))
                              (when (and (search "undefined" text) (not (search "SB-" text)))
                                (error "the agent uses something undefined: ~A" text)))))
                 (style-warning #'muffle-warning))
    (compile-agent (argument "CADRE_LISP_SOURCE") (argument "CADRE_LISP_SCRATCH"))))

(let ((core (argument "CADRE_CORE")))
  (delete-package "CADRE-BUILD")
  (funcall (intern "PREPARE-IMAGE" "CADRE-AGENT"))
  (funcall (intern "SAVE-CORE" "CADRE-AGENT") core))
