;;;; (cadre:show x): what text cannot say, beside the text of the answer.
;;;;
;;;; An image goes to the supervisor as base64, which checks it (src/tools/result/image.c); SVG and
;;;; Markdown go as text; rows become a table of Markdown. What is too large is an error here, where
;;;; the code that made it can do something about it.

(in-package "CADRE-AGENT")

(defconstant +shown-bytes+ 1000000)     ; of one image
(defconstant +shown-bytes-together+ (* 3 1024 1024))
(defconstant +shown-items+ 32)
(defconstant +cell-characters+ 1000)

;;; --- octets -------------------------------------------------------------------------------------

(deftype octets () '(simple-array (unsigned-byte 8) (*)))

(defglobal *base64-digits* "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

(defun base64 (octets)
  "OCTETS in base64."
  (declare (type octets octets) (optimize speed))
  (let* ((length (length octets))
         (text (make-string (* 4 (ceiling length 3)) :element-type 'base-char
                                                     :initial-element #\=))
         (digits *base64-digits*)
         (position 0))
    (declare (type fixnum position) (type simple-string digits))
    (flet ((octet (index) (if (< index length) (aref octets index) 0))
           (add (six) (setf (schar text position) (coerce (schar digits six) 'base-char)
                            position (1+ position))))
      (declare (inline octet add))
      (loop for index of-type fixnum from 0 below length by 3
            do (let ((group (logior (ash (octet index) 16) (ash (octet (+ index 1)) 8)
                                    (octet (+ index 2)))))
                 (add (ldb (byte 6 18) group))
                 (add (ldb (byte 6 12) group))
                 (if (< (+ index 1) length) (add (ldb (byte 6 6) group)) (incf position))
                 (if (< (+ index 2) length) (add (ldb (byte 6 0) group)) (incf position)))))
    text))

(defun octets-p (object)
  "True for a vector of octets, whatever its element type."
  (and (vectorp object)
       (not (stringp object))
       (plusp (length object))
       (or (equal (array-element-type object) '(unsigned-byte 8))
           (every (lambda (element) (typep element '(unsigned-byte 8))) object))))

(defun file-octets (path)
  "The octets of the file PATH; an error when there are too many for an image."
  (with-open-file (stream path :element-type '(unsigned-byte 8))
    (let ((length (file-length stream)))
      (when (> length +shown-bytes+)
        (error "~A has ~:D bytes; one shown file has at most ~:D." (native-namestring path) length
               +shown-bytes+))
      (let* ((octets (make-array length :element-type '(unsigned-byte 8)))
             (end (read-sequence octets stream)))
        (if (= end length) octets (subseq octets 0 end))))))

;;; --- kinds --------------------------------------------------------------------------------------

(defun svg-text-p (text)
  "True when TEXT begins as an SVG document does."
  (let ((start (position-if-not (lambda (character)
                                  (find character '(#\Space #\Tab #\Return #\Newline #\ufeff)))
                                text)))
    (and start
         (flet ((begins-p (prefix)
                  (let ((end (+ start (length prefix))))
                    (and (<= end (length text))
                         (string-equal prefix text :start2 start :end2 end)))))
           (or (begins-p "<svg")
               (and (or (begins-p "<?xml") (begins-p "<!DOCTYPE") (begins-p "<!--"))
                    (search "<svg" text :start2 start :test #'char-equal
                                        :end2 (min (length text) (+ start 4096)))))))))

(defun octets-text (octets)
  "OCTETS read as UTF-8, or NIL when they are none."
  (handler-case (sb-ext:octets-to-string octets :external-format :utf-8)
    (error () nil)))

(defun binary-image-p (octets)
  "True when OCTETS begin as a PNG, JPEG, GIF or WebP image does."
  (flet ((begins-p (start &rest prefix)
           (and (<= (+ start (length prefix)) (length octets))
                (loop for octet in prefix
                      for index from start
                      always (= octet (aref octets index))))))
    (or (begins-p 0 #x89 #x50 #x4e #x47)
        (begins-p 0 #xff #xd8 #xff)
        (begins-p 0 #x47 #x49 #x46 #x38)
        (and (begins-p 0 #x52 #x49 #x46 #x46) (begins-p 8 #x57 #x45 #x42 #x50)))))

(defun showable-file (name)
  "The pathname of the file that the string NAME names, if it is there and is one to be shown."
  (and (< 4 (length name) 4096)
       (not (find #\Newline name))
       (member (ignore-errors (pathname-type (parse-namestring name)))
               '("png" "jpg" "jpeg" "gif" "webp" "svg" "md") :test #'string-equal)
       (ignore-errors (probe-file name))))

;;; --- tables -------------------------------------------------------------------------------------

(defun cell-text (value)
  "VALUE as a cell of a Markdown table."
  (let ((text (cond ((stringp value) (cut value +cell-characters+))
                    ((characterp value) (string value))
                    ((null value) "")
                    (t (printed value :limit +cell-characters+ :length 20 :level 5)))))
    (replace-all (replace-all (one-line (remove #\Return text)) "\\" "\\\\") "|" "\\|")))

(defun row-cells (row)
  "The cells of ROW, a list or vector."
  (map 'list #'cell-text row))

(defun property-row-p (row)
  "True for a property list with keywords."
  (and (consp row)
       (evenp (length row))
       (loop for key in row by #'cddr always (keywordp key))))

(defun proper-row-p (row)
  "True for what may be a row: a proper list, or a vector that is no string."
  (or (and (consp row) (ignore-errors (list-length row)) t)
      (and (vectorp row) (not (stringp row)))))

(defun rows-p (object)
  "True for a list or vector of rows, or an array of two dimensions."
  (or (and (arrayp object) (= 2 (array-rank object)))
      (and (consp object) (ignore-errors (list-length object)) (every #'proper-row-p object))
      (and (vectorp object) (plusp (length object)) (not (stringp object))
           (every #'proper-row-p object))))

(defun array-rows (array)
  "The rows of ARRAY, which has two dimensions."
  (destructuring-bind (rows columns) (array-dimensions array)
    (loop for row below rows
          collect (loop for column below columns collect (aref array row column)))))

(defun property-table (rows)
  "Headings and rows of property lists."
  (let ((keys '()))
    (dolist (row rows)
      (loop for key in row by #'cddr do (pushnew key keys)))
    (setf keys (nreverse keys))
    (values (mapcar (lambda (key) (string-downcase (symbol-name key))) keys)
            (mapcar (lambda (row) (mapcar (lambda (key) (getf row key)) keys)) rows))))

(defun table-line (cells width)
  "CELLS as a line of a table that is WIDTH cells wide."
  (format nil "|~{ ~A |~}" (append cells (make-list (max 0 (- width (length cells)))
                                                    :initial-element ""))))

(defun table-text (object columns room)
  "The rows of OBJECT as a table of Markdown of at most ROOM characters. COLUMNS are its headings; T
means the first row, NIL the names in property lists, if the rows are such."
  (let ((rows (if (and (arrayp object) (= 2 (array-rank object)))
                  (array-rows object)
                  (coerce object 'list)))
        (headings (if (listp columns) columns '())))
    (cond ((eq columns t) (setf headings (coerce (pop rows) 'list)))
          ((and (null columns) (every #'property-row-p rows))
           (multiple-value-setq (headings rows) (property-table rows))))
    (let ((width (reduce #'max (cons headings rows) :key #'length)) (used 0) (left (length rows)))
      (with-output-to-string (text)
        (flet ((line (line) (write-string line text) (incf used (1+ (length line)))))
          (line (table-line (row-cells headings) width))
          (terpri text)
          (line (format nil "|~{~A~}" (make-list width :initial-element "---|")))
          (dolist (row rows)
            (let ((next (table-line (row-cells row) width)))
              (when (> (+ used (length next)) room) (return))
              (terpri text)
              (line next)
              (decf left)))
          (when (plusp left)
            (write-string (text (string #\Newline) (string #\Newline) "[" (plural left "more row")
                                "]")
                          text)))))))

;;; --- show ---------------------------------------------------------------------------------------

(defun shown-characters (call)
  "How many characters of text CALL has shown."
  (loop for item in (call-shown call)
        sum (length (member-of item "text" ""))))

(defun add-shown (call item)
  "Add ITEM to what the answer of CALL shows."
  (when (>= (length (call-shown call)) +shown-items+)
    (error "One answer shows at most ~D things." +shown-items+))
  (push item (call-shown call)))

(defun show-image (call octets)
  "Add an image."
  (let ((length (length octets)))
    (when (> length +shown-bytes+)
      (error "The image has ~:D bytes; one image has at most ~:D." length +shown-bytes+))
    (when (> (incf (call-shown-bytes call) length) +shown-bytes-together+)
      (decf (call-shown-bytes call) length)
      (error "The images of one answer have at most ~:D bytes together." +shown-bytes-together+))
    (add-shown call (object "kind" "image" "data" (base64 (coerce octets 'octets))))))

(defun show-text (call kind text)
  "Add SVG or Markdown."
  (when (and (equal kind "svg") (> (length text) +shown-bytes+))
    (error "The SVG has ~:D characters; one image has at most ~:D bytes." (length text)
           +shown-bytes+))
  (add-shown call (object "kind" kind "text" (coerce text 'simple-string))))

(defun show-markdown (call text)
  "Add TEXT, as far as one answer holds it."
  (let ((room (max 0 (- (call-max-output call) (shown-characters call)))))
    (show-text call "markdown"
               (if (<= (length text) room)
                   text
                   (text (subseq text 0 room) (string #\Newline) "["
                         (plural (- (length text) room) "more character") "]")))))

(defun show-octets (call octets)
  "Add an image or SVG that came as OCTETS."
  (let ((text (and (not (binary-image-p octets)) (octets-text (coerce octets 'octets)))))
    (if (and text (svg-text-p text))
        (show-text call "svg" text)
        (show-image call octets))))

(defun show-file (call path)
  "Add the file PATH."
  (let ((octets (file-octets path)))
    (if (string-equal (pathname-type path) "md")
        (show-markdown call (or (octets-text octets) (error "~A is no UTF-8." path)))
        (show-octets call octets))))

(defun cadre:show (object &key columns)
  "Add OBJECT to the answer of this evaluation: a pathname, or the octets, of a PNG, JPEG, GIF or
WebP image or of SVG; a string of Markdown; rows as a table, whose headings are COLUMNS, or T for
the first row. Returns no values."
  (let ((call (or *call* (error "Nobody waits for an answer now."))))
    (typecase object
      (pathname (show-file call object))
      (string (let ((file (showable-file object)))
                (cond (file (show-file call file))
                      ((svg-text-p object) (show-text call "svg" object))
                      (t (show-markdown call object)))))
      (t (cond ((octets-p object) (show-octets call object))
               ((rows-p object)
                (show-text call "markdown"
                           (table-text object columns
                                       (max 0 (- (call-max-output call)
                                                 (shown-characters call))))))
               (t (error "~A cannot be shown: it is no pathname, octets, string or list of rows."
                         (printed object)))))))
  (values))

(defun shown-members (call)
  "Member of the result of CALL with what it has shown, in order."
  (let ((shown (call-shown call)))
    (and shown (list "shown" (coerce (reverse shown) 'simple-vector)))))
