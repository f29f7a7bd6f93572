/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "cli/http_conf.h"

#define BLANKS        " \t"
#define PORT_MAX      65535
#define HOST_SIZE     254 /* RFC 1035 2.3.4 */
#define UNIX_PATH_MAX 107 /* sun_path less its end */

/* What nginx takes as it stands, wherever it is in a word: no blank, quote, brace, semicolon,
 * backslash, dollar or hash. A prefix's '%' could match nothing: nginx compares decoded paths. */
#define PLAIN      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"
#define PATH_PLAIN PLAIN "/~+,:=@!&*"

static bool is_of(const char *text, size_t length, const char *characters)
{
	return strspn(text, characters) >= length;
}

static bool is_port(const char *text)
{
	unsigned int port = 0;

	if (!*text || strlen(text) > 5 || text[strspn(text, "0123456789")])
		return false;
	for (; *text; text++)
		port = port * 10 + (unsigned int)(*text - '0');
	return port >= 1 && port <= PORT_MAX;
}

static bool is_bracketed_ipv6(const char *text, size_t length)
{
	char address[PREFIX_TEXT_SIZE];
	struct prefix prefix;

	if (length < 4 || length - 2 >= sizeof(address) || text[0] != '[' ||
	    text[length - 1] != ']')
		return false;
	memcpy(address, text + 1, length - 2);
	address[length - 2] = '\0';
	return strchr(address, ':') && !strchr(address, '/') && prefix_parse(address, &prefix);
}

static bool is_host(const char *text, size_t length)
{
	if (text[0] == '[')
		return is_bracketed_ipv6(text, length);
	return length && length < HOST_SIZE && text[0] != '-' && is_of(text, length, PLAIN);
}

static bool is_unix(const char *text)
{
	size_t length = strlen(text);

	return !strncmp(text, "unix:/", 6) && text[6] && length - 5 <= UNIX_PATH_MAX &&
	       is_of(text + 5, length - 5, PLAIN "/~+,=@");
}

static bool is_place(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (!strncmp(text, "unix:", 5))
		return is_unix(text);
	return colon && is_host(text, (size_t)(colon - text)) && is_port(colon + 1);
}

int http_conf_set_listen(struct http_conf *conf, const char *text, struct failure *why)
{
	bool is_any = !strncmp(text, "*:", 2) && is_port(text + 2);

	/* Nor a port alone, with which nginx would listen on every address. */
	if (!is_any && !is_place(text))
		return failure_set(why, EINVAL,
				   "it is not an address with its port, such as 127.0.0.1:8080, "
				   "[::1]:8080, *:8080 or unix:/run/front.sock");
	snprintf(conf->listen, sizeof(conf->listen), "%s", text);
	return 0;
}

int http_conf_set_upstream(struct http_conf *conf, const char *text, struct failure *why)
{
	if (!is_place(text))
		return failure_set(why, EINVAL,
				   "it is not an address with its port and nothing else, such as "
				   "127.0.0.1:3000, [::1]:3000, name:3000 or unix:/run/app.sock");
	snprintf(conf->upstream, sizeof(conf->upstream), "%s", text);
	return 0;
}

/* The next of the words that blanks part; false where it is missing or does not fit. */
static bool word_take(const char **text, char *word, size_t size)
{
	size_t length;

	*text += strspn(*text, BLANKS);
	length = strcspn(*text, BLANKS);
	if (!length || length >= size)
		return false;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length;
	return true;
}

static bool words_read(const char *text, struct http_limit *ret)
{
	return word_take(&text, ret->prefix, sizeof(ret->prefix)) &&
	       word_take(&text, ret->capacity, sizeof(ret->capacity)) &&
	       word_take(&text, ret->rate, sizeof(ret->rate)) && !text[strspn(text, BLANKS)];
}

/* nginx compares paths after it resolved "//", "/./" and "/../". */
static bool is_resolved(const char *prefix)
{
	const char *segment = prefix + 1;

	for (const char *slash; (slash = strchr(segment, '/')); segment = slash + 1) {
		size_t length = (size_t)(slash - segment);

		if (!length || (length <= 2 && !strncmp(segment, "..", length)))
			return false;
	}
	return strcmp(segment, ".") && strcmp(segment, "..");
}

static int prefix_check(const char *prefix, struct failure *why)
{
	if (prefix[0] != '/')
		return failure_set(why, EINVAL, "its path '%s' does not start with /", prefix);
	if (!is_of(prefix, strlen(prefix), PATH_PLAIN))
		return failure_set(why, EINVAL,
				   "its path can only have letters, digits and /-._~+,:=@!&*");
	if (!is_resolved(prefix))
		return failure_set(why, EINVAL,
				   "no request's path keeps an empty, '.' or '..' part");
	return 0;
}

static int rule_read(struct http_limit *limit, struct failure *why)
{
	uint64_t capacity;
	struct rate rate;

	if (!count_parse(limit->capacity, &capacity))
		return failure_set(why, EINVAL,
				   "its capacity '%s' is not a whole number of at least 1",
				   limit->capacity);
	if (!rate_parse(limit->rate, &rate))
		return failure_set(why, EINVAL,
				   "its rate '%s' is not a rate with its unit, such as 1/s or "
				   "5/min",
				   limit->rate);
	return rule_build(ALGORITHM_TOKEN_BUCKET, capacity, &rate, &limit->rule, why);
}

int http_limit_parse(const char *text, struct http_limit *ret, struct failure *why)
{
	struct http_limit limit = {0};
	int err;

	if (!words_read(text, &limit))
		return failure_set(why, EINVAL,
				   "it is not a path, a capacity and a rate, such as "
				   "'/login 5 1/s'");
	err = prefix_check(limit.prefix, why);
	if (!err)
		err = rule_read(&limit, why);
	if (err)
		return err;
	*ret = limit;
	return 0;
}

static bool prefix_is_taken(const struct http_conf *conf, const char *prefix)
{
	for (size_t i = 0; i < conf->limits_count; i++) {
		if (!strcmp(conf->limits[i].prefix, prefix))
			return true;
	}
	return false;
}

static bool zone_is_taken(const struct http_conf *conf, const char *zone)
{
	for (size_t i = 0; i < conf->limits_count; i++) {
		if (!strcmp(conf->limits[i].zone, zone))
			return true;
	}
	return false;
}

/* "/API/v1/" is "api-v1", "/" is "root". */
static void zone_of_prefix(const char *prefix, char zone[HTTP_ZONE_SIZE])
{
	size_t length = 0;

	for (; *prefix && length < HTTP_ZONE_SIZE - 1; prefix++) {
		if (isalnum((unsigned char)*prefix) || *prefix == '_')
			zone[length++] = (char)tolower((unsigned char)*prefix);
		else if (length && zone[length - 1] != '-')
			zone[length++] = '-';
	}
	while (length && zone[length - 1] == '-')
		length--;
	zone[length] = '\0';
	if (!length)
		snprintf(zone, HTTP_ZONE_SIZE, "root");
}

/* The second that would have a name is NAME-2. */
static void zone_name(const struct http_conf *conf, struct http_limit *limit)
{
	char name[HTTP_ZONE_SIZE];

	zone_of_prefix(limit->prefix, name);
	snprintf(limit->zone, sizeof(limit->zone), "%s", name);
	for (unsigned int i = 2; zone_is_taken(conf, limit->zone); i++) {
		char number[16];
		int room = HTTP_ZONE_SIZE - 1 - snprintf(number, sizeof(number), "-%u", i);

		snprintf(limit->zone, sizeof(limit->zone), "%.*s%s", room, name, number);
	}
}

int http_conf_add_limit(struct http_conf *conf, const char *text, struct failure *why)
{
	struct http_limit limit;
	int err;

	if (conf->limits_count == HTTP_LIMITS_MAX)
		return failure_set(why, EINVAL, "there can be %d limits", HTTP_LIMITS_MAX);
	err = http_limit_parse(text, &limit, why);
	if (err)
		return err;
	if (prefix_is_taken(conf, limit.prefix))
		return failure_set(why, EINVAL, "its path has a limit already");
	zone_name(conf, &limit);
	conf->limits[conf->limits_count++] = limit;
	return 0;
}

/* As one word, whatever it contains. */
static void quoted_write(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* A directive whose value is a name in nginx's directory. */
static void within_write(const struct http_conf *conf, const char *directive, const char *name,
			 FILE *out)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", conf->directory, name);
	fprintf(out, "%s ", directive);
	quoted_write(path, out);
	fputs(";\n", out);
}

static void process_write(const struct http_conf *conf, FILE *out)
{
	fputs("load_module ", out);
	quoted_write(conf->module, out);
	fputs(";\n", out);
	if (conf->user)
		fprintf(out, "user %s %s;\n", conf->user, conf->group);
	fputs("worker_processes auto;\n", out);
	if (conf->directory)
		within_write(conf, "pid", "nginx.pid", out);
	fputs("error_log stderr;\n"
	      "\n"
	      "events {\n"
	      "	worker_connections 1024;\n"
	      "}\n",
	      out);
}

/* nginx makes them all when it starts, needed or not. */
static void temporary_write(const struct http_conf *conf, FILE *out)
{
	static const char *const kinds[] = {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char directive[32];

		snprintf(directive, sizeof(directive), "	%s_temp_path", kinds[i]);
		within_write(conf, directive, kinds[i], out);
	}
}

/* Whoever connects to a unix socket has no address, and what has none would not be limited. */
static void address_write(const struct http_conf *conf, FILE *out)
{
	if (!strncmp(conf->listen, "unix:", 5))
		fputs("	# A client is whom the proxy before us names; of IPv6 its /64.\n"
		      "	weir_address x-forwarded-for from=unix:;\n",
		      out);
	else
		fputs("	# A client is the address that connects; of IPv6 its /64.\n"
		      "	weir_address peer;\n",
		      out);
}

static void zones_write(const struct http_conf *conf, FILE *out)
{
	address_write(conf, out);
	if (conf->directory)
		within_write(conf, "	weir_dir", HTTP_CONF_ZONES, out);
	for (size_t i = 0; i < conf->limits_count; i++)
		fprintf(out, "	weir_zone %s key=$weir_address capacity=%s rate=%s;\n",
			conf->limits[i].zone, conf->limits[i].capacity, conf->limits[i].rate);
}

static void upstream_write(const struct http_conf *conf, FILE *out)
{
	fprintf(out,
		"	upstream application {\n"
		"		server %s;\n"
		"		keepalive 32;\n"
		"	}\n",
		conf->upstream);
}

/* Requests and answers pass through as they are: nothing is too large, nothing goes to a disk. */
static const char proxy_settings[] =
	"		client_max_body_size 0;\n"
	"		proxy_request_buffering off;\n"
	"		proxy_max_temp_file_size 0;\n"
	"		proxy_http_version 1.1;\n"
	"		proxy_set_header Connection \"\";\n"
	"		proxy_set_header Host $http_host;\n"
	"		proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n"
	"		proxy_set_header X-Forwarded-Proto $scheme;\n";

static void location_write(const char *location, const char *zone, FILE *out)
{
	fprintf(out, "\n		location %s {\n", location);
	if (zone)
		fprintf(out, "			weir %s;\n", zone);
	fputs("			proxy_pass http://application;\n"
	      "		}\n",
	      out);
}

/* Of the longest prefix that the path starts with; NULL: none. */
static const char *zone_of_path(const struct http_conf *conf, const char *path)
{
	const char *zone = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < conf->limits_count; i++) {
		size_t length = strlen(conf->limits[i].prefix);

		if (length <= longest || strncmp(conf->limits[i].prefix, path, length) != 0)
			continue;
		longest = length;
		zone = conf->limits[i].zone;
	}
	return zone;
}

/* For "/api/", "/api": nginx would redirect it to the other, before any limit and the application.
 */
static void unslashed_write(const struct http_conf *conf, const char *prefix, FILE *out)
{
	char location[2 + HTTP_PREFIX_SIZE] = "= ";
	char *path = location + 2;
	size_t length = strlen(prefix) - 1;

	if (!length || prefix[length] != '/')
		return;
	memcpy(path, prefix, length);
	path[length] = '\0';
	location_write(location, zone_of_path(conf, path), out);
}

static void server_write(const struct http_conf *conf, FILE *out)
{
	bool has_root = false;

	fprintf(out,
		"	server {\n"
		"		listen %s;\n"
		"%s",
		conf->listen, proxy_settings);
	for (size_t i = 0; i < conf->limits_count; i++) {
		has_root |= !strcmp(conf->limits[i].prefix, "/");
		location_write(conf->limits[i].prefix, conf->limits[i].zone, out);
		unslashed_write(conf, conf->limits[i].prefix, out);
	}
	if (!has_root)
		location_write("/", NULL, out);
	fputs("	}\n", out);
}

void http_conf_write(const struct http_conf *conf, FILE *out)
{
	fputs("# Written by weir http run. The longest prefix that a path starts with limits it.\n",
	      out);
	process_write(conf, out);
	fputs("\nhttp {\n"
	      "	access_log off;\n",
	      out);
	if (conf->directory)
		temporary_write(conf, out);
	fputc('\n', out);
	zones_write(conf, out);
	fputc('\n', out);
	upstream_write(conf, out);
	fputc('\n', out);
	server_write(conf, out);
	fputs("}\n", out);
}
