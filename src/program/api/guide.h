// The language on one page, for a model's prompt: `cadre run --guide`.
#pragma once

extern const char program_guide[];
