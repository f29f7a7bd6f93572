/* SPDX-License-Identifier: MIT */
/* The configuration that weir http run writes: what it says, and that no argument breaks out of it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/http_conf.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static int conf_open(void **state)
{
	struct http_conf *conf = calloc(1, sizeof(*conf));
	struct failure why;

	*state = conf;
	if (!conf)
		return -ENOMEM;
	conf->module = "/lib/weir.so";
	return http_conf_set_listen(conf, "127.0.0.1:8080", &why) ||
	       http_conf_set_upstream(conf, "127.0.0.1:3000", &why);
}

static int conf_close(void **state)
{
	free(*state);
	return 0;
}

static void add(struct http_conf *conf, const char *text)
{
	struct failure why = {0};

	if (http_conf_add_limit(conf, text, &why))
		fail_msg("'%s': %s", text, why.reason);
}

/* The caller frees it. */
static char *written(const struct http_conf *conf)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	http_conf_write(conf, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void assert_written(const struct http_conf *conf, const char *part)
{
	char *text = written(conf);

	if (!strstr(text, part))
		fail_msg("'%s' lacks '%s'", text, part);
	free(text);
}

static void assert_not_written(const struct http_conf *conf, const char *part)
{
	char *text = written(conf);

	if (strstr(text, part))
		fail_msg("'%s' has '%s'", text, part);
	free(text);
}

static const char expected[] =
	"# Written by weir http run. The longest prefix that a path starts with limits it.\n"
	"load_module \"/lib/weir.so\";\n"
	"worker_processes auto;\n"
	"error_log stderr;\n"
	"\n"
	"events {\n"
	"	worker_connections 1024;\n"
	"}\n"
	"\n"
	"http {\n"
	"	access_log off;\n"
	"\n"
	"	# A client is the address that connects; of IPv6 its /64.\n"
	"	weir_address peer;\n"
	"	weir_zone login key=$weir_address capacity=5 rate=1/s;\n"
	"	weir_zone root key=$weir_address capacity=100 rate=20/s;\n"
	"\n"
	"	upstream application {\n"
	"		server 127.0.0.1:3000;\n"
	"		keepalive 32;\n"
	"	}\n"
	"\n"
	"	server {\n"
	"		listen 127.0.0.1:8080;\n"
	"		client_max_body_size 0;\n"
	"		proxy_request_buffering off;\n"
	"		proxy_max_temp_file_size 0;\n"
	"		proxy_http_version 1.1;\n"
	"		proxy_set_header Connection \"\";\n"
	"		proxy_set_header Host $http_host;\n"
	"		proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n"
	"		proxy_set_header X-Forwarded-Proto $scheme;\n"
	"\n"
	"		location /login {\n"
	"			weir login;\n"
	"			proxy_pass http://application;\n"
	"		}\n"
	"\n"
	"		location / {\n"
	"			weir root;\n"
	"			proxy_pass http://application;\n"
	"		}\n"
	"	}\n"
	"}\n";

static void the_configuration_says_what_was_asked_for(void **state)
{
	struct http_conf *conf = *state;
	char *text;

	add(conf, "/login 5 1/s");
	add(conf, "/ 100 20/s");
	text = written(conf);
	assert_string_equal(text, expected);
	free(text);
}

static void at_a_unix_socket_the_proxy_before_names_the_client(void **state)
{
	struct http_conf *conf = *state;
	struct failure why;

	assert_int_equal(http_conf_set_listen(conf, "unix:/run/front.sock", &why), 0);
	assert_written(conf, "\n	weir_address x-forwarded-for from=unix:;\n");
	assert_not_written(conf, "weir_address peer");
}

static void what_no_limit_names_is_passed_on_without_one(void **state)
{
	struct http_conf *conf = *state;

	add(conf, "/login 5 1/s");
	assert_written(conf, "		location / {\n"
			     "			proxy_pass http://application;\n"
			     "		}\n");
}

static void a_path_less_its_last_slash_has_the_limit_of_its_own(void **state)
{
	struct http_conf *conf = *state;

	add(conf, "/api/ 5 1/s");
	assert_written(conf, "		location = /api {\n"
			     "			proxy_pass http://application;\n"
			     "		}\n");
	add(conf, "/a 9 1/s");
	add(conf, "/ 100 20/s");
	assert_written(conf, "		location = /api {\n"
			     "			weir a;\n");
	assert_not_written(conf, "location =  {");
}

static void in_a_directory_nothing_is_written_elsewhere(void **state)
{
	struct http_conf *conf = *state;
	static const char *const parts[] = {
		"\npid \"/tmp/a b/nginx.pid\";\n",
		"\n	weir_dir \"/tmp/a b/zones\";\n",
		"\n	client_body_temp_path \"/tmp/a b/client_body\";\n",
		"\n	proxy_temp_path \"/tmp/a b/proxy\";\n",
		"\n	fastcgi_temp_path \"/tmp/a b/fastcgi\";\n",
		"\n	uwsgi_temp_path \"/tmp/a b/uwsgi\";\n",
		"\n	scgi_temp_path \"/tmp/a b/scgi\";\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		assert_not_written(conf, parts[i]);
	conf->directory = "/tmp/a b";
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		assert_written(conf, parts[i]);
}

static void workers_have_a_user_where_one_is_given(void **state)
{
	struct http_conf *conf = *state;

	assert_not_written(conf, "user ");
	conf->user = "www-data";
	conf->group = "web";
	assert_written(conf, "\nuser www-data web;\n");
}

static void a_path_that_nginx_must_not_read_is_quoted(void **state)
{
	struct http_conf *conf = *state;

	conf->module = "/a\"; user root; #\\x.so";
	assert_written(conf, "load_module \"/a\\\"; user root; #\\\\x.so\";\n");
}

static const char *const names[][2] = {
	{"/", "root"},
	{"/root", "root-2"},
	{"/login", "login"},
	{"/login/", "login-2"},
	{"/API/v1/Items", "api-v1-items"},
	{"/api/v1/items", "api-v1-items-2"},
	{"/a.b~c", "a-b-c"},
	{"/_x-y", "_x-y"},
	{"/~", "root-3"},
	{"/a-path-of-exactly-31-charactersX", "a-path-of-exactly-31-characters"},
	{"/a-path-of-exactly-31-charactersY", "a-path-of-exactly-31-characte-2"},
};

static void zones_are_named_after_the_path_and_unlike_each_other(void **state)
{
	struct http_conf *conf = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[HTTP_PREFIX_SIZE];

		snprintf(text, sizeof(text), "%s 5 1/s", names[i][0]);
		add(conf, text);
		assert_string_equal(conf->limits[i].zone, names[i][1]);
	}
}

static void blanks_part_the_words_of_a_limit(void **state)
{
	struct http_conf *conf = *state;

	add(conf, "  /a \t 1.5k   0.5/min ");
	assert_string_equal(conf->limits[0].prefix, "/a");
	assert_string_equal(conf->limits[0].capacity, "1.5k");
	assert_string_equal(conf->limits[0].rate, "0.5/min");
}

/* Texts, and what the sentence must contain. */
static const char *const refused_limits[][2] = {
	{"", "it is not a path, a capacity and a rate"},
	{"/login", "it is not a path, a capacity and a rate"},
	{"/login 5", "it is not a path, a capacity and a rate"},
	{"/login 5 1/s more", "it is not a path, a capacity and a rate"},
	{"login 5 1/s", "does not start with /"},
	{"~ 5 1/s", "does not start with /"},
	{"=/login 5 1/s", "does not start with /"},
	{"@name 5 1/s", "does not start with /"},
	{"5 1/s /login", "does not start with /"},
	{"/a{ 5 1/s", "can only have"},
	{"/a} 5 1/s", "can only have"},
	{"/a; 5 1/s", "can only have"},
	{"/a{return\n200;}# 5 1/s", "can only have"},
	{"/a\n 5 1/s", "can only have"},
	{"/a\r 5 1/s", "can only have"},
	{"/a\v 5 1/s", "can only have"},
	{"/a# 5 1/s", "can only have"},
	{"/a\" 5 1/s", "can only have"},
	{"/a' 5 1/s", "can only have"},
	{"/a\\ 5 1/s", "can only have"},
	{"/a$uri 5 1/s", "can only have"},
	{"/a%20b 5 1/s", "can only have"},
	{"/a?b 5 1/s", "can only have"},
	{"/\x7f 5 1/s", "can only have"},
	{"/\xc3\xa9 5 1/s", "can only have"},
	{"// 5 1/s", "no request's path"},
	{"/a//b 5 1/s", "no request's path"},
	{"/a/./b 5 1/s", "no request's path"},
	{"/a/../b 5 1/s", "no request's path"},
	{"/. 5 1/s", "no request's path"},
	{"/a/.. 5 1/s", "no request's path"},
	{"/taken 5 1/s", "has a limit already"},
	{"/a 0 1/s", "capacity '0'"},
	{"/a 1.5 1/s", "capacity '1.5'"},
	{"/a -1 1/s", "capacity '-1'"},
	{"/a $x 1/s", "capacity '$x'"},
	{"/a 5; 1/s", "capacity '5;'"},
	{"/a 5 1", "rate '1'"},
	{"/a 5 1/s;", "rate '1/s;'"},
	{"/a 5 1/s\n", "rate '1/s\n'"},
	{"/a 5 0/s", "rate '0/s'"},
	{"/a 5 $x", "rate '$x'"},
	{"/a 1G 1/day", ""},
	{"/a 5 1G/s", ""},
};

static void a_limit_that_says_anything_else_is_refused(void **state)
{
	struct http_conf *conf = *state;
	struct http_conf before;

	add(conf, "/taken 5 1/s");
	before = *conf;
	for (size_t i = 0; i < ARRAY_SIZE(refused_limits); i++) {
		struct failure why = {0};

		if (!http_conf_add_limit(conf, refused_limits[i][0], &why))
			fail_msg("'%s' was taken", refused_limits[i][0]);
		if (!why.reason[0] || !strstr(why.reason, refused_limits[i][1]))
			fail_msg("'%s' lacks '%s'", why.reason, refused_limits[i][1]);
		assert_memory_equal(conf, &before, sizeof(before));
	}
}

/* No byte that nginx could read as anything but a part of the word. */
static void no_byte_in_a_path_ends_the_word(void **state)
{
	struct http_conf *conf = *state;

	for (int byte = 1; byte < 256; byte++) {
		char text[] = "/a?b 5 1/s";
		struct failure why;

		text[2] = (char)byte;
		conf->limits_count = 0;
		if (!http_conf_add_limit(conf, text, &why))
			assert_null(strchr(" \t\r\n\v\f;{}\"'\\$#%?", byte));
		else if (strchr("abzAZ019/-._~+,:=@!&*", byte) && byte != '/')
			fail_msg("'%c': %s", byte, why.reason);
	}
}

static void lengths_have_bounds(void **state)
{
	struct http_conf *conf = *state;
	struct failure why;
	char text[4096];

	memset(text, 'a', sizeof(text));
	text[0] = '/';
	strcpy(text + HTTP_PREFIX_SIZE, " 5 1/s");
	assert_int_equal(http_conf_add_limit(conf, text, &why), -EINVAL);
	strcpy(text + HTTP_PREFIX_SIZE - 1, " 5 1/s");
	assert_int_equal(http_conf_add_limit(conf, text, &why), 0);
	memset(text, '1', sizeof(text));
	memcpy(text, "/b ", 3);
	strcpy(text + sizeof(text) - 5, " 1/s");
	assert_int_equal(http_conf_add_limit(conf, text, &why), -EINVAL);
}

static void no_more_limits_are_taken_than_there_is_room_for(void **state)
{
	struct http_conf *conf = *state;
	struct failure why;

	for (unsigned int i = 0; i < HTTP_LIMITS_MAX; i++) {
		char text[32];

		snprintf(text, sizeof(text), "/%u 5 1/s", i);
		add(conf, text);
	}
	assert_int_equal(http_conf_add_limit(conf, "/more 5 1/s", &why), -EINVAL);
	assert_string_equal(why.reason, "there can be 32 limits");
}

static const char *const places[] = {
	"127.0.0.1:8080", "[::1]:8080", "[2001:db8::1]:1",    "localhost:65535",
	"a-b.example:80", "a_b:80",     "unix:/run/app.sock", "unix:/tmp/@a,b=c~d+e-f_g",
};

static void places_are_taken_as_they_are(void **state)
{
	struct http_conf *conf = *state;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct failure why;

		assert_int_equal(http_conf_set_listen(conf, places[i], &why), 0);
		assert_string_equal(conf->listen, places[i]);
		assert_int_equal(http_conf_set_upstream(conf, places[i], &why), 0);
		assert_string_equal(conf->upstream, places[i]);
	}
}

static void every_address_is_listened_on_and_never_asked(void **state)
{
	struct http_conf *conf = *state;
	struct failure why;

	assert_int_equal(http_conf_set_listen(conf, "*:8080", &why), 0);
	assert_string_equal(conf->listen, "*:8080");
	assert_int_equal(http_conf_set_upstream(conf, "*:3000", &why), -EINVAL);
}

static const char *const refused_places[] = {
	"",
	"8080",
	"localhost",
	":8080",
	"127.0.0.1:",
	"127.0.0.1:0",
	"127.0.0.1:65536",
	"127.0.0.1:99999999999",
	"127.0.0.1:+80",
	"127.0.0.1:80 ",
	"127.0.0.1:80;",
	"127.0.0.1:80\n",
	"a b:80",
	"a;b:80",
	"a{:80",
	"a$b:80",
	"a\"b:80",
	"-a:80",
	"::1:80",
	"[::1]",
	"[::1:80",
	"[]:80",
	"[::1/64]:80",
	"[127.0.0.1]:80",
	"[::g]:80",
	"[fe80::1%eth0]:80",
	"http://127.0.0.1:80",
	"127.0.0.1:80/path",
	"127.0.0.1:80 ssl",
	"unix:",
	"unix:/",
	"unix:run/x",
	"unix:/a b",
	"unix:/a;b",
	"unix:/a:/b",
	"unix:/a\n",
};

static void a_place_that_says_anything_else_is_refused(void **state)
{
	struct http_conf *conf = *state;
	struct http_conf before = *conf;

	for (size_t i = 0; i < ARRAY_SIZE(refused_places); i++) {
		struct failure why;

		if (!http_conf_set_listen(conf, refused_places[i], &why) ||
		    !http_conf_set_upstream(conf, refused_places[i], &why))
			fail_msg("'%s' was taken", refused_places[i]);
		assert_int_equal(strncmp(why.reason, "it is not an address", 20), 0);
		assert_memory_equal(conf, &before, sizeof(before));
	}
}

static void a_socket_s_path_is_no_longer_than_the_kernel_takes(void **state)
{
	struct http_conf *conf = *state;
	struct failure why;
	char text[256];

	memset(text, 'a', sizeof(text));
	memcpy(text, "unix:/", 6);
	text[5 + 108] = '\0';
	assert_int_equal(http_conf_set_upstream(conf, text, &why), -EINVAL);
	text[5 + 107] = '\0';
	assert_int_equal(http_conf_set_upstream(conf, text, &why), 0);
	assert_string_equal(conf->upstream, text);
}

#define CONF_TEST(name) cmocka_unit_test_setup_teardown(name, conf_open, conf_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONF_TEST(the_configuration_says_what_was_asked_for),
		CONF_TEST(at_a_unix_socket_the_proxy_before_names_the_client),
		CONF_TEST(what_no_limit_names_is_passed_on_without_one),
		CONF_TEST(a_path_less_its_last_slash_has_the_limit_of_its_own),
		CONF_TEST(in_a_directory_nothing_is_written_elsewhere),
		CONF_TEST(workers_have_a_user_where_one_is_given),
		CONF_TEST(a_path_that_nginx_must_not_read_is_quoted),
		CONF_TEST(zones_are_named_after_the_path_and_unlike_each_other),
		CONF_TEST(blanks_part_the_words_of_a_limit),
		CONF_TEST(a_limit_that_says_anything_else_is_refused),
		CONF_TEST(no_byte_in_a_path_ends_the_word),
		CONF_TEST(lengths_have_bounds),
		CONF_TEST(no_more_limits_are_taken_than_there_is_room_for),
		CONF_TEST(places_are_taken_as_they_are),
		CONF_TEST(every_address_is_listened_on_and_never_asked),
		CONF_TEST(a_place_that_says_anything_else_is_refused),
		CONF_TEST(a_socket_s_path_is_no_longer_than_the_kernel_takes),
	};

	return cmocka_run_group_tests_name("http conf", tests, NULL, NULL);
}
