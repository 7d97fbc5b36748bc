;;;; The streams user code sees, and bounded text.
;;;;
;;;; User output is written to the descriptors 1 and 2, which are pipes to the supervisor; nothing
;;;; is collected here. That way output of foreign code, child processes and threads is captured
;;;; like any other, and output before a crash is not lost.

(in-package "CADRE-AGENT")

;;; --- descriptors --------------------------------------------------------------------------------

(defconstant +spare-null+ 242)          ; duplicates of 0, 1, 2 for repairs
(defconstant +spare-output+ 243)
(defconstant +spare-error+ 244)

(defun register-descriptors ()
  "Remember what the descriptors 0, 1 and 2 are."
  (setf (agent-standard-files *agent*)
        (loop for spare from +spare-null+ to +spare-error+
              do (close-on-exec spare)
              collect (multiple-value-list (file-identity spare)))))

(defun unblock-output ()
  "A program that made its standard output non-blocking has made ours so, too."
  (clear-nonblocking 1)
  (clear-nonblocking 2))

(defun repair-descriptors ()
  "Undo what user code may have done to descriptors 0, 1 and 2 or to their duplicates. When both of
a pair are gone, output would be lost without notice, so the process ends as one that lost its
channel."
  (flet ((intact-p (fd file)
           (multiple-value-bind (device inode) (file-identity fd)
             (and (eql device (first file)) (eql inode (second file))))))
    (loop for fd from 0
          for spare from +spare-null+
          for file in (agent-standard-files *agent*)
          do (cond ((not (intact-p spare file))
                    (unless (intact-p fd file) (exit-now +exit-channel-lost+))
                    (duplicate-onto fd spare)
                    (close-on-exec spare))
                   ((not (intact-p fd file))
                    (duplicate-onto spare fd))))))

;;; --- the standard streams -----------------------------------------------------------------------

;;; As in plain SBCL the variables hold synonyms of *STDIN*, *STDOUT* and *STDERR*, which SBCL makes
;;; anew when a saved program starts, and *TERMINAL-IO* is input and output. What is written to
;;; *QUERY-IO* and *DEBUG-IO* is not part of the answer: nobody is there to be asked. Its end is
;;; kept, for the error of a question that finds no answer. When the user has bound *TERMINAL-IO*
;;; they read and write there, as in plain SBCL.

(defconstant +question-limit+ 500)

(defglobal *terminal* nil)

(defclass question-stream (sb-gray:fundamental-character-output-stream)
  ((text :initform "" :accessor question-text)
   (column :initform 0 :type fixnum)))

(defmethod sb-gray:stream-write-string ((stream question-stream) string &optional (start 0) end)
  (with-slots (text column) stream
    (let* ((part (subseq string start end))
           (all (concatenate 'string text part))
           (newline (position #\Newline part :from-end t)))
      (unless (eq *terminal-io* *terminal*) (write-string part *terminal-io*))
      (setf text (subseq all (max 0 (- (length all) +question-limit+)))
            column (if newline (- (length part) newline 1) (+ column (length part))))))
  string)

(defmethod sb-gray:stream-write-char ((stream question-stream) character)
  (sb-gray:stream-write-string stream (string character))
  character)

(defmethod sb-gray:stream-line-column ((stream question-stream))
  (slot-value stream 'column))

(defmethod stream-element-type ((stream question-stream)) 'character)

(defglobal *captured-input* nil)
(defglobal *captured-output* nil)
(defglobal *captured-error* nil)
(defglobal *questions* nil)             ; a QUESTION-STREAM
(defglobal *silent-terminal* nil)

(defun make-captured-stream (fd &rest direction)
  "A stream of the descriptor FD, for DIRECTION."
  (apply #'make-fd-stream fd
         :external-format '(:utf-8 :replacement #\ufffd)
         :buffering :line :name (format nil "descriptor ~D" fd) direction))

(defun usable-stream-p (stream)
  "True for a stream that is open."
  (and stream (open-stream-p stream)))

(defun make-captured-streams ()
  "Make the streams of the descriptors, or make them again: the last call may have closed them."
  (unless (usable-stream-p *captured-input*)
    (setf *captured-input* (make-captured-stream 0 :input t)))
  (unless (usable-stream-p *captured-output*)
    (setf *captured-output* (make-captured-stream 1 :output t)))
  (unless (usable-stream-p *captured-error*)
    (setf *captured-error* (make-captured-stream 2 :output t))))

(defun install-streams ()
  "Set the global values of the stream variables, before each call: the last one may have set them.
Global, so that new threads see the same streams. The synonyms are made anew, because it cannot be
told whether one was closed, and after what they stand for, which a two-way stream checks."
  (make-captured-streams)
  (setf *stdin* *captured-input*
        *stdout* *captured-output*
        *stderr* *captured-error*
        *standard-input* (make-synonym-stream '*stdin*)
        *standard-output* (make-synonym-stream '*stdout*)
        *error-output* (make-synonym-stream '*stderr*)
        *trace-output* (make-synonym-stream '*stderr*)
        *terminal* (make-two-way-stream (make-synonym-stream '*stdin*)
                                        (make-synonym-stream '*stdout*))
        *terminal-io* *terminal*
        *questions* (make-instance 'question-stream)
        *silent-terminal* (make-two-way-stream (make-synonym-stream '*terminal-io*) *questions*)
        *query-io* *silent-terminal*
        *debug-io* *silent-terminal*))

(defun last-question ()
  "What was asked last on *QUERY-IO* or *DEBUG-IO*, or NIL."
  (let ((text (string-trim '(#\Space #\Newline) (question-text *questions*))))
    (and (plusp (length text)) text)))

(defun underlying-stream (stream)
  "The stream that STREAM, which may be a synonym, stands for."
  (loop repeat 100
        while (typep stream 'synonym-stream)
        do (let ((name (synonym-stream-symbol stream)))
             (setf stream (and (boundp name) (symbol-value name)))))
  stream)

(defun captured-stream-p (stream)
  "True when what is written to STREAM becomes output of the call."
  (let ((stream (underlying-stream stream)))
    (and stream (or (eq stream *captured-output*) (eq stream *captured-error*)))))

(defun flush-streams ()
  "Write buffered output to the pipes. A stream whose flushing fails has lost its text, and is
replaced before the next call."
  (dolist (stream (list *captured-output* *captured-error*))
    (ignore-errors (finish-output stream)))
  (c-call "fflush" int (unsigned-long 0))) ; streams of C

;;; --- bounded text -------------------------------------------------------------------------------

;;; A stream that keeps the first LIMIT characters and counts the rest. When the count reaches
;;; CEILING, it throws to itself, which ends printers that never stop writing. One is made and used
;;; when the core is built, so that its generic functions have their dispatch functions.

(defconstant +dry-run-allowance+ 1000000)

(defclass bounded-stream (sb-gray:fundamental-character-output-stream)
  ((limit :initarg :limit :type fixnum)
   (ceiling :initarg :ceiling :type fixnum)
   (text :initarg :text :type (simple-array character (*)))
   (fill :initform 0 :type fixnum)
   (total :initform 0 :type fixnum)
   (dry-run :initform 0 :type fixnum)    ; characters that went nowhere, see below
   (column :initform 0 :type fixnum)))

(defun make-bounded-stream (limit ceiling)
  "A stream that keeps LIMIT characters and ends its printer at CEILING."
  (make-instance 'bounded-stream :limit limit :ceiling ceiling
                                 :text (make-string (min limit 256))))

(defun last-newline (string start end)
  "Index of the last newline between START and END, or NIL. Compiled for each of the two common
string types, because every printed character passes here."
  (declare (type fixnum start end) (optimize speed))
  (macrolet ((search-in (type)
               `(loop for index of-type fixnum from (1- end) downto start
                      when (char= #\Newline (char (the ,type string) index)) return index)))
    (typecase string
      ((simple-array character (*)) (search-in (simple-array character (*))))
      (simple-base-string (search-in simple-base-string))
      (t (position #\Newline (the string string) :start start :end end :from-end t)))))

(defun add-characters (stream string start end)
  "Add a part of STRING to STREAM, as far as it fits, and count all of it."
  (declare (type string string) (type fixnum start end))
  (with-slots (limit ceiling text fill total column) stream
    (declare (type fixnum limit ceiling fill total column)
             (type (simple-array character (*)) text))
    (let* ((count (- end start))
           (fitting (min count (- limit fill)))
           (needed (+ fill fitting))
           (newline (last-newline string start end)))
      (when (> needed (length text))
        (let ((larger (make-string (min limit (* 2 needed)))))
          (replace larger text :end2 fill)
          (setf text larger)))
      (when (plusp fitting)
        (replace text string :start1 fill :start2 start :end2 (+ start fitting)))
      (setf fill needed
            total (+ total count)
            column (if newline (- end newline 1) (+ column count)))
      (when (> total ceiling) (throw stream :stopped)))))

(defmethod sb-gray:stream-write-char ((stream bounded-stream) character)
  (let ((text (make-string 1 :initial-element character)))
    (declare (dynamic-extent text))
    (add-characters stream text 0 1))
  character)

(defmethod sb-gray:stream-write-string ((stream bounded-stream) string &optional (start 0) end)
  (add-characters stream string start (or end (length string)))
  string)

(defmethod sb-gray:stream-line-column ((stream bounded-stream))
  (slot-value stream 'column))

(defmethod sb-gray:stream-line-length ((stream bounded-stream)) 80)

(defun bounded-stream-contents (stream)
  "The characters STREAM has kept."
  (with-slots (text fill) stream (subseq text 0 fill)))

;;; With *PRINT-CIRCLE* SBCL prints everything twice, first to a stream that goes nowhere. That pass
;;; must be bounded too: the stream is given a component that counts for the bounded stream.

(defvar *dry-run-for* nil)              ; the bounded stream being written

(defclass dry-run-stream (sb-gray:fundamental-character-output-stream) ())

(defun add-dry-run-characters (count)
  "Count characters of the first pass; end a printer that writes too many."
  (let ((stream *dry-run-for*))
    (when stream
      (with-slots (dry-run ceiling) stream
        (when (> (incf dry-run count) (+ ceiling +dry-run-allowance+))
          (throw stream :stopped))))))

(defmethod sb-gray:stream-write-char ((stream dry-run-stream) character)
  (add-dry-run-characters 1)
  character)

(defmethod sb-gray:stream-write-string ((stream dry-run-stream) string &optional (start 0) end)
  (add-dry-run-characters (- (or end (length string)) start))
  string)

(defmethod sb-gray:stream-line-column ((stream dry-run-stream)) nil)

(defun bound-dry-runs ()
  "Give SBCL the counting stream; once, when the core is built."
  (set-circularity-stream (make-broadcast-stream (make-instance 'dry-run-stream))))

(defun call-with-bounded-stream (function limit ceiling)
  "Text that FUNCTION writes, how many characters there were, whether it was stopped."
  (let* ((stream (make-bounded-stream limit ceiling))
         (stopped (eq :stopped (catch stream
                                 (let ((*dry-run-for* stream)) (funcall function stream))
                                 nil))))
    (values (bounded-stream-contents stream) (slot-value stream 'total) stopped)))

(defun bounded-text (function limit ceiling)
  "What WITH-BOUNDED-TEXT returns."
  (multiple-value-bind (text total stopped) (call-with-bounded-stream function limit ceiling)
    (flet ((again () (call-with-bounded-stream function limit ceiling)))
      (cond ((and stopped (zerop total)) (let ((*print-circle* nil)) (again)))
            ((shows-backquote-p text) (call-with-backquotes #'again))
            (t (values text total stopped))))))

(defmacro with-bounded-text ((stream limit &optional (ceiling limit)) &body body)
  "Text BODY writes to STREAM, at most LIMIT characters; how many there were in all; whether it
was stopped at CEILING. A body that is stopped before it writes anything is run again without
circle notation: it then shows its beginning. One that shows what SBCL makes of a backquote is run
again to show the backquote."
  `(bounded-text (lambda (,stream) ,@body) ,limit ,ceiling))
