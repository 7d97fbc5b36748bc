;;;; Frames: whose they are, and what is shown of them.

(in-package "CADRE-AGENT")

(define-test "backtrace: the owner of a function name"
  (check (base-name '(flet x :in foo)) 'foo)
  (check (base-name '(labels y :in (flet x :in bar))) 'bar)
  (check (base-name '(:method area (sq))) 'area)
  (check (base-name '(setf foo)) 'foo)
  (check (and (part-name-p '(:method area (sq))) t))
  (check (part-name-p '(sb-pcl::emf area)) nil)
  (check (base-name '(lambda (x))) nil)
  (check (and (internal-name-p 'sb-kernel:two-arg-+) t))
  (check (internal-name-p 'car) nil)
  (check (internal-name-p "undefined function") nil)
  (check (and (internal-name-p "foreign function: read") t)))

;;; --- frames of real stacks ----------------------------------------------------------------------

(defun define-user-functions ()
  (evaluate-as-user
   "(defun inner (x) (error \"bad ~A\" x) nil)"
   "(defun outer (x y) (list (inner (list x y))))"
   "(defun local (x) (flet ((helper (y) (list (inner y)))) (list (helper x) (helper x))))"
   "(defun keys (a &optional (b 2) &key c) (list (inner (list a b c))))"
   "(defun add (a b) (list (+ a b)))"
   "(defun deep (n) (if (zerop n) (error \"deep\") (1+ (deep (1- n)))))"
   "(defmethod area ((shape integer)) (list (inner shape)))"))

(defun frames-at-error (text)
  "Calls in the backtrace of the error that evaluating TEXT signals, and its depth."
  (as-user
    (let ((calls '()) (depth 0))
      (catch 'failed
        (handler-bind ((error (lambda (condition)
                                (multiple-value-bind (frames all)
                                    (collect-frames (sb-di:top-frame) condition)
                                  (setf calls (map 'list (lambda (frame) (member-of frame "call"))
                                                   (frame-objects frames))
                                        depth all))
                                (throw 'failed nil))))
          (run-form (read-from-string text))))
      (values calls depth))))

(define-test "backtrace: from the error to the form, without frames of SBCL and the agent"
  (define-user-functions)
  (check (frames-at-error "(outer 1 :b)")
         '("(ERROR \"bad ~A\" (1 :B))" "(INNER (1 :B))" "(OUTER 1 :B)" "(EVAL (OUTER 1 :B))"))
  (check (frames-at-error "(local 3)")
         '("(ERROR \"bad ~A\" 3)" "(INNER 3)" "((FLET HELPER :IN LOCAL) 3)" "(LOCAL 3)"
           "(EVAL (LOCAL 3))"))
  (check (frames-at-error "(area 4)")
         '("(ERROR \"bad ~A\" 4)" "(INNER 4)" "((:METHOD AREA (INTEGER)) 4)" "(EVAL (AREA 4))"))
  (check (frames-at-error "(list (eval '(inner 4)))")
         '("(ERROR \"bad ~A\" 4)" "(INNER 4)" "(EVAL (INNER 4))"
           "(EVAL (LIST (EVAL (QUOTE (INNER 4)))))")))

(define-test "backtrace: primitives have the names users call them by"
  (define-user-functions)
  (check (frames-at-error "(add 1 'a)") '("(+ 1 A)" "(ADD 1 A)" "(EVAL (ADD 1 (QUOTE A)))"))
  (check (frames-at-error "(/ 1 0)") '("(/ 1 0)" "(EVAL (/ 1 0))"))
  (as-user (forget-assumption (read-from-string "no-such-function"))) ; of an earlier run
  (check (frames-at-error "(no-such-function 1)")
         '("(NO-SUCH-FUNCTION 1)" "(EVAL (NO-SUCH-FUNCTION 1))")))

(define-test "backtrace: entry points are merged into their functions"
  (define-user-functions)
  (check (third (frames-at-error "(keys 1)")) "(KEYS 1 2 :C NIL)")
  (check (third (frames-at-error "(keys 1 5 :c 6)")) "(KEYS 1 5 :C 6)"))

(define-test "backtrace: of a deep stack the innermost and the outermost frames are kept"
  (define-user-functions)
  (dolist (depth '(500 1500 5000))
    (multiple-value-bind (calls all) (frames-at-error (format nil "(list (deep ~D))" depth))
      (check all (+ depth 3))           ; ERROR, DEEP from 0 to DEPTH, EVAL
      (check (length calls) (min all 1000))
      (check (subseq calls 0 2) '("(ERROR \"deep\")" "(DEEP 0)"))
      (check (last calls 2) (list (format nil "(DEEP ~D)" depth)
                                  (format nil "(EVAL (LIST (DEEP ~D)))" depth))))))

(define-test "backtrace: texts of calls are cut"
  (check (call-text "F" '("1" "2")) "(F 1 2)")
  (check (length (call-text "F" (loop repeat 100 collect "12345"))) 300)
  (let ((frame (make-frame 'f (loop for i from 1 to 12 collect i) '() nil)))
    (check (last (frame-argument-texts frame) 2) '("10" "..."))
    (check (length (frame-argument-texts frame)) 11)))

(define-test "backtrace: plain arguments are cut in depth and length"
  (check (plain-argument '(1 (2 (3 (4 (5)))))) "(1 (2 (3 (4 #))))")
  (check (plain-argument '(1 2 3 4 5 6 7 8 9)) "(1 2 3 4 5 6 7 8 ...)")
  (check (plain-argument '(1 . 2)) "(1 . 2)")
  (check (plain-argument (let ((list (list 1))) (setf (cdr list) list))) "(1 1 1 1 1 1 1 1 ...)")
  (check (plain-argument (make-hash-table)) "#<HASH-TABLE>"))
