// The values of literal forms.
#pragma once

#include "program/compile/form.h"
#include "value/value.h"

// The value of a constant form or of 'x. Strings borrow from the form.
value form_value(struct region *region, const struct form *form);
