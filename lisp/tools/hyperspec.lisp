;;;; Where the standard describes a symbol of COMMON-LISP. The page's name cannot be told from the
;;;; symbol's: it comes from Debian's package hyperspec when that is installed, whose pages are then
;;;; shown; otherwise the address is one that leads to the page.

(in-package "CADRE-AGENT")

(defparameter *hyperspec-homes*
  '("/usr/share/doc/hyperspec/" "/usr/share/doc/hyperspec/HyperSpec/")
  "Where the package has its files.")

(defconstant +page-limit+ 6000)         ; characters of a page

(defun hyperspec-home ()
  "The directory of the installed HyperSpec, or NIL."
  (or (sb-ext:posix-getenv "CADRE_HYPERSPEC")
      (find-if (lambda (home) (file-status (text home "Data/Map_Sym.txt"))) *hyperspec-homes*)))

(defun hyperspec-file (home symbol)
  "The page about SYMBOL in HOME; its table has the names of symbols and pages on lines of their
own."
  (loop for (name page) on (file-lines (text home "Data/Map_Sym.txt")) by #'cddr
        when (and page (string-equal (string-trim '(#\Return) name) (symbol-name symbol)))
          return (text home "Data/" (string-trim '(#\Return) page))))

(defun hyperspec-address (symbol)
  "An address that leads to the page about SYMBOL."
  (text "http://l1sp.org/cl/"
        (with-output-to-string (out)
          (loop for character across (string-downcase (symbol-name symbol))
                do (if (or (alphanumericp character) (find character "-_."))
                       (write-char character out)
                       (format out "%~2,'0X" (char-code character)))))))

(defparameter *entities*
  '(("&lt;" . "<") ("&gt;" . ">") ("&quot;" . "\"") ("&nbsp;" . " ") ("&amp;" . "&"))
  "The last one last.")

(defun html-text (html)
  "The words of HTML, without its tags and without more than one empty line in a row."
  (let ((plain (with-output-to-string (out)
                 (loop with index = 0
                       while (< index (length html))
                       do (let ((tag (and (char= (char html index) #\<)
                                          (position #\> html :start index))))
                            (unless tag (write-char (char html index) out))
                            (setf index (1+ (or tag index))))))))
    (loop for (entity . character) in *entities*
          do (setf plain (replace-all plain entity character)))
    (format nil "~{~A~^~%~}"
            (loop for line in (lines plain)
                  for text = (string-right-trim '(#\Space #\Tab #\Return) line)
                  for empty = (string= text "")
                  for before = t then was-empty
                  for was-empty = empty
                  unless (and empty before) collect text))))

(defun hyperspec-members (symbol)
  "Members of a description of SYMBOL about its page."
  (when (and (eq (symbol-package symbol) (find-package "COMMON-LISP"))
             (eq :external (nth-value 1 (find-symbol (symbol-name symbol) "COMMON-LISP"))))
    (let* ((home (hyperspec-home))
           (file (and home (hyperspec-file (text (string-right-trim "/" home) "/") symbol))))
      (if (and file (file-status file))
          (list "page" (text "file://" (native-namestring (truename file)))
                "page_text" (ignore-errors (cut (html-text (file-text file :latin-1))
                                                +page-limit+)))
          (list "page" (hyperspec-address symbol))))))
