;;;; The test frameworks: which tests there are, and how one is run.
;;;;
;;;; None of them is part of the core: their functions are found by name when they are there. Each
;;;; runs a test so that failures reach the debugger (fork.lisp): by its own switch for that, or by
;;;; a function put around the one that records them.

(in-package "CADRE-AGENT")

(defstruct framework
  (name "" :type string)
  (package "" :type string)             ; there when the framework is loaded
  list                                  ; function of no arguments: its tests
  run)                                  ; function of a test: number of checks; why it was skipped

(defstruct (test-case (:conc-name test-) (:constructor make-test))
  (name "" :type string)
  (suite nil)
  (package nil)                         ; that it belongs to, if that can be told
  (framework nil)
  (key nil))                            ; by which the framework knows it

(defglobal *frameworks* '())

(defmacro define-framework (name package (&key list) (test) &body run)
  "The framework NAME: LIST is a form for all its tests; RUN runs TEST."
  `(setf *frameworks*
         (append (remove ,name *frameworks* :key #'framework-name :test #'string=)
                 (list (make-framework :name ,name :package ,package
                                       :list (lambda () ,list)
                                       :run (lambda (,test) (declare (ignorable ,test)) ,@run))))))

;;; --- names of packages that may not be there ----------------------------------------------------

(defun symbol-in (package name)
  "The symbol NAME of PACKAGE, which must be there."
  (or (find-symbol name package) (error "The package ~A has no ~A." package name)))

(defun call-in (package name &rest arguments)
  "Call the function NAME of PACKAGE."
  (apply (symbol-in package name) arguments))

(defun value-in (package name)
  "Value of the variable NAME of PACKAGE."
  (symbol-value (symbol-in package name)))

(defun class-in-p (object package name)
  "True when OBJECT is of the class NAME of PACKAGE."
  (let ((symbol (find-symbol name package)))
    (and symbol (find-class symbol nil) (typep object symbol))))

(defmacro with-variables ((package &rest bindings) &body body)
  "Bind variables of PACKAGE, those that it has: BINDINGS are (NAME VALUE)."
  `(call-with-variables ,package (list ,@(loop for (name value) in bindings
                                               collect `(cons ,name ,value)))
                        (lambda () ,@body)))

(defun call-with-variables (package bindings function)
  "What WITH-VARIABLES does."
  (let ((known (loop for (name . value) in bindings
                     for symbol = (find-symbol name package)
                     when symbol collect (cons symbol value))))
    (progv (mapcar #'car known) (mapcar #'cdr known) (funcall function))))

(defun put-around (package name function)
  "Let FUNCTION, of the original and its arguments, run in place of the function NAME of PACKAGE."
  (let ((symbol (find-symbol name package)))
    (when (and symbol (fboundp symbol) (not (sb-int:encapsulated-p symbol 'cadre)))
      (sb-int:encapsulate symbol 'cadre function))))

(defun symbol-text (symbol)
  "SYMBOL with its package, as a name for a test."
  (if (symbol-package symbol)
      (text (package-name (symbol-package symbol)) "::" (symbol-name symbol))
      (symbol-name symbol)))

(defun name-text (name)
  "The NAME of a test, which may be anything."
  (if (symbolp name) (symbol-text name) (printed name)))

(defun home-of (name)
  "Package of the NAME of a test, if it is the name of one alone."
  (and (symbolp name) (not (keywordp name)) (symbol-package name)))

(defun count-results (results package &rest class-names)
  "How many of RESULTS are of one of the classes of PACKAGE."
  (count-if (lambda (result)
              (some (lambda (name) (class-in-p result package name)) class-names))
            results))

;;; --- FiveAM -------------------------------------------------------------------------------------

(defun fiveam-names ()
  "Names of all tests and suites, in the order of their definition. Before version 1.4.3 the
registry is a hash table; since then a name is in its list once for each definition."
  (let ((registry (value-in "IT.BESE.FIVEAM" "*TEST*")))
    (if (hash-table-p registry)
        (loop for name being the hash-keys of registry collect name)
        (remove-duplicates (call-in "IT.BESE.FIVEAM" "TEST-NAMES") :from-end t))))

(defun fiveam-tests ()
  "All tests, not suites, that are registered."
  (loop for key in (fiveam-names)
        for test = (call-in "IT.BESE.FIVEAM" "GET-TEST" key)
        when (class-in-p test "IT.BESE.FIVEAM" "TEST-CASE")
          collect (make-test :name (name-text key) :package (home-of key) :key key
                             :suite (fiveam-suite test))))

(defun fiveam-suite (test)
  "Name of the suite of TEST."
  (let ((suite (ignore-errors (call-in "IT.BESE.FIVEAM" "TEST-SUITE" test))))
    (and suite
         (name-text (if (symbolp suite) suite (call-in "IT.BESE.FIVEAM" "NAME" suite))))))

(defun fiveam-check (expression arguments)
  "Members about the failed check of EXPRESSION. With (PREDICATE EXPECTED GOT), FiveAM passes the
form, what it came to, the predicate and what was expected, for a text."
  (destructuring-bind (&optional control &rest values) arguments
    (let ((message (and (stringp control) (ignore-errors (apply #'format nil control values)))))
      (cond ((and (stringp control) (= 4 (length values)) (search "evaluated to" control))
             (check-members expression :got (second values) :expected (fourth values)
                                              :message message))
            ((and (stringp control) (= 3 (length values)) (search "evaluated to" control))
             (check-members expression :got (second values) :message message))
            (t (check-members expression :message message))))))

(defun fiveam-own-p (test)
  "True when TEST, an object of FiveAM, is the test that runs and not one that it depends on."
  (eq (test-key *running-test*) (call-in "IT.BESE.FIVEAM" "NAME" test)))

(defun process-fiveam-failure (original expression &rest arguments)
  "Runs in place of the function of FiveAM that is called for a failed check."
  (let ((*check* (fiveam-check expression arguments)))
    (if (fiveam-own-p (value-in "IT.BESE.FIVEAM" "CURRENT-TEST"))
        (apply original expression arguments)
        (with-variables ("IT.BESE.FIVEAM" ("*ON-FAILURE*" nil))
          (apply original expression arguments)))))

(defun run-fiveam (test)
  "Run TEST; its dependencies are run by FiveAM before it."
  (put-around "IT.BESE.FIVEAM" "PROCESS-FAILURE" #'process-fiveam-failure)
  (let* ((*check-failure* (list (symbol-in "IT.BESE.FIVEAM" "CHECK-FAILURE")
                                (symbol-in "IT.BESE.FIVEAM" "IGNORE-FAILURE")))
         (all (with-variables ("IT.BESE.FIVEAM" ("*ON-ERROR*" :debug) ("*ON-FAILURE*" :debug)
                                               ("*PRINT-NAMES*" nil)
                                               ("*TEST-DRIBBLE*" (make-broadcast-stream)))
                (call-in "IT.BESE.FIVEAM" "RUN" (test-key test))))
         (results (remove-if-not #'fiveam-own-p all :key (lambda (result)
                                                           (call-in "IT.BESE.FIVEAM" "TEST-CASE"
                                                                    result))))
         (skipped (count-results results "IT.BESE.FIVEAM" "TEST-SKIPPED")))
    (note-unseen-failures
     (loop for result in results
           when (class-in-p result "IT.BESE.FIVEAM" "UNEXPECTED-TEST-FAILURE")
             collect (call-in "IT.BESE.FIVEAM" "REASON" result)))
    (values (- (length results) skipped)
            (and (plusp skipped) (= skipped (length results)) (fiveam-skip-reason results)))))

(defun fiveam-skip-reason (results)
  "Why a test was skipped that has RESULTS."
  (princ-to-string (call-in "IT.BESE.FIVEAM" "REASON" (first results))))

(defun note-unseen-failures (messages)
  "Note failures that did not come by the debugger."
  (when (agent-fork *agent*)
    (dolist (message messages)
      (note-failure "failed" nil nil (list "message" (cut (princ-to-string message) 2000))))))

(define-framework "FiveAM" "IT.BESE.FIVEAM" (:list (fiveam-tests)) (test)
  (run-fiveam test))

;;; --- RT -----------------------------------------------------------------------------------------

(defun rt-tests (package)
  "All entries of RT, which is in PACKAGE."
  (loop for entry in (rest (value-in package "*ENTRIES*"))
        for name = (call-in package "NAME" entry)
        collect (make-test :name (name-text name) :package (home-of name) :key name)))

(defun switch-on-p (package name)
  "True when PACKAGE has the variable NAME, and that is true."
  (let ((symbol (find-symbol name package)))
    (and symbol (boundp symbol) (symbol-value symbol))))

(defun rt-values (package form)
  "Values of FORM as a list, evaluated as the switches of RT in PACKAGE say."
  (multiple-value-list
   (cond ((switch-on-p package "*COMPILE-TESTS*")
          (funcall (compile nil `(lambda ()
                                   (declare (optimize ,@(switch-on-p package
                                                                     "*OPTIMIZATION-SETTINGS*")))
                                   ,form))))
         ((switch-on-p package "*EXPANDED-EVAL*") (call-in package "EXPANDED-EVAL" form))
         (t (eval form)))))

(defun rt-expected-values (package entry)
  "The values that ENTRY of RT in PACKAGE wants; in some versions a macro for the end of a list."
  (if (macro-function (symbol-in package "VALS"))
      (cdddr entry)
      (call-in package "VALS" entry)))

(defun rt-failure-expected-p (package name)
  "True when the test NAME of RT in PACKAGE is one of those that fail."
  (member name (switch-on-p package "*EXPECTED-FAILURES*") :test #'equal))

(defun run-rt (package test)
  "Run TEST of RT in PACKAGE. Of one that is said to fail only that it does not counts."
  (let* ((entry (call-in package "GET-ENTRY" (test-key test)))
         (form (call-in package "FORM" entry))
         (expected (rt-expected-values package entry)))
    (flet ((outcome () (handler-bind ((style-warning #'muffle-warning))
                         (rt-values package form))))
      (if (rt-failure-expected-p package (test-key test))
          (rt-expected-outcome package expected #'outcome)
          (let ((values (outcome)))
            (unless (call-in package "EQUALP-WITH-CASE" values expected)
              (report-failed-check form :expected (if (rest expected) expected (first expected))
                                        :got (if (rest values) values (first values))))
            1)))))

(defun rt-expected-outcome (package expected function)
  "Checks, and why the test counts as skipped: it was to fail, and FUNCTION's values are not those
EXPECTED."
  (if (call-in package "EQUALP-WITH-CASE" (handler-case (funcall function)
                                            (error (condition) (list condition)))
               expected)
      1
      (values 1 "it is expected to fail")))

(define-framework "RT" "REGRESSION-TEST" (:list (rt-tests "REGRESSION-TEST")) (test)
  (run-rt "REGRESSION-TEST" test))

;;; The copy of RT that SBCL brings.
(define-framework "sb-rt" "SB-RT" (:list (rt-tests "SB-RT")) (test)
  (run-rt "SB-RT" test))

;;; --- Rove ---------------------------------------------------------------------------------------

(defun rove-tests ()
  "All tests of all packages."
  (loop for suite in (call-in "ROVE/CORE/SUITE/PACKAGE" "ALL-SUITES")
        append (loop for name in (call-in "ROVE/CORE/SUITE/PACKAGE" "SUITE-TESTS" suite)
                     collect (make-test :name (name-text name) :package (home-of name) :key name
                                        :suite (call-in "ROVE/CORE/SUITE/PACKAGE" "SUITE-NAME"
                                                        suite)))))

(defun rove-check (form values positive)
  "What REPORT-FAILED-CHECK is told of FORM, whose arguments had VALUES."
  (let ((form (if positive form `(not ,form))))
    (cond ((= 2 (length values))
           (list form :got (first values) :expected (second values)))
          (values (list form :got (if (rest values) values (first values))))
          (t (list form)))))

(defun report-rove-check (original form result arguments values steps stacks reason duration
                          description class-function positive &rest rest)
  "Runs in place of the function of Rove that records an assertion."
  (prog1 (apply original form result arguments values steps stacks reason duration description
                class-function positive rest)
    (unless (or reason (if positive result (not result)))
      (apply #'report-failed-check
             (append (rove-check form values positive)
                     (and (stringp description) (list :message description)))))))

(defun rove-hooks (suite mode)
  "Call the hooks of SUITE."
  (dolist (hook (reverse (call-in "ROVE/CORE/SUITE/PACKAGE" mode suite)))
    (funcall (cdr hook))))

(defun rove-count (stats)
  "Number of assertions, those of nested tests included."
  (loop for result in (call-in "ROVE/CORE/STATS" "STATS-RESULTS" stats)
        sum (rove-result-count result)))

(defun rove-result-count (result)
  "Number of assertions in RESULT, an assertion or a test."
  (if (class-in-p result "ROVE/CORE/RESULT" "TEST")
      (loop for part in '("PASSED-TESTS" "FAILED-TESTS" "PENDING-TESTS")
            sum (loop for inner in (call-in "ROVE/CORE/RESULT" part result)
                      sum (rove-result-count inner)))
      1))

(defun call-rove-test (suite name)
  "Call the test NAME as Rove does for a whole SUITE."
  (let ((setup (call-in "ROVE/CORE/SUITE/PACKAGE" "SUITE-SETUP" suite))
        (teardown (call-in "ROVE/CORE/SUITE/PACKAGE" "SUITE-TEARDOWN" suite)))
    (unwind-protect
         (progn
           (when setup (funcall setup))
           (unwind-protect
                (progn (rove-hooks suite "SUITE-BEFORE-HOOKS")
                       (funcall (call-in "ROVE/CORE/SUITE/PACKAGE" "GET-TEST" name)))
             (rove-hooks suite "SUITE-AFTER-HOOKS")))
      (when teardown (funcall teardown)))))

(define-framework "Rove" "ROVE/CORE/SUITE/PACKAGE" (:list (rove-tests)) (test)
  (put-around "ROVE/CORE/ASSERTION" "%OKNG-RECORD" #'report-rove-check)
  (put-around "ROVE/CORE/ASSERTION" "FAIL"
              (lambda (original description)
                (prog1 (funcall original description)
                  (report-failed-check `(fail ,description) :message description))))
  (let ((stats (make-instance (symbol-in "ROVE/CORE/STATS" "STATS")))
        (*package* (test-package test)))
    (with-variables ("ROVE/CORE/STATS" ("*STATS*" stats))
      (with-variables ("ROVE/CORE/ASSERTION" ("*DEBUG-ON-ERROR*" t))
        (call-rove-test (call-in "ROVE/CORE/SUITE/PACKAGE" "FIND-SUITE" (test-package test))
                        (test-key test))))
    (rove-count stats)))

;;; --- Parachute ----------------------------------------------------------------------------------

(defglobal *parachute-package* "ORG.SHIRAKUMO.PARACHUTE")

(defun parachute-tests ()
  "All tests of all packages."
  (loop for index being the hash-values of (value-in *parachute-package* "*TEST-INDEXES*")
        append (loop for test being the hash-values of index
                     collect (let ((home (call-in *parachute-package* "HOME" test)))
                               (make-test
                                :name (text (package-name home) "::"
                                            (princ-to-string
                                             (call-in *parachute-package* "NAME" test)))
                                :suite (package-name home) :package home :key test)))))

(defun parachute-check (result)
  "What REPORT-FAILED-CHECK is told of RESULT."
  (append (list (call-in *parachute-package* "EXPRESSION" result)
                :message (call-in *parachute-package* "FORMAT-RESULT" result :extensive))
          (and (class-in-p result *parachute-package* "COMPARISON-RESULT")
               (list :expected (call-in *parachute-package* "EXPECTED" result)))
          (and (slot-boundp result (symbol-in *parachute-package* "VALUE"))
               (list :got (call-in *parachute-package* "VALUE" result)))))

(defvar *of-dependency* nil
  "True while what the test depends on runs: its failures are not those of the test.")

(defun check-parachute-result (result function)
  "Let FUNCTION evaluate RESULT; freeze it when it fails."
  (let ((status (symbol-in *parachute-package* "STATUS")))
    (cond (*of-dependency*
           (handler-case (funcall function)
             (error () (setf (slot-value result status) :failed))))
          (t
           (restart-case (multiple-value-prog1 (funcall function)
                           (when (eq :failed (slot-value result status))
                             (apply #'report-failed-check (parachute-check result))))
             (fail-check ()
               :report (lambda (stream) (write-string "Let the check fail and go on." stream))
               (setf (slot-value result status) :failed)))))))

(defun run-parachute-part (result function)
  "Let FUNCTION run the test of RESULT: the test that is meant, or one that it depends on."
  (let ((*of-dependency* (not (eq (test-key *running-test*)
                                  (call-in *parachute-package* "EXPRESSION" result)))))
    (funcall function)))

(defun prepare-parachute ()
  "Make the class of the reports that the tests are run with."
  (unless (find-class 'parachute-report nil)
    (let ((evaluate (symbol-in *parachute-package* "EVAL-IN-CONTEXT"))
          (value-result (symbol-in *parachute-package* "VALUE-RESULT")))
      (sb-ext:without-package-locks
        (eval `(progn
                 (defclass parachute-report (,(symbol-in *parachute-package* "REPORT")) ())
                 (defmethod ,evaluate :around ((report parachute-report) (result ,value-result))
                   (if (eq :unknown (slot-value result ',(symbol-in *parachute-package* "STATUS")))
                       (check-parachute-result result (lambda () (call-next-method)))
                       (call-next-method)))
                 (defmethod ,evaluate :around
                     ((report parachute-report)
                      (result ,(symbol-in *parachute-package* "TEST-RESULT")))
                   (run-parachute-part result (lambda () (call-next-method))))))))))

(defun parachute-results (report)
  "The results in REPORT that are no tests or groups."
  (remove-if (lambda (result) (class-in-p result *parachute-package* "PARENT-RESULT"))
             (call-in *parachute-package* "RESULTS" report)))

(define-framework "Parachute" *parachute-package* (:list (parachute-tests)) (test)
  (prepare-parachute)
  (setf (slot-value (test-key test) (symbol-in *parachute-package* "CHILDREN")) '())
  (let* ((report (call-in *parachute-package* "TEST" (test-key test) :report 'parachute-report))
         (result (call-in *parachute-package* "FIND-CHILD-RESULT" (test-key test) report)))
    (values (length (parachute-results report))
            (and result (eq :skipped (call-in *parachute-package* "STATUS" result))
                 "Its dependencies failed."))))

;;; --- lisp-unit2 ---------------------------------------------------------------------------------

(defun lisp-unit2-tests ()
  "All tests that are installed."
  (loop for test in (call-in "LISP-UNIT2" "LIST-TESTS")
        for name = (call-in "LISP-UNIT2" "NAME" test)
        collect (make-test :name (name-text name) :package (home-of name) :key name
                           :suite (first (mapcar #'name-text
                                                 (call-in "LISP-UNIT2" "TAGS" test))))))

(defun lisp-unit2-check (failure)
  "Members about FAILURE, a record of lisp-unit2."
  (flet ((part (name) (ignore-errors (call-in "LISP-UNIT2" name failure))))
    (let ((expected (part "EXPECTED")) (actual (part "ACTUAL")))
      (check-members (part "FORM") :expected (if (rest expected) expected (first expected))
                                   :got (if (rest actual) actual (first actual))))))

(define-framework "lisp-unit2" "LISP-UNIT2" (:list (lisp-unit2-tests)) (test)
  (let* ((failure (symbol-in "LISP-UNIT2" "ASSERTION-FAIL"))
         (*check-failure* (list failure 'abort))
         (*debugger-hook* (lambda (condition hook) (declare (ignore condition hook))))
         (database
           (handler-bind
               ((condition (lambda (condition)
                             (when (typep condition failure)
                               (let ((*check* (lisp-unit2-check
                                               (call-in "LISP-UNIT2" "FAILURE" condition))))
                                 (invoke-debugger condition))))))
             (call-in "LISP-UNIT2" "RUN-TESTS" :tests (list (test-key test)))))
         (result (aref (call-in "LISP-UNIT2" "RESULTS" database) 0)))
    (loop for part in '("PASSED" "FAILED")
          sum (length (call-in "LISP-UNIT2" "HEAD" (call-in "LISP-UNIT2" part result))))))

;;; --- Prove: a file is a test --------------------------------------------------------------------

(defun prove-tests ()
  "The test files of all systems that were loaded."
  (loop for system being the hash-keys of (value-in "PROVE.ASDF" "*SYSTEM-TEST-FILES*")
          using (hash-value files)
        append (loop for file in (reverse files)
                     collect (make-test :name (text (asdf "COMPONENT-NAME" system) "/"
                                                    (asdf "COMPONENT-NAME" file))
                                        :suite (asdf "COMPONENT-NAME" system) :key file))))

(defun report-prove-check (original got expected arguments &rest rest &key (got-form got)
                           &allow-other-keys)
  "Runs in place of the function of Prove that makes a check."
  (multiple-value-bind (passed report) (apply original got expected arguments rest)
    (unless passed
      (report-failed-check got-form :expected expected :got got
                                    :message (find-if #'stringp (if (listp arguments)
                                                                    arguments
                                                                    (list arguments)))))
    (values passed report)))

(define-framework "Prove" "PROVE.ASDF" (:list (prove-tests)) (test)
  (put-around "PROVE.TEST" "TEST" #'report-prove-check)
  (setf (symbol-value (symbol-in "PROVE.ASDF" "*LAST-SUITE-REPORT*")) nil)
  (with-variables ("PROVE.TEST" ("*DEBUG-ON-ERROR*" t))
    (asdf "PERFORM" (asdf "MAKE-OPERATION" 'asdf:load-source-op) (test-key test)))
  (let* ((report (value-in "PROVE.ASDF" "*LAST-SUITE-REPORT*"))
         (failed (getf report :failed 0)))
    (when (and (agent-fork *agent*) (integerp failed) (plusp failed)
               (null (fork-failures (agent-fork *agent*))))
      (note-unseen-failures (list "It has failed.")))
    (max failed (if (integerp (getf report :plan)) (getf report :plan) 0))))

;;; --- ASDF ---------------------------------------------------------------------------------------

(defun make-system-test (name)
  "The test of a system whose framework is not known: what ASDF does for it."
  (make-test :name (text "asdf:test-system " name) :key name
             :framework (make-framework :name "ASDF"
                                        :run (lambda (test)
                                               (asdf "TEST-SYSTEM" (test-key test))
                                               1))))

;;; --- all of them --------------------------------------------------------------------------------

(defun loaded-frameworks (&optional name)
  "The frameworks that are loaded, or the one called NAME."
  (remove-if-not (lambda (framework)
                   (and (find-package (framework-package framework))
                        (or (null name) (string-equal name (framework-name framework)))))
                 *frameworks*))

(defun all-tests (&optional framework)
  "All tests in the image, of all frameworks or the one called FRAMEWORK."
  (loop for each in (loaded-frameworks framework)
        append (loop for test in (funcall (framework-list each))
                     do (setf (test-framework test) each)
                     collect test)))
