#include "tools/program/policy.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "program/compile/analysis.h"
#include "value/text/json.h"

struct rule {
    char *pattern;
    size_t weight;  // its letters beside stars
    enum tool_effect effect;
    enum tool_permission permission;
    bool trusts_hints;
};

// A tool as it was when it was called last.
struct known_tool {
    char *name;
    uint64_t fingerprint;
};

struct tool_policies {
    struct rule rules[POLICY_RULES_MAX];
    size_t count;
    bool refuses;
    struct known_tool *known;
    size_t known_count, known_capacity;
};

struct tool_policies *tool_policies_new(void)
{
    return memory_alloc_zero(sizeof(struct tool_policies));
}

void tool_policies_free(struct tool_policies *policies)
{
    if (!policies)
        return;
    for (size_t i = 0; i < policies->count; i++)
        memory_free(policies->rules[i].pattern);
    for (size_t i = 0; i < policies->known_count; i++)
        memory_free(policies->known[i].name);
    memory_free(policies->known);
    memory_free(policies);
}

bool tool_policies_refuse(const struct tool_policies *policies)
{
    return policies->refuses;
}

// --- reading -------------------------------------------------------------------------------------

static bool read_word(value v, const char *const *words, size_t count, int *ret_word)
{
    *ret_word = 0;
    if (value_is_nil(v))
        return true;
    for (size_t i = 1; i < count; i++)
        if (value_is_string(v) && span_equal_text(value_text(v), words[i]))
            *ret_word = (int)i;
    return *ret_word > 0;
}

static bool read_effect(value v, enum tool_effect *ret_effect)
{
    static const char *const words[] = {"", "read", "write"};
    int word;
    bool ok = read_word(v, words, COUNT_OF(words), &word);
    *ret_effect = (enum tool_effect)word;
    return ok;
}

static bool read_permission(value v, enum tool_permission *ret_permission)
{
    static const char *const words[] = {"", "allow", "ask", "deny"};
    int word;
    bool ok = read_word(v, words, COUNT_OF(words), &word);
    *ret_permission = (enum tool_permission)word;
    return ok;
}

static size_t weigh(const char *pattern)
{
    size_t weight = 0;
    for (const char *at = pattern; *at; at++)
        weight += *at != '*';
    return weight;
}

// Takes the pattern. `what` is a permission, or a map with effect and policy.
static bool add_rule(struct tool_policies *policies, char *pattern, value what, bool trusts_hints,
                     struct error *error)
{
    struct rule rule = {.pattern = pattern, .weight = weigh(pattern), .trusts_hints = trusts_hints};
    bool is_map = value_is_map(what);
    bool ok = read_permission(is_map ? map_get(what, "policy") : what, &rule.permission) &&
              read_effect(is_map ? map_get(what, "effect") : value_nil(), &rule.effect);
    if (!ok)
        error_set(error, ERROR_INVALID,
                  "the policy of %s: policy is allow, ask or deny, effect is read or write",
                  pattern);
    else if (policies->count == POLICY_RULES_MAX)
        ok = error_set(error, ERROR_LIMIT, "more than %d policies", POLICY_RULES_MAX);
    if (ok)
        policies->rules[policies->count++] = rule;
    else
        memory_free(pattern);
    return ok;
}

static char *server_pattern(struct span server, struct span tool)
{
    return memory_format("%s%.*s/%.*s", program_has_namespace(server) ? "mcp-" : "",
                         (int)server.length, server.data, (int)tool.length, tool.data);
}

static bool read_server(struct tool_policies *policies, struct span server, value entry,
                        struct error *error)
{
    value tools = map_get(entry, "tools"), name, what;
    if (!add_rule(policies, server_pattern(server, SPAN("*")), entry,
                  map_get_boolean(entry, "trust_hints"), error))
        return false;
    if (!value_is_map(tools))
        return true;
    for (struct map_cursor cursor = map_iterate(tools); map_next(&cursor, &name, &what);)
        if (!add_rule(policies, server_pattern(server, value_text(name)), what, false, error))
            return false;
    return true;
}

static bool read_rules(struct tool_policies *policies, value rules, struct error *error)
{
    value name, what;
    if (value_is_nil(rules))
        return true;
    if (!value_is_map(rules))
        return error_set(error, ERROR_INVALID, "policies: must be an object: pattern -> policy");
    for (struct map_cursor cursor = map_iterate(rules); map_next(&cursor, &name, &what);)
        if (!add_rule(policies, memory_copy_text(value_text(name).data, value_text(name).length),
                      what, false, error))
            return false;
    return true;
}

bool tool_policies_read(struct tool_policies *policies, value file, struct error *error)
{
    value servers = map_get(file, "mcpServers"), ask = map_get(file, "ask"), name, entry;
    if (!value_is_map(servers))
        servers = map_get(file, "servers");
    if (value_is_map(servers))
        for (struct map_cursor cursor = map_iterate(servers); map_next(&cursor, &name, &entry);)
            if (value_is_map(entry) && !read_server(policies, value_text(name), entry, error))
                return false;
    bool refuses = value_is_string(ask) && span_equal_text(value_text(ask), "refuse");
    if (!value_is_nil(ask) && !refuses &&
        !(value_is_string(ask) && span_equal_text(value_text(ask), "pause")))
        return error_set(error, ERROR_INVALID, "ask: must be \"pause\" or \"refuse\"");
    policies->refuses = policies->refuses || refuses;
    return read_rules(policies, map_get(file, "policies"), error);
}

bool tool_policies_read_tool(struct tool_policies *policies, struct span name, value record,
                             struct error *error)
{
    if (value_is_nil(map_get(record, "effect")) && value_is_nil(map_get(record, "policy")))
        return true;
    return add_rule(policies, memory_format("tool/%.*s", (int)name.length, name.data), record,
                    false, error);
}

// --- judging -------------------------------------------------------------------------------------

static char folded(char byte)
{
    return byte == '_' ? '-' : byte;
}

// A star stands for any text. Linear: only the last star is tried again.
static bool fits(const char *pattern, struct span name)
{
    const char *star = NULL;
    size_t at = 0, retry = 0;
    while (at < name.length) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = at;
        } else if (*pattern && folded(*pattern) == folded(name.data[at])) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star;
            at = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

// The heavier rule wins; of two alike the stricter, and the write.
static void apply(const struct tool_policies *policies, struct span name,
                  struct tool_verdict *verdict, bool *ret_trusted)
{
    size_t effect_weight = 0, permission_weight = 0;
    for (size_t i = 0; i < policies->count; i++) {
        const struct rule *rule = &policies->rules[i];
        if (!fits(rule->pattern, name))
            continue;
        *ret_trusted = *ret_trusted || rule->trusts_hints;
        if (rule->effect && rule->weight >= effect_weight &&
            (rule->weight > effect_weight || rule->effect > verdict->effect)) {
            verdict->effect = rule->effect;
            effect_weight = rule->weight;
        }
        if (rule->permission && rule->weight >= permission_weight &&
            (rule->weight > permission_weight || rule->permission > verdict->permission)) {
            verdict->permission = rule->permission;
            verdict->rule = rule->pattern;
            permission_weight = rule->weight;
        }
    }
}

static struct known_tool *find_known(const struct tool_policies *policies, struct span name)
{
    for (size_t i = 0; i < policies->known_count; i++)
        if (span_equal_text(name, policies->known[i].name))
            return &policies->known[i];
    return NULL;
}

// Whether it is another one than before. What is seen for the first time is remembered.
static bool has_changed(struct tool_policies *policies, const struct tool_facts *facts)
{
    const struct known_tool *known = find_known(policies, facts->name);
    if (facts->fingerprint == 0)
        return false;
    if (known)
        return known->fingerprint != facts->fingerprint;
    if (policies->known_count == policies->known_capacity) {
        policies->known_capacity = policies->known_capacity ? 2 * policies->known_capacity : 32;
        policies->known =
            memory_resize(policies->known, policies->known_capacity * sizeof(*policies->known));
    }
    policies->known[policies->known_count++] = (struct known_tool){
        memory_copy_text(facts->name.data, facts->name.length), facts->fingerprint};
    return false;
}

struct tool_verdict tool_policies_judge(struct tool_policies *policies,
                                        const struct tool_facts *facts)
{
    struct tool_verdict verdict = {0};
    bool trusted = false;
    apply(policies, facts->name, &verdict, &trusted);
    if (verdict.effect == EFFECT_UNKNOWN)
        verdict.effect = trusted && facts->hints_read ? EFFECT_READ : EFFECT_WRITE;
    bool is_safe = facts->is_local || verdict.effect == EFFECT_READ;
    if (verdict.permission == PERMISSION_UNKNOWN)
        verdict.permission = is_safe ? PERMISSION_ALLOW : PERMISSION_ASK;
    if (has_changed(policies, facts) && verdict.permission == PERMISSION_ALLOW)
        verdict.permission = PERMISSION_ASK;
    return verdict;
}

void tool_policies_approve(struct tool_policies *policies, const struct tool_facts *facts)
{
    struct known_tool *known = find_known(policies, facts->name);
    if (known)
        known->fingerprint = facts->fingerprint;
}
