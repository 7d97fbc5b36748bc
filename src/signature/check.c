// Checks values against a signature, and coerces inputs.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "signature/coerce.h"
#include "signature/constraint.h"
#include "signature/describe.h"
#include "signature/fields.h"
#include "signature/problems.h"
#include "signature/signature.h"

static const char *const mode_names[] = {
    [SIGNATURE_ENABLED] = "enabled",
    [SIGNATURE_WARN_ONLY] = "warn_only",
    [SIGNATURE_DISABLED] = "disabled",
    [SIGNATURE_STRICT] = "strict",
};

const char *signature_mode_name(enum signature_mode mode)
{
    return mode_names[mode];
}

bool signature_mode_from_name(struct span name, enum signature_mode *ret_mode)
{
    for (size_t i = 0; i < COUNT_OF(mode_names); i++) {
        if (span_equal_text(name, mode_names[i])) {
            *ret_mode = (enum signature_mode)i;
            return true;
        }
    }
    return false;
}

// --- lines ---------------------------------------------------------------------------------------

struct checker {
    struct region *region;
    bool coerce;
    bool strict;
    struct problems errors;
    struct problems warnings;
};

static void report_mismatch(struct checker *checker, const struct place *place,
                            const struct signature_type *expected, value actual)
{
    char before[DESCRIPTION_SIZE + 32];
    struct description description;
    describe_type(&description, expected);
    snprintf(before, sizeof(before), "expected %.*s, got ", (int)description.length,
             description.data);
    describe_value(&description, actual);
    problems_add(&checker->errors, place, before, description_span(&description), "");
}

static void report_coercion(struct checker *checker, const struct place *place,
                            enum signature_kind kind, value from)
{
    char after[32];
    struct description description;
    snprintf(after, sizeof(after), " to %s", signature_kind_word(kind));
    describe_value(&description, from);
    problems_add(&checker->warnings, place, "coerced ", description_span(&description), after);
}

static void report_text(struct checker *checker, const struct place *place, const char *text)
{
    problems_add(&checker->errors, place, text, SPAN(""), "");
}

// --- checking one value --------------------------------------------------------------------------

// Checks one value, borrowed. True when a coercion replaced it: *ret_replacement is then owned.
static bool check_value(struct checker *checker, const struct signature_type *type, value v,
                        const struct place *place, value *ret_replacement);

static bool is_of_kind(enum signature_kind kind, value v)
{
    switch (kind) {
    case SIGNATURE_STRING:
    case SIGNATURE_DATETIME: return v.tag == VALUE_STRING;
    case SIGNATURE_INT: return v.tag == VALUE_INTEGER || v.tag == VALUE_BIGNUM;
    case SIGNATURE_FLOAT:
        return v.tag == VALUE_FLOAT || v.tag == VALUE_INTEGER || v.tag == VALUE_BIGNUM;
    case SIGNATURE_BOOL: return v.tag == VALUE_BOOLEAN;
    case SIGNATURE_KEYWORD: return v.tag == VALUE_KEYWORD;
    case SIGNATURE_ANY: return true;
    case SIGNATURE_MAP:
    case SIGNATURE_RECORD: return v.tag == VALUE_MAP;
    case SIGNATURE_LIST: return v.tag == VALUE_VECTOR;
    case SIGNATURE_ENUM:
    case SIGNATURE_UNION:
    case SIGNATURE_KIND_COUNT: break;
    }
    UNREACHABLE();
}

// Of the right kind: also what the type says beyond that?
static bool constraints_hold(struct checker *checker, const struct signature_type *type, value v)
{
    if (type->kind == SIGNATURE_DATETIME)
        return datetime_is_valid(value_text(v));
    return !type->limits || limits_hold(type->limits, checker->region, v);
}

static bool check_scalar(struct checker *checker, const struct signature_type *type, value v,
                         const struct place *place, value *ret_replacement)
{
    enum signature_kind kind = type->kind;
    bool fits = is_of_kind(kind, v);
    bool widens = kind == SIGNATURE_FLOAT && fits && v.tag != VALUE_FLOAT;
    value coerced = v;
    bool replaced = checker->coerce && (!fits || widens) &&
                    signature_coerce(checker->region, kind, v, &coerced);
    if ((fits || replaced) && !(widens && checker->coerce && !replaced) &&
        constraints_hold(checker, type, coerced)) {
        if (replaced && !widens)
            report_coercion(checker, place, kind, v);
        *ret_replacement = coerced;
        return replaced;
    }
    report_mismatch(checker, place, type, v);
    if (replaced)
        value_release(checker->region, coerced);
    return false;
}

// A keyword stands for the string that is its name.
static bool check_enum(struct checker *checker, const struct signature_type *type, value v,
                       const struct place *place, value *ret_replacement)
{
    if (choice_find(type, v))
        return false;
    value coerced;
    if (checker->coerce && signature_coerce(checker->region, SIGNATURE_STRING, v, &coerced)) {
        if (choice_find(type, coerced)) {
            report_coercion(checker, place, SIGNATURE_STRING, v);
            *ret_replacement = coerced;
            return true;
        }
        value_release(checker->region, coerced);
    }
    report_mismatch(checker, place, type, v);
    return false;
}

static bool check_list(struct checker *checker, const struct signature_type *type, value list,
                       const struct place *place, value *ret_replacement)
{
    bool replaced = false;
    size_t count = vector_count(list);
    for (size_t i = 0; i < count; i++) {
        struct place item_place = {.parent = place, .index = i};
        value replacement;
        if (!check_value(checker, type->element, vector_at(list, i), &item_place, &replacement))
            continue;
        if (!replaced)
            *ret_replacement = value_retain(list);
        replaced = true;
        *ret_replacement = vector_put(checker->region, *ret_replacement, i, replacement);
    }
    return replaced;
}

// The entry of a map that a field names, in whichever spelling.
struct match {
    value key;
    value item;
    size_t spellings;
};

static bool key_has_name(value key)
{
    return key.tag == VALUE_STRING || key.tag == VALUE_KEYWORD;
}

// Fills one match per field; returns how many entries of the map no field names.
static size_t match_fields(const struct signature_fields *fields, value map, struct match *matches)
{
    size_t unmatched = 0;
    struct map_cursor cursor = map_iterate(map);
    value key;
    value item;
    while (map_next(&cursor, &key, &item)) {
        size_t index =
            key_has_name(key) ? signature_fields_find(fields, value_text(key)) : SIZE_MAX;
        if (index == SIZE_MAX) {
            unmatched++;
            continue;
        }
        matches[index].key = key;
        matches[index].item = item;
        matches[index].spellings++;
    }
    return unmatched;
}

static void report_unexpected(struct checker *checker, const struct signature_fields *fields,
                              value map, const struct place *place)
{
    value keys = map_sorted_keys(checker->region, map);
    for (size_t i = 0; i < vector_count(keys); i++) {
        value key = vector_at(keys, i);
        if (key_has_name(key) && signature_fields_find(fields, value_text(key)) != SIZE_MAX)
            continue;
        struct description name;
        describe_key(&name, key);
        struct place field_place = {.parent = place, .name = description_span(&name)};
        report_text(checker, &field_place, "unexpected field");
    }
    value_release(checker->region, keys);
}

static bool check_field(struct checker *checker, const struct signature_field *field,
                        const struct match *match, const struct place *parent,
                        value *ret_replacement)
{
    struct place place = {.parent = parent, .name = field->name};
    if (match->spellings > 1) {
        report_text(checker, &place, "ambiguous, several spellings present");
        return false;
    }
    if (match->spellings == 1)
        return check_value(checker, &field->type, match->item, &place, ret_replacement);
    if (!field->type.optional) {
        struct description expected;
        describe_type(&expected, &field->type);
        problems_add(&checker->errors, &place, "missing, expected ", description_span(&expected),
                     "");
    }
    return false;
}

static bool check_fields(struct checker *checker, const struct signature_fields *fields, value map,
                         const struct place *place, value *ret_replacement)
{
    // At least one, so that there is an object to give back.
    size_t size = (fields->count > 0 ? fields->count : 1) * sizeof(struct match);
    struct match *matches = region_alloc_zero(checker->region, size);
    size_t unmatched = match_fields(fields, map, matches);
    bool replaced = false;
    for (size_t i = 0; i < fields->count; i++) {
        value replacement;
        if (!check_field(checker, &fields->items[i], &matches[i], place, &replacement))
            continue;
        if (!replaced)
            *ret_replacement = value_retain(map);
        replaced = true;
        *ret_replacement =
            map_put(checker->region, *ret_replacement, value_retain(matches[i].key), replacement);
    }
    if (checker->strict && unmatched > 0)
        report_unexpected(checker, fields, map, place);
    region_return(checker->region, matches, size);
    return replaced;
}

// --- unions --------------------------------------------------------------------------------------

// One alternative, tried by a checker of its own.
struct trial {
    struct checker checker;
    bool replaced;
    value replacement;
};

static struct trial try_type(const struct checker *checker, bool coerce,
                             const struct signature_type *type, value v, const struct place *place)
{
    struct trial trial = {.checker = *checker};
    trial.checker.coerce = coerce;
    trial.checker.errors = problems_start(checker->region);
    trial.checker.warnings = problems_start(checker->region);
    trial.replaced = check_value(&trial.checker, type, v, place, &trial.replacement);
    return trial;
}

static void trial_drop(struct trial *trial)
{
    struct region *region = trial->checker.region;
    if (trial->replaced)
        value_release(region, trial->replacement);
    value_release(region, trial->checker.errors.texts);
    value_release(region, trial->checker.warnings.texts);
}

static bool trial_fits(const struct trial *trial)
{
    return vector_count(trial->checker.errors.texts) == 0;
}

// The first alternative that takes the value; NULL: none does. Each is tried once: alternatives in
// alternatives do not multiply.
static const struct signature_type *find_alternative(struct checker *checker, bool coerce,
                                                     const struct signature_type *type, value v,
                                                     const struct place *place,
                                                     struct trial *ret_trial)
{
    for (size_t i = 0; i < type->count; i++) {
        *ret_trial = try_type(checker, coerce, &type->element[i], v, place);
        if (trial_fits(ret_trial))
            return &type->element[i];
        trial_drop(ret_trial);
    }
    return NULL;
}

// The only alternative that lists or maps can fit says best what is wrong in one.
static const struct signature_type *only_container(const struct signature_type *type, value v)
{
    const struct signature_type *found = NULL;
    if (v.tag != VALUE_VECTOR && v.tag != VALUE_MAP)
        return NULL;
    for (size_t i = 0; i < type->count; i++) {
        const struct signature_type *each = &type->element[i];
        bool may_fit = each->kind == SIGNATURE_UNION ||
                       (each->kind != SIGNATURE_ENUM && is_of_kind(each->kind, v));
        if (may_fit && found)
            return NULL;
        if (may_fit)
            found = each;
    }
    return found;
}

// As it is, or if need be coerced.
static bool check_union(struct checker *checker, const struct signature_type *type, value v,
                        const struct place *place, value *ret_replacement)
{
    struct trial trial;
    const struct signature_type *fitting = only_container(type, v);
    if (fitting)
        return check_value(checker, fitting, v, place, ret_replacement);
    fitting = find_alternative(checker, false, type, v, place, &trial);
    if (fitting && fitting->kind == SIGNATURE_FLOAT) {
        trial_drop(&trial);  // an int is widened
        return check_value(checker, fitting, v, place, ret_replacement);
    }
    if (!fitting && checker->coerce)
        fitting = find_alternative(checker, true, type, v, place, &trial);
    if (!fitting) {
        report_mismatch(checker, place, type, v);
        return false;
    }
    problems_add_all(&checker->warnings, &trial.checker.warnings);
    bool replaced = trial.replaced;
    if (replaced)
        *ret_replacement = value_retain(trial.replacement);
    trial_drop(&trial);
    return replaced;
}

static bool check_value(struct checker *checker, const struct signature_type *type, value v,
                        const struct place *place, value *ret_replacement)
{
    if (type->optional && value_is_nil(v))
        return false;
    if (type->kind < SIGNATURE_ANY)
        return check_scalar(checker, type, v, place, ret_replacement);
    if (type->kind == SIGNATURE_ENUM)
        return check_enum(checker, type, v, place, ret_replacement);
    if (type->kind == SIGNATURE_UNION)
        return check_union(checker, type, v, place, ret_replacement);
    if (!is_of_kind(type->kind, v)) {
        report_mismatch(checker, place, type, v);
        return false;
    }
    if (type->kind == SIGNATURE_LIST)
        return check_list(checker, type, v, place, ret_replacement);
    if (type->kind == SIGNATURE_RECORD && type->fields.count > 0)
        return check_fields(checker, &type->fields, v, place, ret_replacement);
    return false;
}

// --- entry ---------------------------------------------------------------------------------------

static struct checker checker_start(struct region *region, enum signature_mode mode, bool inputs)
{
    return (struct checker){
        .region = region,
        .coerce = inputs && mode != SIGNATURE_STRICT,
        .strict = mode == SIGNATURE_STRICT,
        .errors = problems_start(region),
        .warnings = problems_start(region),
    };
}

static struct signature_check checker_finish(struct checker *checker, enum signature_mode mode,
                                             value result)
{
    struct region *region = checker->region;
    value errors = problems_finish(&checker->errors, "errors");
    value warnings = problems_finish(&checker->warnings, "coercions");
    if (mode == SIGNATURE_WARN_ONLY) {
        for (size_t i = 0; i < vector_count(errors); i++)
            warnings = vector_push(region, warnings, value_retain(vector_at(errors, i)));
        value_release(region, errors);
        errors = vector_new(region, 0);
    }
    return (struct signature_check){.result = result, .errors = errors, .warnings = warnings};
}

struct signature_check signature_check_inputs(const struct signature *signature,
                                              enum signature_mode mode, struct region *region,
                                              value v)
{
    struct checker checker = checker_start(region, mode, true);
    value replacement;
    if (mode != SIGNATURE_DISABLED && signature->has_inputs) {
        CHECK(value_is_map(v));
        if (check_fields(&checker, &signature->inputs, v, NULL, &replacement)) {
            value_release(region, v);
            v = replacement;
        }
    }
    return checker_finish(&checker, mode, v);
}

struct signature_check signature_check_output(const struct signature *signature,
                                              enum signature_mode mode, struct region *region,
                                              value v)
{
    struct checker checker = checker_start(region, mode, false);
    value unused;
    if (mode != SIGNATURE_DISABLED)
        check_value(&checker, &signature->output, v, NULL, &unused);
    return checker_finish(&checker, mode, v);
}
