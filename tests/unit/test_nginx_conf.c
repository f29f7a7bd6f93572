/* SPDX-License-Identifier: MIT */
/* nginx's configuration language, read as nginx does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "nginx_conf_made.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Each word in brackets, blocks in braces: "[a][b]{[c]}". */
static void directives_write(const struct nginx_directive *directive, FILE *out)
{
	for (; directive; directive = directive->next) {
		for (size_t i = 0; i < directive->words_count; i++)
			fprintf(out, "[%s]", directive->words[i]);
		if (directive->is_block) {
			fputc('{', out);
			directives_write(directive->inside, out);
			fputc('}', out);
		} else {
			fputc(';', out);
		}
	}
}

static void assert_files_read(const struct made_file *made, const char *expected)
{
	struct failure why = {0};
	struct nginx_conf conf;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (made_conf_read(made, &conf, &why))
		fail_msg("'%s': %s", made[0].text, why.reason);
	out = open_memstream(&text, &size);
	assert_non_null(out);
	directives_write(conf.first, out);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	nginx_conf_free(&conf);
}

static void assert_read(const char *text, const char *expected)
{
	assert_files_read((struct made_file[]){{"/etc/n.conf", text}, {0}}, expected);
}

static void assert_files_refused(const struct made_file *made, const char *reason)
{
	struct failure why = {0};
	struct nginx_conf conf;

	assert_true(made_conf_read(made, &conf, &why) < 0);
	assert_string_equal(why.reason, reason);
}

static void assert_refused(const char *text, const char *reason)
{
	assert_files_refused((struct made_file[]){{"n", text}, {0}}, reason);
}

static void directives_end_at_semicolons_and_blocks_nest(void **state)
{
	(void)state;
	assert_read("", "");
	assert_read(" \n\t\r\n", "");
	assert_read("user nobody;a b\tc\r\nd;", "[user][nobody];[a][b][c][d];");
	assert_read("http{server{listen 80;}}", "[http]{[server]{[listen][80];}}");
	assert_read("map $a $b { default 1; }", "[map][$a][$b]{[default][1];}");
	assert_read("events { } x y ;", "[events]{}[x][y];");
}

static void comments_begin_where_words_could(void **state)
{
	(void)state;
	assert_read("# a { ; }\na b; # c\n#", "[a][b];");
	assert_read("a # b;\nc;", "[a][c];");
	assert_read("a b#c;", "[a][b#c];");
	assert_read("a \"b\" # c\n;", "[a][b];");
}

static void a_brace_is_text_within_a_word_or_after_a_dollar(void **state)
{
	(void)state;
	assert_read("a b}c;", "[a][b}c];");
	assert_read("a ${b}c;", "[a][${b}c];");
	assert_read("a x${b}{}", "[a][x${b}]{}");
	assert_read("a x\\${b;}", "[a][x\\$]{[b];}");
	assert_read("location ~ ^/a$ {}", "[location][~][^/a$]{}");
}

static void quotes_keep_what_parts_words(void **state)
{
	(void)state;
	assert_read("a \"b c;{}#\" 'd \" e';", "[a][b c;{}#][d \" e];");
	assert_read("a \"\" '';", "[a][][];");
	assert_read("\"a\" 'b'{\"c\";}", "[a][b]{[c];}");
	assert_read("if ($a = \"b\") {}", "[if][($a][=][b][)]{}");
	assert_read("a b\"c d\";", "[a][b\"c][d\"];");
}

static void a_backslash_stays_but_before_what_it_escapes(void **state)
{
	(void)state;
	assert_read("a \"b\\\"c\" 'd\\'e' f\\\\g;", "[a][b\"c][d'e][f\\g];");
	assert_read("a ^/b\\.c\\d$;", "[a][^/b\\.c\\d$];");
	assert_read("a b\\ c\\;d\\{;", "[a][b\\ c\\;d\\{];");
	assert_read("a 'b\\nc\\td\\re';", "[a][b\nc\td\re];");
	assert_read("a \\\\n;", "[a][\\n];");
	assert_read("\\\"a b;", "[\"a][b];");
}

static void what_is_not_the_language_is_refused_with_its_line(void **state)
{
	static const char *const cases[][2] = {
		{"a;\n\n;", "n:3: unexpected \";\""},
		{"{}", "n:1: unexpected \"{\""},
		{"a {\n}\n}", "n:3: unexpected \"}\""},
		{"a }", "n:1: unexpected \"}\""},
		{"b { a\n } ", "n:2: unexpected \"}\""},
		{"a b", "n:1: unexpected end of file, expecting \";\" or \"}\""},
		{"a b ", "n:1: unexpected end of file, expecting \";\" or \"}\""},
		{"a {\nb;\n", "n:3: unexpected end of file, expecting \"}\""},
		{"a\n\"b\n\nc", "n:2: a quote \" is not closed"},
		{"a 'b\\'", "n:1: a quote ' is not closed"},
		{"a \"b\"c;", "n:1: unexpected \"c\""},
		{"a \"b\"#;", "n:1: unexpected \"#\""},
		{"a \"b\"}", "n:1: unexpected \"}\""},
		{"include a b;", "n:1: include takes one path"},
		{"include;", "n:1: include takes one path"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_refused(cases[i][0], cases[i][1]);
}

static void code_of_lua_is_skipped(void **state)
{
	(void)state;
	assert_read("access_by_lua_block { if x then y({1}) end } a;",
		    "[access_by_lua_block]{}[a];");
	assert_read("set_by_lua_block $x { return '}' .. \"\\\"}\" } a;",
		    "[set_by_lua_block][$x]{}[a];");
	assert_read("x_by_lua_block { -- }\n --[[ } ]] --[==[ ]] } ]==] [[ } ' ]] } a;",
		    "[x_by_lua_block]{}[a];");
	assert_read("x_by_lua_block { [=[ ]x] } ]=] } a;", "[x_by_lua_block]{}[a];");
	assert_read("x_by_lua_block { t[a[1]] = 2 - -1 } a;", "[x_by_lua_block]{}[a];");
	assert_read("access_by_lua '{';", "[access_by_lua][{];");
	assert_refused("\nx_by_lua_block { '}", "n:2: a block of Lua is not closed");
	assert_refused("x_by_lua_block { [[ } ", "n:1: a block of Lua is not closed");
	assert_refused("x_by_lua_block {", "n:1: a block of Lua is not closed");
}

static void an_include_is_what_its_file_holds(void **state)
{
	static const struct made_file made[] = {
		{"/etc/nginx/n.conf", "a; http { include \"s/x\"; b; } include /opt/y;"},
		{"/etc/nginx/s/x", "c { d; } include s/z;"},
		{"/etc/nginx/s/z", "e;"},
		{"/opt/y", "# nothing"},
		{0},
	};
	static const struct made_file beside[] = {{"n", "include x;"}, {"x", "a;"}, {0}};

	(void)state;
	assert_files_read(made, "[a];[http]{[c]{[d];}[e];[b];}");
	assert_files_read(beside, "[a];");
}

static void a_pattern_includes_all_that_match_or_nothing(void **state)
{
	static const struct made_file made[] = {
		{"/e/n", "include s/*.conf; include t/*; include s/[b]*;"},
		{"/e/s/a.conf", "a;"},
		{"/e/s/b.conf", "b;"},
		{"/e/s/c", "c;"},
		{0},
	};

	(void)state;
	assert_files_read(made, "[a];[b];[b];");
}

static void directives_know_their_file_and_line(void **state)
{
	static const struct made_file made[] = {
		{"/e/n", "a\n b;\ninclude x;\nc;"}, {"/e/x", "\n\nd;"}, {0}};
	struct nginx_conf conf;
	const struct nginx_directive *directive;

	(void)state;
	assert_int_equal(made_conf_read(made, &conf, NULL), 0);
	directive = nginx_directive_find(conf.first, "d");
	assert_non_null(directive);
	assert_string_equal(directive->file, "/e/x");
	assert_int_equal(directive->line, 3);
	directive = nginx_directive_find(conf.first, "c");
	assert_non_null(directive);
	assert_string_equal(directive->file, "/e/n");
	assert_int_equal(directive->line, 4);
	assert_int_equal(conf.first->line, 1);
	assert_null(nginx_directive_find(directive, "a"));
	nginx_conf_free(&conf);
}

static void a_failure_in_an_included_file_is_told_with_its_place(void **state)
{
	static const struct made_file broken[] = {{"/e/n", "include x;"}, {"/e/x", "a;\nb {"}, {0}};
	static const struct made_file missing[] = {
		{"/e/n", "include x;"}, {"/e/x", "\ninclude y;"}, {0}};
	static const struct made_file closing[] = {
		{"/e/n", "http { include x; }"}, {"/e/x", "}"}, {0}};

	(void)state;
	assert_files_refused(broken, "/e/x:2: unexpected end of file, expecting \"}\"");
	assert_files_refused(missing, "/e/x:2: \"/e/y\": No such file or directory");
	assert_files_refused(closing, "/e/x:1: unexpected \"}\"");
}

static void a_file_that_includes_itself_ends(void **state)
{
	static const struct made_file itself[] = {{"/e/n", "a;\ninclude n;"}, {0}};
	/* 5 to the power of 6, were they all read. */
	static const struct made_file made[] = {
		{"/e/n", "include a*; include a*; include a*; include a*; include a*;"},
		{"/e/a", "include b*; include b*; include b*; include b*; include b*;"},
		{"/e/b", "include c*; include c*; include c*; include c*; include c*;"},
		{"/e/c", "include d*; include d*; include d*; include d*; include d*;"},
		{"/e/d", "include e*; include e*; include e*; include e*; include e*;"},
		{"/e/e", "include f*; include f*; include f*; include f*; include f*;"},
		{"/e/f", ""},
		{0},
	};

	(void)state;
	assert_files_refused(itself, "/e/n:2: includes are nested too deeply");
	assert_files_refused(made, "/e/f: too much is included");
}

/* "a{a{}}" of depth 2. */
static void blocks_format(char *buf, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		memcpy(buf + 2 * i, "a{", 2);
	memset(buf + 2 * depth, '}', depth);
	buf[3 * depth] = '\0';
}

static void blocks_nest_so_deep_and_no_deeper(void **state)
{
	char text[3 * (NGINX_CONF_BLOCKS_MAX + 1) + 1];
	struct nginx_conf conf;

	(void)state;
	blocks_format(text, NGINX_CONF_BLOCKS_MAX);
	assert_int_equal(made_conf_read((struct made_file[]){{"n", text}, {0}}, &conf, NULL), 0);
	nginx_conf_free(&conf);
	blocks_format(text, NGINX_CONF_BLOCKS_MAX + 1);
	assert_refused(text, "n:1: blocks are nested too deeply");
}

static int bytes_read(void *context, const char *path, char **ret_text, size_t *ret_size,
		      struct failure *why)
{
	(void)context;
	(void)path;
	(void)why;
	*ret_text = malloc(5);
	*ret_size = 5;
	if (!*ret_text)
		return -ENOMEM;
	memcpy(*ret_text, "a\0b;\n", 5);
	return 0;
}

static void a_file_with_a_nul_byte_is_refused(void **state)
{
	const struct nginx_conf_files files = {.read = bytes_read, .match = made_match};
	struct nginx_conf conf;
	struct failure why;

	(void)state;
	assert_int_equal(nginx_conf_read("n", &files, &conf, &why), -EINVAL);
	assert_string_equal(why.reason, "n: it has a NUL byte");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directives_end_at_semicolons_and_blocks_nest),
		cmocka_unit_test(comments_begin_where_words_could),
		cmocka_unit_test(a_brace_is_text_within_a_word_or_after_a_dollar),
		cmocka_unit_test(quotes_keep_what_parts_words),
		cmocka_unit_test(a_backslash_stays_but_before_what_it_escapes),
		cmocka_unit_test(what_is_not_the_language_is_refused_with_its_line),
		cmocka_unit_test(code_of_lua_is_skipped),
		cmocka_unit_test(an_include_is_what_its_file_holds),
		cmocka_unit_test(a_pattern_includes_all_that_match_or_nothing),
		cmocka_unit_test(directives_know_their_file_and_line),
		cmocka_unit_test(a_failure_in_an_included_file_is_told_with_its_place),
		cmocka_unit_test(a_file_that_includes_itself_ends),
		cmocka_unit_test(blocks_nest_so_deep_and_no_deeper),
		cmocka_unit_test(a_file_with_a_nul_byte_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
