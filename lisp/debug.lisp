;;;; Debugging in copies of a post-mortem (evaluator.md 7).
;;;;
;;;; A copy of a post-mortem is a process that stands inside the failing evaluation: DEBUG-LOOP is
;;;; called from the point of error and serves requests there. INVOKE-RESTART leaves it by letting
;;;; the interrupted call run on; that call then answers the request.

(in-package "CADRE-AGENT")

(defstruct (situation (:constructor make-situation (call condition frames restarts)))
  call condition frames restarts)

(defglobal *situation* nil)             ; of a copy of a post-mortem, until a restart is taken

(defun debug-loop (call condition frames restarts)
  "Serve requests about the frozen error. Returns never, or by a restart."
  (setf *situation* (make-situation call condition frames restarts)
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
  (or *situation* (fail "protocol" "This process holds no frozen error.")))

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

(defun frame-variables (frame)
  "List of (symbol value) of the variables alive in FRAME, by name; and the names of the others."
  (let* ((stack-frame (variables-frame frame))
         (location (sb-di:frame-code-location stack-frame))
         (variables (and (not (bare-eval-frame-p frame))
                         (handler-case
                             (sb-di:ambiguous-debug-vars (sb-di:frame-debug-fun stack-frame) "")
                           (serious-condition () '())))) ; it has no debug information
         (alive '()) (dead '()))
    (dolist (variable variables)
      (let ((symbol (sb-di:debug-var-symbol variable)))
        (when (symbol-package symbol)   ; the others are the compiler's own
          (if (eq :valid (handler-case (sb-di:debug-var-validity variable location)
                           (sb-di:debug-condition () :unknown)))
              (push (list symbol (sb-di:debug-var-value variable stack-frame)) alive)
              (pushnew symbol dead)))))
    (values (nreverse alive)
            (nreverse (set-difference dead (mapcar #'first alive))))))

(defun local-value-text (value)
  (printed value :length 20 :level 5 :limit 500 :message t))

(defun locals-members (frame)
  (multiple-value-bind (alive dead) (frame-variables frame)
    (list "locals" (map 'simple-vector
                        (lambda (entry)
                          (object "name" (symbol-label (first entry))
                                  "value" (local-value-text (second entry))))
                        alive)
          "unavailable" (and dead (map 'simple-vector #'symbol-label dead)))))

(define-operation "inspect-frame" (call request)
  (setf (call-phase call) "inspect")
  (let* ((frame (situation-frame (integer-member request "frame" 0)))
         (path (member-of request "path"))
         (source (frame-source frame)))
    (list* "frame" (frame-number frame)
           "call" (call-text (frame-name-text frame) (frame-argument-texts frame))
           "source" (and source (one-line (printed (first source) :limit 300 :length 10 :level 6)))
           "object" (and (vectorp path) (plusp (length path)) (object-at frame (coerce path 'list)))
           (locals-members frame))))

(define-operation "frame-locals" (call request)
  (setf (call-phase call) "inspect")
  (let ((from (integer-member request "from" 0))
        (count (integer-member request "count" 1000)))
    (list "locals"
          (coerce (loop for frame in (situation-frames (current-situation))
                        for number = (frame-number frame)
                        when (and (<= from number) (< number (+ from count)))
                          collect (list* :object "frame" number (locals-members frame)))
                  'simple-vector))))

(define-operation "raw-backtrace" (call request)
  (setf (call-phase call) "inspect")
  (current-situation)
  (let* ((top (frames-below (sb-di:top-frame) 'debug-loop))
         (raw (take-raw-frames top (max 1 (min 1000 (integer-member request "max" 1000))))))
    (list "frames" (frame-objects (number-frames raw))
          "depth" (length raw))))

;;; --- objects by path ----------------------------------------------------------------------------

(defun no-such-path (step object)
  (fail "no-such-path" (text "There is no part " step " in " (printed object) ".")))

(defun object-slots (object)
  "List of (name . value) of OBJECT's slots; unbound ones are left out."
  (loop for slot in (ignore-errors (sb-mop:class-slots (class-of object)))
        for name = (sb-mop:slot-definition-name slot)
        when (ignore-errors (slot-boundp object name))
          collect (cons (symbol-name name) (slot-value object name))))

(defun part-at-index (object index)
  (cond ((and (consp object) (nthcdr index object)) (nth index object))
        ((and (vectorp object) (< -1 index (length object))) (aref object index))
        (t (no-such-path (decimal index) object))))

(defun part-by-name (object name)
  "The slot NAME of OBJECT, or what the accessor NAME returns for it."
  (let ((slot (assoc name (object-slots object) :test #'string-equal)))
    (if slot
        (cdr slot)
        (let ((accessor (find-symbol (string-upcase name) (session-package))))
          (if (and accessor (fboundp accessor))
              (funcall accessor object)
              (no-such-path name object))))))

(defun table-entry (table form-text)
  (multiple-value-bind (value found) (gethash (eval (read-from-string form-text)) table)
    (if found value (no-such-path form-text table))))

(defun object-at (frame path)
  "Follow PATH, whose first step names a variable of FRAME."
  (let* ((name (first path))
         (entry (and (stringp name)
                     (find name (frame-variables frame) :key (lambda (entry)
                                                               (symbol-name (first entry)))
                                                        :test #'string-equal)))
         (object (if entry
                     (second entry)
                     (fail "no-such-path" (text "There is no variable "
                                                (if (stringp name) name (decimal name))
                                                " in frame " (frame-number frame) "."))))
         (labels (list (string-upcase name)))
         (steps (rest path)))
    (loop while steps
          do (let ((step (pop steps)))
               (setf object
                     (cond ((integerp step)
                            (push (decimal step) labels)
                            (part-at-index object step))
                           ((and (hash-table-p object) (string-equal step "key") steps)
                            (push (first steps) labels)
                            (table-entry object (pop steps)))
                           (t (push (string-upcase step) labels)
                              (part-by-name object step))))))
    (object-description object (format nil "~{~A~^.~}" (nreverse labels)))))

(defun object-parts (object)
  "List of (name . value), and how many more there are."
  (let ((parts (typecase object
                 (string '())
                 (cons (loop for rest = object then (cdr rest)
                             for index from 0 to 50
                             while (consp rest)
                             collect (cons (decimal index) (car rest))))
                 (vector (loop for index from 0 below (min 51 (length object))
                               collect (cons (decimal index) (aref object index))))
                 (hash-table (loop for key being the hash-keys of object using (hash-value value)
                                   repeat 51
                                   collect (cons (printed key) value)))
                 ((or standard-object structure-object condition) (object-slots object))))
        (total (typecase object
                 (cons (or (ignore-errors (list-length object)) 0))
                 (string 0)
                 (vector (length object))
                 (hash-table (hash-table-count object)))))
    (let* ((shown (subseq parts 0 (min 50 (length parts))))
           (more (- (or total (length parts)) (length shown))))
      (values shown (and (plusp more) more)))))

(defun object-description (object path)
  (multiple-value-bind (parts more) (object-parts object)
    (object "path" path
            "type" (printed (type-of object) :limit 200)
            "value" (local-value-text object)
            "parts" (map 'simple-vector
                         (lambda (part)
                           (object "name" (car part) "value" (local-value-text (cdr part))))
                         parts)
            "more" more)))

;;; --- evaluating in a frame ----------------------------------------------------------------------

(declaim (notinline run-form-in-frame))
(defun run-form-in-frame (form stack-frame)
  (let ((*form-in-frame* form))
    (with-form-frame-marked
      (multiple-value-list (sb-di:eval-in-frame stack-frame form)))))

(defun fail-unavailable (name frame)
  (fail "no-such-variable" (text "The variable " (symbol-label name)
                                 " is not available in frame " (frame-number frame) ".")))

(defun check-variables-available (condition frame)
  "An unbound variable that is one of FRAME's, only dead, deserves a better word."
  (when (typep condition 'unbound-variable)
    (let ((name (cell-error-name condition)))
      (when (member name (nth-value 1 (frame-variables frame)))
        (fail-unavailable name frame)))))

(define-operation "eval-in-frame" (call request)
  (let* ((frame (situation-frame (integer-member request "frame" 0)))
         (stack-frame (variables-frame frame))
         (source (make-source-text (required-string request "code")))
         (*form-runner* (lambda (form)
                          (handler-bind
                              ((unbound-variable
                                 (lambda (condition) (check-variables-available condition frame)))
                               (sb-di:invalid-value
                                 (lambda (condition)
                                   (fail-unavailable
                                    (sb-di:debug-var-symbol
                                     (sb-di::invalid-value-debug-var condition))
                                    frame))))
                            (run-form-in-frame form stack-frame)))))
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

(defun restart-and-values (call request)
  (let ((restart (find-frozen-restart (required-string request "restart")))
        (code (member-of request "code"))
        (values (member-of request "values" #())))
    (with-package-argument (request)
      (when (stringp code) (evaluate-text call code))
      (cons restart (map 'list (lambda (value) (evaluate-text call value)) values)))))

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
          (call-error call) nil
          (call-error-name call) nil
          (call-postmortem call) nil
          (call-timed-out call) nil
          (call-stoppable call) t)
    (prepare-call call)
    (setf *situation* nil
          *call* call)))

(defun perform-restart (number request)
  "Evaluate what the request brings, then take the restart in the frozen call."
  (let ((attempt (make-request-call number request))
        (call (situation-call *situation*)))
    (setf *call* attempt
          (call-freezing attempt) nil)
    (prepare-call attempt)
    (let ((chosen (guarded attempt
                           (lambda ()
                             (call-with-abort attempt
                               (lambda () (restart-and-values attempt request)))))))
      (cond ((and chosen (null (call-error attempt)))
             (resume-call call number request)
             (setf (call-restart call) (restart-label (first chosen)))
             (apply #'invoke-restart chosen))
            (t
             (answer-call attempt (list "invoked" :false)))))))
