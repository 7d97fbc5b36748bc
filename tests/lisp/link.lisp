;;;; Descriptors of the link to the supervisor.

(in-package "CADRE-AGENT")

(defmacro with-pipe-ends ((reader writer) &body body)
  `(multiple-value-bind (,reader ,writer) (sb-posix:pipe)
     (unwind-protect (progn ,@body)
       (sb-posix:close ,reader)
       (sb-posix:close ,writer))))

(define-test "link: a descriptor is made blocking again"
  (with-pipe-ends (reader writer)
    (sb-posix:fcntl writer sb-posix:f-setfl sb-posix:o-nonblock)
    (clear-nonblocking writer)
    (check (logand sb-posix:o-nonblock (sb-posix:fcntl writer sb-posix:f-getfl)) 0)
    (check (plusp reader) t)))

(define-test "link: a duplicate is inherited as its place was"
  (with-pipe-ends (reader writer)
    (with-pipe-ends (other-reader other-writer)
      (close-on-exec other-reader)
      (duplicate-like reader other-reader)
      (check (sb-posix:fcntl other-reader sb-posix:f-getfd) 1)
      (duplicate-like writer other-writer)
      (check (sb-posix:fcntl other-writer sb-posix:f-getfd) 0)
      (check (nth-value 1 (file-identity writer)) (nth-value 1 (file-identity other-writer))))))

(define-test "link: pipes that are not standard output are no aliases of it"
  (with-pipe-ends (reader writer)
    (check (output-aliases (list reader writer)) '())))
