// `cadre picture-worker`: decodes images of sessions, for the server (picture_check.h). What a session
// shows is hostile, and decoders are large: it locks itself, and can do nothing but compute.
#pragma once

enum { PICTURE_MEMORY_MB = 512 };

// Reads images in base64, one per line, to the end of standard input, and writes a line for each: empty
// for one that is whole, else what is wrong with it. The exit status.
int picture_worker_main(void);
