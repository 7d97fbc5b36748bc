;;;; The control channel: frames and messages of docs/session-protocol.md.
;;;;
;;;; Every process of a session has a SEQPACKET socket of its own, always under the same number.
;;;; User code shares the process, so before anything is sent the agent makes sure that it is still
;;;; the process it thinks it is (and not a child forked by user code) and that the descriptor still
;;;; is the socket (and not a file the user opened after closing it). What user code can do to the
;;;; socket itself is undone or waited for where that is possible; else it ends this process alone.

(in-package "CADRE-AGENT")

(defconstant +channel+ 240)
(defconstant +reserve+ 241)             ; given up to receive others when no descriptor is free

(defconstant +header-size+ 16)
(defconstant +payload-limit+ 65520)
(eval-when (:compile-toplevel :load-toplevel :execute)
  (defconstant +descriptors-max+ 3))    ; sent with one message
(defconstant +message-limit+ (* 64 1024 1024))
(defconstant +exit-start-failed+ 97)
(defconstant +exit-hard-stop+ 98)
(defconstant +exit-channel-lost+ 99)

(macrolet ((define-types (&rest pairs)
             `(progn ,@(loop for (name code) on pairs by #'cddr
                             collect `(defconstant ,name ,code)))))
  (define-types
    +request+ 1 +snap+ 2 +adopt+ 3 +offsets+ 4 +quit+ 5 +input+ 6 +offer+ 7 +wake+ 8
    +stop-listening+ 9 +save+ 10
    +hello+ 16 +result+ 17 +snapped+ 18 +snap-failed+ 19 +woke+ 20 +exiting+ 21
    +frames+ 22 +adopted+ 23 +wake-failed+ 24 +input-wanted+ 25 +parked+ 26 +wanted+ 27
    +saving+ 28 +progress+ 29))

(defglobal *outgoing* (make-writer))
(defglobal *incoming* (make-octets (+ +header-size+ +payload-limit+)))
(declaim (type octets *incoming*))

(defun register-process ()
  "Remember which process this is."
  (setf (agent-registered-pid *agent*) (process-id)))

(defun register-channel ()
  "Remember what the channel is; true when it is open."
  (setf (agent-channel-inode *agent*) (nth-value 1 (file-identity +channel+))))

(defun check-channel ()
  "End the process when it is a child that user code forked, or when the channel is no longer the
socket it was."
  (unless (= (process-id) (agent-registered-pid *agent*)) (exit-now 0))
  (unless (eql (nth-value 1 (file-identity +channel+)) (agent-channel-inode *agent*))
    (exit-now +exit-channel-lost+)))

(defconstant +poll-in+ 1)
(defconstant +poll-out+ 4)

(defun wait-for-channel (events &optional (milliseconds -1))
  "Wait until the channel is ready for EVENTS; false when the time is over. User code may have made
it non-blocking."
  (with-alien ((poll (array int 2)))
    (clear-nonblocking +channel+)
    (setf (deref poll 0) +channel+ (deref poll 1) events)
    (plusp (c-call "poll" int ((* (array int 2)) (addr poll)) (unsigned-long 1)
                   (int milliseconds)))))

(defconstant +buffer-bytes+ 212992)     ; the kernel's default

(defun set-channel-option (option value)
  "Set an integer OPTION of the socket."
  (with-alien ((word int value))
    (c-call "setsockopt" int (int +channel+) (int 1) (int option) ; SOL_SOCKET
            ((* int) (addr word)) (unsigned-int 4))))

(defun detach-filter ()
  "Remove a filter that user code may have attached to the channel: it would drop every request."
  (set-channel-option 27 0))            ; SO_DETACH_FILTER

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
      (let ((sent (c-call "send" long (int +channel+)
                          (system-area-pointer (sap+ (vector-sap octets) start))
                          (unsigned-long (- end start)) (int #x4000))) ; MSG_NOSIGNAL
            (larger nil))
        (cond ((>= sent 0) (return))
              ((= (errno) +eintr+))
              ((= (errno) +eagain+) (wait-for-channel +poll-out+))
              ((and (= (errno) +emsgsize+) (not larger)) ; user code made the buffer smaller
               (setf larger t)
               (set-channel-option 7 +buffer-bytes+)) ; SO_SNDBUF
              (t (exit-now +exit-channel-lost+)))))))

(defglobal *trial* nil)                 ; a list: messages are kept in it and not sent (health.lisp)

(defun send-message (type number value &optional (writer *outgoing*))
  "Send VALUE. Each frame's header overwrites the bytes just before its payload, which are either
the room left at the start or the end of the frame already sent: one buffer, no copying."
  (declare (type writer writer))
  (when *trial*
    (push (list type number value) (rest *trial*))
    (return-from send-message))
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

;;; Descriptors that came with the last packet: nobody's until they are taken.

(defglobal *received* (make-array +descriptors-max+ :element-type 'fixnum))
(defglobal *received-count* 0)
(declaim (type (simple-array fixnum (#.+descriptors-max+)) *received*)
         (type fixnum *received-count*))

(defun keep-descriptors (control size)
  "Note the descriptors in SIZE bytes of CONTROL data at that address."
  (declare (type word control size))
  (let ((sap (int-sap control)))
    (when (and (>= size 20)
               (= 1 (sap-ref-32 sap 8))  ; SOL_SOCKET
               (= 1 (sap-ref-32 sap 12))) ; SCM_RIGHTS
      (setf *received-count*
            (min +descriptors-max+ (floor (- (min size (sap-ref-64 sap 0)) 16) 4)))
      (dotimes (index *received-count*)
        (setf (aref *received* index) (sap-ref-32 sap (+ 16 (* 4 index))))))))

(defun received-descriptor (index)
  "Descriptor INDEX of the last packet, or NIL."
  (and (< index *received-count*) (aref *received* index)))

(defun close-received ()
  "Close descriptors that came with the last packet and have not been taken."
  (dotimes (index (shiftf *received-count* 0))
    (c-call "close" int (int (aref *received* index)))))

(defconstant +no-wait+ #x40)            ; MSG_DONTWAIT

(defun receive-packet (flags)
  "Length of the next packet in *INCOMING*, or NIL when there is none and FLAGS say not to wait. The
process ends with the supervisor."
  (close-received)
  (loop
    (with-alien ((header (array unsigned-long 7)) ; struct msghdr
                 (part (array unsigned-long 2))
                 (control (array unsigned-long 4)))
      (let ((size (with-pinned-objects (*incoming*)
                    (setf (deref part 0) (sap-int (vector-sap *incoming*))
                          (deref part 1) (length *incoming*)
                          (deref header 0) 0
                          (deref header 1) 0
                          (deref header 2) (sap-int (sb-alien:alien-sap part))
                          (deref header 3) 1
                          (deref header 4) (sap-int (sb-alien:alien-sap control))
                          (deref header 5) 32
                          (deref header 6) 0)
                    (c-call "recvmsg" long (int +channel+)
                            (unsigned-long (sap-int (sb-alien:alien-sap header)))
                            (int (logior flags #x40000000)))))) ; MSG_CMSG_CLOEXEC
        (cond ((plusp size)
               (when (plusp (deref header 5))
                 (keep-descriptors (sap-int (sb-alien:alien-sap control)) (deref header 5)))
               (return size))
              ((zerop size) (exit-now 0)) ; the supervisor has closed it
              ((= (errno) +eintr+))
              ((/= (errno) +eagain+) (exit-now +exit-channel-lost+))
              ((logtest flags +no-wait+) (return nil))
              (t (wait-for-channel +poll-in+)))))))

(defun peek-packet ()
  "Size of the packet that waits; 0 when the other end is closed, -1 without any."
  (c-call "recv" long (int +channel+) (unsigned-long 0) (unsigned-long 0)
          (int #x62)))                  ; MSG_PEEK, MSG_TRUNC (so the size counts), MSG_DONTWAIT

(defun message-waiting-p ()
  "True when a packet is there to be read."
  (plusp (peek-packet)))

(declaim (notinline read-message))
(defun receive-message ()
  "READ-MESSAGE, between calls. Backtraces end at this function's frame, so it must have one."
  (check-channel)
  (values-list (multiple-value-list (read-message))))

(defun read-message ()
  "Wait for a message; its type, number and value (:MALFORMED when it is not a JSON object)."
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
