;;;; Which tests a run-tests means: those of a system, of a package, of a name.

(in-package "CADRE-AGENT")

;;; --- the systems with the tests of a system -----------------------------------------------------

(defparameter *test-system-names* '("~A/tests" "~A/test" "~A-tests" "~A-test" "~A.tests" "~A.test")
  "What the system with the tests of a system is called where its definition does not say.")

(defun dependency-systems (operation system)
  "Names of the systems that an OPERATION on SYSTEM is said to need."
  (loop for (operator . components) in (asdf "COMPONENT-DEPENDS-ON"
                                             (asdf "MAKE-OPERATION" operation) system)
        append (loop for component in components
                     for name = (cond ((stringp component) component)
                                      ((typep component 'asdf:system)
                                       (asdf "COMPONENT-NAME" component)))
                     when name collect name)))

(defun test-system-names (system)
  "Names of the systems with the tests of SYSTEM, itself left out."
  (let ((name (asdf "COMPONENT-NAME" system)))
    (or (remove name (remove-duplicates (dependency-systems 'asdf:test-op system) :test #'string=)
                :test #'string=)
        (loop for control in *test-system-names*
              for candidate = (format nil control name)
              when (ignore-errors (asdf "FIND-SYSTEM" candidate nil)) collect candidate))))

(defun system-names-with-tests (name)
  "NAME and the systems with its tests; those that were inferred from packages depend on others of
the same primary name, which belong to it."
  (let ((names (list* name (test-system-names (asdf "FIND-SYSTEM" name)))) (known '()))
    (loop while names
          do (let ((name (pop names)))
               (unless (member name known :test #'string=)
                 (push name known)
                 (setf names (append names (inferred-dependencies name))))))
    (nreverse known)))

(defun inferred-dependencies (name)
  "Those dependencies of the system NAME that are files of the same package-inferred system."
  (let ((system (asdf "FIND-SYSTEM" name nil)))
    (and system
         (typep system 'asdf:package-inferred-system)
         (let ((primary (asdf "PRIMARY-SYSTEM-NAME" name)))
           (remove-if-not (lambda (other)
                            (and (string= primary (asdf "PRIMARY-SYSTEM-NAME" other))
                                 (string/= primary other)))
                          (mapcar #'dependency-name (asdf "SYSTEM-DEPENDS-ON" system)))))))

;;; --- whose tests they are -----------------------------------------------------------------------

(defun package-file (package)
  "Native name of the file that defines PACKAGE, or NIL."
  (ignore-errors
   (let ((source (first (sb-introspect:find-definition-sources-by-name
                         (intern (package-name package) "KEYWORD") :package))))
     (native-namestring (truename (sb-introspect:definition-source-pathname source))))))

(defun tests-in-files (tests files)
  "Those of TESTS whose package one of FILES defines."
  (let ((known (make-hash-table :test 'eq)))
    (remove-if-not (lambda (test)
                     (let ((package (test-package test)))
                       (and package
                            (multiple-value-bind (here found) (gethash package known)
                              (if found
                                  here
                                  (setf (gethash package known)
                                        (member (package-file package) files :test #'equal)))))))
                   tests)))

(defun same-test-p (one other)
  "True when ONE and OTHER are the same test, listed at two times."
  (equal (test-name one) (test-name other)))

(defun tests-of-systems (before tests names)
  "Those of TESTS that belong to the systems NAMES: by package; or else those that BEFORE, the tests
there were before they were loaded, did not have; or else those of no known package."
  (let ((files (mapcan #'system-files (copy-list names))))
    (or (remove-if-not (lambda (test)
                         (and (typep (test-key test) 'asdf:component)
                              (member (test-suite test) names :test #'equal)))
                       tests)
        (tests-in-files tests files)
        (set-difference tests before :test #'same-test-p)
        (remove-if #'test-package tests))))

;;; --- what a request names -----------------------------------------------------------------------

(defun select-of-system (name framework)
  "Load the system NAME with its tests: these."
  (let ((before (all-tests framework))
        (*build* (make-build :system name))
        (*compile-verbose* nil) (*load-verbose* nil))
    (load-named-system name nil nil)
    (let ((names (system-names-with-tests name)))
      (dolist (other (rest names)) (asdf "LOAD-SYSTEM" other :verbose nil))
      (or (tests-of-systems before (all-tests framework) names)
          (and (null framework) (list (make-system-test name)))))))

(defun test-called-p (name test)
  "True when NAME means TEST: with its package or without, in any case."
  (let* ((full (test-name test)) (colons (search "::" full)))
    (or (string-equal name full)
        (string-equal (remove-duplicate-colon name) (remove-duplicate-colon full))
        (and colons (string-equal name (subseq full (+ colons 2)))))))

(defun remove-duplicate-colon (name)
  "NAME with one colon between package and symbol."
  (replace-all name "::" ":"))

(defun select-tests (request)
  "The tests that REQUEST means, as far as the image has them."
  (let* ((system (member-of request "system"))
         (package (member-of request "package"))
         (name (member-of request "test"))
         (framework (member-of request "framework"))
         (tests (if system
                    (select-of-system (string-downcase system) framework)
                    (all-tests framework))))
    (when package
      (let ((package (find-package-or-fail package)))
        (setf tests (remove package tests :key #'test-package :test-not #'eq))))
    (when name
      (setf tests (remove-if-not (lambda (test)
                                   (or (test-called-p name test)
                                       (and (test-suite test)
                                            (suite-named-p name (test-suite test)))))
                                 tests)))
    (coerce tests 'simple-vector)))

(defun suite-named-p (name suite)
  "True when NAME means the suite called SUITE."
  (test-called-p name (make-test :name suite)))

(defun known-tests-text (tests)
  "Names of the first of TESTS, for a message."
  (format nil "~{~A~^, ~}~@[ and ~D more~]"
          (mapcar #'test-name (subseq tests 0 (min 10 (length tests))))
          (and (> (length tests) 10) (- (length tests) 10))))

(defun fail-without-tests (request)
  "There is nothing to run: say what there would be."
  (let ((tests (all-tests (member-of request "framework")))
        (wanted (or (member-of request "test") (member-of request "package"))))
    (fail "no-tests"
          (cond ((null tests)
                 (text "There are no tests in the session; `system` names the system to load with "
                       "its tests."))
                (wanted
                 (text "No test, suite or package is called " wanted ". Tests: "
                       (known-tests-text tests) "."))
                (t "The system has no tests.")))))

;;; --- where a test is ----------------------------------------------------------------------------

(defun name-defined-on (line)
  "The second word of LINE when that begins a top-level form, without its package; or NIL."
  (let* ((start (and (plusp (length line)) (char= (char line 0) #\()
                     (position #\Space line)))
         (begin (and start (position-if-not (lambda (char) (find char " (")) line :start start)))
         (end (and begin (position-if (lambda (char) (find char " ()")) line :start begin)))
         (word (and begin (subseq line begin end)))
         (colon (and word (position #\: word :from-end t))))
    (and word (string-left-trim "#:|\"" (subseq word (if colon (1+ colon) 0))))))

(defun definition-line (file name)
  "The line of FILE that begins the definition of NAME, a symbol's name; or NIL."
  (with-open-file (stream (sb-ext:parse-native-namestring file)
                          :external-format '(:utf-8 :replacement #\ufffd)
                          :if-does-not-exist nil)
    (and stream
         (loop for line = (read-line stream nil)
               for number from 1
               while line
               when (string-equal name (or (name-defined-on line) ""))
                 return number))))

(defun find-test-place (test files)
  "File and line of the definition of TEST in one of FILES; NIL when it is not found."
  (let* ((name (test-name test)) (colons (search "::" name))
         (symbol-name (if colons (subseq name (+ colons 2)) name)))
    (dolist (file files)
      (let ((line (definition-line file symbol-name)))
        (when line (return (values file line)))))))

(defun test-files (test names)
  "Files in which TEST may be defined: of the systems NAMES, or of its package's directory."
  (or (mapcan (lambda (name) (ignore-errors (system-files name))) (copy-list names))
      (let ((file (and (test-package test) (package-file (test-package test)))))
        (and file (list file)))))
