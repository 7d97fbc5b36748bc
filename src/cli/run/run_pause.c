#include "cli/run/run_pause.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/private.h"
#include "cli/options.h"
#include "tools/program/paused_run.h"
#include "value/text/json.h"

static bool complain(const char *message)
{
    fprintf(stderr, "cadre run: %s\n", message);
    return false;
}

static bool read_answer(struct run_pause *pause, struct region *region)
{
    value approve = value_nil(), results = value_nil();
    struct error error;
    if (pause->approve)
        approve = value_string_text(region, pause->approve);
    if (pause->results && !json_read(region, span_from(pause->results), NULL, &results, &error))
        return complain("--results is not JSON");
    return paused_answer_read(approve, results, &pause->answer) ||
           complain("--resume needs --approve yes, no or all, or --results '[{\"value\": …}]' or "
                    "'[{\"error\": \"…\"}]'");
}

// Whoever renames the file has the run.
static bool claim(const char *path)
{
    CLEANUP_FREE char *claimed = memory_format("%s.claimed", path);
    if (rename(path, claimed) < 0 || unlink(claimed) < 0) {
        fprintf(stderr, "cadre run: cannot take %s away: %s\n", path, strerror(errno));
        return false;
    }
    return true;
}

bool run_pause_take(struct run_pause *pause, struct region *region)
{
    struct error error;
    if (!read_answer(pause, region))
        return false;
    if (!private_check_file(pause->from, &error))
        return complain(error.message);
    return option_read_file(pause->from, PAUSED_FILE_MAX, &pause->text) && claim(pause->from);
}

const char *run_pause_path(const struct run_pause *pause)
{
    return pause->keep_in ? pause->keep_in : pause->from;
}

bool run_pause_keep(const struct run_pause *pause, const struct buffer *text)
{
    struct private_file file;
    struct error error;
    bool made;
    if (text->failed)
        return complain("the run is too large to be kept");
    if (!private_create(run_pause_path(pause), &file, &error))
        return complain(error.message);
    if (!descriptor_write(file.descriptor, text->data, text->length)) {
        private_create_abandon(&file);
        return complain("the run cannot be kept: its file cannot be written");
    }
    return private_create_commit(&file, true, &made, &error) || complain(error.message);
}

void run_pause_release(struct run_pause *pause)
{
    buffer_release(&pause->text);
}
