/* SPDX-License-Identifier: MIT */
#include "cli/nginx_conf_key.h"

#include <ctype.h>
#include <string.h>

/* The name of the variable that the text is and nothing else, or an empty one. */
static void variable_name(char *buf, size_t size, const char *text)
{
	bool braced = text[0] == '$' && text[1] == '{';
	const char *name = text + (braced ? 2 : 1), *end = name;

	buf[0] = '\0';
	if (text[0] != '$')
		return;
	while (isalnum((unsigned char)*end) || *end == '_')
		end++;
	if (!strcmp(end, braced ? "}" : "") && (size_t)(end - name) < size)
		snprintf(buf, size, "%.*s", (int)(end - name), name);
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
	const char *field = form_field_of(http, text);
	char name[64];

	variable_name(name, sizeof(name), text);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(name, words[i][0])) {
			fputs(words[i][1], out);
			return;
		}
	}
	if (field)
		fprintf(out, "form field %s", field);
	else if (!strncmp(name, "http_", 5))
		header_write(out, name + 5);
	else if (!strncmp(name, "cookie_", 7))
		fprintf(out, "cookie %s", name + 7);
	else if (!strncmp(name, "arg_", 4))
		fprintf(out, "argument %s", name + 4);
	else
		fputs(text, out);
}

bool conf_key_is_address(const char *text)
{
	char name[64];

	variable_name(name, sizeof(name), text);
	return !strcmp(name, "weir_address");
}
