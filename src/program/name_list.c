#include "program/name_list.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SHOWN = 60, MORE_SIZE = 32 };  // bytes of a name, and of "and N more"

static int shown_length(struct span name)
{
    return name.length > NAME_SHOWN ? NAME_SHOWN : (int)name.length;
}

void name_list_add(struct name_list *list, const char *separator, struct span name,
                   struct span meant)
{
    list->count++;
    if (list->shown + 1 < list->count)
        return;  // one was left out already
    char text[2 * NAME_SHOWN + 40];
    int length = snprintf(text, sizeof(text), "%s%.*s", list->shown ? separator : "",
                          shown_length(name), name.data);
    if (meant.length)
        length += snprintf(text + length, sizeof(text) - (size_t)length, " (did you mean %.*s?)",
                           shown_length(meant), meant.data);
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
