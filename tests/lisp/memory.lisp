;;;; What the kernel is told about memory: reading its tables rightly.

(in-package "CADRE-AGENT")

(defun mapping (line) (multiple-value-list (parse-mapping line)))

(define-test "memory: mappings"
  (check (mapping "1000000000-1001520000 rwxp 00010000 fe:00 11175460           /a b/cadre.core")
         '(#x1000000000 #x1001520000 #x10000 11175460 "/a b/cadre.core"))
  (check (mapping "1000000000-1001520000 r-xp 00010000 fe:00 11175460           /a/cadre.core")
         '(nil))
  (check (mapping "1000000000-1001520000 rwxp 00000000 00:00 0 ") '(nil))
  (check (mapping "50000000-50008000 rwxp 00008000 fe:00 11175460               /a/cadre.core")
         '(nil)))

(defun entries (&rest flags-and-counts)
  "Records of pages: flags, number of pages with them, and so on."
  (let ((records (loop for (flags count) on flags-and-counts by #'cddr
                       append (loop repeat count append (list 0 0 0 0 0 0 0 flags)))))
    (coerce records 'octets)))

(defun stretches (entries)
  (let ((found '()))
    (map-clean-stretches (lambda (page count) (push (list page count) found)) entries)
    (nreverse found)))

(defconstant +absent+ 0)
(defconstant +of-file+ #b10100000)
(defconstant +written+ #b10000000)
(defconstant +swapped+ #b01000000)

(define-test "memory: stretches"
  (check (stretches (entries)) '())
  (check (stretches (entries +of-file+ 63)) '())
  (check (stretches (entries +of-file+ 64)) '((0 64)))
  (check (stretches (entries +absent+ 40 +of-file+ 40)) '((0 80)))
  (check (stretches (entries +written+ 1 +of-file+ 64 +written+ 2 +absent+ 100)) '((1 64) (67 100)))
  (check (stretches (entries +of-file+ 70 +swapped+ 1 +of-file+ 10)) '((0 70)))
  (check (stretches (entries +written+ 200)) '()))

(define-test "memory: runs of pages end with the heap"
  (check (let ((runs '()))
           (map-page-runs #'free-page-p (lambda (address size) (push (cons address size) runs)))
           (and (every (lambda (run) (zerop (mod (cdr run) sb-vm:gencgc-page-bytes))) runs)
                (= (+ (car (first runs)) (cdr (first runs)))
                   (+ sb-vm:dynamic-space-start (sb-ext:dynamic-space-size)))))))

(defun octets-at (start size)
  (let ((octets (make-octets size)))
    (dotimes (index size octets)
      (setf (aref octets index) (sb-sys:sap-ref-8 (int-sap start) index)))))

(defun count-present-pages (start size)
  (let ((entries (page-entries start (+ start size))))
    (loop for index from 7 below (length entries) by 8
          count (logbitp 7 (aref entries index)))))

(define-test "memory: the card table says the same with fewer pages, and the collector works"
  (multiple-value-bind (start size) (card-table-pages)
    (without-gcing
      (let ((before (octets-at start size)))
        (check (count-present-pages start size) (floor size +page-size+))
        (map-card-table)
        (check (< (count-present-pages start size) (floor size (* 8 +page-size+))))
        (check (equalp before (octets-at start size)))))
    (check (collect-and-allocate))))
