;;;; The control channel: frames and messages of docs/session-protocol.md.
;;;;
;;;; A process of a session reads and writes one of two SEQPACKET sockets: the head MAIN, a copy
;;;; AUX. User code shares the process, so before anything is sent the agent makes sure that it is
;;;; still the process it thinks it is (and not a child forked by user code) and that the
;;;; descriptor still is the socket (and not a file the user opened after closing it).

(in-package "CADRE-AGENT")

(defconstant +main-channel+ 240)
(defconstant +aux-channel+ 241)

(defconstant +header-size+ 16)
(defconstant +payload-limit+ 65520)
(defconstant +message-limit+ (* 64 1024 1024))
(defconstant +exit-start-failed+ 97)
(defconstant +exit-hard-stop+ 98)
(defconstant +exit-channel-lost+ 99)

(macrolet ((define-types (&rest pairs)
             `(progn ,@(loop for (name code) on pairs by #'cddr
                             collect `(defconstant ,name ,code)))))
  (define-types
    +request+ 1 +snap+ 2 +adopt+ 3 +offsets+ 4 +quit+ 5 +prewake+ 6
    +hello+ 16 +result+ 17 +snapped+ 18 +snap-failed+ 19 +woke+ 20 +exiting+ 21
    +frames+ 22 +adopted+ 23 +wake-failed+ 24))

(defglobal *outgoing* (make-writer))
(defglobal *incoming* (make-octets (+ +header-size+ +payload-limit+)))
(declaim (type octets *incoming*))

(defun register-process ()
  "Remember which process this is."
  (setf (agent-registered-pid *agent*) (process-id)))

(defun register-channels ()
  "Remember what the channel descriptors are; true when both are open."
  (loop for fd in (list +main-channel+ +aux-channel+)
        for inode = (nth-value 1 (file-identity fd))
        always inode
        do (close-on-exec fd)
           (push (cons fd inode) (agent-channel-inodes *agent*))))

(defun check-channel ()
  "End the process when it is a child that user code forked, or when the channel is no longer the
socket it was."
  (unless (= (process-id) (agent-registered-pid *agent*)) (exit-now 0))
  (unless (eql (nth-value 1 (file-identity (agent-channel *agent*)))
               (cdr (assoc (agent-channel *agent*) (agent-channel-inodes *agent*))))
    (exit-now +exit-channel-lost+)))

(declaim (inline (setf u32-at) u32-at))
(defun (setf u32-at) (value octets index)
  "Write a little-endian word."
  (declare (type octets octets) (type index index) (type (unsigned-byte 32) value))
  (setf (aref octets index) (ldb (byte 8 0) value)
        (aref octets (+ index 1)) (ldb (byte 8 8) value)
        (aref octets (+ index 2)) (ldb (byte 8 16) value)
        (aref octets (+ index 3)) (ldb (byte 8 24) value))
  value)

(defun u32-at (octets index)
  "Read a little-endian word."
  (declare (type octets octets) (type index index))
  (logior (aref octets index)
          (ash (aref octets (+ index 1)) 8)
          (ash (aref octets (+ index 2)) 16)
          (ash (aref octets (+ index 3)) 24)))

(defun send-packet (octets start end)
  "Send the octets from START to END as one packet. Without a channel the process ends."
  (declare (type octets octets) (type index start end))
  (with-pinned-objects (octets)
    (loop
      (let ((sent (c-call "send" long (int (agent-channel *agent*))
                          (system-area-pointer (sap+ (vector-sap octets) start))
                          (unsigned-long (- end start)) (int #x4000)))) ; MSG_NOSIGNAL
        (cond ((>= sent 0) (return))
              ((= (errno) +eintr+))
              (t (exit-now +exit-channel-lost+)))))))

(defun send-message (type number value &optional (writer *outgoing*))
  "Send VALUE. Each frame's header overwrites the bytes just before its payload, which are either
the room left at the start or the end of the frame already sent: one buffer, no copying."
  (declare (type writer writer))
  (check-channel)
  (setf (writer-fill writer) +header-size+)
  (write-json value writer)
  (let* ((octets (writer-octets writer))
         (size (- (writer-fill writer) +header-size+)))
    (when (> size +message-limit+)
      (return-from send-message
        (send-message type number (object "ok" :false "error" (oversized-error)) writer)))
    (loop for start of-type index from 0 by +payload-limit+
          for length = (min +payload-limit+ (- size start))
          for last = (= (+ start length) size)
          do (setf (u32-at octets start) type
                   (u32-at octets (+ start 4)) (logior (if (zerop start) 1 0) (if last 2 0))
                   (u32-at octets (+ start 8)) number
                   (u32-at octets (+ start 12)) length)
             (send-packet octets start (+ start +header-size+ length))
          until last))
  ;; One large answer must not make every later snapshot larger.
  (when (> (length (writer-octets writer)) 1000000)
    (setf (writer-octets writer) (make-octets 4096))))

(defun oversized-error ()
  "Error object in place of an answer that is too large."
  (object "code" "protocol" "message" "The answer is larger than the channel carries."
          "frames" #()))

(defun receive-packet (flags)
  "Length of the next packet in *INCOMING*, or NIL when there is none and FLAGS say not to wait. The
process ends with the supervisor."
  (loop
    (let ((size (with-pinned-objects (*incoming*)
                  (c-call "recv" long (int (agent-channel *agent*))
                          (system-area-pointer (vector-sap *incoming*))
                          (unsigned-long (length *incoming*)) (int flags)))))
      (cond ((plusp size) (return size))
            ((zerop size) (exit-now 0)) ; the supervisor has closed it
            ((= (errno) +eintr+))
            ((= (errno) +eagain+) (return nil))
            (t (exit-now +exit-channel-lost+))))))

(defun message-waiting-p ()
  "True when a packet is there to be read."
  (plusp (c-call "recv" long (int (agent-channel *agent*)) (unsigned-long 0) (unsigned-long 0)
                 (int #x62))))          ; MSG_PEEK, MSG_TRUNC (so the size counts), MSG_DONTWAIT

(defconstant +spin-microseconds+ 200)

(defun spin-for-request ()
  "Poll for the request that the supervisor is reading: it arrives sooner than this process could go
to sleep and wake up."
  (loop with end = (+ (monotonic-microseconds) +spin-microseconds+)
        until (or (message-waiting-p) (> (monotonic-microseconds) end))))

(defun drain-channel ()
  "Drop messages meant for a process that died before it read them."
  (loop while (receive-packet #x40))) ; MSG_DONTWAIT

(defun receive-message ()
  "Wait for a message; its type, number and value (:MALFORMED when it is not a JSON object)."
  (check-channel)
  (let ((parts '()) (total 0))
    (loop
      (let* ((size (receive-packet 0))
             (type (u32-at *incoming* 0))
             (flags (u32-at *incoming* 4))
             (number (u32-at *incoming* 8))
             (length (min (u32-at *incoming* 12) (- size +header-size+))))
        (when (logtest flags 1) (setf parts '() total 0))
        (incf total length)
        (cond ((and (null parts) (logtest flags 2))
               (return (values type number
                               (parse-payload *incoming* +header-size+ length))))
              ((<= total +message-limit+)
               (push (subseq *incoming* +header-size+ (+ +header-size+ length)) parts)))
        (when (logtest flags 2)
          (let ((all (make-octets (reduce #'+ parts :key #'length))))
            (loop with start = (length all)
                  for part in parts
                  do (decf start (length part))
                     (replace all (the octets part) :start1 start))
            (return (values type number (parse-payload all 0 (length all))))))))))

(defun parse-payload (octets start length)
  "The JSON object in LENGTH octets from START; :MALFORMED when it is none."
  (if (zerop length)
      (object)
      (let ((source (make-source octets (+ start length))))
        (setf (source-position source) start)
        (handler-case
            (let ((value (read-json-value source)))
              (skip-json-space source)
              (if (and (object-p value) (= (source-position source) (source-end source)))
                  value
                  :malformed))
          (json-error () :malformed)))))
