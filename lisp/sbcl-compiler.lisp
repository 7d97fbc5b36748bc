;;;; Internals of SBCL's compiler that the agent uses; sbcl.lisp has all others, and its rules hold
;;;; here.

(in-package "CADRE-AGENT")

;;; --- compiler -----------------------------------------------------------------------------------

(defun find-compiler-context ()
  "What the compiler is processing, a compiler error context, or NIL when it is not at work."
  (#.(internal "SB-C" "FIND-ERROR-CONTEXT") nil))

(defun context-file-name (context)
  "Pathname of the file that CONTEXT is about, :LISP for a text, or NIL."
  (#.(internal "SB-C" "COMPILER-ERROR-CONTEXT-FILE-NAME") context))

(defun context-form (context)
  "The subform CONTEXT is about."
  (#.(internal "SB-C" "COMPILER-ERROR-CONTEXT-ORIGINAL-FORM") context))

(defun context-form-index (context)
  "Index of the top-level form CONTEXT is about in its text or file."
  (#.(internal "SB-C" "SOURCE-PATH-TLF-NUMBER")
   (#.(internal "SB-C" "COMPILER-ERROR-CONTEXT-ORIGINAL-SOURCE-PATH") context)))

(deftype unreadable-file-error ()
  "The condition for a file that the file compiler cannot read on."
  '#.(internal "SB-C" "INPUT-ERROR-IN-COMPILE-FILE"))

(defparameter *compiler-message-function* '#.(internal "SB-C" "PRINT-COMPILER-MESSAGE")
  "The function that prints what the compiler finds; its first argument is the stream.")

(defparameter *compilation-summary-function* '#.(internal "SB-C" "SUMMARIZE-COMPILATION-UNIT")
  "The function that signals and prints what is undefined at the end of a compilation unit.")

(defparameter *compiler-handlers*
  '(#.(internal "SB-C" "COMPILER-WARNING-HANDLER")
    #.(internal "SB-C" "COMPILER-STYLE-WARNING-HANDLER"))
  "The compiler's handlers of warnings: they signal them again for outer handlers, and if none of
these muffles a warning they count it, print it and muffle it.")

(defmacro with-source-file ((path) &body body)
  "Functions that BODY defines by EVAL come from the file PATH; NIL: from no file."
  `(let ((#.(internal "SB-C" "*SOURCE-NAMESTRING*") ,path)) ,@body))

(defmacro with-source-properties ((plist) &body body)
  "Functions that BODY defines have PLIST in their debug source."
  `(let ((#.(internal "SB-C" "*SOURCE-PLIST*") ,plist)) ,@body))

;;; --- policy -------------------------------------------------------------------------------------

;;; A policy knows of each quality whether it was given or is the default. SBCL marks the qualities
;;; of its initial policy as given; with that mark taken from DEBUG, a DEBUG that the user declares
;;; can be told from the default.

(defun quality-given-p (quality policy)
  "True when POLICY has a QUALITY that somebody asked for. A policy has 32 bits for that in all
versions, counted from the end for the basic qualities; 2.5.2 does not name the number."
  (logbitp (mod (#.(internal "SB-C" "POLICY-QUALITY-NAME-P") quality) 32)
           (#.(internal "SB-C" "POLICY-PRESENCE-BITS") policy)))

(defun unmark-debug-quality ()
  "Let the global policy say that nobody has asked for its DEBUG quality."
  (setf #.(internal "SB-C" "*POLICY*")
        (#.(internal "SB-C" "ALTER-POLICY")
         (copy-structure #.(internal "SB-C" "*POLICY*"))
         (#.(internal "SB-C" "POLICY-QUALITY-NAME-P") 'debug) 1 nil)))

(defun extended-policy (policy &rest qualities)
  "POLICY with QUALITIES, as in an OPTIMIZE declaration."
  (values (#.(internal "SB-C" "PROCESS-OPTIMIZE-DECL") `(optimize ,@qualities) policy)))

(defun debug-quality (environment)
  "The DEBUG quality of what is compiled in ENVIRONMENT, a macro's."
  (#.(internal "SB-C" "POLICY-QUALITY")
   (#.(internal "SB-C" "LEXENV-POLICY") environment) 'debug))

(defun evaluated-form-p (form)
  "True when EVAL, and not COMPILE, has made the lambda expression FORM to have it compiled."
  (eq form (car (first #.(internal "SB-C" "*SOURCE-FORM-CONTEXT-ALIST*")))))

(defun call-with-evaluation-policy (extend function form environment arguments)
  "Call FUNCTION, the compiler, with FORM and ENVIRONMENT as EXTEND changes its policy. A null
environment has the global policy and must stay null."
  (let* ((old (#.(internal "SB-C" "LEXENV-POLICY") environment))
         (#.(internal "SB-C" "*POLICY*") (funcall extend old)))
    (apply function form
           (if (or (eq old #.(internal "SB-C" "*POLICY*"))
                   (#.(internal "SB-C" "NULL-LEXENV-P") environment))
               environment
               (#.(internal "SB-C" "MAKE-LEXENV")
                :default environment :policy #.(internal "SB-C" "*POLICY*")))
           arguments)))

(defun encapsulate-evaluation-compiler (extend)
  "Let what EVAL compiles have the policy that EXTEND, a function, makes of the one in force."
  (sb-int:encapsulate '#.(internal "SB-C" "COMPILE-IN-LEXENV") 'cadre
                      (lambda (original form environment &rest arguments)
                        (if (evaluated-form-p form)
                            (let ((#.(internal "SB-C" "*SOURCE-PLIST*")
                                    (definition-origin #.(internal "SB-C" "*SOURCE-PLIST*"))))
                              (call-with-evaluation-policy extend original form environment
                                                           arguments))
                            (apply original form environment arguments)))))

;;; --- temporary variables -----------------------------------------------------------------------

;;; With DEBUG 3 each variable keeps a place of its own on the stack, those too that macros make for
;;; themselves: the list of DOLIST, the limit of DOTIMES. Their names are uninterned; nobody asks
;;; for them in a debugger, and they make evaluated code slower than that of files.

(defun temporary-variable-p (variable)
  "True when the name of VARIABLE, the compiler's, is uninterned: a macro has made it."
  (let ((name (#.(internal "SB-C" "LEAF-DEBUG-NAME") variable)))
    (and (symbolp name) (null (symbol-package name)))))

(defun node-policy (node)
  "The policy in force at NODE, a part of the program the compiler works on."
  (#.(internal "SB-C" "LEXENV-POLICY") (#.(internal "SB-C" "NODE-LEXENV") node)))

(defun call-with-node-policy (policy node function)
  "Call FUNCTION while POLICY is in force at NODE."
  (let ((environment (#.(internal "SB-C" "NODE-LEXENV") node)))
    (setf (#.(internal "SB-C" "NODE-LEXENV") node)
          (#.(internal "SB-C" "MAKE-LEXENV") :default environment :policy policy))
    (unwind-protect (funcall function)
      (setf (#.(internal "SB-C" "NODE-LEXENV") node) environment))))

(defun bound-argument (call variable)
  "What CALL binds VARIABLE to, when it is that of a LET's function; or NIL."
  (when (typep call '#.(internal "SB-C" "BASIC-COMBINATION"))
    (let ((index (position variable (#.(internal "SB-C" "LAMBDA-VARS")
                                     (#.(internal "SB-C" "LAMBDA-VAR-HOME") variable)))))
      (and index (nth index (#.(internal "SB-C" "BASIC-COMBINATION-ARGS") call))))))

(defun bound-to-named-variable-p (call variable)
  "True when CALL binds VARIABLE to the value of a variable of the user."
  (let* ((argument (bound-argument call variable))
         (use (and argument (#.(internal "SB-C" "LVAR-USES") argument))))
    (and (typep use '#.(internal "SB-C" "REF"))
         (let ((leaf (#.(internal "SB-C" "REF-LEAF") use)))
           (and (typep leaf '#.(internal "SB-C" "LAMBDA-VAR"))
                (not (temporary-variable-p leaf)))))))

(defun encapsulate-variable-preservation (applies-p)
  "Let no temporary variable stand in the way of substituting its value for it, where APPLIES-P, a
function, is true of the policy. One that holds a variable of the user keeps that alive: it stays."
  (sb-int:encapsulate '#.(internal "SB-C" "PRESERVE-SINGLE-USE-DEBUG-VAR-P") 'cadre
                      (lambda (original node variable)
                        (and (not (and (temporary-variable-p variable)
                                       (funcall applies-p (node-policy node))
                                       (not (bound-to-named-variable-p node variable))))
                             (funcall original node variable)))))

(defun encapsulate-variable-placement (applies-p)
  "Let bindings of temporary variables alone live as long as they are used, as with DEBUG 2, where
APPLIES-P, a function, is true of the policy."
  (sb-int:encapsulate
   '#.(internal "SB-C" "ASSIGN-LAMBDA-VAR-TNS") 'cadre
   (lambda (original function let-p)
     (let* ((variables (and let-p (#.(internal "SB-C" "LAMBDA-VARS") function)))
            (node (#.(internal "SB-C" "LAMBDA-BIND") function))
            (policy (and variables (node-policy node))))
       (if (and variables (every #'temporary-variable-p variables) (funcall applies-p policy))
           (call-with-node-policy (extended-policy policy '(debug 2)) node
                                  (lambda () (funcall original function let-p)))
           (funcall original function let-p))))))

;;; --- file compiler ------------------------------------------------------------------------------

(defun make-text-information ()
  "What the file compiler needs to know of its input, for a text that is no file. The truename was
given as :TRUENAME in 2.2.9."
  (#.(internal "SB-C" "MAKE-SOURCE-INFO")
   :file-info (funcall (internal "SB-C" "MAKE-FILE-INFO")
                       (if (find-internal "SB-C" "FILE-INFO-%TRUENAME") :%truename :truename) :lisp
                       :write-date 0)))

(defun add-text-form (information form index)
  "Tell the file compiler that the next top-level form is FORM, read at the character INDEX."
  (let ((file (#.(internal "SB-C" "SOURCE-INFO-FILE-INFO") information)))
    (vector-push-extend form (#.(internal "SB-C" "FILE-INFO-FORMS") file))
    (vector-push-extend index (#.(internal "SB-C" "FILE-INFO-POSITIONS") file))))

(defun current-information ()
  "What the file compiler knows of its input now."
  #.(internal "SB-C" "*SOURCE-INFO*"))

(defun encapsulate-form-reader (function)
  "Call FUNCTION in place of the function that reads the forms of a file to compile, with that
function, a function to call with each form and :CURRENT-INDEX, the information, and more arguments
for that function."
  (sb-int:encapsulate '#.(internal "SB-C" "%DO-FORMS-FROM-INFO") 'cadre function))

(defun make-compiler-output (stream)
  "What the file compiler writes to, here STREAM. In 2.2.9 the constructor was SB-FASL's and took a
keyword."
  (let ((keyword-constructor (find-internal "SB-FASL" "MAKE-FASL-OUTPUT")))
    (if keyword-constructor
        (funcall keyword-constructor :stream stream)
        (funcall (internal "SB-C" "MAKE-FASL-OUTPUT") stream))))

(defun call-file-compiler (information stream)
  "Compile the forms of INFORMATION into a fasl file on STREAM, as COMPILE-FILE does."
  (let ((#.(internal "SB-C" "*COMPILE-OBJECT*") (make-compiler-output stream))
        (#.(internal "SB-C" "*BLOCK-COMPILE-ARGUMENT*") nil)
        (#.(internal "SB-C" "*ENTRY-POINTS-ARGUMENT*") nil)
        (#.(internal "SB-C" "*LAST-MESSAGE-COUNT*") (list* 0 nil nil))
        (#.(internal "SB-C" "*LAST-ERROR-CONTEXT*") nil)
        (#.(internal "SB-C" "*COMPILER-TRACE-OUTPUT*") nil))
    (#.(internal "SB-C" "SUB-COMPILE-FILE") information nil)))

(defun form-processor-name-p (name)
  "True for the function that processes a top-level form of a file. Its second argument is the
source path, whose last element is the index of the form."
  (eq name '#.(internal "SB-C" "PROCESS-TOPLEVEL-FORM")))

(defun loaded-form-name-p (name)
  "True for the name of a function that a top-level form of a file was compiled into."
  (and (consp name) (eq (first name) '#.(internal "SB-C" "TOP-LEVEL-FORM"))))

(defun form-start (stream)
  "Character index in its file of the form that STREAM, of the file compiler, is reading."
  (#.(internal "SB-IMPL" "FORM-TRACKING-STREAM-FORM-START-CHAR-POS") stream))

(defun characters-read (stream)
  "How many characters of its file STREAM, of the file compiler, has read."
  (#.(internal "SB-IMPL" "ANSI-STREAM-INPUT-CHAR-POS") stream))
