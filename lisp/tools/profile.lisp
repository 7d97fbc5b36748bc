;;;; profile-code: evaluation under SBCL's statistical profiler.

(in-package "CADRE-AGENT")

(defun profile-mode (request)
  "Mode of the profiler that REQUEST asks for."
  (let ((mode (member-of request "mode" "cpu")))
    (cond ((equal mode "time") :time)
          ((equal mode "alloc") :alloc)
          (t :cpu))))

(defun lines (text)
  "Lines of TEXT."
  (loop for start = 0 then (1+ end)
        for end = (position #\Newline text :start start)
        collect (subseq text start end)
        while end))

(defun own-line-p (line)
  "True for a line about the agent's own functions."
  (some (lambda (part) (search part line))
        '("CADRE-AGENT" "START-LISP" "foreign function call_into_lisp")))

(defun separator-p (line)
  "True for a line between blocks."
  (and (plusp (length line)) (every (lambda (character) (char= character #\-)) line)))

(defun blocks (lines)
  "LINES as lists of those between separators."
  (loop for rest = lines then (rest end)
        for end = (member-if #'separator-p rest)
        collect (ldiff rest end)
        while end))

(defun subject-line-p (line)
  "True for a line about a function itself: one of its callers or callees, in a graph, leaves the
second pair of columns empty."
  (and (> (length line) 24) (find #\Space line :start 12 :end 24 :test #'char/=)))

(defun without-own-lines (lines)
  "LINES of a report without the frames of the agent, and without what is said of nothing else."
  (let ((kept (loop for block in (blocks lines)
                    for left = (remove-if #'own-line-p block)
                    when (some #'subject-line-p left) collect left)))
    (rest (loop for block in kept
                collect (make-string 72 :initial-element #\-)
                append block))))

(defun report-text (type limit)
  "The profiler's table without its preamble and without the frames of the agent."
  (let* ((report (lines (values (with-bounded-text (stream limit)
                                  (sb-sprof:report :type type :stream stream)))))
         (table (rest (member-if (lambda (line) (search "#<THREAD" line)) report))))
    (string-trim '(#\Newline)
                 (trim-right (format nil "~{~A~%~}" (without-own-lines table))))))

(define-operation "profile" (call request)
  "Evaluate a text under the profiler."
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
                     (setf (call-samples call) (profiler-sample-count)))))
      (list* "samples" (call-samples call)
             "table" (and (plusp (call-samples call))
                          (report-text (if (equal (member-of request "report") "graph")
                                           :graph :flat)
                                       (call-max-output call)))
             members))))
