// The JSON Schema of configuration files, made from the table of options.
#pragma once

#include "base/buffer.h"

void configuration_write_schema(struct buffer *text);
