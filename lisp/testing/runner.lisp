;;;; Running tests: a copy of the session loads what has the tests and forks itself for each; so the
;;;; order does not matter, what a test does to the image is seen by no other, and one that crashes,
;;;; hangs, fills the heap or exits has failed and nothing else.
;;;;
;;;; Tests that share a fork (`isolate`) are its batch; when it dies the one that ran has failed,
;;;; and the rest go on in a new fork. One loop reads what forks say and print, and stops those
;;;; whose time is over: softly, which freezes the test where it is, then by SIGKILL.

(in-package "CADRE-AGENT")

(defconstant +frozen-tests+ 16)         ; of one run
(defconstant +kill-microseconds+ 1000000) ; after the soft stop
(defconstant +output-part+ 4000)        ; octets kept of each end of a test's output
(defconstant +outcome-limit+ (* 16 1024 1024))
(defconstant +listed-tests+ 10000)
(defconstant +report-microseconds+ 100000) ; between two messages about progress

(defstruct (tail (:constructor make-tail ()))
  "The beginning and the end of what was written."
  (first (make-octets +output-part+)) (first-fill 0 :type fixnum)
  (last (make-octets +output-part+)) (last-fill 0 :type fixnum) (omitted 0 :type fixnum))

(defstruct batch
  tests                                 ; still to run, the one that runs first
  (pid 0) outcomes output               ; its process; the read ends of its pipes
  (received (make-octets 0))            ; of outcomes
  (text (make-tail))                    ; what the test that runs has printed
  directory
  channel channel-number                ; for a post-mortem
  (began 0)                             ; the test that runs
  (ended nil)                           ; it said that it ends itself
  (stopped nil)                         ; when the time of the test was over
  (killed nil))

(defstruct run
  call
  (waiting '()) (active '()) (spare-channels '())
  (jobs 1) (seconds 30)
  (results '())                         ; objects, newest first
  (total 0) (done 0) (failed 0) (skipped 0) (checks 0) (channels 0)
  (reported 0))

(defglobal *batch-number* 0)

;;; --- what a test prints -------------------------------------------------------------------------

(defun add-to-tail (tail octets count)
  "Add the first COUNT of OCTETS to TAIL."
  (let* ((room (- +output-part+ (tail-first-fill tail)))
         (head (min room count)))
    (replace (tail-first tail) octets :start1 (tail-first-fill tail) :end2 head)
    (incf (tail-first-fill tail) head)
    (loop with start = head
          while (< start count)
          do (let* ((part (min +output-part+ (- count start)))
                    (over (max 0 (- (+ (tail-last-fill tail) part) +output-part+))))
               (replace (tail-last tail) (tail-last tail) :start2 over)
               (decf (tail-last-fill tail) over)
               (incf (tail-omitted tail) over)
               (replace (tail-last tail) octets :start1 (tail-last-fill tail)
                                                :start2 start :end2 (+ start part))
               (incf (tail-last-fill tail) part)
               (incf start part)))))

(defun tail-text (tail)
  "What TAIL holds, as a string."
  (flet ((decoded (octets fill)
           (sb-ext:octets-to-string octets :end fill
                                           :external-format '(:utf-8 :replacement #\ufffd))))
    (text (decoded (tail-first tail) (tail-first-fill tail))
          (if (plusp (tail-omitted tail))
              (format nil "~%[truncated: ~D bytes omitted]~%" (tail-omitted tail))
              "")
          (decoded (tail-last tail) (tail-last-fill tail)))))

;;; --- a fork for a batch -------------------------------------------------------------------------

(defun read-available (fd buffer)
  "Read what FD has into BUFFER: number of octets, 0 at its end, NIL when there is nothing yet."
  (with-pinned-objects (buffer)
    (let ((count (c-call "read" long (int fd) (system-area-pointer (vector-sap buffer))
                         (unsigned-long (length buffer)))))
      (cond ((>= count 0) count)
            ((= (errno) +eintr+) (read-available fd buffer))
            ((= (errno) +eagain+) nil)
            (t 0)))))

(defun make-reading-pipe ()
  "Like MAKE-PIPE; reading does not block. Fails when there are no descriptors left."
  (multiple-value-bind (read-end write-end) (make-pipe)
    (unless read-end (fail "no-descriptors" "No pipe could be made for a test."))
    (c-call "fcntl" int (int read-end) (int 4) (int #x800)) ; F_SETFL, O_NONBLOCK
    (values read-end write-end)))

(defun take-channel (run batch)
  "Give BATCH a channel for the post-mortem of a failure, while the run may ask for one."
  (let ((spare (pop (run-spare-channels run))))
    (cond (spare
           (setf (batch-channel batch) (car spare) (batch-channel-number batch) (cdr spare)))
          ((< (run-channels run) +frozen-tests+)
           (incf (run-channels run))
           (let ((fd (request-channel "test" 20000)))
             (when fd
               (setf *received-count* 0
                     (batch-channel batch) fd
                     (batch-channel-number batch) (agent-wanted *agent*))))))))

(defun return-channel (run batch used)
  "The fork of BATCH has ended. A channel that it has USED is that of a post-mortem now."
  (let ((fd (shiftf (batch-channel batch) nil)))
    (cond ((null fd))
          (used (close-descriptor fd))
          (t (push (cons fd (batch-channel-number batch)) (run-spare-channels run))))))

(defun make-batch-directory ()
  "A new directory for temporary files of a fork, native name."
  (let* ((parent (or (sb-posix:getenv "TMPDIR") "/tmp"))
         (name (format nil "~A/cadre-test-~D-~D" (string-right-trim "/" parent) (process-id)
                       (incf *batch-number*))))
    (sb-posix:mkdir name #o700)
    name))

(defun remove-batch-directory (batch)
  "Remove the temporary files of BATCH."
  (when (batch-directory batch)
    (ignore-errors
     (uiop:delete-directory-tree (directory-pathname (shiftf (batch-directory batch) nil))
                                 :validate t :if-does-not-exist :ignore))))

(defun start-batch (run batch)
  "Fork a process for BATCH."
  (flush-streams)
  (take-channel run batch)
  (setf (batch-directory batch) (make-batch-directory)
        (batch-text batch) (make-tail)
        (batch-received batch) (make-octets 0)
        (batch-ended batch) nil
        (batch-stopped batch) nil
        (batch-killed batch) nil)
  (multiple-value-bind (outcomes outcome-end) (make-reading-pipe)
    (multiple-value-bind (output output-end) (make-reading-pipe)
      (let* ((runner (process-id))
             (pid (without-interrupts (clone-as 'clone-as-child))))
        (when (zerop pid)
          (setf *clone-function* 'clone-as-sibling)
          (live-as-fork (make-fork :runner runner :pipe outcome-end
                                   :channel (batch-channel batch)
                                   :channel-number (batch-channel-number batch))
                        output-end (batch-directory batch) (run-call run) (batch-tests batch)
                        (run-seconds run)))
        (close-descriptor outcome-end)
        (close-descriptor output-end)
        (setf (batch-outcomes batch) outcomes (batch-output batch) output
              (batch-began batch) (monotonic-microseconds) (batch-pid batch) pid)
        (push batch (run-active run))
        (when (minusp pid)
          (fail "no-process" (text "No process could be made for a test: "
                                   (sb-int:strerror (errno)))))))))

(defun kill-batch (batch)
  "Kill the process of BATCH and what is in its group."
  (when (plusp (batch-pid batch))
    (c-call "kill" int (int (- (batch-pid batch))) (int 9))
    (c-call "kill" int (int (batch-pid batch)) (int 9))))

(defun drop-batch (run batch)
  "The process of BATCH has ended: give back what it had."
  (setf (run-active run) (remove batch (run-active run)))
  (close-descriptor (batch-outcomes batch))
  (close-descriptor (batch-output batch))
  (remove-batch-directory batch))

;;; --- results ------------------------------------------------------------------------------------

(defun add-result (run test outcome status microseconds output)
  "Enter the result of TEST."
  (let ((failures (member-of outcome "failures" #())))
    (incf (run-done run))
    (incf (run-checks run) (let ((checks (member-of outcome "checks")))
                             (if (integerp checks) checks 0)))
    (cond ((string= status "failed") (incf (run-failed run)))
          ((string= status "skipped") (incf (run-skipped run))))
    (push (object "name" (test-name test)
                  "suite" (test-suite test)
                  "status" status
                  "us" microseconds
                  "skipped" (member-of outcome "skipped")
                  "failures" failures
                  "output" (and (string= status "failed") (plusp (length output)) output)
                  "test" test)
          (run-results run))
    (report-progress run test)))

(defun report-progress (run test)
  "Tell the supervisor how far RUN is, now and then."
  (let ((now (monotonic-microseconds)))
    (when (or (= (run-done run) (run-total run))
              (> now (+ (run-reported run) +report-microseconds+)))
      (setf (run-reported run) now)
      (send-message +progress+ (call-number (run-call run))
                    (object "total" (run-total run) "done" (run-done run)
                            "failed" (run-failed run) "name" (test-name test))))))

(defun accept-outcome (run batch outcome)
  "The test that BATCH runs came to OUTCOME."
  (read-output batch)
  (let* ((test (pop (batch-tests batch)))
         (failures (member-of outcome "failures"))
         (now (monotonic-microseconds)))
    (when (find-if (lambda (failure) (member-of failure "postmortem")) failures)
      (return-channel run batch t))
    (add-result run test outcome
                (cond ((and (plusp (length failures)) (not (ended-well-p test failures))) "failed")
                      ((member-of outcome "skipped") "skipped")
                      (t "passed"))
                (member-of outcome "us" (- now (batch-began batch)))
                (tail-text (batch-text batch)))
    (setf (batch-text batch) (make-tail)
          (batch-began batch) now
          (batch-stopped batch) nil)))

(defun ended-well-p (test failures)
  "What ASDF does for a system may end the process with exit code 0."
  (and (string= (framework-name (test-framework test)) "ASDF")
       (= 1 (length failures))
       (eql 0 (member-of (aref failures 0) "exit_code"))))

(defun death-reason (batch status output)
  "Reason and message of the failure of a test whose process ended with STATUS, of waitpid."
  (let ((signal (logand status 127)) (code (ldb (byte 8 8) status)))
    (cond ((batch-stopped batch)
           (values "timeout" "It could not be interrupted and was killed."))
          ((search "Heap exhausted" output) (values "heap" "The heap was exhausted."))
          ((plusp signal) (values "crash" (text "Its process was killed by signal " signal ".")))
          ((search "fatal error" output)
           (values "crash" (text "Its process died of a fatal error, exit code " code ".")))
          (t (values "exit" (text "It ended the process with exit code " code "."))))))

;;; --- what forks say -----------------------------------------------------------------------------

(defglobal *read-buffer* (make-octets 65536))
(declaim (type octets *read-buffer*))

(defun read-output (batch)
  "Read what the test of BATCH has printed."
  (loop for count = (read-available (batch-output batch) *read-buffer*)
        while (and count (plusp count))
        do (add-to-tail (batch-text batch) *read-buffer* count)))

(defun parse-outcome (octets start end)
  "The outcome in OCTETS; user code shares the process that wrote it."
  (let ((outcome (handler-case (parse-json (subseq octets start end) (- end start))
                   (error () nil))))
    (if (and (object-p outcome) (vectorp (member-of outcome "failures" #()))
             (every #'object-p (member-of outcome "failures" #())))
        outcome
        (object "failures" (vector (object "reason" "crash"
                                           "message" "It wrote into the runner's pipe."))))))

(defun next-outcome (batch)
  "The next complete outcome that BATCH has sent, or NIL."
  (let* ((octets (batch-received batch)) (fill (length octets)))
    (when (>= fill 4)
      (let ((end (+ 4 (u32-at octets 0))))
        (cond ((> end +outcome-limit+) (kill-batch batch) nil)
              ((>= fill end)
               (setf (batch-received batch) (subseq octets end))
               (parse-outcome octets 4 end)))))))

(defun read-outcomes (run batch)
  "Accept the outcomes that BATCH has sent."
  (loop for count = (read-available (batch-outcomes batch) *read-buffer*)
        while (and count (plusp count)
                   (< (length (batch-received batch)) +outcome-limit+))
        do (setf (batch-received batch)
                 (concatenate 'octets (batch-received batch) (subseq *read-buffer* 0 count))))
  (loop for outcome = (and (batch-tests batch) (next-outcome batch))
        while outcome
        do (setf (batch-ended batch) (true-p (member-of outcome "ended")))
           (accept-outcome run batch outcome)))

;;; --- the end of a fork --------------------------------------------------------------------------

(defun blame-end (run batch status)
  "The process of BATCH has ended with STATUS in a test: that is the test's failure."
  (let ((output (tail-text (batch-text batch))))
    (multiple-value-bind (reason message) (death-reason batch status output)
      (add-result run (pop (batch-tests batch))
                  (object "failures" (vector (object "reason" reason "message" message)))
                  "failed" (- (monotonic-microseconds) (batch-began batch)) output))))

(defun finish-batch (run batch status)
  "The process of BATCH has ended with STATUS. Tests that are left go on in another one."
  (read-outcomes run batch)
  (read-output batch)
  (c-call "kill" int (int (- (batch-pid batch))) (int 9)) ; what it has started
  (return-channel run batch nil)
  (drop-batch run batch)
  (when (and (batch-tests batch) (not (batch-ended batch))) (blame-end run batch status))
  (when (batch-tests batch) (push batch (run-waiting run))))

(defun check-time (run batch)
  "Stop the test that BATCH runs when its time is over."
  (let* ((now (monotonic-microseconds))
         (late (- now (batch-began batch) (* 1000000 (run-seconds run)))))
    (cond ((or (minusp late) (batch-killed batch)))
          ((null (batch-stopped batch))
           (setf (batch-stopped batch) now)
           (c-call "kill" int (int (batch-pid batch)) (int +sigint+)))
          ((> now (+ (batch-stopped batch) +kill-microseconds+))
           (setf (batch-killed batch) t)
           (kill-batch batch)))))

(defun attend-to (run batch)
  "Take what BATCH has, and see whether it has ended."
  (read-output batch)
  (read-outcomes run batch)
  (multiple-value-bind (pid status) (wait-for-process (batch-pid batch) 1) ; WNOHANG
    (if (zerop pid)
        (check-time run batch)
        (finish-batch run batch (if (plusp pid) status 0)))))

(defun wait-for-batches (run)
  "Wait until a fork has something to say, or for a moment."
  (let ((count (* 2 (length (run-active run)))))
    (with-alien ((polls (array int 512)))
      (loop for batch in (run-active run)
            for index from 0 by 4
            do (setf (deref polls index) (batch-outcomes batch)
                     (deref polls (+ index 1)) +poll-in+
                     (deref polls (+ index 2)) (batch-output batch)
                     (deref polls (+ index 3)) +poll-in+))
      (c-call "poll" int ((* (array int 512)) (addr polls)) (unsigned-long count) (int 20)))))

;;; --- the loop -----------------------------------------------------------------------------------

(defun run-batches (run)
  "Run all batches of RUN; whatever ends this ends the forks."
  (unwind-protect
       (loop while (or (run-waiting run) (run-active run))
             do (loop while (and (run-waiting run)
                                 (< (length (run-active run)) (run-jobs run)))
                      do (start-batch run (pop (run-waiting run))))
                (wait-for-batches run)
                (dolist (batch (run-active run)) (attend-to run batch)))
    (dolist (batch (run-active run))
      (kill-batch batch)
      (when (plusp (batch-pid batch)) (wait-for-process (batch-pid batch)))
      (drop-batch run batch))))

(defun make-batches (tests isolate)
  "TESTS in batches that share a process: each alone, by suite, or all together."
  (cond ((string= isolate "none") (list (make-batch :tests (coerce tests 'list))))
        ((string= isolate "suite")
         (let ((batches '()))
           (loop for test across tests
                 for batch = (assoc (test-suite test) batches :test #'equal)
                 do (if batch
                        (push test (cdr batch))
                        (push (list (test-suite test) test) batches)))
           (loop for (nil . tests) in (reverse batches)
                 collect (make-batch :tests (reverse tests)))))
        (t (map 'list (lambda (test) (make-batch :tests (list test))) tests))))

;;; --- the answer ---------------------------------------------------------------------------------

(defun failure-place (failure test files)
  "File and line of FAILURE: those of its innermost frame in FILES, or of the definition of TEST."
  (loop for frame across (member-of (member-of failure "error") "frames" #())
        for place = (member-of frame "file")
        for colon = (and place (position #\: place :from-end t))
        when (and colon (member (subseq place 0 colon) files :test #'equal))
          do (return-from failure-place
               (values (subseq place 0 colon)
                       (parse-integer place :start (1+ colon) :junk-allowed t))))
  (find-test-place test files))

(defun failure-objects (result names)
  "The failures of RESULT as the answer has them; NAMES: the systems of the run."
  (let* ((test (member-of result "test"))
         (files (test-files test names)))
    (loop for failure across (member-of result "failures")
          for first = t then nil
          collect (multiple-value-bind (file line)
                      (ignore-errors (failure-place failure test files))
                    (append failure
                            (list "name" (member-of result "name")
                                  "suite" (member-of result "suite")
                                  "file" file "line" line
                                  "us" (member-of result "us")
                                  "output" (and first (member-of result "output"))))))))

(defun short-result (result)
  "RESULT without what only failures have."
  (object "name" (member-of result "name") "suite" (member-of result "suite")
          "status" (member-of result "status") "us" (member-of result "us")
          "skipped" (member-of result "skipped")))

(defun run-members (run request names microseconds)
  "Members of the answer to REQUEST."
  (let* ((results (reverse (run-results run)))
         (slowest (sort (copy-list results) #'> :key (lambda (result) (member-of result "us")))))
    (list "tests" (run-total run)
          "passed" (- (run-done run) (run-failed run) (run-skipped run))
          "failed" (run-failed run)
          "skipped" (run-skipped run)
          "checks" (run-checks run)
          "us" microseconds
          "frameworks" (sorted-texts (run-framework-names results))
          "failures" (coerce (loop for result in results
                                   when (string= (member-of result "status") "failed")
                                     append (failure-objects result names))
                             'simple-vector)
          "slowest" (map 'simple-vector #'short-result
                         (subseq slowest 0 (min 3 (length slowest))))
          "files" (and (true-p (member-of request "all"))
                       (coerce (mapcan #'system-files (copy-list names)) 'simple-vector))
          "results" (and (true-p (member-of request "all"))
                         (map 'simple-vector #'short-result
                              (subseq results 0 (min +listed-tests+ (length results))))))))

(defun run-framework-names (results)
  "Names of the frameworks of the tests of RESULTS."
  (remove-duplicates (loop for result in results
                           collect (framework-name (test-framework (member-of result "test"))))
                     :test #'string=))

(defun new-run (call request tests)
  "The RUN of TESTS that REQUEST wants."
  (make-run :call call
            :total (length tests)
            :waiting (make-batches tests (member-of request "isolate" "test"))
            :jobs (max 1 (min 64 (integer-member request "jobs" 1)))
            :seconds (max 1 (integer-member request "test_timeout" 30))))

(define-operation "run-tests" (call request)
  "Run tests in forks of this copy."
  (setf (call-form-number call) 1)
  (let* ((*read-files* (make-hash-table :test #'equal))
         (all (first (evaluate-form call `(select-tests ',request))))
         (system (member-of request "system"))
         (names (and system (system-names-with-tests (string-downcase system))))
         (files (run-files names))
         (start (monotonic-microseconds)))
    (when (zerop (length all)) (fail-without-tests request))
    (multiple-value-bind (tests note) (choose-tests request all files)
      (let ((run (new-run call request tests)))
        (sb-ext:gc)
        (run-batches run)
        (append (run-members run request names (- (monotonic-microseconds) start))
                (list "note" note
                      "record" (test-record run all files))
                (warning-members call))))))
