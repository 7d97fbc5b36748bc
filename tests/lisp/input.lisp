;;;; Standard input that asks for text.

(in-package "CADRE-AGENT")

(define-test "input: which text is meant for a call"
  (let ((call (make-call :number 7)))
    (check (input-text call (parse "{\"request\":7,\"text\":\"a\"}")) "a")
    (check (input-text call (parse "{\"request\":7,\"text\":\"\",\"end\":true}")) :end)
    (check (input-text call (parse "{\"request\":6,\"text\":\"a\"}")) nil)
    (check (input-text call (parse "{\"request\":7}")) nil)))

(define-test "input: what is there is read, and only that without waiting"
  (let ((stream (make-instance 'requested-input)))
    (setf (slot-value stream 'text) (format nil "ab~%c"))
    (check (listen stream) t)
    (check (peek-char nil stream) #\a)
    (check (read-line stream) "ab")
    (check (read-char-no-hang stream) #\c)
    (unread-char #\c stream)
    (check (read-char stream) #\c)
    (check (listen stream) nil)
    (check (read-char-no-hang stream) nil)
    (setf (slot-value stream 'text) "left" (slot-value stream 'position) 0)
    (clear-input stream)
    (check (listen stream) nil)))

(define-test "input: it has ended outside a call"
  (let ((stream (make-instance 'requested-input)))
    (check (read-line stream nil :end) :end)))
