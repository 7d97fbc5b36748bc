// What writing and reading JSON Schema share.
#pragma once

// How a keyword is told apart from other strings: the strings that are coerced to one, and the
// strings that keywords become.
#define SCHEMA_KEYWORD_INPUT "^[A-Za-z][A-Za-z0-9_?!-]*$"
#define SCHEMA_KEYWORD_OUTPUT "^[A-Za-z0-9_?!+*<>=-]+$"
