;;;; The state of this process of a session, in one structure.
;;;;
;;;; A clone starts with a copy of it, and sets its own process id and channel when it wakes
;;;; (clone.lisp). Other globals are constant after the build, or buffers. Only *CALL* (call.lisp)
;;;; stands alone: it is what the agent is doing now.

(in-package "CADRE-AGENT")

(defstruct agent
  ;; who we are
  (main-thread nil)                     ; runs the message loop and the evaluations
  (supervisor-pid 0 :type fixnum)
  (registered-pid 0 :type fixnum)       ; our own; another one in a child forked by user code
  ;; channel.lisp
  (channel-inode nil)                   ; of the socket
  (copy-p nil)                          ; true in a copy: it does one job beside the head
  (wanted 0 :type (unsigned-byte 32))   ; number of the last channel asked for
  (thread-channel nil)                  ; (descriptor device inode) of one kept for a thread's error
  (frozen-thread nil)                   ; the thread that has taken the last one
  ;; streams.lisp, descriptors.lisp
  (standard-files '())                  ; (device inode) of the descriptors 0, 1 and 2
  (idle-offsets '())                    ; file offsets at the last SNAP
  (parked-connections '() :type list)   ; (descriptor device inode), as of the last clone
  (listeners '() :type list)            ; LISTENERs of threads, as of the last clone
  ;; stop.lisp, threads.lisp
  (early-stop 0 :type (unsigned-byte 32)) ; number of a request to be stopped when it begins
  (thread-errors '() :type list)        ; error objects, newest first, for the next RESULT
  ;; heap: stop.lisp, main.lisp
  (heap-check-at 0 :type word)          ; bytes of usage below which the limit is not checked
  (checking-heap nil)                   ; true during the collection before a check
  (collection-count 0 :type fixnum)     ; collections seen, for the memory report
  (live-bytes 0 :type word)             ; after the last full collection
  (collected-bytes 0 :type word)        ; after the last collection before a clone
  (finalizers-made nil)                 ; true when user code has called FINALIZE
  ;; memory.lisp
  (clones 0 :type fixnum)               ; snapshots made on the way to this state
  (remap-at 4 :type fixnum)             ; the number of them at which clean pages are mapped again
  ;; systems.lisp, functions.lisp
  (loaded-systems '())                  ; names, in order of loading by load-system
  (system-directories '())              ; of the systems that were loaded before a reset
  (tool-files '())                      ; TOOL-FILEs that were loaded
  ;; debug.lisp, in a copy of a post-mortem
  (situation nil)                       ; the frozen error, until a restart is taken
  (frozen-descriptors '())              ; open when the error was frozen
  ;; fork.lisp
  (fork nil))                           ; the FORK that this process is, if it runs tests

(sb-ext:define-load-time-global *agent* (make-agent))
(declaim (type agent *agent*))
