// The language on one page, for a model's prompt: `cadre run --guide`. The text is guide.md, embedded at
// build.
#pragma once

extern const char program_guide[];
