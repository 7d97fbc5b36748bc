;;;; Condition reports: all that is reported of a failure (docs/reference/evaluator.md
;;;; 3).
;;;;
;;;; Unhandled means: would enter the debugger. INVOKE-DEBUGGER is encapsulated (main.lisp), and
;;;; CAPTURE-CONDITION runs in its place, with the whole stack alive. It renders the report, leaves
;;;; a post-mortem behind and ends the call.

(in-package "CADRE-AGENT")

(defconstant +message-limit-characters+ 4000)
(defconstant +description-limit+ 300)

;;; --- parts of a report --------------------------------------------------------------------------

(defun note-reporting (label)
  "Remember whose report is being rendered, in case it never ends."
  (when (and *call* (in-main-thread-p)) (setf (call-reporting *call*) label)))

(defun condition-message (condition)
  "Report of CONDITION, cut; a report that fails is named."
  (let ((label (type-label condition)))
    (note-reporting label)
    (let ((text (handler-case
                    (with-print-limits (:length 50 :level 8)
                      (multiple-value-bind (text total)
                          (with-bounded-text (stream +message-limit-characters+)
                            (princ condition stream))
                        (if (> total +message-limit-characters+)
                            (text (subseq text 0 (- +message-limit-characters+ 3)) "...")
                            (trim-right text))))
                  (serious-condition (failure)
                    (note-memory-fault failure)
                    (text "(the report of this " label " failed: " (type-label failure) ")")))))
      (note-reporting nil)
      (if (zerop (length text)) (text "(" label " without a message)") text))))

(defun condition-superclasses (condition)
  "Names of the classes after CONDITION's own, up to CONDITION."
  (let* ((list (rest (sb-mop:class-precedence-list (class-of condition))))
         (end (position (find-class 'condition) list)))
    (map 'simple-vector (lambda (class) (qualified-label (class-name class)))
         (subseq list 0 (and end (1+ end))))))

(defun condition-slots (condition)
  "Name and printed value of every slot that can be read."
  (coerce
   (loop for slot in (sb-mop:class-slots (class-of condition))
         for name = (sb-mop:slot-definition-name slot)
         unless (member (symbol-name name) '("FORMAT-CONTROL" "FORMAT-ARGUMENTS") :test #'string=)
           append (handler-case
                      (list (object "name" (symbol-name name)
                                    "value" (printed (slot-value condition name))))
                    (serious-condition () '())))
   'simple-vector))

(defun restart-label (restart)
  "Name of RESTART."
  (symbol-name (restart-name restart)))

(defun restart-description (restart)
  "Report of RESTART, or its name."
  (let ((text (handler-case
                  (with-print-limits (:length 20 :level 4)
                    (one-line (trim-right
                               (values (with-bounded-text (stream (1+ +description-limit+))
                                         (princ restart stream))))))
                (serious-condition () ""))))
    (if (or (zerop (length text)) (null (restart-report restart)))
        (string-downcase (restart-label restart))
        (cut text +description-limit+))))

(defun restart-objects (restarts)
  "JSON of RESTARTS, numbered from 1."
  (coerce (loop for restart in restarts
                for number from 1
                collect (object "number" number
                                "name" (restart-label restart)
                                "description" (restart-description restart)))
          'simple-vector))

;;; --- error objects ------------------------------------------------------------------------------

(defun position-members (call frames &optional place)
  "Members that say where in the source of CALL the failure with FRAMES was."
  (when (call-compiled-file call) (locate-in-compiled-file call frames))
  (let* ((source (call-source call))
         (place (or place (and source (source-text-place source)))))
    (when source
      (list "form" (call-form-number call)
            "line" (place-line place)
            "column" (place-column place)
            "path" (source-text-path source)))))

(defun current-phase (call)
  "What CALL is doing, for error objects."
  (if (call-reporting call) "report" (call-phase call)))

(defun cadre-error (label code message &key frames depth restarts call)
  "Error object of a failure that is no Lisp condition."
  (list* :object
         "code" code
         "message" message
         "type" label
         "type_qualified" (text "CADRE:" label)
         "superclasses" #()
         "frames" (if frames (frame-objects frames) #())
         "depth" (or depth 0)
         "restarts" (and restarts (restart-objects restarts))
         (and call (list* "phase" (current-phase call) (position-members call frames)))))

(defun stack-hint (condition frames)
  "A sentence about a function that called itself until the stack was full, or NIL."
  (when (and (typep condition 'stack-exhausted)
             (rest frames)
             (equal (frame-name (first frames)) (frame-name (second frames))))
    (text "if " (frame-name-text (first frames)) " is meant to loop by tail calls, evaluate "
          "(declaim (optimize (debug 1))) and define it again: evaluated code keeps the frames of "
          "tail calls, for its backtraces")))

(defun condition-error (condition frames depth restarts call)
  "Error object of CONDITION, rendered now."
  (let ((name (class-name (class-of condition))))
    (list* :object
           "code" "condition"
           "message" (condition-message condition)
           "hint" (or (stack-hint condition frames) (condition-hint condition))
           "type" (type-label condition)
           "type_qualified" (qualified-label name)
           "superclasses" (condition-superclasses condition)
           "slots" (condition-slots condition)
           "frames" (frame-objects frames)
           "depth" depth
           "restarts" (restart-objects restarts)
           (and call (list* "phase" (current-phase call) (position-members call frames))))))

(defun reader-error-object (condition call)
  "Error object of CONDITION, about the text CALL reads."
  (multiple-value-bind (message place) (reader-message condition (call-source call))
    (let* ((form (form-beginning (call-source call)))
           (read-call (text "(READ " (printed form :limit 200) ")")))
      (list* :object
             "code" "reader"
             "message" (cut message +message-limit-characters+)
             "hint" (condition-hint condition)
             "type" (type-label condition)
             "type_qualified" (qualified-label (class-name (class-of condition)))
             "superclasses" (condition-superclasses condition)
             "phase" (if (call-compiled-file call) "compile" "read")
             "frames" (vector (object "number" 0 "call" (one-line read-call) "function" "READ"
                                      "arguments" (vector (printed form :limit 200))))
             "depth" 1
             "restarts" (restart-objects (remove 'abort (compute-restarts condition)
                                                 :key #'restart-name :test-not #'eq))
             (position-members call '() place)))))

;;; --- capture ------------------------------------------------------------------------------------

(defun top-frame-below (name)
  "The stack frame that called the function NAME, seen from here."
  (frames-below (sb-di:top-frame) name))

(defun freezing-p (call)
  "Only failures of the session's own evaluations are kept for debugging."
  (and (call-freezing call)
       (member (call-operation call)
               '("evaluate" "load-file" "load-system" "profile" "trace" "break-at" "invoke-restart"
                 "call-function" "run-tests")
               :test #'string=)))

(defun freeze-and-end-call (call error condition frames restarts)
  "Leave a post-mortem behind, then end the call with ERROR. In a copy of the post-mortem this
serves debugging requests instead, and returns only for a restart that means going on."
  (flush-streams)                       ; or every copy would print what is in the buffers again
  (let ((pid (and (freezing-p call)
                  (freeze-failure))))
    (cond ((eq pid :woken)
           (debug-loop call condition frames restarts))
          (t
           (setf (call-error call) error
                 (call-postmortem call) pid)
           (end-call)))))

;;; Once a call has failed its cleanup forms run. A failure of theirs is reported beside the first
;;; one and does not replace it.

(defun end-cleanup (call what)
  "End a failed call whose cleanup is stopped by WHAT, and report that beside the failure."
  (push (text "While the evaluation was cleaning up, " what
              "; the rest of that cleanup was skipped.")
        (call-notices call))
  (end-call))

(declaim (notinline capture-condition)) ; its frame marks where the user's begin
(defun capture-condition (condition)
  "CONDITION is unhandled in the main thread, during a call."
  (let ((call *call*))
    (when (call-error call)
      (note-memory-fault condition)
      (end-cleanup call (text (type-label condition) " was signalled: "
                              (one-line (condition-message condition)))))
    (note-memory-fault condition)
    (when (and (string= (call-phase call) "read")
               (reader-condition-p condition (call-source call)))
      (setf (call-error call) (reader-error-object condition call))
      (end-call))
    (multiple-value-bind (frames depth)
        (collect-frames (top-frame-below 'capture-condition) condition)
      (let ((restarts (compute-restarts condition)))
        (setf (call-error-name call)
              (and (typep condition 'cell-error) (ignore-errors (cell-error-name condition))))
        (freeze-and-end-call call
                             (build-error call condition
                                          (condition-error condition frames depth restarts call)
                                          frames)
                             condition frames restarts)))))

(defun capture-abort (call)
  "User code invoked Cadre's ABORT restart."
  (if (equal (call-restart call) "ABORT")
      (setf (call-aborted call) t)
      (setf (call-error call)
            (cadre-error "EVALUATION-ABORTED" "aborted" "The code invoked the ABORT restart."
                         :call call)))
  (end-call))
