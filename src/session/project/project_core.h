// Project cores: saved Lisp processes in which the project of a workspace is loaded. For one way to
// start a session (heap, sandbox, environment) a directory below the user's cache has
//
//   dependencies.json, dependencies-ID.core   the systems that the project's need and that are not
//                                             the workspace's
//   project.json, project-ID.core             on top of them: .cadre/init.lisp and the systems that
//                                             .cadre/config.json names
//
// A description names its core and everything that was looked at while the layer was loaded: files
// with their times and hashes, files that were not there, directories with the names in them. A core
// is used only while all of that is as it was; a file whose times have changed and whose content has
// not counts as it was.
//
// The work is done by processes of their own (`cadre project-worker`): reading thousands of files and
// writing cores takes too long for the event loop.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/span.h"

enum { PROJECT_FORMAT = 1, PROJECT_FD = 3, PROJECT_ANSWER_MAX = 1 << 20 };

// --- project_worker.c: `cadre project-worker` -----------------------------------------------------

// check WORKSPACE DIRECTORY BASE: writes into descriptor PROJECT_FD, as JSON, what the workspace
// wants and which core can be used: {systems, init, layer, core, stale, unsavable, notes}.
// commit DIRECTORY LAYER BASE NAME: the core becomes DIRECTORY/NAME. PROJECT_FD has the core, if there is one, a JSON object {systems, init,
// unsavable, inputs: [{path, kind, stamp}]}, and the length of the latter in 8 bytes.
// Exit status 0, or 1 with a line on standard error.
int project_worker_main(int argc, char **argv);

// --- project_stamp.c: what is compared -----------------------------------------------------------

// As the agent writes it (lisp/tools/project.lisp): times, size and number of a file, "directory",
// "absent". `kind`: "file", "directory", or "systems", a directory in which systems were looked for.
void project_stamp(const char *path, const char *kind, struct buffer *ret_stamp);
// Of the content, or of the names in a directory, of those that matter; empty when it cannot be read.
void project_hash(const char *path, const char *kind, struct buffer *ret_hash);
