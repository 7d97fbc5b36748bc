;;;; What has to be fetched before a system can be loaded, as the package managers that are there
;;;; say: from the lists of their dists. A session cannot fetch it: it may not write where it goes.

(in-package "CADRE-AGENT")

(defconstant +plan-limit+ 500)          ; releases

(defstruct release
  name                                  ; as the package manager calls it
  home                                  ; LIBRARY-HOME into which it goes
  url
  (size 0))                             ; octets

(defun dist-rows (dist file)
  "Rows of the FILE of the DIST, lists of words."
  (loop for line in (file-lines (text dist file))
        unless (or (string= line "") (char= (char line 0) #\#))
          collect (remove "" (split-line line #\Space) :test #'string=)))

(defvar *dist-tables* nil)              ; (dist . file) to a hash table of rows, during a plan

(defun dist-row (dist file column key)
  "The row of the FILE of DIST that has KEY in COLUMN, or NIL."
  (let* ((place (text dist file))
         (table (or (gethash place *dist-tables*)
                    (let ((table (make-hash-table :test #'equal)))
                      (dolist (row (dist-rows dist file))
                        (setf (gethash (nth column row) table) row))
                      (setf (gethash place *dist-tables*) table)))))
    (gethash key table)))

(defun dist-offer (home name)
  "The RELEASE with the system NAME that a dist of HOME offers, and the systems that this needs; or
NIL."
  (dolist (dist (enabled-dists home))
    (let* ((system (dist-row dist "systems.txt" 2 name))
           (release (and system (dist-row dist "releases.txt" 0 (first system)))))
      (when release
        (return (values (make-release :name (first release) :home home :url (second release)
                                      :size (or (ignore-errors (parse-integer (third release))) 0))
                        (cdddr system)))))))

(defun offer (name)
  "The RELEASE with the system NAME that a dist offers, and what it needs; or NIL. What ocicl could
fetch is known to its registry alone."
  (dolist (home (remove-if #'home-index (append (project-homes) (user-homes))))
    (multiple-value-bind (release needs) (dist-offer home name)
      (when release (return (values release needs))))))

(defun needs-of (system)
  "Names of the systems that SYSTEM, of ASDF, needs."
  (mapcar #'dependency-name (append (asdf "SYSTEM-DEFSYSTEM-DEPENDS-ON" system)
                                    (asdf "SYSTEM-DEPENDS-ON" system))))

(defun fetch-plan (name)
  "RELEASEs that have to be fetched before the system NAME can be loaded, and names of the systems
that nobody has."
  (let ((*dist-tables* (make-hash-table :test #'equal)) (seen '()) (releases '()) (nowhere '()))
    (labels ((visit (name)
               (unless (or (member name seen :test #'string=)
                           (> (length seen) +plan-limit+))
                 (push name seen)
                 (let ((system (ignore-errors (asdf "FIND-SYSTEM" name nil))))
                   (if system
                       (mapc #'visit (needs-of system))
                       (visit-offer name)))))
             (visit-offer (name)
               (multiple-value-bind (release needs)
                   (offer (subseq name 0 (position #\/ name)))
                 (cond ((null release) (push name nowhere))
                       (t (pushnew release releases :key #'release-name :test #'string=)
                          (mapc #'visit needs))))))
      (visit name))
    (values (nreverse releases) (nreverse nowhere))))

(defun fetch-command (home name)
  "What the user does to have the system NAME fetched into HOME."
  (let ((manager (home-manager home)))
    (if (string= manager "qlot")
        (text "qlot add " name)
        (text "sbcl --load " (home-directory home) "setup.lisp --eval '(ql:quickload \""
              name "\")' --quit"))))

(defun fetch-hint (name)
  "What to do about the system NAME that is missing, as a hint; NIL when nobody offers it."
  (let* ((*dist-tables* (make-hash-table :test #'equal))
         (name (subseq name 0 (position #\/ name)))
         (release (ignore-errors (offer name)))
         (home (and release (release-home release))))
    (and home
         (text name " is not installed, and a session cannot install it: it would be written to "
               (home-directory home) "; the user can, by `" (fetch-command home name)
               "`. load-system with `dry-run` lists all that is missing."))))

(defun missing-system-hint (condition)
  "Hint for CONDITION, by which ASDF says that a system is missing; NIL for others."
  (let ((kind (symbol-name (type-of condition))))
    (when (member kind '("MISSING-COMPONENT" "MISSING-DEPENDENCY" "MISSING-DEPENDENCY-OF-VERSION"
                         "MISSING-COMPONENT-OF-VERSION")
                  :test #'string=)
      (let ((name (ignore-errors (dependency-name
                                  (asdf/find-component:missing-requires condition)))))
        (or (and name (fetch-hint name))
            (and (string= kind "MISSING-COMPONENT") (system-search-text)))))))

(define-operation "plan-fetch" (call request)
  "What has to be fetched before a system can be loaded."
  (setf (call-phase call) "inspect")
  (multiple-value-bind (releases nowhere)
      (fetch-plan (string-downcase (required-string request "system")))
    (list "releases" (map 'simple-vector
                          (lambda (release)
                            (object "name" (release-name release)
                                    "manager" (home-manager (release-home release))
                                    "home" (home-directory (release-home release))
                                    "url" (release-url release)
                                    "command" (fetch-command (release-home release)
                                                             (release-name release))
                                    "size" (release-size release)))
                          releases)
          "nowhere" (coerce nowhere 'simple-vector))))
