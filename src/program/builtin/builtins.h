// The functions of all builtins, by the file that defines them. Their names in the language are in
// builtins.def. Written by hand and not derived from there, so that a changed row recompiles only
// builtin_table.c.
#pragma once

#include "program/builtin/builtin.h"

// --- number.c: numbers, comparison, logic --------------------------------------------------------
builtin_fn builtin_add;
builtin_fn builtin_multiply;
builtin_fn builtin_subtract;
builtin_fn builtin_divide;
builtin_fn builtin_increment;
builtin_fn builtin_decrement;
builtin_fn builtin_quotient;
builtin_fn builtin_remainder;
builtin_fn builtin_modulo;
builtin_fn builtin_absolute;
builtin_fn builtin_maximum;
builtin_fn builtin_minimum;
builtin_fn builtin_floor;
builtin_fn builtin_ceiling;
builtin_fn builtin_truncate;
builtin_fn builtin_round;
builtin_fn builtin_int;
builtin_fn builtin_long;
builtin_fn builtin_short;
builtin_fn builtin_byte;
builtin_fn builtin_bigdec;
builtin_fn builtin_bigint;
builtin_fn builtin_number_itself;
builtin_fn builtin_rationalize;
builtin_fn builtin_float;
builtin_fn builtin_square_root;
builtin_fn builtin_power;
builtin_fn builtin_bit_and;
builtin_fn builtin_bit_or;
builtin_fn builtin_bit_xor;
builtin_fn builtin_bit_and_not;
builtin_fn builtin_bit_not;
builtin_fn builtin_bit_shift_left;
builtin_fn builtin_bit_shift_right;
builtin_fn builtin_bit_set;
builtin_fn builtin_bit_clear;
builtin_fn builtin_bit_flip;
builtin_fn builtin_bit_test;
builtin_fn builtin_equal;
builtin_fn builtin_not_equal;
builtin_fn builtin_less;
builtin_fn builtin_greater;
builtin_fn builtin_less_or_equal;
builtin_fn builtin_greater_or_equal;
builtin_fn builtin_compare;
builtin_fn builtin_not;
builtin_fn builtin_boolean;
builtin_fn builtin_identity;

// --- predicate.c: predicates ---------------------------------------------------------------------
builtin_fn builtin_is_nil;
builtin_fn builtin_is_some;
builtin_fn builtin_is_true;
builtin_fn builtin_is_false;
builtin_fn builtin_is_boolean;
builtin_fn builtin_is_number;
builtin_fn builtin_is_integer;
builtin_fn builtin_is_float;
builtin_fn builtin_is_nat_int;
builtin_fn builtin_is_pos_int;
builtin_fn builtin_is_neg_int;
builtin_fn builtin_is_zero;
builtin_fn builtin_is_pos;
builtin_fn builtin_is_neg;
builtin_fn builtin_is_even;
builtin_fn builtin_is_odd;
builtin_fn builtin_is_infinite;
builtin_fn builtin_is_nan;
builtin_fn builtin_is_string;
builtin_fn builtin_is_char;
builtin_fn builtin_is_keyword;
builtin_fn builtin_is_vector;
builtin_fn builtin_is_sequential;
builtin_fn builtin_is_seq;
builtin_fn builtin_is_symbol;
builtin_fn builtin_is_map;
builtin_fn builtin_is_set;
builtin_fn builtin_is_collection;
builtin_fn builtin_is_associative;
builtin_fn builtin_is_counted;
builtin_fn builtin_is_indexed;
builtin_fn builtin_is_reversible;
builtin_fn builtin_is_seqable;
builtin_fn builtin_is_function;
builtin_fn builtin_is_callable;
builtin_fn builtin_is_regex;
builtin_fn builtin_is_never, builtin_is_sorted;
builtin_fn builtin_type;

// --- sequence_map.c: a function over every item --------------------------------------------------
builtin_fn builtin_filter;
builtin_fn builtin_filterv;
builtin_fn builtin_remove;
builtin_fn builtin_map;
builtin_fn builtin_mapv;
builtin_fn builtin_mapcat;
builtin_fn builtin_map_indexed;
builtin_fn builtin_keep_indexed;
builtin_fn builtin_keep;
builtin_fn builtin_reduce;
builtin_fn builtin_some;
builtin_fn builtin_every;
builtin_fn builtin_not_any;
builtin_fn builtin_not_every;
builtin_fn builtin_take_while;
builtin_fn builtin_drop_while;
builtin_fn builtin_split_with;

// --- sequence_access.c: parts and single items ---------------------------------------------------
builtin_fn builtin_take;
builtin_fn builtin_drop;
builtin_fn builtin_take_last;
builtin_fn builtin_drop_last;
builtin_fn builtin_split_at;
builtin_fn builtin_nthrest;
builtin_fn builtin_nthnext;
builtin_fn builtin_first;
builtin_fn builtin_second;
builtin_fn builtin_last;
builtin_fn builtin_rest;
builtin_fn builtin_next;
builtin_fn builtin_butlast;
builtin_fn builtin_ffirst;
builtin_fn builtin_nfirst;
builtin_fn builtin_nnext;
builtin_fn builtin_nth;
builtin_fn builtin_subvec;
builtin_fn builtin_peek;
builtin_fn builtin_pop;

// --- ../eval/range.c: range ----------------------------------------------------------------------
builtin_fn builtin_range;

// --- sequence_combine.c: making, adding, rearranging ---------------------------------------------
builtin_fn builtin_concat;
builtin_fn builtin_cons;
builtin_fn builtin_conj;
builtin_fn builtin_into;
builtin_fn builtin_vector;
builtin_fn builtin_list;
builtin_fn builtin_vec;
builtin_fn builtin_seq;
builtin_fn builtin_empty;
builtin_fn builtin_count_items;
builtin_fn builtin_is_empty;
builtin_fn builtin_not_empty;
builtin_fn builtin_reverse;
builtin_fn builtin_dedupe;
builtin_fn builtin_interleave;
builtin_fn builtin_interpose;
builtin_fn builtin_partition;
builtin_fn builtin_partition_all;
builtin_fn builtin_partition_by;
builtin_fn builtin_combinations;
builtin_fn builtin_flatten;
builtin_fn builtin_zip;

// --- sort.c: sorting -----------------------------------------------------------------------------
builtin_fn builtin_sort;
builtin_fn builtin_sort_by;

// --- aggregate.c: aggregation --------------------------------------------------------------------
builtin_fn builtin_sum;
builtin_fn builtin_avg;
builtin_fn builtin_min_by;
builtin_fn builtin_max_by;
builtin_fn builtin_min_key;
builtin_fn builtin_max_key;
builtin_fn builtin_group_by;
builtin_fn builtin_distinct;
builtin_fn builtin_distinct_by;
builtin_fn builtin_frequencies;
builtin_fn builtin_pluck;

// --- map.c: maps ---------------------------------------------------------------------------------
builtin_fn builtin_get;
builtin_fn builtin_get_in;
builtin_fn builtin_find_entry;
builtin_fn builtin_contains;
builtin_fn builtin_assoc;
builtin_fn builtin_assoc_in;
builtin_fn builtin_update;
builtin_fn builtin_update_in;
builtin_fn builtin_dissoc;
builtin_fn builtin_merge;
builtin_fn builtin_merge_with;
builtin_fn builtin_select_keys;
builtin_fn builtin_update_vals;
builtin_fn builtin_update_keys;
builtin_fn builtin_reduce_kv;
builtin_fn builtin_zipmap;
builtin_fn builtin_hash_map;

// --- set.c: sets ---------------------------------------------------------------------------------
builtin_fn builtin_set;
builtin_fn builtin_hash_set;
builtin_fn builtin_union;
builtin_fn builtin_intersection;
builtin_fn builtin_difference;
builtin_fn builtin_disj;
builtin_fn builtin_are_distinct;

// --- function.c: functions on functions ----------------------------------------------------------
builtin_fn builtin_apply_spread;
builtin_fn builtin_comp;
builtin_fn builtin_partial;
builtin_fn builtin_juxt;
builtin_fn builtin_complement;
builtin_fn builtin_constantly;
builtin_fn builtin_every_pred;
builtin_fn builtin_some_fn;
builtin_fn builtin_fnil;
builtin_fn builtin_all_of;
builtin_fn builtin_any_of;
builtin_fn builtin_none_of;

// --- string.c: strings ---------------------------------------------------------------------------
builtin_fn builtin_str;
builtin_fn builtin_pr_str;
builtin_fn builtin_subs;
builtin_fn builtin_join;
builtin_fn builtin_trim;
builtin_fn builtin_triml;
builtin_fn builtin_trimr;
builtin_fn builtin_trim_newline;
builtin_fn builtin_is_blank;
builtin_fn builtin_upper_case;
builtin_fn builtin_lower_case;
builtin_fn builtin_parse_long;
builtin_fn builtin_parse_double;
builtin_fn builtin_parse_boolean;
builtin_fn builtin_split;
builtin_fn builtin_split_lines;
builtin_fn builtin_starts_with;
builtin_fn builtin_ends_with;
builtin_fn builtin_includes;
builtin_fn builtin_index_of;
builtin_fn builtin_last_index_of;
builtin_fn builtin_replace;

// --- format.c: formatted text --------------------------------------------------------------------
builtin_fn builtin_format;

// --- regex/regex_builtins.c: regular expressions -------------------------------------------------
builtin_fn builtin_re_pattern;
builtin_fn builtin_re_find;
builtin_fn builtin_re_groups;
builtin_fn builtin_re_matcher;
builtin_fn builtin_re_matches;
builtin_fn builtin_re_seq;
builtin_fn builtin_re_split;
builtin_fn builtin_extract;
builtin_fn builtin_extract_int;

// --- json.c: JSON --------------------------------------------------------------------------------
builtin_fn builtin_json_parse_string;
builtin_fn builtin_json_parse_lines;
builtin_fn builtin_json_generate_string;

// --- walk.c: nested data -------------------------------------------------------------------------
builtin_fn builtin_tree_seq;
builtin_fn builtin_walk;
builtin_fn builtin_prewalk;
builtin_fn builtin_postwalk;
builtin_fn builtin_keywordize_keys;
builtin_fn builtin_stringify_keys;
builtin_fn builtin_prewalk_replace;
builtin_fn builtin_postwalk_replace;

// --- interop.c: Java-style names -----------------------------------------------------------------
builtin_fn builtin_math_floor;
builtin_fn builtin_math_ceil;
builtin_fn builtin_math_round;
builtin_fn builtin_positive_infinity;
builtin_fn builtin_negative_infinity;
builtin_fn builtin_not_a_number;
builtin_fn builtin_double_parse;
builtin_fn builtin_boolean_parse;
builtin_fn builtin_current_time;
builtin_fn builtin_method_index_of;
builtin_fn builtin_method_last_index_of;
builtin_fn builtin_method_length;
builtin_fn builtin_method_substring;

// --- ../run/parallel/parallel.c: pmap, pcalls ----------------------------------------------------
builtin_fn builtin_pmap;
builtin_fn builtin_pcalls;

// --- collection/entries.c: keys, values, entries -------------------------------------------------
builtin_fn builtin_keys;
builtin_fn builtin_vals;
builtin_fn builtin_entries;
builtin_fn builtin_key;
builtin_fn builtin_val;

// --- collection/relation.c: clojure.set ----------------------------------------------------------
builtin_fn builtin_map_invert;
builtin_fn builtin_rename_keys;
builtin_fn builtin_index_relation;
builtin_fn builtin_project;
builtin_fn builtin_rename_relation;
builtin_fn builtin_join_relations;
builtin_fn builtin_select;
builtin_fn builtin_is_subset;
builtin_fn builtin_is_superset;

// --- collection/sequence_more.c: more of sequences -----------------------------------------------
builtin_fn builtin_reductions;
builtin_fn builtin_take_nth;
builtin_fn builtin_run_each;
builtin_fn builtin_do_all;
builtin_fn builtin_do_run;
builtin_fn builtin_reversed_sequence;
builtin_fn builtin_list_star;
builtin_fn builtin_sorted_map, builtin_sorted_set, builtin_sorted_map_by;
builtin_fn builtin_sorted_set_by;
builtin_fn builtin_empty_queue;
builtin_fn builtin_part_of_sorted;
builtin_fn builtin_reversed_part_of_sorted;

// --- collection/randomness.c: random numbers -----------------------------------------------------
builtin_fn builtin_rand;
builtin_fn builtin_rand_int;
builtin_fn builtin_rand_nth;
builtin_fn builtin_shuffle;
builtin_fn builtin_random_sample;
builtin_fn builtin_random_uuid;

// --- java/dates.c: dates, instants, durations -----------------------------------------------------
builtin_fn builtin_date_parse;
builtin_fn builtin_instant_parse;
builtin_fn builtin_duration_between;
builtin_fn builtin_plus_days;
builtin_fn builtin_minus_days;
builtin_fn builtin_to_epoch_day;
builtin_fn builtin_to_epoch_milli;
builtin_fn builtin_is_before;
builtin_fn builtin_is_after;
builtin_fn builtin_to_millis;
builtin_fn builtin_to_days;
builtin_fn builtin_date_of;
builtin_fn builtin_date_of_epoch_day;
builtin_fn builtin_date_year;
builtin_fn builtin_date_month;
builtin_fn builtin_date_day;
builtin_fn builtin_date_day_of_year;
builtin_fn builtin_date_day_of_week;
builtin_fn builtin_date_month_length;
builtin_fn builtin_date_is_leap_year;
builtin_fn builtin_date_plus;
builtin_fn builtin_chrono_unit;
builtin_fn builtin_unit_between;
builtin_fn builtin_date_until;

// --- java/math.c: Math ---------------------------------------------------------------------------
builtin_fn builtin_math_sine;
builtin_fn builtin_math_cosine;
builtin_fn builtin_math_tangent;
builtin_fn builtin_math_arc_sine;
builtin_fn builtin_math_arc_cosine;
builtin_fn builtin_math_arc_tangent;
builtin_fn builtin_math_hyperbolic_sine;
builtin_fn builtin_math_hyperbolic_cosine;
builtin_fn builtin_math_hyperbolic_tangent;
builtin_fn builtin_math_exponential;
builtin_fn builtin_math_exponential_minus_1;
builtin_fn builtin_math_logarithm;
builtin_fn builtin_math_logarithm_10;
builtin_fn builtin_math_logarithm_plus_1;
builtin_fn builtin_math_cube_root;
builtin_fn builtin_math_rint;
builtin_fn builtin_math_signum;
builtin_fn builtin_math_to_degrees;
builtin_fn builtin_math_to_radians;
builtin_fn builtin_math_ulp;
builtin_fn builtin_math_next_up;
builtin_fn builtin_math_next_down;
builtin_fn builtin_math_arc_tangent_2;
builtin_fn builtin_math_hypotenuse;
builtin_fn builtin_math_copy_sign;
builtin_fn builtin_math_ieee_remainder;
builtin_fn builtin_math_pi;
builtin_fn builtin_math_e;
builtin_fn builtin_math_integer_greatest;
builtin_fn builtin_math_integer_least;
builtin_fn builtin_math_long_greatest;
builtin_fn builtin_math_long_least;
builtin_fn builtin_math_double_greatest;
builtin_fn builtin_math_double_least;
builtin_fn builtin_math_floor_mod;
builtin_fn builtin_math_floor_div;

// --- java/character.c: characters ----------------------------------------------------------------
builtin_fn builtin_char;
builtin_fn builtin_character_is_letter;
builtin_fn builtin_character_is_digit;
builtin_fn builtin_character_is_letter_or_digit;
builtin_fn builtin_character_is_upper;
builtin_fn builtin_character_is_lower;
builtin_fn builtin_character_is_space;
builtin_fn builtin_character_digit, builtin_character_for_digit;
builtin_fn builtin_character_numeric;
builtin_fn builtin_character_upper;
builtin_fn builtin_character_lower;

// --- java/host.c: classes and methods of Java ----------------------------------------------------
builtin_fn builtin_integer_parse_radix;
builtin_fn builtin_long_parse_radix;
builtin_fn builtin_integer_text;
builtin_fn builtin_binary_text;
builtin_fn builtin_octal_text;
builtin_fn builtin_hex_text;
builtin_fn builtin_bit_count;
builtin_fn builtin_method_char_at;
builtin_fn builtin_method_concat;
builtin_fn builtin_method_repeat;
builtin_fn builtin_method_equals_ignore_case;
builtin_fn builtin_method_matches;
builtin_fn builtin_method_split;
builtin_fn builtin_method_replace_all;
builtin_fn builtin_method_replace_first;

// --- text/string_more.c: more of strings ---------------------------------------------------------
builtin_fn builtin_capitalize;
builtin_fn builtin_reverse_string;
builtin_fn builtin_escape;
builtin_fn builtin_replace_first;
builtin_fn builtin_quote_replacement;

// --- text/edn_builtins.c: EDN --------------------------------------------------------------------
builtin_fn builtin_edn_read;

// --- text/names.c: names of keywords and symbols ---------------------------------------------------
builtin_fn builtin_name;
builtin_fn builtin_namespace;
builtin_fn builtin_keyword;
builtin_fn builtin_symbol;

// --- text/printing.c: printing -------------------------------------------------------------------
builtin_fn builtin_print;
builtin_fn builtin_println;
builtin_fn builtin_pr;
builtin_fn builtin_prn;
builtin_fn builtin_printf;
builtin_fn builtin_newline;
builtin_fn builtin_flush;
builtin_fn builtin_print_str;
builtin_fn builtin_println_str;
builtin_fn builtin_prn_str;
builtin_fn builtin_with_out_str;

// --- inspect/tools.c: finding, describing and calling tools by name ------------------------------
builtin_fn builtin_tool_search;
builtin_fn builtin_tool_describe;
builtin_fn builtin_tool_call;

// --- inspect/documentation.c: apropos, doc, source -----------------------------------------------
builtin_fn builtin_apropos;
builtin_fn builtin_doc;
builtin_fn builtin_source;

// --- inspect/value_shape.c: describe -------------------------------------------------------------
builtin_fn builtin_describe;

// --- exception.c, state.c ------------------------------------------------------------------------
builtin_fn builtin_add_method;
builtin_fn builtin_atom, builtin_set_validator;
builtin_fn builtin_compare_and_set;
builtin_fn builtin_delay;
builtin_fn builtin_deref;
builtin_fn builtin_ex_cause;
builtin_fn builtin_ex_data;
builtin_fn builtin_ex_info;
builtin_fn builtin_ex_message;
builtin_fn builtin_exception;
builtin_fn builtin_force;
builtin_fn builtin_is_exception;
builtin_fn builtin_is_realized;
builtin_fn builtin_memoize;
builtin_fn builtin_multi;
builtin_fn builtin_reset;
builtin_fn builtin_reset_values;
builtin_fn builtin_swap;
builtin_fn builtin_swap_values;
builtin_fn builtin_throw;
builtin_fn builtin_trampoline;
builtin_fn builtin_volatile;

// --- collection/transient.c ----------------------------------------------------------------------
builtin_fn builtin_transient;
builtin_fn builtin_persistent;
builtin_fn builtin_conj_in_place;
builtin_fn builtin_assoc_in_place;
builtin_fn builtin_dissoc_in_place;
builtin_fn builtin_disj_in_place;
builtin_fn builtin_pop_in_place;

// --- generators.c, transducer.c ------------------------------------------------------------------
builtin_fn builtin_cat;
builtin_fn builtin_completing;
builtin_fn builtin_cycle;
builtin_fn builtin_ensure_reduced;
builtin_fn builtin_is_reduced;
builtin_fn builtin_iterate;
builtin_fn builtin_iteration;
builtin_fn builtin_lazy;
builtin_fn builtin_reduced;
builtin_fn builtin_repeat;
builtin_fn builtin_repeatedly;
builtin_fn builtin_sequence;
builtin_fn builtin_transduce;
builtin_fn builtin_unreduced;
