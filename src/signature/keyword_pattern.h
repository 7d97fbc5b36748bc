// The JSON Schema patterns of keywords, for schema_write.c and schema_read.c.
#pragma once

// Which strings are keywords: those that are coerced to one, and those that keywords become.
#define SCHEMA_KEYWORD_INPUT "^[A-Za-z][A-Za-z0-9_?!-]*$"
#define SCHEMA_KEYWORD_OUTPUT "^[A-Za-z0-9_?!+*<>=-]+$"
