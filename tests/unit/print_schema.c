// Reads signatures, one per line, and prints the JSON Schemas of each as {"input":…,"output":…}: what
// tests outside C compare with another validator.
#include <stdio.h>
#include <stdlib.h>

#include "signature/signature.h"
#include "value/text/json.h"

int main(void)
{
    struct arena arena;
    struct region *region = region_new(64 << 20);
    arena_init(&arena, 64 << 20);
    char *line = NULL;
    size_t size = 0;
    for (ssize_t length; (length = getline(&line, &size, stdin)) > 0;) {
        const struct signature *signature = NULL;
        struct error error;
        if (!signature_parse(&arena, (struct span){line, (size_t)length}, &signature, &error)) {
            fprintf(stderr, "%s: %s\n", line, error.message);
            return 1;
        }
        value schemas = map_put_text(region, map_new(region), "input",
                                     signature_input_schema(signature, region));
        schemas =
            map_put_text(region, schemas, "output", signature_output_schema(signature, region));
        CLEANUP_BUFFER struct buffer json;
        buffer_init(&json, BUFFER_DEFAULT_LIMIT);
        json_write(&json, schemas, 0, NULL);
        puts(buffer_text(&json));
        region_clear(region);
        arena_clear(&arena);
    }
    free(line);
    arena_release(&arena);
    region_free(region);
    return 0;
}
