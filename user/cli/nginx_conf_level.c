/* SPDX-License-Identifier: MIT */
#include "cli/nginx_conf_level.h"

#include <stddef.h>
#include <string.h>

struct conf_level conf_level_outermost(void)
{
	return (struct conf_level){.headers = "draft", .status = "429"};
}

/* The last word of the level's directive of that name, or what was inherited. */
static const char *setting_of(const struct conf_level *level, const char *name,
			      const char *inherited)
{
	const struct nginx_directive *directive = nginx_directive_find(level->inside, name);

	return directive && directive->words_count == 2 ? directive->words[1] : inherited;
}

/* Whether nothing of the level's but variables is set before its return. */
static bool returns(const struct nginx_directive *directive)
{
	for (; directive; directive = directive->next) {
		if (nginx_directive_is(directive, "return"))
			return true;
		if (nginx_directive_is(directive, "if") ||
		    nginx_directive_is(directive, "rewrite") ||
		    nginx_directive_is(directive, "break"))
			return false;
	}
	return false;
}

struct conf_level conf_level_inside(const struct conf_level *outer,
				    const struct nginx_directive *block)
{
	struct conf_level level = *outer;
	const struct nginx_directive *weir = nginx_directive_find(block->inside, "weir");

	level.inside = block->inside;
	if (weir)
		level.weir = weir;
	level.headers = setting_of(&level, "weir_headers", outer->headers);
	level.status = setting_of(&level, "weir_refusal_status", outer->status);
	level.hides =
		!strcmp(setting_of(&level, "weir_reveal", outer->hides ? "off" : "on"), "off");
	level.returns = returns(block->inside);
	return level;
}

const char *conf_level_fields(const struct conf_level *level)
{
	static const char *const names[][2] = {
		{"draft", "Retry-After, RateLimit"},
		{"legacy", "Retry-After, X-RateLimit"},
		{"both", "Retry-After, RateLimit, X-RateLimit"},
	};

	if (level->hides)
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(level->headers, names[i][0]))
			return names[i][1];
	}
	return "Retry-After";
}

bool conf_level_shows_policy(const struct conf_level *level)
{
	return !level->hides &&
	       (!strcmp(level->headers, "draft") || !strcmp(level->headers, "both"));
}
