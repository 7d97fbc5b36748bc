;;;; Files and ASDF systems: load-file, describe-system; load-system is in actions.lisp.

(in-package "CADRE-AGENT")

;;; --- files --------------------------------------------------------------------------------------

(defun file-text (path &optional (external-format '(:utf-8 :replacement #\ufffd)))
  "Contents of the file as a string; undecodable bytes become U+FFFD, by default."
  (with-open-file (stream (sb-ext:parse-native-namestring path) :external-format external-format)
    (let* ((text (make-string (file-length stream)))
           (count (read-sequence text stream)))
      (subseq text 0 count))))

(defun existing-file (path)
  "PATH, which can be opened; or the path that a restart of OPEN put in its place."
  (with-open-file (stream (sb-ext:parse-native-namestring path))
    (absolute-path (pathname stream))))

(defun readtable-of-file (path)
  "*READTABLE*, or for a file with a byte order mark one that takes it for a blank: the file
compiler reads the file itself."
  (with-open-file (stream (sb-ext:parse-native-namestring path)
                          :external-format '(:utf-8 :replacement #\ufffd))
    (if (eql #\ufeff (read-char stream nil))
        (let ((readtable (copy-readtable)))
          (set-syntax-from-char #\ufeff #\Space readtable)
          readtable)
        *readtable*)))

(defun load-compiled (path fasl)
  "Compile the file, load the result."
  (setf (call-phase *call*) "compile")
  (let ((output (let ((*readtable* (readtable-of-file path)))
                  (compile-file (sb-ext:parse-native-namestring path)
                                :verbose nil
                                :output-file (sb-ext:parse-native-namestring fasl)
                                :external-format '(:utf-8 :replacement #\ufffd)))))
    (unless output
      (find-unreadable-form *call* path)
      (error "Compiling ~A failed." path))
    (setf (call-phase *call*) "evaluate")
    (load output)))

(defun find-unreadable-form (call path)
  "The file compiler gives up only when it cannot read on: read the file again, so that the failure
is reported like that of a file which is not compiled."
  (let ((source (make-source-text (file-text path) path))
        (*readtable* *readtable*) (*package* *package*))
    (setf (call-source call) source
          (call-form-number call) 0)
    (loop for form = (read-form call source source)
          until (eq form source)
          do (when (and (consp form) (eq (first form) 'in-package)) (eval form)))))

(defun file-form-index (frames)
  "Index of the top-level form of the outermost file that FRAMES are compiling or loading."
  (loop for frame in (reverse frames)
        for name = (frame-name frame)
        do (cond ((form-processor-name-p name)
                  (return (first (last (second (frame-arguments frame))))))
                 ((loaded-form-name-p name)
                  (return (sb-di:code-location-toplevel-form-offset
                           (sb-di:frame-code-location (frame-stack-frame frame))))))))

(defun file-form-source (path index)
  "Text of the file, its place at the top-level form INDEX."
  (let ((source (make-source-text (file-text path) path))
        (*read-suppress* t))
    (loop repeat (1+ index)
          do (source-next-place source)
             (read (source-text-stream source)))
    source))

(defun file-form-line (path index)
  "Line of the top-level form INDEX of the file, or NIL."
  (ignore-errors (place-line (source-text-place (file-form-source path index)))))

(defun locate-in-compiled-file (call frames)
  "Make the form of the file in which FRAMES failed the one CALL is at, if that is known."
  (ignore-errors
   (let ((index (file-form-index frames)))
     (when index
       (setf (call-source call) (file-form-source (call-compiled-file call) index)
             (call-form-number call) (1+ index))))))

;;; --- what the file compiler says ----------------------------------------------------------------

(defun absolute-path (pathname)
  "Native name of PATHNAME from the root."
  (native-namestring (merge-pathnames pathname)))

(defun file-origin (call context)
  "Origin of what the compiler says, if CONTEXT is about a file."
  (let ((pathname (context-file-name context)))
    (when (pathnamep pathname)
      (make-origin :form (call-form-number call)
                   :path (absolute-path pathname)
                   :index (context-form-index context)))))

(defun file-reading-source (path stream)
  "Text of the file that STREAM, of the file compiler, reads: its place at the form being read, its
stream where STREAM is."
  (let ((source (make-source-text (file-text path) path)))
    (advance-place (source-text-place source) (source-text-string source)
                   (form-start stream))
    (file-position (source-text-stream source) (characters-read stream))
    source))

(defun unreadable-file-report (call condition)
  "Message and origin of CONDITION, about a file being compiled that cannot be read on. NIL when the
failure of CALL will report it, or when the file is gone."
  (ignore-errors
   (let* ((stream (stream-error-stream condition))
          (path (absolute-path (pathname stream))))
     (unless (equal path (call-compiled-file call))
       (multiple-value-bind (message place)
           (reader-message (sb-int:encapsulated-condition condition)
                           (file-reading-source path stream))
         (values (text "Read error: " message)
                 (make-origin :form (call-form-number call) :place place :path path)))))))

(defun load-file-compiled (call request path)
  "Members of the result of compiling and loading the file PATH."
  (with-package-argument (request)
    (setf (call-form-number call) 1
          (call-compiled-file call) path)
    (evaluate-form call `(load-compiled ,path ,(required-string request "fasl")))
    (list* "values" #() "forms" (count-forms (file-text path)) (warning-members call))))

(defun evaluate-file (call request path)
  "The forms of the file one by one, with the file known as their source."
  (let* ((source (make-source-text (file-text path :utf-8) path))
         (pathname (sb-ext:parse-native-namestring path))
         (*load-pathname* pathname)
         (*load-truename* (truename pathname))
         (*readtable* *readtable*)      ; as LOAD binds them
         (*package* *package*))
    (with-source-file (path)
      (evaluate-source call request source))))

(define-operation "load-file" (call request)
  "Load a file, compiled or form by form."
  (let ((path (existing-file (required-string request "path"))))
    (list* "path" path
           (if (true-p (member-of request "compile"))
               (load-file-compiled call request path)
               (evaluate-file call request path)))))

(defun count-forms (text)
  "Top-level forms of a text, read without interning or evaluating anything."
  (let ((*read-suppress* t))
    (with-input-from-string (stream text)
      (loop until (eq stream (read stream nil stream)) count t))))

;;; --- where systems are --------------------------------------------------------------------------

(defun directory-pathname (name)
  "NAME as the pathname of a directory."
  (sb-ext:parse-native-namestring name nil #p"" :as-directory t))

(defun working-directory ()
  "The working directory of the process."
  (directory-pathname (sb-posix:getcwd)))

(defun system-file-nearby (name)
  "The definition of the system NAME in the working directory, or where systems were before a
reset."
  (let ((file (sb-ext:parse-native-namestring (text name ".asd"))))
    (loop for directory in (cons (working-directory) (agent-system-directories *agent*))
            thereis (probe-file (merge-pathnames file directory)))))

(defun loaded-system-directories ()
  "Native names of the directories of all systems that are loaded, those they depend on included."
  (sorted-texts
   (loop for name in (asdf "ALREADY-LOADED-SYSTEMS")
         for directory = (ignore-errors (asdf "SYSTEM-SOURCE-DIRECTORY" name))
         when directory collect (native-namestring directory))))

(defun restore-directories (names)
  "Search NAMES for systems: in a request to load a system again, where those of the state before a
reset were."
  (when names (setf (agent-system-directories *agent*) (map 'list #'directory-pathname names))))

;;; --- systems ------------------------------------------------------------------------------------

(defun loaded-systems ()
  "Names of the systems that load-system has loaded."
  (agent-loaded-systems *agent*))

(defun asdf-function (name)
  "The symbol NAME of ASDF."
  (or (find-symbol name "ASDF") (error "ASDF has no function ~A." name)))

(defun asdf (name &rest arguments)
  "Call ASDF's function NAME."
  (apply (asdf-function name) arguments))

(defun system-version (system)
  "Version of SYSTEM, or NIL."
  (let ((version (ignore-errors (asdf "COMPONENT-VERSION" system))))
    (and (stringp version) version)))

(defun system-search-text ()
  "Where ASDF searches for systems, as a hint."
  (let* ((registry (symbol-value (asdf-function "*CENTRAL-REGISTRY*")))
         (places (append (mapcar (lambda (entry) (printed entry)) registry)
                         (list "~/common-lisp/" "~/.local/share/common-lisp/source/"
                               "/usr/share/common-lisp/source/"
                               "CL_SOURCE_REGISTRY"
                               (text "the working directory "
                                     (native-namestring (working-directory)))))))
    (format nil "systems are looked for in ~{~A~^, ~}; (push #P\"/path/\" asdf:*central-registry*) ~
                 adds a directory" (append places (home-texts)))))

(defun dependency-name (dependency)
  "Name in an element of a :depends-on list, whatever its shape."
  (cond ((stringp dependency) dependency)
        ((symbolp dependency) (string-downcase dependency))
        ((consp dependency) (dependency-name (first (last dependency))))
        (t (printed dependency))))

(defun system-texts (reader system)
  "Text that the ASDF function READER returns for SYSTEM, or NIL."
  (let ((value (ignore-errors (asdf reader system))))
    (and (stringp value) (plusp (length value)) value)))

(defun source-components (component)
  "The Lisp files that COMPONENT, of ASDF, has or is, as components."
  (cond ((typep component 'asdf:parent-component)
         (mapcan #'source-components (copy-list (asdf "COMPONENT-CHILDREN" component))))
        ((typep component 'asdf:cl-source-file) (list component))))

(defun component-file-name (component)
  "Native name of the file that COMPONENT is, or NIL when it is not there."
  (let ((path (asdf "COMPONENT-PATHNAME" component)))
    (and path (probe-file path) (native-namestring (truename path)))))

(defun system-files (name)
  "Native names of the Lisp files of the system NAME."
  (remove nil (mapcar #'component-file-name (source-components (asdf "FIND-SYSTEM" name)))))

(defun component-changed-p (component)
  "True when the file of COMPONENT was written after it was loaded."
  (let ((loaded (asdf/action:component-operation-time
                 (asdf "MAKE-OPERATION" 'asdf:load-op) component))
        (file (component-file-name component)))
    (and (realp loaded) file
         (> (asdf/session:compute-file-stamp file) loaded))))

(defun changed-files (system)
  "Native names of the Lisp files of SYSTEM that were written after they were loaded."
  (mapcar #'component-file-name
          (remove-if-not #'component-changed-p (source-components system))))

(defun listed-systems ()
  "The systems that are loaded, without those of SBCL; and those of the workspace, the latter by
name only as far as no definition of theirs was read: a query reads none."
  (let ((names (sorted-texts (append (loaded-systems)
                                     (asdf "ALREADY-LOADED-SYSTEMS")
                                     (mapcar #'car (workspace-systems))))))
    (loop for name across names
          for system = (asdf "REGISTERED-SYSTEM" name)
          unless (and system
                      (string= "SBCL" (system-origin system))
                      (not (member name (loaded-systems) :test #'string=)))
            collect (cons name system))))

(defun system-item (name system)
  "JSON of the SYSTEM called NAME for a list; SYSTEM: NIL when its definition was not read."
  (let ((loaded (and system (asdf "COMPONENT-LOADED-P" system))))
    (object "name" name
            "version" (and system (system-version system))
            "origin" (if system (system-origin system) "the workspace")
            "loaded" (json-boolean loaded)
            "changed" (and loaded
                           (json-boolean (ignore-errors (changed-files system)))))))

(define-operation "list-systems" (call request)
  "The systems that are loaded, and those of the workspace."
  (setf (call-phase call) "inspect")
  (let ((systems (listed-systems)))
    (list "total" (length systems)
          "listed" (map 'simple-vector
                        (lambda (entry) (system-item (car entry) (cdr entry)))
                        (first-of systems)))))

(define-operation "describe-system" (call request)
  "What ASDF knows of a system."
  (setf (call-phase call) "inspect")
  (let* ((name (string-downcase (required-string request "system")))
         (system (asdf "FIND-SYSTEM" name nil)))
    (if (null system)
        (list "found" :false
              "message" (format nil "System \"~A\" not found~%~A" name (system-search-text)))
        (list "found" :true
              "name" (asdf "COMPONENT-NAME" system)
              "version" (system-version system)
              "description" (system-texts "SYSTEM-DESCRIPTION" system)
              "author" (system-texts "SYSTEM-AUTHOR" system)
              "license" (system-texts "SYSTEM-LICENSE" system)
              "depends_on" (map 'simple-vector #'dependency-name
                                (asdf "SYSTEM-DEPENDS-ON" system))
              "components" (map 'simple-vector
                                (lambda (component) (asdf "COMPONENT-NAME" component))
                                (asdf "COMPONENT-CHILDREN" system))
              "loaded" (json-boolean (asdf "COMPONENT-LOADED-P" system))
              "origin" (system-origin system)
              "changed_files" (and (asdf "COMPONENT-LOADED-P" system)
                                   (coerce (ignore-errors (changed-files system))
                                           'simple-vector))
              "source_file" (let ((file (ignore-errors (asdf "SYSTEM-SOURCE-FILE" system))))
                              (and file (native-namestring file)))))))
