/* SPDX-License-Identifier: MIT */
#include "cli/nginx_conf_key.h"

#include <ctype.h>
#include <string.h>

#define NAME_SIZE 64 /* longer names have no words */

/* The name of the variable that the text is and nothing else, or an empty one. */
static void variable_name(char buf[NAME_SIZE], const char *text)
{
	bool braced = text[0] == '$' && text[1] == '{';
	const char *name = text + (braced ? 2 : 1), *end = name;

	buf[0] = '\0';
	if (text[0] != '$')
		return;
	while (isalnum((unsigned char)*end) || *end == '_')
		end++;
	if (!strcmp(end, braced ? "}" : "") && (size_t)(end - name) < NAME_SIZE)
		snprintf(buf, NAME_SIZE, "%.*s", (int)(end - name), name);
}

/* The field of a weir_form_field that fills the variable, or NULL. */
static const char *form_field_of(const struct nginx_directive *http, const char *variable)
{
	for (; (http = nginx_directive_find(http, "weir_form_field")); http = http->next) {
		if (http->words_count > 2 && !strcmp(http->words[1], variable))
			return http->words[2];
	}
	return NULL;
}

/* What is behind the prefix, or NULL. */
static const char *name_after(const char *prefix, const char *name)
{
	size_t length = strlen(prefix);

	return strncmp(name, prefix, length) ? NULL : name + length;
}

/* "x_api_key" is the field X-Api-Key. */
static void header_write(FILE *out, const char *name)
{
	bool begins = true;

	fputs("header ", out);
	for (; *name; name++) {
		fputc(*name == '_' ? '-' : begins ? toupper((unsigned char)*name) : *name, out);
		begins = *name == '_';
	}
}

void conf_key_write(FILE *out, const char *text, const struct nginx_directive *http)
{
	static const char *const words[][2] = {
		{"weir_address", "client address"},
		{"binary_remote_addr", "client address"},
		{"remote_addr", "client address"},
		{"remote_user", "user name"},
		{"uri", "path"},
		{"host", "host"},
	};
	const char *field = form_field_of(http, text), *rest;
	char name[NAME_SIZE];

	variable_name(name, text);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(name, words[i][0])) {
			fputs(words[i][1], out);
			return;
		}
	}
	if (field)
		fprintf(out, "form field %s", field);
	else if ((rest = name_after("http_", name)))
		header_write(out, rest);
	else if ((rest = name_after("cookie_", name)))
		fprintf(out, "cookie %s", rest);
	else if ((rest = name_after("arg_", name)))
		fprintf(out, "argument %s", rest);
	else
		fputs(text, out);
}

bool conf_key_is_address(const char *text)
{
	char name[NAME_SIZE];

	variable_name(name, text);
	return !strcmp(name, "weir_address");
}
