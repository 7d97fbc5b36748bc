// Which calls of tools programs may make, and which of them change something. Rules come from files of
// the user, never from a workspace:
//
//     {"mcpServers": {"github": {…, "trust_hints": true, "policy": "ask", "effect": "write",
//                                "tools": {"list_*": {"effect": "read", "policy": "allow"}}}},
//      "policies": {"*/delete*": "deny", "tool/wc": "ask"},
//      "ask": "refuse"}
//
// Of the rules that fit a name the one with the most letters beside its stars holds. Without one, tools
// of servers are writes and asked about, unless a server marked `trust_hints` says that they only read.
#pragma once

#include "base/error.h"
#include "value/value.h"

enum tool_effect { EFFECT_UNKNOWN, EFFECT_READ, EFFECT_WRITE };
enum tool_permission { PERMISSION_UNKNOWN, PERMISSION_ALLOW, PERMISSION_ASK, PERMISSION_DENY };

enum { POLICY_RULES_MAX = 4096 };

struct tool_policies;

struct tool_policies *tool_policies_new(void);
void tool_policies_free(struct tool_policies *policies);
// Adds the rules of a file. ERROR_INVALID names the rule.
bool tool_policies_read(struct tool_policies *policies, value file, struct error *error);
// The members `effect` and `policy` of a tool in the tools file.
bool tool_policies_read_tool(struct tool_policies *policies, struct span name, value record,
                             struct error *error);
// Calls that a person would have to be asked about are refused where nobody can be asked, instead of
// pausing the run.
bool tool_policies_refuse(const struct tool_policies *policies);

struct tool_verdict {
    enum tool_effect effect;
    enum tool_permission permission;
    const char *rule;  // the pattern that the permission is from, or NULL
};

struct tool_facts {
    struct span name;      // as programs write it: github/list-issues, tool/wc
    bool is_local;         // of the tools file: allowed unless a rule says otherwise
    bool hints_read;       // the server says that it only reads
    uint64_t fingerprint;  // of what the server says about it; 0: none
};

// A tool that has changed since it was last called, or approved, is asked about.
struct tool_verdict tool_policies_judge(struct tool_policies *policies,
                                        const struct tool_facts *facts);
// The person agrees with the tool as it is now.
void tool_policies_approve(struct tool_policies *policies, const struct tool_facts *facts);
