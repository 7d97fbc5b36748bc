;;;; profile-code: evaluation under SBCL's statistical profiler.

(in-package "CADRE-AGENT")

(defun profile-mode (request)
  (let ((mode (member-of request "mode" "cpu")))
    (cond ((equal mode "time") :time)
          ((equal mode "alloc") :alloc)
          (t :cpu))))

(defun lines (text)
  (loop for start = 0 then (1+ end)
        for end = (position #\Newline text :start start)
        collect (subseq text start end)
        while end))

(defun own-line-p (line)
  (or (search "CADRE-AGENT" line) (search "START-LISP" line)))

(defun report-text (type limit)
  "The profiler's table without its preamble and without the frames of the agent."
  (let* ((report (lines (values (with-bounded-text (stream limit)
                                  (sb-sprof:report :type type :stream stream)))))
         (table (rest (member-if (lambda (line) (search "#<THREAD" line)) report))))
    (string-trim '(#\Newline)
                 (trim-right (format nil "~{~A~%~}" (remove-if #'own-line-p table))))))

(defun sample-count ()
  (let ((samples sb-sprof::*samples*))
    (if samples (sb-sprof::samples-trace-count samples) 0)))

(define-operation "profile" (call request)
  (let ((mode (profile-mode request))
        (source (make-source-text (required-string request "code"))))
    (sb-sprof:reset)
    (sb-sprof:start-profiling
     :mode mode
     :max-samples (max 1 (integer-member request "max_samples" 1000))
     :sample-interval (/ (max 100 (integer-member request "interval_us" 10000)) 1000000.0)
     :threads (list sb-thread:*current-thread*))
    (let ((members (unwind-protect (evaluate-source call request source)
                     (sb-sprof:stop-profiling)
                     (setf (call-samples call) (sample-count)))))
      (list* "samples" (call-samples call)
             "table" (and (plusp (call-samples call))
                          (report-text (if (equal (member-of request "report") "graph")
                                           :graph :flat)
                                       (call-max-output call)))
             members))))
