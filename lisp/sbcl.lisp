;;;; Every internal of SBCL the agent uses: one operation for each, and the only file with `::`.
;;;;
;;;; Other files name exported symbols only; tests/lisp/sources.lisp checks that. To support another
;;;; version of SBCL, begin here: a name that is missing or means something else is replaced in
;;;; one place. probes.lisp is the counterpart: it tries at build time what may crash when SBCL has
;;;; changed, and chooses the fallback.
;;;;
;;;; Variables and functions of SBCL's C runtime are here too.
;;;;
;;;; Everything here runs on SBCL 2.2.9. In the source of 2.2.9 to 2.6.4 every name is found, except
;;;; where a docstring says otherwise.

(in-package "CADRE-AGENT")

;;; --- printer ------------------------------------------------------------------------------------

(declaim (inline shortest-digits))
(defun shortest-digits (float)
  "Decimal exponent and shortest digits that read back as FLOAT, which is positive: 0 and \"5\" are
0.5."
  (sb-impl::flonum-to-digits float))

(defmacro with-fresh-circularity (&body body)
  "Run BODY, which prints, as if nothing else were being printed with *PRINT-CIRCLE*."
  `(let ((sb-impl::*circularity-hash-table* nil)
         (sb-impl::*circularity-counter* nil))
     ,@body))

(defun set-circularity-stream (stream)
  "With *PRINT-CIRCLE* SBCL prints twice: let the first pass, which only counts, write to STREAM."
  (setf sb-impl::*null-broadcast-stream* stream))

(defun make-empty-pprint-dispatch ()
  "A table for *PRINT-PPRINT-DISPATCH* without entries."
  (sb-pretty::make-pprint-dispatch-table #() nil nil))

(deftype comma ()
  "What the reader makes of ,X in a backquote."
  'sb-impl::comma)

(defparameter *backquote-representations* '("QUASIQUOTE" "SB-IMPL::COMMA")
  "Parts of the text of a backquote that is printed without the pretty printer.")

;;; --- stack frames -------------------------------------------------------------------------------

(deftype unavailable-argument ()
  "What STACK-FRAME-CALL shows in place of an argument that is lost."
  'sb-debug::unprintable-object)

(defun stack-frame-call (stack-frame)
  "Name, arguments and information (:EXTERNAL, :MORE, :OPTIONAL …) of the call STACK-FRAME is."
  (sb-debug::frame-call stack-frame))

(declaim (inline stack-frame-pointer))
(defun stack-frame-pointer (stack-frame)
  "The address in the frame pointer of STACK-FRAME."
  (sap-int (sb-di::frame-pointer stack-frame)))

(defun calling-frame (frame-pointer return-address inner)
  "The stack frame at the address FRAME-POINTER, which goes on at RETURN-ADDRESS and called INNER."
  (sb-di::compute-calling-frame (int-sap frame-pointer) (int-sap return-address) inner))

(defun code-at (address)
  "The code object that has the instruction at ADDRESS, or NIL."
  (sb-di::code-header-from-pc (int-sap address)))

(defun frame-of-code (frame-pointer address registers)
  "A stack frame for the Lisp code at ADDRESS, with its variables in REGISTERS, a signal's context,
and at the system area pointer FRAME-POINTER."
  (let* ((code (code-at address))
         (offset (- address (sap-int (sb-kernel:code-instructions code))))
         (function (sb-di::debug-fun-from-pc code offset nil))
         (location (sb-di::code-location-from-pc function offset nil)))
    (sb-di::make-compiled-frame frame-pointer nil function location 0 registers)))

(defun signal-frame (context)
  "The innermost stack frame of what the signal with CONTEXT, a system area pointer, interrupted."
  (sb-di::signal-context-frame context))

(defun context-frame-pointer (registers)
  "Value of the frame pointer in REGISTERS, an OS-CONTEXT-T."
  (sb-vm:context-register registers sb-vm::rbp-offset))

(defun context-stack-pointer (registers)
  "Value of the stack pointer in REGISTERS, an OS-CONTEXT-T."
  (sb-vm:context-register registers sb-vm::rsp-offset))

(defun thread-start-name-p (name)
  "True for the name of the function every thread starts with."
  (equal name '(flet sb-unix::body :in sb-thread::run)))

(defparameter *interruption-functions*
  '(sb-impl::make-cancellable-interruptor sb-thread::call-with-recursive-lock
    sb-thread::%interrupt-thread sb-sys:invoke-interruption sb-unix::%install-handler
    sb-unix::sigurg-handler sb-unix::sigalrm-handler)
  "Functions by which SBCL runs timers and interruptions on top of what it interrupts.")

(deftype stack-exhausted ()
  "The condition for a control stack that is full."
  'sb-kernel::control-stack-exhausted)

;;; --- debug information --------------------------------------------------------------------------

(deftype core-debug-source ()
  "Debug source of a function that was compiled from a form, not from a file."
  'sb-c::core-debug-source)

(defun debug-source-file (source)
  "Name of the file that the debug source SOURCE is about, or NIL."
  (sb-c::debug-source-namestring source))

(defun location-source-form (location)
  "The source form at the code location LOCATION."
  (sb-debug::code-location-source-form location 0))

(defun variable-role (variable)
  "What the compiler made VARIABLE, an SB-DI:DEBUG-VAR, for: :MORE-CONTEXT or :MORE-COUNT of a &REST
parameter; NIL when the user wrote it. The reader of this slot was renamed after 2.4.3."
  (sb-di::debug-var-info variable))

(defun invalid-variable (condition)
  "The SB-DI:DEBUG-VAR whose value is not available, by CONDITION, an SB-DI:INVALID-VALUE."
  (sb-di::invalid-value-debug-var condition))

;;; --- conditions and restarts --------------------------------------------------------------------

(defun restart-report (restart)
  "The report function of RESTART, or NIL."
  (sb-kernel::restart-report-function restart))

(defun format-control-text (control)
  "The string that CONTROL, a format control the compiler has preprocessed, was made from."
  (sb-format::fmt-control-string control))

;;; --- compiler -----------------------------------------------------------------------------------

(defun find-compiler-context ()
  "What the compiler is processing, a compiler error context, or NIL when it is not at work."
  (sb-c::find-error-context nil))

(defun context-file-name (context)
  "Pathname of the file that CONTEXT is about, :LISP for a text, or NIL."
  (sb-c::compiler-error-context-file-name context))

(defun context-form (context)
  "The subform CONTEXT is about."
  (sb-c::compiler-error-context-original-form context))

(defun context-form-index (context)
  "Index of the top-level form CONTEXT is about in its text or file."
  (sb-c::source-path-tlf-number (sb-c::compiler-error-context-original-source-path context)))

(deftype unreadable-file-error ()
  "The condition for a file that the file compiler cannot read on."
  'sb-c::input-error-in-compile-file)

(defparameter *compiler-message-functions* '(sb-c::print-compiler-message sb-c::compiler-mumble)
  "Functions that print what the compiler finds.")

(defparameter *compilation-summary-function* 'sb-c::summarize-compilation-unit
  "The function that signals and prints what is undefined at the end of a compilation unit.")

(defmacro with-source-file ((path) &body body)
  "Functions that BODY defines by EVAL come from the file PATH; NIL: from no file."
  `(let ((sb-c::*source-namestring* ,path)) ,@body))

(defmacro with-source-properties ((plist) &body body)
  "Functions that BODY defines have PLIST in their debug source."
  `(let ((sb-c::*source-plist* ,plist)) ,@body))

;;; --- file compiler ------------------------------------------------------------------------------

(defun make-text-information ()
  "What the file compiler needs to know of its input, for a text that is no file."
  (sb-c::make-source-info :file-info (sb-c::make-file-info :truename :lisp :write-date 0)))

(defun add-text-form (information form index)
  "Tell the file compiler that the next top-level form is FORM, read at the character INDEX."
  (let ((file (sb-c::source-info-file-info information)))
    (vector-push-extend form (sb-c::file-info-forms file))
    (vector-push-extend index (sb-c::file-info-positions file))))

(defun current-information ()
  "What the file compiler knows of its input now."
  sb-c::*source-info*)

(defun encapsulate-form-reader (function)
  "Call FUNCTION in place of the function that reads the forms of a file to compile, with that
function, a function to call with each form and :CURRENT-INDEX, the information, and more arguments
for that function."
  (sb-int:encapsulate 'sb-c::%do-forms-from-info 'cadre function))

(defun call-file-compiler (information stream)
  "Compile the forms of INFORMATION into a fasl file on STREAM, as COMPILE-FILE does."
  (let ((sb-c::*compile-object* (sb-fasl::make-fasl-output :stream stream))
        (sb-c::*block-compile-argument* nil)
        (sb-c::*entry-points-argument* nil)
        (sb-c::*last-message-count* (list* 0 nil nil))
        (sb-c::*last-error-context* nil)
        (sb-c::*compiler-trace-output* nil))
    (sb-c::sub-compile-file information nil)))

(defun form-processor-name-p (name)
  "True for the function that processes a top-level form of a file. Its second argument is the
source path, whose last element is the index of the form."
  (eq name 'sb-c::process-toplevel-form))

(defun loaded-form-name-p (name)
  "True for the name of a function that a top-level form of a file was compiled into."
  (and (consp name) (eq (first name) 'sb-c::top-level-form)))

(defun form-start (stream)
  "Character index in its file of the form that STREAM, of the file compiler, is reading."
  (sb-impl::form-tracking-stream-form-start-char-pos stream))

(defun characters-read (stream)
  "How many characters of its file STREAM, of the file compiler, has read."
  (sb-impl::ansi-stream-input-char-pos stream))

;;; --- streams, classes, profiler -----------------------------------------------------------------

(defun detach-file (stream)
  "Let closing STREAM, an FD-STREAM, neither delete nor rename its file."
  (setf (sb-impl::fd-stream-file stream) nil
        (sb-impl::fd-stream-delete-original stream) nil))

(deftype condition-slot ()
  "Slot definition of a condition class."
  'sb-pcl::condition-slot-definition)

(defun slot-accessor-name-p (name)
  "True for the name of a generic function that SBCL makes by itself for a slot name."
  (typep name '(cons (eql sb-pcl::slot-accessor))))

(defun profiler-sample-count ()
  "How many samples the statistical profiler has taken."
  (let ((samples sb-sprof::*samples*))
    (if samples (sb-sprof::samples-trace-count samples) 0)))

;;; --- garbage collector --------------------------------------------------------------------------

(define-alien-variable "next_free_page" long)
(define-alien-variable "page_table" (* (struct sb-vm::page)))
(define-alien-variable "anon_dynamic_space_start" unsigned-long)

(declaim (inline page-flags page-generation))
(defun page-flags (page)
  "Flags of the heap page number PAGE; 0 when it is free."
  (logand 255 (slot (deref page-table page) 'sb-vm::flags)))

(defun page-generation (page)
  "Generation of the objects on the heap page number PAGE."
  (slot (deref page-table page) 'sb-vm::gen))

(defglobal *type-caches*
    (let ((names (find-symbol "*CACHE-VECTOR-SYMBOLS*" "SB-IMPL")))
      (if (and names (boundp names)) (symbol-value names) '()))
  "Names of the tables in which the compiler remembers what it found out about types; none where
SBCL has no such list.")

(defmacro try-stop-world ()
  "True when all other threads were stopped at safe points, as for a collection."
  '(sb-kernel::try-acquire-gc-lock (sb-kernel::gc-stop-the-world)))

(defun start-world ()
  "After TRY-STOP-WORLD: let the other threads go on."
  (sb-kernel::gc-start-the-world))

;;; --- threads ------------------------------------------------------------------------------------

(defun thread-word (structure slot)
  "The word SLOT of the runtime's thread STRUCTURE, an address."
  (sap-ref-word (int-sap structure) (ash slot sb-vm:word-shift)))

(defun (setf thread-word) (value structure slot)
  "Set the word SLOT of a thread STRUCTURE."
  (setf (sap-ref-word (int-sap structure) (ash slot sb-vm:word-shift)) value))

(defun all-thread-objects ()
  "The threads SBCL knows, those that are starting or ending included."
  (sb-thread::avltree-list sb-thread::*all-threads*))

(defun thread-structure (thread)
  "Address of the runtime's structure of THREAD; 0 when it has none."
  (sb-thread::thread-primitive-thread thread))

(defun thread-stack-bounds (structure)
  "Start and end of the control stack, and start of the binding stack, of a thread STRUCTURE."
  (values (thread-word structure sb-vm::thread-control-stack-start-slot)
          (thread-word structure sb-vm::thread-control-stack-end-slot)
          (thread-word structure sb-vm::thread-binding-stack-start-slot)))

(defun close-thread-regions (structure)
  "Give back the heap pages that the thread with STRUCTURE allocates from."
  (c-call "gc_close_thread_regions" void (unsigned-long structure) (int 0)))

(defun remove-thread (thread)
  "Make SBCL believe that THREAD has ended; for JOIN-THREAD it has been aborted."
  (let ((structure (thread-structure thread)))
    (setf (sb-thread::thread-primitive-thread thread) 0
          (sb-thread::thread-semaphore thread) nil)
    (sb-thread::delete-from-all-threads structure)))

(defun make-only-thread (structure)
  "Make the thread STRUCTURE the only one of the runtime."
  (setf (extern-alien "all_threads" unsigned-long) structure
        (thread-word structure sb-vm::thread-next-slot) 0
        (thread-word structure sb-vm::thread-prev-slot) 0
        sb-thread::*joinable-threads* nil))

(defun set-thread-stack-size (bytes)
  "Give threads that start from now on a control stack of BYTES."
  (setf (extern-alien "thread_control_stack_size" unsigned-long) bytes))

(defun restart-system-timer ()
  "Set the interval timer for the next of SBCL's timers."
  (sb-thread::with-system-mutex (sb-impl::*scheduler-lock*)
    (sb-impl::set-system-timer)))

;;; --- finalizers ---------------------------------------------------------------------------------

(defparameter *finalizer-thread-functions*
  '(sb-impl::finalizer-thread-start sb-impl::finalizer-thread-stop
    sb-impl::finalizer-thread-notify)
  "Functions that start, end and wake SBCL's finalizer thread.")

(defun stop-finalizer-thread ()
  "End SBCL's finalizer thread."
  (sb-impl::finalizer-thread-stop))

(defun replace-finalizer-thread-functions (function)
  "Let SBCL call FUNCTION in place of *FINALIZER-THREAD-FUNCTIONS* and believe the thread runs."
  (sb-ext:without-package-locks
    (handler-bind ((warning #'muffle-warning))
      (dolist (name *finalizer-thread-functions*)
        (setf (fdefinition name) function))))
  (setf (extern-alien "finalizer_thread_runflag" int) 1))

(defun queued-finalizers ()
  "Functions of dead objects that wait to be called: the collector queues their places in the
finalizer store in a list of the store's hash table. 2.3.1 and later have another store."
  (let ((store sb-impl::**finalizer-store**))
    (loop for place in (sb-impl::hash-table-culled-values (sb-impl::finalizer-id-map store))
          for entry = (svref store place)
          append (if (listp entry) entry (list entry)))))

(defun discard-queued-finalizers ()
  "Forget QUEUED-FINALIZERS. 2.3.1 and later have another store."
  (setf (sb-impl::hash-table-culled-values
         (sb-impl::finalizer-id-map sb-impl::**finalizer-store**))
        nil))
