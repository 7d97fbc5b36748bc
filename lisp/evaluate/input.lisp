;;;; Standard input of an interactive call: a stream that asks the supervisor for text when there is
;;;; none left. Only the thread of the evaluation may ask; for any other thread input has ended.

(in-package "CADRE-AGENT")

(defclass requested-input (sb-gray:fundamental-character-input-stream)
  ((text :initform "" :type simple-string)
   (position :initform 0 :type fixnum)))

(defmethod print-object ((stream requested-input) output)
  (write-string "#<standard input>" output))

(defun input-text (call message)
  "The text that MESSAGE brings for CALL, or :END; NIL when it is meant for another call."
  (let ((text (member-of message "text")))
    (when (and (eql (member-of message "request") (call-number call)) (stringp text))
      (if (true-p (member-of message "end")) :end (coerce text 'simple-string)))))

(defun wait-for-input (call)
  "Text from the supervisor, or :END. A stop of the call throws out of here; what was asked for then
comes too late for anyone and is dropped by the message loop, or read by the next to ask."
  (unless (message-waiting-p)
    (send-message +input-wanted+ (call-number call) (object) (make-writer)))
  (loop
    (multiple-value-bind (type number message) (read-message)
      (declare (ignore number))
      (cond ((eql type +quit+) (exit-now 0))
            ((and (eql type +input+) (object-p message))
             (let ((text (input-text call message)))
               (when text (return text))))))))

(defun fill-input (stream)
  "Get more text for STREAM; false at the end of the input."
  (let ((call *call*))
    (flush-streams)
    (and call
         (in-main-thread-p)
         (let ((text (wait-for-input call)))
           (unless (eq text :end)
             (setf (slot-value stream 'text) text
                   (slot-value stream 'position) 0)
             (or (plusp (length text)) (fill-input stream)))))))

(defun input-left-p (stream)
  "True when STREAM has text that was not read."
  (with-slots (text position) stream (< position (length text))))

(defmethod sb-gray:stream-read-char ((stream requested-input))
  (if (or (input-left-p stream) (fill-input stream))
      (with-slots (text position) stream
        (prog1 (char text position) (incf position)))
      :eof))

(defmethod sb-gray:stream-read-char-no-hang ((stream requested-input))
  (and (input-left-p stream) (sb-gray:stream-read-char stream)))

(defmethod sb-gray:stream-unread-char ((stream requested-input) character)
  (declare (ignore character))
  (decf (slot-value stream 'position))
  nil)

(defmethod sb-gray:stream-listen ((stream requested-input))
  (input-left-p stream))

(defmethod sb-gray:stream-clear-input ((stream requested-input))
  (setf (slot-value stream 'position) (length (slot-value stream 'text)))
  nil)

(defmethod sb-gray:stream-line-column ((stream requested-input))
  nil)                                  ; asked for by a two-way stream

(defmethod stream-element-type ((stream requested-input)) 'character)

(defun install-input (call)
  "Before an interactive CALL, after INSTALL-STREAMS: its input and its terminal. What an earlier
call has left unread is gone."
  (when (call-interactive call)
    (let* ((input (make-instance 'requested-input))
           (terminal (make-two-way-stream input *captured-output*)))
      (setf *stdin* input
            *terminal-io* terminal
            *query-io* terminal
            *debug-io* terminal))))
