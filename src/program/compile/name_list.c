#include "program/compile/name_list.h"

#include <stdio.h>
#include <string.h>

// Bytes of a name, of a hint, and of "and N more".
enum { NAME_SHOWN = 60, HINT_SHOWN = 80, MORE_SIZE = 32 };

void name_list_add(struct name_list *list, const char *separator, struct span name,
                   const char *hint)
{
    list->count++;
    if (list->shown + 1 < list->count)
        return;  // one was left out already
    char text[NAME_SHOWN + HINT_SHOWN + 10];
    int length = snprintf(text, sizeof(text), "%s%.*s", list->shown ? separator : "",
                          name.length > NAME_SHOWN ? NAME_SHOWN : (int)name.length, name.data);
    if (hint)
        length +=
            snprintf(text + length, sizeof(text) - (size_t)length, " (%.*s)", HINT_SHOWN, hint);
    if (list->used + (size_t)length + MORE_SIZE > sizeof(list->text))
        return;
    memcpy(list->text + list->used, text, (size_t)length + 1);
    list->used += (size_t)length;
    list->shown++;
}

const char *name_list_text(struct name_list *list)
{
    size_t left = list->count - list->shown;
    if (list->count == 0)
        return "none";
    if (left)
        snprintf(list->text + list->used, sizeof(list->text) - list->used, " and %zu more", left);
    return list->text;
}
