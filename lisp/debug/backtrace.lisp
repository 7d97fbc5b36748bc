;;;; Backtraces: from SBCL's stack to the frames people wrote (docs/reference/evaluator.md 3.5).
;;;;
;;;; A frame list is built in three steps: collect raw frames outward to the form loop; drop,
;;;; rename and merge by rule; render. Each raw frame is read under its own handler, so that one
;;;; broken frame does not spoil the list.

(in-package "CADRE-AGENT")

(defconstant +first-frames+ 800)
(defconstant +last-frames+ 200)
(defconstant +frame-text-limit+ 300)
(defconstant +frame-argument-limit+ 10)

(defstruct (frame (:constructor make-frame (name arguments information stack-frame)))
  name                                  ; as SBCL names the function
  arguments                             ; list of objects
  information                           ; list of :EXTERNAL, :MORE, :OPTIONAL …
  stack-frame                           ; SB-DI:FRAME
  (renamed nil)                         ; a primitive shown under its operator's name
  (form-frame nil)                      ; the stack frame of the compiled form, in an EVAL frame
  (number 0))

(defvar *plain-arguments* nil)           ; true: print arguments without calling PRINT-OBJECT
(defglobal *frame-calls-work* t)         ; result of a probe (probes.lisp)

;;; --- collecting ---------------------------------------------------------------------------------

(defun frame-with-name-only (stack-frame)
  "The frame STACK-FRAME without its arguments."
  (make-frame (handler-case (frame-function-name stack-frame)
                (serious-condition () "unreadable frame"))
              '() '() stack-frame))

(defun raw-frame (stack-frame)
  "The frame STACK-FRAME, as SBCL describes it; its name alone when that fails."
  (if *frame-calls-work*
      (handler-case
          (multiple-value-bind (name arguments information) (stack-frame-call stack-frame)
            (make-frame name (if (listp arguments) arguments '()) information stack-frame))
        (serious-condition () (frame-with-name-only stack-frame)))
      (frame-with-name-only stack-frame)))

(defun frame-function-name (stack-frame)
  "Name of the function in STACK-FRAME."
  (sb-di:debug-fun-name (sb-di:frame-debug-fun stack-frame)))

(defun form-loop-frame-p (stack-frame)
  "True at the frame that calls EVAL for a form of a call, or that begins a thread."
  (let ((name (ignore-errors (frame-function-name stack-frame))))
    (or (member name '(run-form run-form-in-frame guarded receive-message))
        (thread-start-name-p name))))

(defun fill-arguments (frame)
  "A stop can hit code between two places the compiler describes. The registers and stack slots of
variables do not change within a function, so arguments reported missing there can be read; SB-DI
refuses what is no Lisp object."
  (ignore-errors
   (let ((stack-frame (frame-stack-frame frame)))
     (setf (frame-arguments frame)
           (loop for argument in (frame-arguments frame)
                 for variables = (sb-di:debug-fun-lambda-list (sb-di:frame-debug-fun stack-frame))
                   then (rest variables)
                 collect (if (and (typep argument 'unavailable-argument)
                                  (typep (first variables) 'sb-di:debug-var))
                             (sb-di:debug-var-value (first variables) stack-frame)
                             argument)))))
  frame)

(defun frame-below (stack-frame)
  "The stack frame that called STACK-FRAME, or NIL."
  (ignore-errors (sb-di:frame-down stack-frame)))

(defun collect-raw-frames (top count)
  "At most COUNT raw frames from TOP outward, and the stack frame after them, or NIL at the form
loop."
  (loop with frames = '()
        with stack-frame = top
        repeat count
        do (when (or (null stack-frame) (form-loop-frame-p stack-frame))
             (return (values (nreverse frames) nil)))
           (push (raw-frame stack-frame) frames)
           (setf stack-frame (frame-below stack-frame))
        finally (return (values (nreverse frames)
                                (and stack-frame (not (form-loop-frame-p stack-frame))
                                     stack-frame)))))

;;; Walking two million frames with FRAME-DOWN takes seconds. Below the first frames the saved
;;; frame pointers are followed instead, and only the outermost frames are read again.

(defglobal *form-frame-pointer* 0)      ; of the active RUN-FORM
(declaim (type word *form-frame-pointer*))

(defun count-frame-pointers (start end)
  "How many saved frame pointers lead from START to END."
  (declare (type word start end) (optimize speed))
  (loop with pointer of-type word = start
        for count of-type fixnum from 0
        for next of-type word = (sap-ref-word (int-sap pointer) 0)
        until (or (>= pointer end) (<= next pointer))
        do (setf pointer next)
        finally (return count)))

(defun nth-frame-pointer (start count)
  "The frame pointer COUNT calls outward from START."
  (declare (type word start) (type fixnum count))
  (loop repeat count
        do (setf start (sap-ref-word (int-sap start) 0)))
  start)

(defun outermost-frames (from wanted)
  "The WANTED outermost raw frames of the stack that goes on at the stack frame FROM, and how many
frames there are between FROM and them."
  (let* ((start (stack-frame-pointer from))
         (count (count-frame-pointers start *form-frame-pointer*)))
    (if (<= count wanted)
        (values (collect-raw-frames from (+ wanted 10)) 0)
        (let* ((skipped (- count wanted))
               (before (nth-frame-pointer start (1- skipped)))
               (caller (sap-ref-word (int-sap before) 0))
               (return-address (sap-ref-word (int-sap before) 8))
               (stack-frame (calling-frame caller return-address from)))
          (values (collect-raw-frames stack-frame (+ wanted 10)) skipped)))))

;;; Foreign functions need not keep a frame pointer, and a stop that arrives in one then finds no
;;; Lisp frame. The stack is searched for the first saved frame pointer that leads to the form loop.

(defun lisp-address-p (word)
  "True for an address in Lisp code."
  (and (> word 4096) (code-at word) t))

(defun leads-to-form-loop-p (pointer end)
  "True when saved frame pointers lead from POINTER to END."
  (loop repeat 1000
        do (cond ((= pointer end) (return t))
                 ((> pointer end) (return nil)))
           (let ((next (sap-ref-word (int-sap pointer) 0)))
             (unless (> next pointer) (return nil))
             (setf pointer next))))

(defun search-frame (stack-pointer)
  "The innermost Lisp frame that has its frame pointer saved above STACK-POINTER, or NIL."
  (loop with end = *form-frame-pointer*
        for address from stack-pointer below (min end (+ stack-pointer 800000)) by 8
        for pointer = (sap-ref-word (int-sap address) 0)
        when (and (< address pointer)
                  (<= pointer end)
                  (lisp-address-p (sap-ref-word (int-sap address) 8))
                  (leads-to-form-loop-p pointer end))
          return (calling-frame pointer (sap-ref-word (int-sap address) 8) nil)))

;;; Arithmetic and allocation are done by assembly routines, which have no frame of their own: a
;;; stop that arrives in one would show the caller's caller.

(defun assembly-address-p (word)
  "True for an address in an assembly routine."
  (eq (code-at word) sb-fasl:*assembler-routines*))

(defun assembly-caller-frame (registers stack-pointer)
  "The frame of the Lisp function that called the assembly routine which was interrupted, or NIL
when none was. REGISTERS, the signal's context, still hold that function's variables."
  (when (assembly-address-p (sap-int (sb-vm:context-pc registers)))
    (let ((address (loop for offset from 0 below 128 by 8
                         for word = (sap-ref-word (int-sap stack-pointer) offset)
                         when (and (lisp-address-p word) (not (assembly-address-p word)))
                           return word)))
      (when address
        (let ((pointer (int-sap (context-frame-pointer registers))))
          ;; The routine may have made the frame of the function it is about to call.
          (frame-of-code (if (= (sap-ref-word pointer 8) address) (sap-ref-sap pointer 0) pointer)
                         address registers))))))

(defun lisp-frame-near-p (stack-frame)
  "True when one of the first frames belongs to a Lisp function."
  (loop repeat 12
        while stack-frame
        do (unless (stringp (ignore-errors (frame-function-name stack-frame))) (return t))
           (setf stack-frame (frame-below stack-frame))))

;;; --- names --------------------------------------------------------------------------------------

(defparameter *internal-packages*
  '("SB-KERNEL" "SB-INT" "SB-IMPL" "SB-C" "SB-VM" "SB-PCL" "SB-DI" "SB-DEBUG" "SB-FORMAT" "SB-FASL"
    "SB-PRETTY" "SB-UNIX" "SB-SYS" "SB-BIGNUM" "SB-UNICODE" "SB-ALIEN-INTERNALS"))

(defparameter *operator-names*
  '(("INTEGER-/-INTEGER" . /) ("TWO-ARG-/" . /) ("TWO-ARG-+" . +) ("TWO-ARG--" . -)
    ("TWO-ARG-*" . *) ("TWO-ARG-<" . <) ("TWO-ARG->" . >) ("TWO-ARG-=" . =)
    ("TWO-ARG-<=" . <=) ("TWO-ARG->=" . >=) ("TWO-ARG-/=" . /=)))

(defparameter *evaluator-functions*
  '("SIMPLE-EVAL-IN-LEXENV" "%SIMPLE-EVAL" "SIMPLE-EVAL-PROGN-BODY" "SIMPLE-EVAL-LOCALLY"
    "EVAL-IN-LEXENV" "EVAL-TLF"))

(defparameter *method-names* '("METHOD" "FAST-METHOD" "SLOW-METHOD"))

(defun local-name-p (name)
  "True for the name of a local function."
  (member (first name) '(flet labels lambda)))

(defun base-name (name)
  "The global function NAME belongs to: local functions and methods count as their owner. A string
when that is a file."
  (cond ((atom name) (and (typep name '(or symbol string)) name))
        ((local-name-p name) (base-name (getf-loose name :in)))
        ((member (symbol-name (first name)) (list* "EMF" "SETF" *method-names*) :test #'string=)
         (base-name (second name)))
        (t nil)))

(defun getf-loose (list key)
  "Element after KEY in LIST, which is no property list."
  (second (member key list)))

(defun part-name-p (name)
  "True for the name of a method, or of a local function, which may be in one. Whether the user
wrote it does not follow from the function it is part of."
  (and (consp name)
       (or (local-name-p name)
           (member (symbol-name (first name)) *method-names* :test #'string=))))

(defun name-package (name)
  "Name of the package the function belongs to, or NIL. A local function of a whole file of SBCL
counts as SB-IMPL's."
  (let ((base (base-name name)))
    (cond ((stringp base) (and (eql 0 (search "SYS:" base)) "SB-IMPL"))
          ((and base (symbol-package base)) (package-name (symbol-package base))))))

(defun system-package-p (package)
  "True for the name of a package of Lisp itself."
  (and package
       (or (string= package "COMMON-LISP")
           (and (> (length package) 3) (string= "SB-" package :end2 3)))))

(defun evaluator-name-p (name)
  "True for the name of a function of SBCL's evaluator."
  (and (symbolp name) (system-package-p (name-package name))
       (member (symbol-name name) *evaluator-functions* :test #'string=)))

(defun own-name-p (name)
  "True for the name of a function of the agent."
  (equal (name-package name) "CADRE-AGENT"))

(defun evaluator-frame-p (frame)
  "True for EVAL and what it calls."
  (let ((name (frame-name frame))) (or (eq name 'eval) (evaluator-name-p name))))

(defun internal-name-p (name)
  "True for the name of a function of SBCL that users do not know."
  (or (and (stringp name) (string/= name "undefined function"))
      (eq name 'sb-ext:package-lock-violation)
      (let ((package (name-package name)))
        (and package (member package *internal-packages* :test #'string=)))))

(defun frame-location (frame)
  "Code location of FRAME, or of the compiled form in it."
  (sb-di:frame-code-location (or (frame-form-frame frame) (frame-stack-frame frame))))

(defun frame-debug-source (frame)
  "Debug source of FRAME."
  (sb-di:code-location-debug-source (frame-location frame)))

(defun system-source-p (frame)
  "True when FRAME's function was compiled from SBCL's own files."
  (ignore-errors
   (let ((file (debug-source-file (frame-debug-source frame))))
     (and file (eql 0 (search "SYS:" file))))))

(defun user-part-p (frame)
  "True for a method the user wrote, though its generic function may be part of Lisp."
  (and (part-name-p (frame-name frame)) (not (system-source-p frame))))

(defun internal-frame-p (frame)
  "True for a frame of SBCL that users do not know."
  (and (internal-name-p (frame-name frame)) (not (user-part-p frame))))

(defun system-frame-p (frame)
  "True when FRAME is part of Lisp itself."
  (and (system-package-p (name-package (frame-name frame))) (not (user-part-p frame))))

;;; --- machinery ----------------------------------------------------------------------------------

(defparameter *machinery-prefixes* '("ASDF" "UIOP" "QL" "QUICKLISP" "SB-C" "SB-FASL")
  "Beginnings of the names of packages whose functions build systems and compile.")

(defun machinery-package-p (package)
  "True for the name of a package whose functions build systems and compile."
  (some (lambda (prefix)
          (let ((end (length prefix)))
            (and (eql 0 (search prefix package))
                 (or (= end (length package)) (find (char package end) "/-")))))
        *machinery-prefixes*))

(defun machinery-p (frame below)
  "True for a frame of ASDF, the compiler or the loader. BELOW says that its caller is one; then
internals of SBCL and functions that signal a condition are, too. Texts fold machinery."
  (let* ((name (frame-name frame))
         (package (name-package name)))
    (and (or (member (base-name name) '(compile-file load))
             (and below
                  (or (member name '(error cerror signal warn)) (internal-name-p name)))
             (and package (machinery-package-p package)))
         (not (user-part-p frame)))))

;;; --- rules --------------------------------------------------------------------------------------

(defun signalled-by-system-p (frame below)
  "True for ERROR and its like when the caller is part of Lisp itself."
  (and (member (frame-name frame) '(error cerror signal warn))
       below
       (not (evaluator-frame-p below))
       (or (stringp (frame-name below)) (system-frame-p below))))

(defun rename-frame (frame below condition)
  "Give FRAME the name under which the user called it: undefined functions, arithmetic, ERROR in
RESTART-CASE."
  (let ((name (frame-name frame)))
    (cond ((equal name "undefined function")
           (when (typep condition 'undefined-function)
             (setf (frame-name frame) (cell-error-name condition))))
          ((and (symbolp name) (equal (name-package name) "SB-KERNEL"))
           (let ((operator (cdr (assoc (symbol-name name) *operator-names* :test #'string=))))
             (cond (operator
                    (setf (frame-name frame) operator
                          (frame-renamed frame) t))
                   ((and (string= (symbol-name name) "WITH-SIMPLE-CONDITION-RESTARTS")
                         below
                         (not (system-frame-p below)))
                    ;; what RESTART-CASE makes of (ERROR …)
                    (setf (frame-name frame) (first (frame-arguments frame))
                          (frame-arguments frame) (cddr (frame-arguments frame)))))))))
  frame)

(defun drop-internal-top (frames)
  "FRAMES without those in which SBCL and the agent handle the condition."
  (loop while (and frames
                   (let ((frame (first frames)))
                     (or (internal-frame-p frame)
                         (own-name-p (frame-name frame))
                         (signalled-by-system-p frame (second frames)))))
        do (pop frames))
  frames)

(defun dropped-everywhere-p (frame)
  "True for frames that are never shown."
  (let ((name (frame-name frame)))
    (or (stringp name)
        (own-name-p name)
        (evaluator-name-p name)
        (member (base-name name) *interruption-functions*)
        (and (symbolp name)
             (equal (name-package name) "SB-KERNEL")
             (member (symbol-name name) '("%SIGNAL" "WITH-SIMPLE-CONDITION-RESTARTS")
                     :test #'string=)))))

(defun compiled-form-frame-p (frame below)
  "True for the function SBCL compiles a top-level form into, which the evaluator calls."
  (and below
       (evaluator-name-p (frame-name below))
       (let ((name (frame-name frame)))
         (and (consp name) (eq (first name) 'lambda) (null (second name))))))

(defun join-form-frames (frames)
  "Give each EVAL frame the stack frame of the compiled form above it, for its variables."
  (let ((result '()) (form-frame nil))
    (loop for (frame below) on frames
          do (cond ((compiled-form-frame-p frame below)
                    (setf form-frame (frame-stack-frame frame)))
                   ((eq (frame-name frame) 'eval)
                    (setf (frame-form-frame frame) form-frame
                          form-frame nil)
                    (push frame result))
                   (t
                    (unless (evaluator-name-p (frame-name frame)) (setf form-frame nil))
                    (push frame result))))
    (nreverse result)))

(defun entry-point-p (frame)
  "True for the frame of an entry point, which calls the main function of the same name."
  (intersection (frame-information frame) '(:external :more :optional)))

(defun merge-frames (frames)
  "FRAMES with entry points and renamed primitives merged into what they call."
  (loop with result = '()
        for frame in frames
        do (let ((above (first result)))
             (cond ((and above (frame-renamed above) (eq (frame-name above) (frame-name frame)))
                    (setf (first result) frame))
                   ((and above (entry-point-p frame)
                         (equal (frame-name above) (frame-name frame))))
                   (t (push frame result))))
        finally (return (nreverse result))))

(defun filter-frames (raw condition &key (top t))
  "The frames to show of RAW; TOP is false when the innermost ones are not among them."
  (let ((frames (join-form-frames
                 (loop for (frame below) on raw
                       collect (rename-frame frame below condition)))))
    (merge-frames (remove-if #'dropped-everywhere-p
                             (if top (drop-internal-top frames) frames)))))

(defvar *form-in-frame* nil)            ; the form being evaluated in a frame of a frozen error

(defun name-outermost (frames)
  "What EVAL-IN-FRAME compiled is shown as the evaluation of its form."
  (let ((last (first (last frames))))
    (when (and *form-in-frame* last (consp (frame-name last)))
      (setf (frame-name last) 'eval
            (frame-arguments last) (list *form-in-frame*)
            (frame-form-frame last) (frame-stack-frame last))))
  frames)

(defun called-by-agent-p (frame)
  "True for the printing functions the agent calls with a stream of its own."
  (and (member (frame-name frame) '(prin1 princ))
       (typep (second (frame-arguments frame)) 'bounded-stream)))

(defun filter-by-phase (frames)
  "While a form is read or a value printed, leave out the functions of the reader and the printer.
READ itself is shown with the text of the form."
  (let ((call (and (in-main-thread-p) *call*)))
    (cond ((null call) frames)
          ((and (string= (call-phase call) "read") (call-source call))
           (let* ((frames (remove-if #'internal-frame-p frames))
                  (last (first (last frames))))
             (when (and last (eq (frame-name last) 'read))
               (setf (frame-arguments last) (list (form-beginning (call-source call)))))
             frames))
          ((or (call-reporting call) (string= (call-phase call) "print"))
           (remove-if (lambda (frame)
                        (or (internal-frame-p frame) (called-by-agent-p frame)))
                      frames))
          (t frames))))

(defun drop-unfinished-top (frames condition)
  "A function that ran out of stack has not stored its arguments yet."
  (if (and (typep condition 'stack-exhausted)
           (rest frames)
           (equal (frame-name (first frames)) (frame-name (second frames))))
      (rest frames)
      frames))

(defun number-frames (frames &optional (start 0))
  "Give FRAMES their numbers, from START."
  (loop for frame in frames
        for number from start
        do (setf (frame-number frame) number))
  frames)

(defun frames-below (stack-frame name)
  "The stack frame under the outermost of the topmost frames of function NAME; STACK-FRAME itself
when NAME is not found near."
  (loop with frame = stack-frame
        repeat 60
        while frame
        do (when (eq name (ignore-errors (frame-function-name frame)))
             (return (frame-below frame)))
           (setf frame (frame-below frame))
        finally (return stack-frame)))

(defun collect-frames (top condition)
  "Frames from the stack frame TOP outward by the rules, numbered; and the depth of the whole."
  (multiple-value-bind (raw rest) (collect-raw-frames top (+ +first-frames+ +last-frames+ 100))
    (if (null rest)
        (let* ((frames (number-frames
                        (name-outermost
                         (filter-by-phase
                          (drop-unfinished-top (filter-frames raw condition) condition)))))
               (depth (length frames)))
          (values (if (> depth (+ +first-frames+ +last-frames+))
                      (append (subseq frames 0 +first-frames+)
                              (nthcdr (- depth +last-frames+) frames))
                      frames)
                  depth))
        (multiple-value-bind (outermost skipped) (outermost-frames rest (+ +last-frames+ 20))
          (let* ((inner (drop-unfinished-top (filter-frames raw condition) condition))
                 (outer (filter-frames outermost condition :top nil))
                 (depth (+ (length inner) skipped (length outer)))
                 (last (last outer +last-frames+)))
            (values (append (subseq (number-frames inner) 0 (min +first-frames+ (length inner)))
                            (number-frames last (- depth (length last))))
                    depth))))))

;;; --- rendering ----------------------------------------------------------------------------------

(defun plain-argument (object &optional (depth 0))
  "OBJECT without its own printer."
  (typecase object
    ((or number character string symbol function unavailable-argument) (printed object))
    (cons (if (= depth 4) "#" (plain-list object depth)))
    (t (text "#<" (type-label object) ">"))))

(defun plain-list (list depth)
  "LIST without printers of the user."
  (let ((parts (loop for rest = list then (cdr rest)
                     for count from 0
                     while (and (consp rest) (< count 8))
                     collect (plain-argument (car rest) (1+ depth)) into parts
                     finally (return (cond ((null rest) parts)
                                           ((consp rest) (append parts (list "...")))
                                           (t (append parts
                                                      (list "." (plain-argument rest 4)))))))))
    (format nil "(~{~A~^ ~})" parts)))

(defun argument-text (object)
  "An argument of a frame, on one line."
  (one-line (cond ((eq object :invalid-value-for-unescaped-register-storage)
                   "#<unavailable argument>")
                  (*plain-arguments* (plain-argument object))
                  (t (printed object :limit 200)))))

(defun frame-name-text (frame)
  "Name of FRAME as text."
  (one-line (printed (frame-name frame) :length nil :level nil :limit +frame-text-limit+)))

(defun frame-argument-texts (frame)
  "The first arguments of FRAME as texts."
  (let* ((arguments (frame-arguments frame))
         (shown (loop for argument in arguments
                      repeat +frame-argument-limit+
                      collect (argument-text argument))))
    (if (nthcdr +frame-argument-limit+ arguments)
        (append shown (list "..."))
        shown)))

(defun call-text (name argument-texts)
  "A call as people write it."
  (cut (format nil "(~A~{ ~A~})" name argument-texts) +frame-text-limit+))

(defun frame-source (frame)
  "The innermost source form FRAME was executing, or NIL."
  (ignore-errors
   ;; SBCL would open files for the source of its own functions.
   (when (typep (frame-debug-source frame) 'core-debug-source)
     (list (location-source-form (frame-location frame))))))

(defconstant +located-frames+ 30)       ; only the first have a place in a file

(defun frame-place (frame)
  "file:line of the function of FRAME, relative to the current directory if it is inside; NIL when
it has no file."
  (handler-case
      (unless (or *plain-arguments* (eq (frame-name frame) 'eval)
                  (>= (frame-number frame) +located-frames+) (system-source-p frame)
                  (null (debug-source-file (frame-debug-source frame))))
        (let* ((function (sb-di:debug-fun-fun
                          (sb-di:frame-debug-fun (frame-stack-frame frame))))
               (place (source-place (sb-introspect:find-definition-source function)))
               (directory (namestring *default-pathname-defaults*)))
          (if (and place (plusp (length directory)) (eql 0 (search directory place)))
              (subseq place (length directory))
              place)))
    (serious-condition () nil)))

(defun frame-object (frame machinery)
  "JSON of FRAME, which may be MACHINERY."
  (let* ((name (frame-name-text frame))
         (arguments (frame-argument-texts frame))
         (source (and (not *plain-arguments*) (not (eq (frame-name frame) 'eval))
                      (frame-source frame))))
    (object "number" (frame-number frame)
            "call" (call-text name arguments)
            "function" name
            "arguments" (coerce arguments 'simple-vector)
            "machinery" (and machinery :true)
            "file" (frame-place frame)
            "source" (and source
                          (one-line (printed (first source) :limit +frame-text-limit+
                                                            :length 10 :level 6))))))

(defun frame-objects (frames)
  "JSON of FRAMES."
  (let ((machinery '()))
    (dolist (frame (reverse frames))
      (push (machinery-p frame (first machinery)) machinery))
    (map 'simple-vector #'frame-object frames machinery)))
