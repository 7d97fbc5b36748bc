;;;; Debugging in copies of a post-mortem (docs/reference/evaluator.md 7).
;;;;
;;;; A copy of a post-mortem is a process that stands inside the failing evaluation: DEBUG-LOOP is
;;;; called from the point of error and serves requests there. INVOKE-RESTART leaves it by letting
;;;; the interrupted call run on; that call then answers the request.

(in-package "CADRE-AGENT")

(defstruct (situation (:constructor make-situation (call condition frames restarts)))
  call condition frames restarts)

(defun close-keeping-file (original stream &rest arguments)
  "Runs in place of CLOSE in a copy. Unwinding closes files that were being written with :ABORT,
which deletes them; without it the renamed original may be deleted. The session has done that when
it unwound. A copy that unwinds again must not do it to a file that has the name now."
  (let ((descriptor (and (typep stream 'fd-stream) (open-stream-p stream)
                         (fd-stream-fd stream))))
    (when (member descriptor (agent-frozen-descriptors *agent*))
      (setf (agent-frozen-descriptors *agent*)
            (remove descriptor (agent-frozen-descriptors *agent*)))
      (detach-file stream)))
  (apply original stream arguments))

(defun protect-frozen-files ()
  "Keep what this copy unwinds from deleting files of the session."
  (setf (agent-frozen-descriptors *agent*) (open-descriptors))
  (sb-int:encapsulate 'close 'cadre #'close-keeping-file))

(defun release-frozen-files ()
  "This process is the session from now on: what it does to files is meant."
  (setf (agent-frozen-descriptors *agent*) '())
  (sb-int:unencapsulate 'close 'cadre))

(defun debug-loop (call condition frames restarts)
  "Serve requests about the frozen error. Returns never, or by a restart."
  (protect-frozen-files)
  (setf (agent-situation *agent*) (make-situation call condition frames restarts)
        *call* nil)
  (loop
    (multiple-value-bind (type number request) (receive-message)
      (case type
        (#.+request+
         (if (and (object-p request) (equal (member-of request "op") "invoke-restart"))
             (perform-restart number request)
             (perform-request number request)))
        (#.+quit+ (exit-now 0))))))

(defun current-situation ()
  "The frozen error of this process; fails when there is none."
  (or (agent-situation *agent*) (fail "protocol" "This process holds no frozen error.")))

;;; --- frames and their variables -----------------------------------------------------------------

(defun situation-frame (number)
  "The frame NUMBER of the frozen error; fails when there is none."
  (let ((frames (situation-frames (current-situation))))
    (or (find number frames :key #'frame-number)
        (fail "no-such-frame"
              (text "Frame " number " does not exist; the error has "
                    (plural (length frames) "frame") " (0 to "
                    (frame-number (first (last frames))) ").")
              "frame_count" (length frames)))))

(defun variables-frame (frame)
  "The stack frame FRAME's variables are in."
  (or (frame-form-frame frame) (frame-stack-frame frame)))

(defun bare-eval-frame-p (frame)
  "True when the form was interpreted: the variables would be those of EVAL itself."
  (and (eq (frame-name frame) 'eval) (null (frame-form-frame frame))))

(defstruct (local (:constructor make-local (symbol value &optional variable)))
  symbol value variable                 ; SB-DI's variable, if it is one
  (scope 0)
  (shadowed nil))

(defun debug-variables (stack-frame)
  "All variables of the function in STACK-FRAME that have a name the user gave."
  (handler-case
      (let* ((debug-fun (sb-di:frame-debug-fun stack-frame))
             (more (multiple-value-list (more-variables debug-fun))))
        (remove-if (lambda (variable)
                     (or (member variable more)
                         (null (sb-di:debug-var-symbol variable))
                         (null (symbol-package (sb-di:debug-var-symbol variable)))))
                   (sb-di:ambiguous-debug-vars debug-fun "")))
    (serious-condition () '())))        ; it has no debug information

(defun alive-at-p (variable location)
  "True when VARIABLE has its value at the code location LOCATION."
  (eq :valid (handler-case (sb-di:debug-var-validity variable location)
               (sb-di:debug-condition () :unknown))))

(defun code-locations (stack-frame)
  "All code locations of the function in STACK-FRAME."
  (let ((locations '()))
    (handler-case
        (sb-di:do-debug-fun-blocks (block (sb-di:frame-debug-fun stack-frame))
          (sb-di:do-debug-block-locations (location block)
            (push location locations)))
      (sb-di:debug-condition () nil))
    locations))

(defun order-shadowed (locals stack-frame)
  "LOCALS of one name, innermost first: the one that is alive in the least part of the function.
SB-DI itself has them in no order."
  (let ((locations (code-locations stack-frame)))
    (dolist (local locals)
      (setf (local-scope local)
            (count-if (lambda (location) (alive-at-p (local-variable local) location)) locations)))
    (loop for local in (sort locals #'< :key #'local-scope)
          for shadowed = nil then t
          do (setf (local-shadowed local) shadowed)
          collect local)))

(defun name-groups (locals)
  "LOCALS by symbol, in order of first appearance."
  (let ((groups '()))
    (dolist (local locals (nreverse (mapcar #'nreverse groups)))
      (let ((group (find (local-symbol local) groups
                         :key (lambda (group) (local-symbol (first group))))))
        (if group
            (setf groups (substitute (cons local group) group groups :test #'eq))
            (push (list local) groups))))))

(defun rest-local (stack-frame location)
  "The &REST parameter of a function that takes the arguments from the stack one by one: SBCL knows
where they are and how many, but makes no list of them."
  (handler-case
      (let* ((debug-fun (sb-di:frame-debug-fun stack-frame))
             (function (sb-di:debug-fun-fun debug-fun))
             (name (and function
                        (second (member '&rest (sb-kernel:%fun-lambda-list function))))))
        (multiple-value-bind (context count) (more-variables debug-fun)
          (when (and context count name
                     (alive-at-p context location) (alive-at-p count location))
            (make-local name
                        (multiple-value-list
                         (sb-c:%more-arg-values (sb-di:debug-var-value context stack-frame) 0
                                                (sb-di:debug-var-value count stack-frame)))))))
    (serious-condition () nil)))

(defun frame-locals (frame)
  "The variables alive in FRAME, by name, those that others shadow after these; and the names of the
variables that are not alive."
  (if (bare-eval-frame-p frame)
      (values '() '())
      (let* ((stack-frame (variables-frame frame))
             (location (sb-di:frame-code-location stack-frame))
             (rest (rest-local stack-frame location))
             (alive '()) (dead '()))
        (dolist (variable (debug-variables stack-frame))
          (let ((symbol (sb-di:debug-var-symbol variable)))
            (if (alive-at-p variable location)
                (push (make-local symbol (sb-di:debug-var-value variable stack-frame) variable)
                      alive)
                (pushnew symbol dead))))
        (when (and rest (not (find (local-symbol rest) alive :key #'local-symbol)))
          (push rest alive))
        (values (loop for group in (name-groups (nreverse alive))
                      append (if (rest group) (order-shadowed group stack-frame) group))
                (nreverse (set-difference dead (mapcar #'local-symbol alive)))))))

(defun local-name (local)
  "Name of LOCAL, marked when another one shadows it."
  (text (symbol-label (local-symbol local)) (if (local-shadowed local) " (shadowed)" "")))

(defun locals-members (frame)
  "Members that list the variables of FRAME."
  (multiple-value-bind (alive dead) (frame-locals frame)
    (list "locals" (map 'simple-vector
                        (lambda (local)
                          (object "name" (local-name local)
                                  "value" (part-text (local-value local))))
                        alive)
          "unavailable" (and dead (map 'simple-vector #'symbol-label dead)))))

(defun variable-at (frame name)
  "Value of the variable NAME of FRAME."
  (let ((local (and (stringp name)
                    (find name (frame-locals frame) :key (lambda (local)
                                                           (symbol-name (local-symbol local)))
                                                    :test #'string-equal))))
    (if local
        (local-value local)
        (fail "no-such-path" (text "There is no variable " (if (stringp name) name (printed name))
                                   " in frame " (frame-number frame) ".")))))

(define-operation "inspect-frame" (call request)
  "A frame with its variables, and the object at a path."
  (setf (call-phase call) "inspect")
  (let* ((frame (situation-frame (integer-member request "frame" 0)))
         (path (member-of request "path"))
         (source (frame-source frame)))
    (list* "frame" (frame-number frame)
           "call" (call-text (frame-name-text frame) (frame-argument-texts frame))
           "source" (and source (one-line (printed (first source) :limit 300 :length 10 :level 6)))
           "restartable" (and (restartable-p frame) :true)
           "object" (and (vectorp path) (plusp (length path))
                         (object-at-path (variable-at frame (aref path 0))
                                         (string-upcase (aref path 0))
                                         (rest (coerce path 'list))
                                         (integer-member request "from" 0)))
           (locals-members frame))))

(define-operation "frame-locals" (call request)
  "The variables of a range of frames."
  (setf (call-phase call) "inspect")
  (let ((from (integer-member request "from" 0))
        (count (integer-member request "count" 1000)))
    (list "locals"
          (coerce (loop for frame in (member-if (lambda (frame) (<= from (frame-number frame)))
                                                (situation-frames (current-situation)))
                        repeat count    ; the numbers of a deep stack have a gap
                        collect (list* :object "frame" (frame-number frame)
                                       (locals-members frame)))
                  'simple-vector))))

(define-operation "raw-backtrace" (call request)
  "The frames as SBCL has them, unfiltered."
  (setf (call-phase call) "inspect")
  (current-situation)
  (multiple-value-bind (raw rest)
      (collect-raw-frames (frames-below (sb-di:top-frame) 'debug-loop)
                          (max 1 (min 1000 (integer-member request "max" 1000))))
    (list "frames" (frame-objects (number-frames raw))
          "depth" (+ (length raw)
                     (if rest
                         (1+ (count-frame-pointers (stack-frame-pointer rest)
                                                   *form-frame-pointer*))
                         0)))))

;;; --- evaluating in a frame ----------------------------------------------------------------------

(defun visible-variables (frame)
  "Bindings for SYMBOL-MACROLET of the names that SB-DI does not know, or knows several times."
  (let ((locals (frame-locals frame)))
    (loop for local in locals
          for symbol = (local-symbol local)
          for variable = (local-variable local)
          unless (or (local-shadowed local)
                     (not (eq (sb-int:info :variable :kind symbol) :unknown))
                     (and variable (= 1 (count symbol locals :key #'local-symbol))))
            collect (list symbol
                          (if variable
                              `(sb-di:debug-var-value ',variable ',(variables-frame frame))
                              `',(local-value local))))))

(declaim (notinline run-form-in-frame))
(defun run-form-in-frame (form frame)
  "Values of FORM as a list, evaluated with the variables of FRAME."
  (let ((*form-in-frame* form)
        (bindings (visible-variables frame)))
    (with-form-frame-marked
      (multiple-value-list
       (sb-di:eval-in-frame (variables-frame frame)
                            (if bindings `(symbol-macrolet ,bindings ,form) form))))))

(defun fail-unavailable (name frame)
  "Fail because the variable NAME of FRAME has no value any more."
  (setf (call-error-name *call*) name)  ; no need to warn of it as well
  (fail "no-such-variable" (text "The variable " (symbol-label name)
                                 " is not available in frame " (frame-number frame) ".")))

(defun check-variables-available (condition frame)
  "Fail with a clearer message when CONDITION is about a variable of FRAME that is not alive."
  (when (typep condition 'unbound-variable)
    (let ((name (cell-error-name condition)))
      (when (member name (nth-value 1 (frame-locals frame)))
        (fail-unavailable name frame)))))

(define-operation "eval-in-frame" (call request)
  "Evaluate a text with the variables of a frame."
  (let* ((frame (situation-frame (integer-member request "frame" 0)))
         (source (make-source-text (required-string request "code")))
         (*form-runner* (lambda (form)
                          (handler-bind
                              ((unbound-variable
                                 (lambda (condition) (check-variables-available condition frame)))
                               (sb-di:invalid-value
                                 (lambda (condition)
                                   (fail-unavailable
                                    (sb-di:debug-var-symbol (invalid-variable condition))
                                    frame))))
                            (run-form-in-frame form frame)))))
    (evaluate-source call request source)))

;;; --- restarts -----------------------------------------------------------------------------------

(defun find-frozen-restart (designator)
  "The restart DESIGNATOR, a name in any case or a number from 1, means."
  (let* ((restarts (situation-restarts (current-situation)))
         (number (and (every #'digit-char-p designator) (plusp (length designator))
                      (parse-integer designator))))
    (or (if number
            (and (plusp number) (nth (1- number) restarts))
            (find designator restarts :key #'restart-label :test #'string-equal))
        (fail "no-such-restart"
              (format nil "There is no restart ~A; available: ~{~A~^, ~}." designator
                      (loop for restart in restarts
                            for index from 1
                            collect (text index " " (restart-label restart))))))))

(defun evaluate-text (call text)
  "Primary value of the last form in TEXT."
  (setf (call-form-number call) 0)
  (first (evaluate-forms call (make-source-text text))))

(defun evaluate-argument (call text)
  "Primary value of the one form in TEXT."
  (let ((source (make-source-text text)) (end (list :end)))
    (setf (call-source call) source
          (call-form-number call) 0)
    (when (or (eq end (read-form call source end))
              (not (eq end (read-form call source end))))
      (fail "invalid-argument" (text "Each of the values must be one Lisp form: "
                                     (printed text :limit 200)))))
  (evaluate-text call text))

(defun argument-values (call request)
  "Evaluate what REQUEST brings: its code, then each of its values; a list of these."
  (let ((code (member-of request "code")))
    (with-package-argument (request)
      (when (stringp code) (evaluate-text call code))
      (map 'list (lambda (value) (evaluate-argument call value))
           (member-of request "values" #())))))

(defun answer-assertions ()
  "Let the values of invoke-restart be the new values of places of ASSERT, which SBCL would ask the
terminal for. Places beyond the values stay as they are. Once, when the core is built."
  (encapsulate-assertion-prompt
   (lambda (original place value)
     (cond ((eq *place-values* :ask) (funcall original place value))
           (*place-values* (pop *place-values*))
           (t value)))))

(defun asks-for-places-p (restart)
  "True for the CONTINUE of an ASSERT that has places."
  (and (string= (restart-label restart) "CONTINUE")
       (search "Retry assertion with new value" (restart-description restart))))

(defun restart-and-values (call request)
  "Name of the restart that REQUEST names, and a function of no arguments that invokes it."
  (unless (situation-call (current-situation))
    (fail "no-such-restart" "A thread that has ended by an error cannot go on."))
  (if (member-of request "frame")
      (frame-restart call request)
      (let* ((restart (find-frozen-restart (required-string request "restart")))
             (values (argument-values call request)))
        (cons (restart-label restart)
              (if (and values (asks-for-places-p restart))
                  (lambda ()
                    (setf *place-values* values)
                    (invoke-restart restart))
                  (lambda () (apply #'invoke-restart restart values)))))))

;;; Restarts of a frame: its function is called again, or returns without having ended. Evaluated
;;; code has them, since it is compiled with (DEBUG 3); functions of files and of SBCL have not.

(defun restartable-p (frame)
  "True when FRAME can be left for a new call of its function, or with values."
  (handler-case (sb-debug:frame-has-debug-tag-p (variables-frame frame))
    (serious-condition () nil)))

(defun fail-not-restartable (frame)
  "Fail because FRAME has no restarts, and name those that have."
  (fail "no-such-restart"
        (format nil "Frame ~D, ~A, cannot be restarted or returned from: only code compiled ~
                     with (debug 3), as evaluated code is, can. Frames that can: ~
                     ~:[none~;~:*~{~D~^, ~}~]."
                (frame-number frame) (frame-name-text frame)
                (loop for frame in (situation-frames (current-situation))
                      when (restartable-p frame)
                        collect (frame-number frame) into numbers
                      until (= 20 (length numbers))
                      finally (return numbers)))))

(defun frame-call-again (frame arguments)
  "A function that calls what FRAME has called: with the list ARGUMENTS if that is one, or with the
same ones. By its name, so that a corrected definition is used; a form or a local function is that
of the frame."
  (let* ((stack-frame (variables-frame frame))
         (name (frame-function-name stack-frame))
         (global (and (sb-int:legal-fun-name-p name) (fboundp name)))
         (function (if global
                       (fdefinition name)
                       (sb-di:debug-fun-fun (sb-di:frame-debug-fun stack-frame))))
         (arguments (cond ((listp arguments) arguments)
                          ((frame-form-frame frame) '())
                          (t (frame-arguments frame)))))
    (unless (functionp function)
      (fail "no-such-restart" (text "The function of frame " (frame-number frame)
                                    " is part of another one and cannot be called again.")))
    (when (some (lambda (argument) (typep argument 'unavailable-argument)) arguments)
      (fail "no-such-restart" (text "An argument of frame " (frame-number frame)
                                    " is not available any more; `values` gives new ones.")))
    (lambda ()
      (declare (optimize (debug 0)))    ; a tail call: the frame is replaced
      (apply function arguments))))

(defun frame-restart-name (request)
  "Which of the two restarts of a frame REQUEST means."
  (let ((restart (member-of request "restart")))
    (cond ((not (stringp restart))
           (if (member-of request "values") "RETURN-FROM-FRAME" "RESTART-FRAME"))
          ((find restart '("RESTART-FRAME" "RETURN-FROM-FRAME") :test #'string-equal))
          (t (fail "no-such-restart"
                   (text "A frame has no restart " restart
                         "; it has RESTART-FRAME and RETURN-FROM-FRAME. Other restarts are invoked "
                         "without `frame`."))))))

(defun frame-restart (call request)
  "What RESTART-AND-VALUES returns, for a restart of the frame that REQUEST names."
  (let* ((frame (situation-frame (integer-member request "frame" 0)))
         (name (frame-restart-name request)))
    (unless (restartable-p frame) (fail-not-restartable frame))
    (let* ((values (argument-values call request))
           (thunk (if (string= name "RETURN-FROM-FRAME")
                      (lambda () (values-list values))
                      (frame-call-again frame (if (member-of request "values") values t)))))
      (cons name (lambda () (sb-debug:unwind-to-frame-and-call (variables-frame frame) thunk))))))

(defun resume-call (call number request)
  "Let the frozen CALL answer the message NUMBER, with fresh limits and clocks."
  (let ((fresh (make-request-call number request)))
    (setf (call-number call) number
          (call-operation call) (call-operation fresh)
          (call-timeout call) (call-timeout fresh)
          (call-max-output call) (call-max-output fresh)
          (call-max-memory call) (call-max-memory fresh)
          (call-warnings call) '()
          (call-warning-count call) 0
          (call-note-count call) 0
          (call-shown call) '()
          (call-shown-bytes call) 0
          (call-error call) nil
          (call-error-name call) nil
          (call-postmortem call) nil
          (call-timed-out call) nil
          (call-stoppable call) t)
    (prepare-call call)
    (setf (agent-situation *agent*) nil
          *call* call)))

(defun perform-restart (number request)
  "Evaluate what the request brings, then invoke the restart in the frozen call."
  (let ((attempt (make-request-call number request))
        (call (situation-call (agent-situation *agent*))))
    (setf *call* attempt
          (call-freezing attempt) nil)
    (prepare-call attempt)
    (let ((chosen (guarded attempt
                           (lambda ()
                             (call-with-abort attempt
                               (lambda () (restart-and-values attempt request)))))))
      (cond ((and chosen (null (call-error attempt)))
             (resume-call call number request)
             (setf (call-restart call) (car chosen))
             (funcall (cdr chosen)))
            (t
             (answer-call attempt (list "invoked" :false)))))))
