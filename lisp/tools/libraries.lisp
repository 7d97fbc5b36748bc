;;;; Where systems are that ASDF does not know by itself: those of the workspace, and those that a
;;;; package manager has put on this machine (docs/workbench.md).
;;;;
;;;; Quicklisp, qlot and ocicl are found by the files they leave, and their systems are loaded by
;;;; ASDF. Nothing of theirs is loaded for that: a session may not write into their directories, and
;;;; a .sbclrc is not read. What belongs to the workspace comes before what ASDF finds, and what is
;;;; the user's comes after it.

(in-package "CADRE-AGENT")

(defconstant +workspace-depth+ 3)       ; directories below the workspace
(defconstant +workspace-directories+ 2000)
(defconstant +local-projects-depth+ 4)

(defstruct (library-home (:conc-name home-))
  (manager "" :type string)             ; quicklisp, qlot or ocicl
  (directory "" :type string)           ; native, ends in /
  (index nil))                          ; of ocicl: native name of the file of its systems

;;; --- native names -------------------------------------------------------------------------------

(defun native-file-p (name)
  "True when there is a file or directory with the native NAME. A project core depends on it."
  (record-quietly (sb-ext:parse-native-namestring name) "file")
  (file-status name))

(defun native-directory-p (name)
  "True when NAME is the native name of a directory."
  (let ((status (native-file-p name)))
    (and status (directory-status-p status))))

(defun entry-names (directory)
  "Names in the native DIRECTORY, in order; those that begin with a dot are left out."
  (let ((stream (ignore-errors (sb-posix:opendir directory))) (names '()))
    (when stream
      (unwind-protect
           (loop for entry = (sb-posix:readdir stream)
                 until (sb-alien:null-alien entry)
                 do (let ((name (sb-posix:dirent-name entry)))
                      (unless (char= (char name 0) #\.) (push name names))))
        (sb-posix:closedir stream)))
    (sort names #'string<)))

(defun file-lines (name)
  "Lines of the file with the native NAME; none when it cannot be read."
  (and (native-file-p name) (ignore-errors (lines (file-text name)))))

(defun environment-directory (variable default)
  "The directory that the environment variable names, or DEFAULT below the home directory; it ends
in /. NIL when neither is known."
  (let* ((given (sb-ext:posix-getenv variable))
         (home (sb-ext:posix-getenv "HOME"))
         (name (cond ((and given (eql 0 (position #\/ given))) given)
                     ((and home (eql 0 (position #\/ home))) (text home "/" default)))))
    (and name (text (string-right-trim "/" name) "/"))))

;;; --- the workspace ------------------------------------------------------------------------------

(defun workspace-directory ()
  "Native name of the workspace, which ends in /; or of the working directory."
  (let ((workspace (sb-ext:posix-getenv "CADRE_WORKSPACE")))
    (if (and workspace (plusp (length workspace)))
        (text (string-right-trim "/" workspace) "/")
        (native-namestring (working-directory)))))

(defun system-definition-file-p (name)
  "True for the NAME of a file that defines systems."
  (let ((end (- (length name) 4)))
    (and (plusp end) (string= ".asd" name :start2 end))))

(defun library-directory-p (name names)
  "True when the directory NAME, one of NAMES, has what was fetched for the project, not its own."
  (or (string= name "node_modules")
      (and (string= name "ocicl") (member "ocicl.csv" names :test #'string=))
      (and (string= name "systems") (member "systems.csv" names :test #'string=))))

(defun scan-directory (directory depth wanted-p visit)
  "Call VISIT for each file whose name is WANTED-P in DIRECTORY and DEPTH levels below; and before,
for each directory with its stamp: what VISIT returns false for is passed over."
  (let* ((names (entry-names directory)) (stamp (status-stamp (file-status directory) "directory")))
    (record-quietly (sb-ext:parse-native-namestring directory) "systems")
    (when (funcall visit directory stamp)
      (dolist (name names)
        (when (funcall wanted-p name)
          (funcall visit (text directory name) nil)))
      (when (plusp depth)
        (dolist (name names)
          (let ((status (file-status (text directory name))))
            (when (and status (directory-status-p status)
                       (not (library-directory-p name names)))
              (scan-directory (text directory name "/") (1- depth) wanted-p visit))))))))

;;; What the last scan of the workspace has found: (directories . systems), alists of directories to
;;; stamps and of names of systems to files.
(defglobal *workspace-scan* nil)

(defun scan-workspace ()
  "The scan of the workspace as it is now. A file nearer to its top hides one of the same name."
  (let ((directories '()) (systems '()))
    (scan-directory (workspace-directory) +workspace-depth+ #'system-definition-file-p
                    (lambda (name stamp)
                      (cond (stamp (push (cons name stamp) directories)
                                   (< (length directories) +workspace-directories+))
                            (t (push name systems)))))
    (flet ((depth (name) (count #\/ name)))
      (cons directories
            (mapcar (lambda (name)
                      (cons (subseq name (1+ (position #\/ name :from-end t)) (- (length name) 4))
                            name))
                    (stable-sort (nreverse systems) #'< :key #'depth))))))

(defun scan-current-p (scan)
  "True when no directory of SCAN has changed since."
  (and scan
       (equal (workspace-directory) (caar (last (car scan))))
       (loop for (name . stamp) in (car scan)
             always (equal stamp (status-stamp (file-status name) "directory")))))

(defun workspace-systems ()
  "Names and files of the systems of the workspace."
  (when (or *project-record* (not (scan-current-p *workspace-scan*)))
    (setf *workspace-scan* (scan-workspace)))
  (cdr *workspace-scan*))

;;; --- homes of package managers ------------------------------------------------------------------

(defun quicklisp-home (manager directory)
  "The home of Quicklisp in DIRECTORY, or NIL."
  (and directory
       (native-file-p (text directory "setup.lisp"))
       (native-directory-p (text directory "dists/"))
       (make-library-home :manager manager :directory directory)))

(defun ocicl-home (directory)
  "The home of ocicl in DIRECTORY, or NIL; its directory has the same name as its index."
  (loop for name in '("ocicl" "systems")
        for index = (and directory (text directory name ".csv"))
        when (and index (native-file-p index))
          return (make-library-home :manager "ocicl" :directory (text directory name "/")
                                    :index index)))

(defun global-ocicl-directory ()
  "Where ocicl keeps what it has for all projects."
  (let* ((data (environment-directory "XDG_DATA_HOME" ".local/share"))
         (own (and data (text data "ocicl/")))
         (named (and own (first (file-lines (text own "ocicl-globaldir.cfg"))))))
    (if (and named (eql 0 (position #\/ named)))
        (text (string-right-trim "/" (string-trim " " named)) "/")
        own)))

(defun project-homes ()
  "Homes of package managers in the workspace."
  (let ((workspace (workspace-directory)))
    (remove nil (list (quicklisp-home "qlot" (text workspace ".qlot/"))
                      (ocicl-home workspace)))))

(defun user-homes ()
  "Homes of package managers of the user."
  (remove nil (list (quicklisp-home "quicklisp"
                                    (environment-directory "QUICKLISP_HOME" "quicklisp"))
                    (ocicl-home (global-ocicl-directory)))))

;;; --- where they are, for messages ---------------------------------------------------------------

(defun home-texts ()
  "The homes that are there, as texts."
  (mapcar (lambda (home) (text (home-manager home) " in " (home-directory home)))
          (append (project-homes) (user-homes))))

;;; --- systems of Quicklisp and qlot --------------------------------------------------------------

(defun dist-preference (dist)
  "How much the client prefers the DIST, a native directory."
  (or (ignore-errors (parse-integer (first (file-lines (text dist "preference.txt"))))) 0))

(defun enabled-dists (home)
  "Native directories of the dists of HOME that are in use, the preferred ones first."
  (let ((top (text (home-directory home) "dists/")))
    (stable-sort (loop for name in (entry-names top)
                       for dist = (text top name "/")
                       when (native-file-p (text dist "enabled.txt")) collect dist)
                 #'> :key #'dist-preference)))

(defun dist-property (dist name)
  "What the DIST says of itself under NAME, or NIL."
  (loop for line in (file-lines (text dist "distinfo.txt"))
        for colon = (position #\: line)
        when (and colon (string= name line :end2 colon))
          return (string-trim '(#\Space #\Return) (subseq line (1+ colon)))))

(defun installed-file (home name)
  "The file of the system NAME that a dist of HOME has installed, or NIL."
  (loop for dist in (enabled-dists home)
        for relative = (first (file-lines (text dist "installed/systems/" name ".txt")))
        for file = (and (plusp (length relative))
                        (text (if (char= (char relative 0) #\/) "" (home-directory home))
                              (string-right-trim '(#\Return) relative)))
        when (and file (native-file-p file)) return file))

(defun local-project-file (home name)
  "The file of the system NAME in the local projects of HOME, or NIL."
  (let ((top (text (home-directory home) "local-projects/")) (wanted (text "/" name ".asd"))
        (count 0))
    (when (native-directory-p top)
      (scan-directory top +local-projects-depth+ #'system-definition-file-p
                      (lambda (found stamp)
                        (cond (stamp (< (incf count) +workspace-directories+))
                              ((let ((start (- (length found) (length wanted))))
                                 (string= wanted found :start2 (max 0 start)))
                               (return-from local-project-file found))
                              (t t))))
      nil)))

;;; --- systems of ocicl ---------------------------------------------------------------------------

(defun split-line (line separator)
  "The parts of LINE between SEPARATORs, without blanks around them."
  (loop for start = 0 then (1+ end)
        for end = (position separator line :start start)
        collect (string-trim '(#\Space #\Tab #\Return) (subseq line start end))
        while end))

(defun indexed-file (home name)
  "The file of the system NAME by the index of HOME, one of ocicl; or NIL."
  (loop for line in (file-lines (home-index home))
        for (system nil file) = (split-line line #\,)
        when (and (string= system name) (plusp (length file)))
          return (let ((file (text (home-directory home) file)))
                   (and (native-file-p file) file))))

;;; --- what ASDF asks -----------------------------------------------------------------------------

(defun home-file (home name)
  "The file of the system NAME in HOME, or NIL."
  (if (home-index home)
      (indexed-file home name)
      (or (local-project-file home name) (installed-file home name))))

(defun asked-name (name)
  "The name of the file of the system NAME; NIL for systems that are part of the core."
  (let ((primary (subseq name 0 (position #\/ name))))
    (unless (or (member primary '("" "." ".." "asdf" "uiop") :test #'string=)
                (find #\Nul primary))
      primary)))

(defun file-in-homes (homes name)
  "The pathname of the file of the system NAME in the first of HOMES that has it, or NIL."
  (loop for home in homes
        for file = (home-file home name)
        when file return (sb-ext:parse-native-namestring file)))

(defun find-system-of-project (name)
  "For ASDF, before it looks elsewhere: the file of the system NAME in the workspace, or fetched for
it."
  (let ((name (asked-name name)))
    (when name
      (let ((file (cdr (assoc name (workspace-systems) :test #'string=))))
        (if file
            (sb-ext:parse-native-namestring file)
            (file-in-homes (project-homes) name))))))

(defun find-system-of-user (name)
  "For ASDF, after it has looked elsewhere: the file of the system NAME where the user's package
managers put it; or where it was before a reset."
  (let ((name (asked-name name)))
    (and name (or (file-in-homes (user-homes) name)
                  (system-file-nearby name)))))

(defun search-libraries ()
  "Let ASDF find these systems; once, when the core is built."
  (setf asdf:*system-definition-search-functions*
        (append '(find-system-of-project)
                asdf:*system-definition-search-functions*
                '(find-system-of-user))))

;;; --- where a system came from -------------------------------------------------------------------

(defun below-p (directory name)
  "True when the native NAME is below DIRECTORY, whose name ends in /."
  (and (plusp (length directory)) (eql (length directory) (or (mismatch directory name) 0))))

(defun dist-label (home file)
  "Which dist of HOME the FILE of a system is of, as a label."
  (let* ((start (+ (length (home-directory home)) (length "dists/")))
         (end (position #\/ file :start (min start (length file))))
         (name (and end (subseq file start end)))
         (version (and name (dist-property (text (home-directory home) "dists/" name "/")
                                           "version"))))
    (if (and name (below-p (text (home-directory home) "dists/") file))
        (text (home-manager home) " (" name (if version (text " " version) "") ")")
        (text (home-manager home) " (local project)"))))

(defun system-origin (system)
  "Where SYSTEM came from, as a label: a package manager, the workspace, SBCL or a directory."
  (let* ((file (system-file-name system))
         (home (and file (find-if (lambda (home) (below-p (home-directory home) file))
                                  (append (project-homes) (user-homes))))))
    (cond ((null file) "SBCL")
          ((and home (home-index home)) "ocicl")
          (home (dist-label home file))
          ((below-p (native-namestring (sb-int:sbcl-homedir-pathname)) file) "SBCL")
          ((below-p (workspace-directory) file) "the workspace")
          (t (common-place file)))))

(defun common-place (file)
  "The directory that FILE is in, or the place for systems above it."
  (let ((place (loop for place in '("/common-lisp/source/" "/common-lisp/")
                     for found = (search place file)
                     when found return (subseq file 0 (+ found (length place))))))
    (or place (subseq file 0 (1+ (position #\/ file :from-end t))))))

(defun origin-objects (names)
  "JSON of the systems NAMES by their origins."
  (let ((origins '()))
    (dolist (name names)
      (let* ((system (asdf:find-system name nil))
             (origin (and system (system-origin system)))
             (known (assoc origin origins :test #'equal)))
        (cond ((or (null system) (string= origin "SBCL")))
              (known (push name (cdr known)))
              (t (push (list origin name) origins)))))
    (map 'simple-vector
         (lambda (entry) (object "origin" (first entry) "systems" (sorted-texts (rest entry))))
         (nreverse origins))))
