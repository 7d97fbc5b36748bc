;;;; Descriptors a process shares with its clones.

(in-package "CADRE-AGENT")

(defmacro with-descriptor ((fd path) &body body)
  `(let ((,fd (open-to-read ,path)))
     (unwind-protect (progn ,@body) (c-call "close" int (int ,fd)))))

(define-test "descriptors: open ones are listed, closed ones are not"
  (let ((number (with-descriptor (fd "/proc/self/maps")
                  (check (and (member fd (open-descriptors)) t))
                  fd)))
    (check (member number (open-descriptors)) nil)))

(define-test "descriptors: file offsets are restored"
  (with-descriptor (fd (native-namestring (first (source-files))))
    (setf (file-offset fd) 10)
    (let ((offsets (record-offsets (list fd))))
      (check offsets (list (cons fd 10)))
      (setf (file-offset fd) 20)
      (restore-offsets offsets)
      (check (file-offset fd) 10))))

(define-test "descriptors: connections are sockets and pipes that are still the same"
  (with-alien ((ends (array int 2)))
    (check (c-call "pipe" int ((* (array int 2)) (addr ends))) 0)
    (let* ((fd (deref ends 0))
           (connections (open-connections (list fd))))
      (check (file-type fd) :pipe)
      (check (length connections) 1)
      (check (still-open-p (first connections)))
      (check (held-by-p (process-id) (first connections)))
      (disconnect-descriptor fd)        ; its number stays taken, by something else
      (check (file-type fd) :socket)
      (check (still-open-p (first connections)) nil)
      (c-call "close" int (int fd))
      (c-call "close" int (int (deref ends 1)))))
  (with-descriptor (fd "/dev/null")
    (check (open-connections (list fd)) '())))
