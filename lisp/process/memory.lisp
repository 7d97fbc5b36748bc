;;;; Advice to the kernel about this process's memory (docs/reference/sessions.md 5).
;;;;
;;;; A clone costs what its page tables cost, and the first write to each page after it costs a
;;;; fault. So: large pages for the heap, no page tables for the clean parts of the core, no memory
;;;; for free pages of a parked process, and pages that the next call will write are made writable
;;;; between calls. All of it is advice: where the kernel refuses, the session is slower or larger,
;;;; and nothing else changes.

(in-package "CADRE-AGENT")

(defglobal *decommit-works* t)          ; result of a probe (probes.lisp)

(defconstant +page-size+ 4096)
(defconstant +advice-dont-need+ 4)
(defconstant +advice-huge-page+ 14)
(defconstant +advice-populate-write+ 23)

(defun advise (address size advice)
  "Give the kernel ADVICE about SIZE bytes from ADDRESS."
  (when (plusp size)
    (c-call "madvise" int (unsigned-long address) (unsigned-long size) (int advice))))

(defun use-huge-pages ()
  "Ask for large pages: the page tables of a large heap are most of what a clone copies."
  (advise sb-vm:dynamic-space-start (sb-ext:dynamic-space-size) +advice-huge-page+))

;;; --- free pages of the collector ----------------------------------------------------------------

(defconstant +open-region+ 32)          ; flag of a page that is being allocated from

(defun free-page-p (flags)
  "True for the flags of a page without objects."
  (zerop flags))

(defun unfilled-page-p (flags)
  "True for the flags of a page that will be allocated from."
  (or (zerop flags) (logtest +open-region+ flags)))

(defun map-page-runs (wanted function)
  "Call FUNCTION with address and size of every run of pages whose flags are WANTED, lowest first;
the last run is what lies beyond the heap in use."
  (declare (type function wanted function))
  (let* ((base sb-vm:dynamic-space-start)
         (page-size sb-vm:gencgc-page-bytes)
         (end next-free-page)
         (first (ceiling (- anon-dynamic-space-start base) page-size))
         (run nil))
    (declare (type fixnum end first))
    (flet ((report (from to)
             (funcall function (+ base (* from page-size)) (* (- to from) page-size))))
      (loop for page of-type fixnum from first to end
            for in-run = (and (< page end) (funcall wanted (page-flags page)))
            do (cond (in-run (unless run (setf run page)))
                     (run (report run page) (setf run nil))))
      (report end (floor (sb-ext:dynamic-space-size) page-size)))))

(defun release-free-pages ()
  "Give the collector's free pages back to the kernel. They hold garbage of earlier evaluations,
which the parked process would otherwise keep once the head writes to them."
  (map-page-runs #'free-page-p
                 (lambda (address size) (advise address size +advice-dont-need+))))

;;; --- control stack ------------------------------------------------------------------------------

(defconstant +kept-stack-bytes+ (* 256 1024)) ; the next call needs them again

(defun release-stack-pages ()
  "Give the part of this thread's control stack that is not in use back to the kernel: after a deep
recursion every snapshot would keep it."
  (let* ((start (thread-stack-bounds (thread-structure sb-thread:*current-thread*)))
         (end (logandc2 (- (sap-int (sb-kernel:current-sp)) +kept-stack-bytes+) (1- +page-size+))))
    (when (> end start) (advise start (- end start) +advice-dont-need+))))

;;; --- address space ------------------------------------------------------------------------------

;;; A limit of the address space is what bounds foreign allocation. It grows with the threads, of
;;; which each reserves its stacks, and programs that the session starts do not have it.

(defconstant +foreign-bytes+ (* 2048 1024 1024))
(defconstant +thread-stack-bytes+ (* 8 1024 1024))
(defconstant +thread-bytes+ (+ +thread-stack-bytes+ (* 6 1024 1024)))
(defconstant +spare-threads+ 16)        ; between counting and starting, others may start too
(defconstant +no-limit+ (1- (expt 2 64)))

(defglobal *fixed-address-space* 0)     ; bytes of heap, main control stack, core and libraries

(defun limit-address-space ()
  "Set the limit for the threads there are now, and some more."
  (set-soft-address-space
   (+ *fixed-address-space* +foreign-bytes+
      (* +thread-bytes+ (+ +spare-threads+ (length (sb-thread:list-all-threads)))))))

(defun mapped-bytes ()
  "How much address space this process has now."
  (with-open-file (stream "/proc/self/statm")
    (* +page-size+ (read stream))))

(defun limit-first-address-space ()
  "Set the limit at the start of the worker. The size of stacks on the command line is for the main
thread, which runs the evaluations; threads of the user get less."
  (setf *fixed-address-space* (mapped-bytes))
  (set-thread-stack-size +thread-stack-bytes+)
  (limit-address-space))

(defun install-address-space-limits ()
  "Let the limit follow the threads, and lift it for programs; once, when the core is built."
  (sb-int:encapsulate 'sb-thread:make-thread 'cadre
                      (lambda (original &rest arguments)
                        (limit-address-space)
                        (when (evaluating-p) (without-interrupts (ensure-thread-channel)))
                        (apply original arguments)))
  (sb-int:encapsulate 'sb-ext:run-program 'cadre
                      (lambda (original &rest arguments)
                        (set-soft-address-space +no-limit+)
                        (unwind-protect (apply original arguments)
                          (limit-address-space)))))

;;; --- pages that the next call needs -------------------------------------------------------------

(defun populate-unfilled-pages (size)
  "Make SIZE bytes of the pages that are allocated from next writable at once: the next call would
take a fault for each."
  (declare (type fixnum size))
  (map-page-runs #'unfilled-page-p
                 (lambda (address run)
                   (declare (type word address run))
                   (advise address (min run size) +advice-populate-write+)
                   (when (<= (decf size (min run size)) 0)
                     (return-from populate-unfilled-pages)))))

(defun populate-type-caches ()
  "Make the pages of the compiler's type caches writable: it writes all over them."
  (dolist (name *type-caches*)
    (let ((cache (symbol-value name)))
      (when (simple-vector-p cache)     ; else not in use since the last full collection
        (with-pinned-objects (cache)
          (let* ((start (sb-kernel:get-lisp-obj-address cache))
                 (end (+ start (* (length cache) sb-vm:n-word-bytes)))
                 (page (logandc2 start (1- +page-size+))))
            (advise page (- end page) +advice-populate-write+)))))))

;;; --- the core file ------------------------------------------------------------------------------

;;; The core is mapped privately and in large mappings. Of a mapping with one written page every
;;; clone copies all page table entries; of a clean mapping it copies none, because it can find the
;;; pages in the file. So long clean stretches become mappings of their own: the same part of the
;;; file is mapped again in their place.

(defconstant +stretch-pages+ 64)        ; shorter ones cost more than they save
(defconstant +least-mapping-bytes+ (* 1024 1024))

(defun parse-mapping (line)
  "Start, end, file offset, inode and path of a line of /proc/self/maps, or NIL when it is no large
writable mapping of a file."
  (let* ((dash (position #\- line))
         (permissions (1+ (position #\Space line)))
         (offset (+ permissions 5))
         (device (1+ (position #\Space line :start offset)))
         (inode (1+ (position #\Space line :start device)))
         (path (position #\/ line))
         (start (parse-integer line :end dash :radix 16))
         (end (parse-integer line :start (1+ dash) :end (1- permissions) :radix 16)))
    (when (and path
               (string= "rwxp" line :start2 permissions :end2 (+ permissions 4))
               (>= (- end start) +least-mapping-bytes+))
      (values start end
              (parse-integer line :start offset :end (1- device) :radix 16)
              (parse-integer line :start inode :junk-allowed t)
              (subseq line path)))))

(defun page-entries (start end)
  "The kernel's records of the pages from START to END, eight octets each, or NIL."
  (let* ((entries (make-octets (* 8 (floor (- end start) +page-size+))))
         (fd (open-to-read "/proc/self/pagemap"))
         (size (with-pinned-objects (entries)
                 (c-call "pread" long (int fd) (system-area-pointer (vector-sap entries))
                         (unsigned-long (length entries))
                         (long (* 8 (floor start +page-size+)))))))
    (c-call "close" int (int fd))
    (and (= size (length entries)) entries)))

(defun written-page-p (entries page)
  "True when PAGE is no longer the file's: in memory or swapped out as a page of this process."
  (declare (type octets entries) (type index page))
  (let ((flags (aref entries (+ (* 8 page) 7))))
    (or (logbitp 6 flags)               ; swapped
        (and (logbitp 7 flags) (not (logbitp 5 flags)))))) ; present, and not the file's

(defun map-clean-stretches (function entries)
  "Call FUNCTION with first page and number of pages of each long stretch without a written page."
  (declare (type octets entries) (type function function))
  (loop with count of-type index = (floor (length entries) 8)
        with start of-type index = 0
        for page of-type index from 0 to count
        do (when (or (= page count) (written-page-p entries page))
             (when (>= (- page start) +stretch-pages+)
               (funcall function start (- page start)))
             (setf start (1+ page)))))

(defconstant +read-write+ 3)
(defconstant +read-write-execute+ 7)

(defun remap-file (fd address size offset protection)
  "Map SIZE bytes of FD from OFFSET privately at ADDRESS."
  (c-call "mmap" unsigned-long (unsigned-long address) (unsigned-long size)
          (int protection) (int #x12)   ; MAP_PRIVATE | MAP_FIXED
          (int fd) (long offset)))

(defun remap-clean-pages (start end offset inode path)
  "Map the long clean stretches of a mapping of the file PATH again."
  (let ((fd (open-to-read path)))
    (unless (minusp fd)
      (when (eql inode (nth-value 1 (file-identity fd))) ; else the core was replaced on disk
        (without-gcing
          (let ((entries (page-entries start end)))
            (when entries
              (map-clean-stretches
               (lambda (page count)
                 (let ((distance (* page +page-size+)))
                   (remap-file fd (+ start distance) (* count +page-size+)
                               (+ offset distance) +read-write-execute+)))
               entries)))))
      (c-call "close" int (int fd)))))

(defun remap-clean-core-pages ()
  "Split the mappings of the core. There is one thread, so nothing writes between reading the page
map and mapping; the heap that is allocated from lies behind the core's."
  (with-open-file (stream "/proc/self/maps" :external-format :latin-1 :if-does-not-exist nil)
    (loop for line = (and stream (read-line stream nil))
          while line
          do (multiple-value-bind (start end offset inode path) (parse-mapping line)
               (when start (remap-clean-pages start end offset inode path))))))

;;; --- the card table -----------------------------------------------------------------------------

;;; The runtime fills its table of cards when it starts, so that every clone would copy the entries
;;; of a thousand pages. Mapped from a file in memory that says the same, the table has entries for
;;; the pages that are used.

(defun file-in-memory (start size)
  "A descriptor of a new file with the SIZE bytes from START, or NIL."
  (let ((fd (with-alien ((name c-string "cards"))
              (c-call "memfd_create" int (c-string name) (int 1))))) ; MFD_CLOEXEC
    (unless (minusp fd)
      (cond ((= size (c-call "write" long (int fd) (unsigned-long start) (unsigned-long size))) fd)
            (t (close-descriptor fd) nil)))))

(defun card-table-pages ()
  "Address and size of the whole pages of the card table, or NIL."
  (multiple-value-bind (table size) (card-table)
    (when table
      (let ((start (* +page-size+ (ceiling table +page-size+))))
        (values start (- (logandc2 (+ table size) (1- +page-size+)) start))))))

(defun map-card-table ()
  "Map the pages of the card table from a file. Nothing marks a card between reading and mapping."
  (multiple-value-bind (start size) (card-table-pages)
    (when start
      (without-gcing
        (let ((fd (file-in-memory start size)))
          (when fd
            (remap-file fd start size 0 +read-write+)
            (close-descriptor fd)))))))

;;; --- when ---------------------------------------------------------------------------------------

(defconstant +remap-factor+ 8)

(defun remap-clean-pages-again ()
  "Before a clone: map again what was not written since the start, at the 4th, 32nd, 256th … clone.
By the first of them the session has written to the pages that every evaluation writes to."
  (let ((clones (incf (agent-clones *agent*))))
    (when (and (>= clones (agent-remap-at *agent*)) (not (user-threads)))
      (setf (agent-remap-at *agent*) (* +remap-factor+ clones))
      (without-interrupts
        (map-card-table)
        (remap-clean-core-pages)))))
