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
