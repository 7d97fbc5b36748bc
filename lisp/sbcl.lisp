;;;; Every internal of SBCL the agent uses: one operation for each. With sbcl-compiler.lisp, which
;;;; has those of the compiler, this is the only file to name them.
;;;;
;;;; Other files name exported symbols only; tests/lisp/sources.lisp checks that. To support another
;;;; version of SBCL, begin here: a name that is missing or means something else is replaced in
;;;; one place. probes.lisp is the counterpart: it tries at build time what may crash when SBCL has
;;;; changed, and chooses the fallback.
;;;;
;;;; Internals are found by INTERNAL when this file is read, never by the reader itself, which would
;;;; fail the build by interning a name that is missing into a locked package.
;;;;
;;;; Variables and functions of SBCL's C runtime are here too.
;;;; Everything here runs on SBCL 2.2.9, 2.5.2 and 2.6.4; where versions differ a docstring says so.

(in-package "CADRE-AGENT")

;;; --- names --------------------------------------------------------------------------------------

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defglobal *missing-internals* '())   ; names this SBCL lacks, as "PACKAGE::NAME"

  (defun find-internal (package name)
    "The symbol NAME of PACKAGE, or NIL where this SBCL has none."
    (and (find-package package) (find-symbol name package)))

  (defun internal (package name)
    "The symbol NAME of PACKAGE. Where this SBCL has none, a symbol without a meaning: what uses it
fails when it is called, for a probe or a handler, and not when the agent is compiled."
    (or (find-internal package name)
        (let ((missing (concatenate 'string package "::" name)))
          (pushnew missing *missing-internals* :test #'string=)
          (intern missing "CADRE-AGENT")))))

;;; --- printer ------------------------------------------------------------------------------------

(declaim (inline shortest-digits))
(defun shortest-digits (float)
  "Decimal exponent and shortest digits that read back as FLOAT, which is positive: 0 and \"5\" are
0.5."
  (#.(internal "SB-IMPL" "FLONUM-TO-DIGITS") float))

(defmacro with-fresh-circularity (&body body)
  "Run BODY, which prints, as if nothing else were being printed with *PRINT-CIRCLE*."
  `(let ((#.(internal "SB-IMPL" "*CIRCULARITY-HASH-TABLE*") nil)
         (#.(internal "SB-IMPL" "*CIRCULARITY-COUNTER*") nil))
     ,@body))

(defun set-circularity-stream (stream)
  "With *PRINT-CIRCLE* SBCL prints twice: let the first pass, which only counts, write to STREAM."
  (setf #.(internal "SB-IMPL" "*NULL-BROADCAST-STREAM*") stream))

(defun make-empty-pprint-dispatch ()
  "A table for *PRINT-PPRINT-DISPATCH* without entries."
  (#.(internal "SB-PRETTY" "MAKE-PPRINT-DISPATCH-TABLE") #() nil nil))

(deftype comma ()
  "What the reader makes of ,X in a backquote."
  '#.(internal "SB-IMPL" "COMMA"))

(defparameter *backquote-representations* '("QUASIQUOTE" "SB-IMPL::COMMA")
  "Parts of the text of a backquote that is printed without the pretty printer.")

;;; --- stack frames -------------------------------------------------------------------------------

(deftype unavailable-argument ()
  "What STACK-FRAME-CALL shows in place of an argument that is lost."
  '#.(internal "SB-DEBUG" "UNPRINTABLE-OBJECT"))

(defun stack-frame-call (stack-frame)
  "Name, arguments and information (:EXTERNAL, :MORE, :OPTIONAL …) of the call STACK-FRAME is. The
function of a top-level form of a file is named by a list in 2.2.9, by a string in 2.5.2."
  (multiple-value-bind (name arguments information)
      (#.(internal "SB-DEBUG" "FRAME-CALL") stack-frame)
    (values (if (equal name "top level form") '(#.(internal "SB-C" "TOP-LEVEL-FORM")) name)
            arguments
            information)))

(declaim (inline stack-frame-pointer))
(defun stack-frame-pointer (stack-frame)
  "The address in the frame pointer of STACK-FRAME."
  (sap-int (#.(internal "SB-DI" "FRAME-POINTER") stack-frame)))

(defun calling-frame (frame-pointer return-address inner)
  "The stack frame at the address FRAME-POINTER, which goes on at RETURN-ADDRESS and called INNER."
  (#.(internal "SB-DI" "COMPUTE-CALLING-FRAME")
   (int-sap frame-pointer) (int-sap return-address) inner))

(defun code-at (address)
  "The code object that has the instruction at ADDRESS, or NIL."
  (#.(internal "SB-DI" "CODE-HEADER-FROM-PC") (int-sap address)))

(defun frame-of-code (frame-pointer address registers)
  "A stack frame for the Lisp code at ADDRESS, with its variables in REGISTERS, a signal's context,
and at the system area pointer FRAME-POINTER."
  (let* ((code (code-at address))
         (offset (- address (sap-int (sb-kernel:code-instructions code))))
         (function (#.(internal "SB-DI" "DEBUG-FUN-FROM-PC") code offset nil))
         (location (#.(internal "SB-DI" "CODE-LOCATION-FROM-PC") function offset nil)))
    (#.(internal "SB-DI" "MAKE-COMPILED-FRAME") frame-pointer nil function location 0 registers)))

(defun signal-frame (context)
  "The innermost stack frame of what the signal with CONTEXT, a system area pointer, interrupted."
  (#.(internal "SB-DI" "SIGNAL-CONTEXT-FRAME") context))

(defun context-frame-pointer (registers)
  "Value of the frame pointer in REGISTERS, an OS-CONTEXT-T."
  (sb-vm:context-register registers #.(internal "SB-VM" "RBP-OFFSET")))

(defun context-stack-pointer (registers)
  "Value of the stack pointer in REGISTERS, an OS-CONTEXT-T."
  (sb-vm:context-register registers #.(internal "SB-VM" "RSP-OFFSET")))

(defun thread-start-name-p (name)
  "True for the name of the function every thread starts with."
  (equal name '(flet #.(internal "SB-UNIX" "BODY") :in #.(internal "SB-THREAD" "RUN"))))

(defparameter *interruption-functions*
  '(#.(internal "SB-IMPL" "MAKE-CANCELLABLE-INTERRUPTOR")
    #.(internal "SB-THREAD" "CALL-WITH-RECURSIVE-LOCK")
    #.(internal "SB-THREAD" "%INTERRUPT-THREAD")
    sb-sys:invoke-interruption
    #.(internal "SB-UNIX" "%INSTALL-HANDLER")
    #.(internal "SB-UNIX" "SIGURG-HANDLER") #.(internal "SB-UNIX" "SIGALRM-HANDLER"))
  "Functions by which SBCL runs timers and interruptions on top of what it interrupts.")

(deftype stack-exhausted ()
  "The condition for a control stack that is full."
  '#.(internal "SB-KERNEL" "CONTROL-STACK-EXHAUSTED"))

;;; --- debug information --------------------------------------------------------------------------

(defun method-body-function (method)
  "The function that was compiled from the body of METHOD."
  (#.(internal "SB-PCL" "%METHOD-FUNCTION-FAST-FUNCTION") (sb-mop:method-function method)))

(deftype core-debug-source ()
  "Debug source of a function that was compiled from a form, not from a file."
  '#.(internal "SB-C" "CORE-DEBUG-SOURCE"))

(defun debug-source-file (source)
  "Name of the file that the debug source SOURCE is about, or NIL."
  (#.(internal "SB-C" "DEBUG-SOURCE-NAMESTRING") source))

(defun location-source-form (location)
  "The source form at the code location LOCATION. 2.6.4 fails at a form inside a comma."
  (handler-case (#.(internal "SB-DEBUG" "CODE-LOCATION-SOURCE-FORM") location 0)
    (error () (source-form-inside-comma location))))

(defun source-form-inside-comma (location)
  "The source form at LOCATION, found by its path: the index in each list on the way, innermost
first, the top-level form's last. For SBCL a comma is a list of two."
  (multiple-value-bind (paths form) (sb-di:get-toplevel-form location)
    (let ((path (svref paths (sb-di:code-location-form-number location))))
      (dolist (index (reverse (butlast (rest path))) form)
        (setf form (if (typep form 'comma)
                       (sb-int:comma-expr form)
                       (nth index form)))))))

(defun more-variables (debug-fun)
  "The two SB-DI:DEBUG-VARs, context and count, in which DEBUG-FUN keeps its &REST arguments when it
makes no list of them; NIL and NIL when it has none. The user did not write them."
  (let ((parameters (handler-case (sb-di:debug-fun-lambda-list debug-fun)
                      (sb-di:debug-condition () '()))))
    (values-list (rest (find-if (lambda (parameter)
                                  (and (consp parameter) (eq (first parameter) :more)))
                                parameters)))))

(defun invalid-variable (condition)
  "The SB-DI:DEBUG-VAR whose value is not available, by CONDITION, an SB-DI:INVALID-VALUE."
  (#.(internal "SB-DI" "INVALID-VALUE-DEBUG-VAR") condition))

;;; --- conditions and restarts --------------------------------------------------------------------

(defparameter *debugger-disabled-hooks*
  (let ((name '#.(internal "SB-DEBUG" "DEBUGGER-DISABLED-HOOK")))
    (list* name (and (fboundp name) (list (fdefinition name)))))
  "What DISABLE-DEBUGGER makes *INVOKE-DEBUGGER-HOOK*: it ends the process.")

(defun restart-report (restart)
  "The report function of RESTART, or NIL."
  (#.(internal "SB-KERNEL" "RESTART-REPORT-FUNCTION") restart))

(defun encapsulate-assertion-prompt (function)
  "Call FUNCTION in place of the function that asks for the new value of a place of ASSERT, with
that function, the place and its value."
  (sb-int:encapsulate '#.(internal "SB-IMPL" "ASSERT-PROMPT") 'cadre function))

(defun format-control-text (control)
  "The string that CONTROL, a format control the compiler has preprocessed, was made from."
  (#.(internal "SB-FORMAT" "FMT-CONTROL-STRING") control))

;;; --- modules ------------------------------------------------------------------------------------

(defun set-module-home (directory)
  "Let REQUIRE look for contributed modules in DIRECTORY/contrib/, whatever SBCL_HOME says."
  (setf #.(internal "SB-SYS" "*SBCL-HOMEDIR-PATHNAME*") directory))

;;; --- streams, classes, profiler -----------------------------------------------------------------

(defun mark-stream-closed (stream)
  "Let the fd-stream STREAM be closed, and its descriptor be none."
  (#.(internal "SB-IMPL" "SET-CLOSED-FLAME") stream)
  (setf (#.(internal "SB-SYS" "FD-STREAM-FD") stream) -1))

(defun detach-file (stream)
  "Let closing STREAM, an FD-STREAM, neither delete nor rename its file."
  (setf (#.(internal "SB-IMPL" "FD-STREAM-FILE") stream) nil
        (#.(internal "SB-IMPL" "FD-STREAM-DELETE-ORIGINAL") stream) nil))

(deftype condition-slot ()
  "Slot definition of a condition class."
  '#.(internal "SB-PCL" "CONDITION-SLOT-DEFINITION"))

(defun slot-accessor-name-p (name)
  "True for the name of a generic function that SBCL makes by itself for a slot name."
  (typep name '(cons (eql #.(internal "SB-PCL" "SLOT-ACCESSOR")))))

(defun profiler-sample-count ()
  "How many samples the statistical profiler has taken."
  (let ((samples #.(internal "SB-SPROF" "*SAMPLES*")))
    (if samples (#.(internal "SB-SPROF" "SAMPLES-TRACE-COUNT") samples) 0)))

;;; --- garbage collector --------------------------------------------------------------------------

(define-alien-variable "next_free_page" long)
(define-alien-variable "page_table" (* (struct #.(internal "SB-VM" "PAGE"))))
(define-alien-variable "anon_dynamic_space_start" unsigned-long)

(defun runtime-variable (name)
  "Address of the variable NAME of the runtime, or NIL where this SBCL has none."
  (sb-sys:find-foreign-symbol-address name))

(defun card-table ()
  "Address and size of the table in which code marks the part of the heap that it writes to: one
octet each, whatever the size of the heap in use. NIL where this SBCL has none."
  (let ((table (runtime-variable "gc_card_mark")) (bits (runtime-variable "gc_card_table_nbits")))
    (when (and table bits)
      (values (sap-ref-word (int-sap table) 0)
              (ash 1 (sap-ref-32 (int-sap bits) 0))))))

(declaim (inline page-flags page-generation))
(defun page-flags (page)
  "Flags of the heap page number PAGE; 0 when it is free."
  (logand 255 (slot (deref page-table page) '#.(internal "SB-VM" "FLAGS"))))

(defun page-generation (page)
  "Generation of the objects on the heap page number PAGE."
  (slot (deref page-table page) '#.(internal "SB-VM" "GEN")))

(defglobal *type-caches*
    (let ((names (find-symbol "*CACHE-VECTOR-SYMBOLS*" "SB-IMPL")))
      (if (and names (boundp names)) (symbol-value names) '()))
  "Names of the tables in which the compiler remembers what it found out about types; none where
SBCL has no such list.")

(defun try-stop-world ()
  "True when all other threads were stopped at safe points, as for a collection. As the macro
TRY-ACQUIRE-GC-LOCK, which 2.5.2 removes from its image."
  (when (= 1 (c-call "try_acquire_gc_lock" int))
    (#.(internal "SB-KERNEL" "GC-STOP-THE-WORLD"))
    (c-call "release_gc_lock" void)
    t))

(defun start-world ()
  "After TRY-STOP-WORLD: let the other threads go on."
  (#.(internal "SB-KERNEL" "GC-START-THE-WORLD")))

;;; --- threads ------------------------------------------------------------------------------------

(defun thread-word (structure slot)
  "The word SLOT of the runtime's thread STRUCTURE, an address."
  (sap-ref-word (int-sap structure) (ash slot sb-vm:word-shift)))

(defun (setf thread-word) (value structure slot)
  "Set the word SLOT of a thread STRUCTURE."
  (setf (sap-ref-word (int-sap structure) (ash slot sb-vm:word-shift)) value))

(defun all-thread-objects ()
  "The threads SBCL knows, those that are starting or ending included."
  (#.(internal "SB-THREAD" "AVLTREE-LIST") #.(internal "SB-THREAD" "*ALL-THREADS*")))

(defun all-thread-structures ()
  "Addresses of the runtime's structures of threads, with the world stopped. A thread that is
starting or ending may have one and not be among SBCL's threads, or the other way round."
  (loop for structure = (extern-alien "all_threads" unsigned-long)
          then (thread-word structure #.(internal "SB-VM" "THREAD-NEXT-SLOT"))
        until (zerop structure)
        collect structure))

(defun thread-structure (thread)
  "Address of the runtime's structure of THREAD; 0 when it has none."
  (#.(internal "SB-THREAD" "THREAD-PRIMITIVE-THREAD") thread))

(defun interrupts-enabled-p (structure)
  "False for a thread STRUCTURE whose thread is inside WITHOUT-INTERRUPTS; also where that cannot be
seen, because the variable is not in the thread's own storage."
  (let ((index (sb-kernel:symbol-tls-index 'sb-sys:*interrupts-enabled*)))
    (or (zerop index)
        (/= (thread-word structure (ash index (- sb-vm:word-shift)))
            (sb-kernel:get-lisp-obj-address nil)))))

(defglobal *mutex-state*
    (or (find-internal "SB-THREAD" "MUTEX-%STATE") (internal "SB-THREAD" "MUTEX-STATE"))
  "Reads whether a mutex is locked: 0 when it is not. A macro MUTEX-STATE in 2.6.4.")

(defun mutex-locked-p (mutex)
  "True when a thread has MUTEX, or is about to get or release it."
  (/= 0 (the word (funcall *mutex-state* mutex))))

(defun reset-mutex (mutex)
  "Make MUTEX free, whoever had it. Nobody may be waiting for it. 2.6.4 keeps state and owner in
one word."
  (funcall (fdefinition `(setf ,*mutex-state*)) 0 mutex)
  (let ((owner (find-internal "SB-THREAD" "MUTEX-%OWNER")))
    (when (and owner (fboundp `(setf ,owner)))
      (funcall (fdefinition `(setf ,owner)) 0 mutex))))

(defun hash-table-mutex (table)
  "The mutex of TABLE; NIL when it has none, which it may get with its first use."
  (let ((lock (#.(internal "SB-IMPL" "HASH-TABLE-%LOCK") table)))
    (and (typep lock 'sb-thread:mutex) lock)))

(define-alien-variable "dynamic_values_bytes" (unsigned 32))

(defun stopped-context (structure)
  "With the world stopped: the registers that the thread with STRUCTURE had, an OS-CONTEXT-T; NIL
when it was not stopped by a signal."
  (let* ((index (sb-kernel:symbol-tls-index '#.(internal "SB-KERNEL"
                                                         "*FREE-INTERRUPT-CONTEXT-INDEX*")))
         (count (ash (thread-word structure (ash index (- sb-vm:word-shift)))
                     (- sb-vm:n-fixnum-tag-bits))))
    (when (< 0 count 1024)
      (let ((slot (+ (ash dynamic-values-bytes (- sb-vm:word-shift)) (1- count))))
        (sap-alien (int-sap (thread-word structure slot)) (* sb-sys:os-context-t))))))

(defun context-result (registers)
  "Value of the register that has the number, then the result of a system call, in REGISTERS, an
OS-CONTEXT-T."
  (sb-vm:context-register registers #.(internal "SB-VM" "RAX-OFFSET")))

(defun thread-stack-bounds (structure)
  "Start and end of the control stack, and start of the binding stack, of a thread STRUCTURE."
  (values (thread-word structure #.(internal "SB-VM" "THREAD-CONTROL-STACK-START-SLOT"))
          (thread-word structure #.(internal "SB-VM" "THREAD-CONTROL-STACK-END-SLOT"))
          (thread-word structure #.(internal "SB-VM" "THREAD-BINDING-STACK-START-SLOT"))))

(defun close-thread-regions (structure)
  "Give back the heap pages that the thread with STRUCTURE allocates from."
  (c-call "gc_close_thread_regions" void (unsigned-long structure) (int 0)))

(defun remove-thread (thread)
  "Make SBCL believe that THREAD has ended; for JOIN-THREAD it has been aborted."
  (let ((structure (thread-structure thread)))
    (setf (#.(internal "SB-THREAD" "THREAD-PRIMITIVE-THREAD") thread) 0
          (#.(internal "SB-THREAD" "THREAD-SEMAPHORE") thread) nil)
    (#.(internal "SB-THREAD" "DELETE-FROM-ALL-THREADS") structure)))

(defun join-ended-threads ()
  "Wait until threads that have ended for SBCL have ended for the kernel too. Until then the
collector of a clone, in which they do not exist, would try to stop them."
  (without-interrupts (#.(internal "SB-THREAD" "%DISPOSE-THREAD-STRUCTS"))))

(defun make-only-thread (structure)
  "Make the thread STRUCTURE the only one of the runtime. One that was starting would stay so for
ever, and SAVE-LISP-AND-DIE refuse."
  (setf (extern-alien "all_threads" unsigned-long) structure
        (thread-word structure #.(internal "SB-VM" "THREAD-NEXT-SLOT")) 0
        (thread-word structure #.(internal "SB-VM" "THREAD-PREV-SLOT")) 0
        #.(internal "SB-THREAD" "*STARTING-THREADS*") '()
        #.(internal "SB-THREAD" "*JOINABLE-THREADS*") nil))

(defun set-thread-stack-size (bytes)
  "Give threads that start from now on a control stack of BYTES."
  (setf (extern-alien "thread_control_stack_size" unsigned-long) bytes))

(defun restart-system-timer ()
  "Set the interval timer for the next of SBCL's timers."
  (#.(internal "SB-THREAD" "WITH-SYSTEM-MUTEX") (#.(internal "SB-IMPL" "*SCHEDULER-LOCK*"))
    (#.(internal "SB-IMPL" "SET-SYSTEM-TIMER"))))

;;; --- finalizers ---------------------------------------------------------------------------------

(defun stop-finalizer-thread ()
  "End SBCL's finalizer thread."
  (#.(internal "SB-IMPL" "FINALIZER-THREAD-STOP"))
  (join-ended-threads))

(defun notify-after-collection (&optional run-hooks)
  "What SBCL calls after a collection in place of waking the finalizer thread. 2.5.2 leaves the
hooks to that thread and passes 1; 2.2.9 runs them itself."
  (finalize-in-evaluation)
  (when (eql run-hooks 1)
    (sb-int:call-hooks "after-GC" *after-gc-hooks* :on-error :warn)))

(defglobal *finalizer-thread-functions* '()) ; alist: name → SBCL's own function

(defun replace-finalizer-thread-functions ()
  "Let SBCL never start or wake the finalizer thread, and believe that it runs."
  (loop for (name function)
          in (list (list '#.(internal "SB-IMPL" "FINALIZER-THREAD-START") (constantly nil))
                   (list '#.(internal "SB-IMPL" "FINALIZER-THREAD-STOP") (constantly nil))
                   (list '#.(internal "SB-IMPL" "FINALIZER-THREAD-NOTIFY")
                         #'notify-after-collection))
        do (push (cons name (fdefinition name)) *finalizer-thread-functions*)
           (set-system-function name function))
  (setf (extern-alien "finalizer_thread_runflag" int) 1))

(defun set-system-function (name function)
  "Let FUNCTION be what the function NAME of SBCL does."
  (sb-ext:without-package-locks
    (handler-bind ((warning #'muffle-warning))
      (setf (fdefinition name) function))))

(defun restore-finalizer-thread-functions ()
  "Give SBCL its own functions back, before this process is saved. It has no finalizer thread that
could be stopped for that, so the function which stops it comes back when the program starts."
  (let ((stop '#.(internal "SB-IMPL" "FINALIZER-THREAD-STOP")))
    (loop for (name . function) in *finalizer-thread-functions*
          do (unless (eq name stop) (set-system-function name function)))
    (push 'restore-stopping-finalizer-thread sb-ext:*init-hooks*)))

(defun restore-stopping-finalizer-thread ()
  "Runs when a saved program starts."
  (setf sb-ext:*init-hooks* (remove 'restore-stopping-finalizer-thread sb-ext:*init-hooks*))
  (let ((stop '#.(internal "SB-IMPL" "FINALIZER-THREAD-STOP")))
    (set-system-function stop (cdr (assoc stop *finalizer-thread-functions*)))))

(defun triggered-finalizers ()
  "The name of the list of QUEUED-FINALIZERS that 2.3.1 and later have; NIL before."
  (find-internal "SB-IMPL" "*FINALIZERS-TRIGGERED*"))

(defun culled-finalizer-table ()
  "The hash table of the finalizer store, until 2.3.0: in a list of it the collector queues the
places in the store of the functions to call."
  (#.(internal "SB-IMPL" "FINALIZER-ID-MAP")
   (symbol-value (internal "SB-IMPL" "**FINALIZER-STORE**"))))

(defun finalizer-functions (entry)
  "Functions in ENTRY of the finalizer store: one, or several of an object in a vector or list.
Those that are not saved are in a cell, in 2.2.9 in a list of their own."
  (typecase entry
    (function (list entry))
    (sequence (mapcan #'finalizer-functions (coerce entry 'list)))
    (symbol (and (fboundp entry) (list (fdefinition entry))))
    (number '())                        ; an object whose finalizers were cancelled
    (t (finalizer-functions (#.(internal "SB-KERNEL" "VALUE-CELL-REF") entry)))))

(defun queued-finalizers ()
  "Functions of dead objects that wait to be called."
  (if (triggered-finalizers)
      (mapcan #'finalizer-functions (copy-list (symbol-value (triggered-finalizers))))
      (loop for place in (#.(internal "SB-IMPL" "HASH-TABLE-CULLED-VALUES")
                          (culled-finalizer-table))
            for store = (symbol-value (internal "SB-IMPL" "**FINALIZER-STORE**"))
            append (finalizer-functions (svref store place)))))

(defun discard-queued-finalizers ()
  "Forget QUEUED-FINALIZERS."
  (if (triggered-finalizers)
      (setf (symbol-value (triggered-finalizers)) '())
      (funcall #'(setf #.(internal "SB-IMPL" "HASH-TABLE-CULLED-VALUES"))
               '() (culled-finalizer-table))))
