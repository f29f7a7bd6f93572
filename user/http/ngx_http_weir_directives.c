/* SPDX-License-Identifier: MIT */
/* The table of directives, and those that are neither of zones (ngx_http_weir_zone_conf.c), limits
 * (ngx_http_weir_limit_conf.c) nor checks (ngx_http_weir_check_conf.c). */
#include "http/key.h"
#include "http/ngx_http_weir_conf.h"

#define ANYWHERE (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF)

#define HELD_MAX_DEFAULT 1024
#define HELD_MAX_MAX     1000000
#define REFUSAL_MIN      400
#define REFUSAL_MAX      599
#define JITTER_MAX_SEC   3600

ngx_int_t ngx_http_weir_from(ngx_str_t *word, ngx_array_t *prefixes, bool *trusts_unix)
{
	char *text = ngx_http_weir_parameter(word, "from");
	struct prefix prefix, *place;

	if (text && !ngx_strcmp(text, "unix:")) {
		*trusts_unix = true;
		return NGX_OK;
	}
	if (!text || !prefix_parse(text, &prefix))
		return NGX_DECLINED;
	place = ngx_array_push(prefixes);
	if (!place)
		return NGX_ERROR;
	*place = prefix;
	return NGX_OK;
}

bool ngx_http_weir_is_from(const ngx_array_t *prefixes, bool trusts_unix, const struct prefix *peer)
{
	return peer->family ? prefixes_contain(prefixes->elts, prefixes->nelts, peer) : trusts_unix;
}

static char *address_parameter(ngx_conf_t *cf, ngx_http_weir_main_conf_t *conf, ngx_str_t *word)
{
	ngx_int_t rc = ngx_http_weir_from(word, &conf->trusted, &conf->trusts_unix);
	uint8_t length;
	char *text;

	if (rc != NGX_DECLINED)
		return rc ? NGX_CONF_ERROR : NGX_CONF_OK;
	text = ngx_http_weir_parameter(word, "ipv6-prefix");
	if (!text || !prefix_length_parse(text, 128, &length))
		return ngx_http_weir_parameter_bad(cf, word);
	conf->ipv6_prefix = length;
	return NGX_CONF_OK;
}

static const ngx_conf_enum_t address_headers[] = {
	{ngx_string("peer"), FORWARDED_NONE},
	{ngx_string("x-forwarded-for"), FORWARDED_X_FORWARDED_FOR},
	{ngx_string("forwarded"), FORWARDED_FORWARDED},
	{ngx_null_string, 0},
};

static char *address_header(ngx_conf_t *cf, ngx_http_weir_main_conf_t *conf, ngx_str_t *word)
{
	if (!ngx_strcasecmp(word->data, (u_char *)"proxy-protocol")) {
		conf->proxy_protocol = true;
		return NGX_CONF_OK;
	}
	for (const ngx_conf_enum_t *at = address_headers; at->name.len; at++) {
		if (at->name.len != word->len || ngx_strcasecmp(at->name.data, word->data))
			continue;
		conf->header = (enum forwarded_header)at->value;
		return NGX_CONF_OK;
	}
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
			   "invalid source \"%V\", it must be \"peer\", \"x-forwarded-for\", "
			   "\"forwarded\" or \"proxy-protocol\"",
			   word);
	return NGX_CONF_ERROR;
}

static char *address_directive(ngx_conf_t *cf, ngx_command_t *command, void *opaque)
{
	ngx_http_weir_main_conf_t *conf = opaque;
	ngx_str_t *words = cf->args->elts;
	bool has_from;

	(void)command;
	if (conf->address_set)
		return "is duplicate";
	conf->address_set = 1;
	if (address_header(cf, conf, &words[1]))
		return NGX_CONF_ERROR;
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++) {
		if (address_parameter(cf, conf, &words[i]))
			return NGX_CONF_ERROR;
	}
	has_from = conf->trusted.nelts || conf->trusts_unix;
	if (has_from == (conf->header != FORWARDED_NONE || conf->proxy_protocol))
		return NGX_CONF_OK;
	return has_from ? "takes no \"from=\" with \"peer\", which needs no trust"
			: "needs \"from=\": whose header is to be believed";
}

/* nginx closes the connection at some statuses, and shows others of its own as 400. */
static bool status_is_plain(ngx_uint_t status)
{
	return status >= REFUSAL_MIN && status <= REFUSAL_MAX && status != 408 && status != 444 &&
	       (status < 494 || status > 499);
}

static char *status_check(ngx_conf_t *cf, void *post, void *data)
{
	(void)post;
	if (status_is_plain(*(ngx_uint_t *)data))
		return NGX_CONF_OK;
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
			   "the status must be %d to %d, but for 408, 444 and 494 to 499, which "
			   "mean something else to nginx",
			   REFUSAL_MIN, REFUSAL_MAX);
	return NGX_CONF_ERROR;
}

static char *jitter_check(ngx_conf_t *cf, void *post, void *data)
{
	(void)post;
	if (*(time_t *)data <= JITTER_MAX_SEC)
		return NGX_CONF_OK;
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the jitter must be at most %ds", JITTER_MAX_SEC);
	return NGX_CONF_ERROR;
}

static char *held_check(ngx_conf_t *cf, void *post, void *data)
{
	(void)post;
	if (*(ngx_int_t *)data <= HELD_MAX_MAX)
		return NGX_CONF_OK;
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "it must be 0 to %d", HELD_MAX_MAX);
	return NGX_CONF_ERROR;
}

static ngx_conf_post_t status_post = {status_check};
static ngx_conf_post_t jitter_post = {jitter_check};
static ngx_conf_post_t held_post = {held_check};

static ngx_conf_enum_t fields_words[] = {
	{ngx_string("off"), NGX_HTTP_WEIR_FIELDS_OFF},
	{ngx_string("draft"), NGX_HTTP_WEIR_FIELDS_DRAFT},
	{ngx_string("legacy"), NGX_HTTP_WEIR_FIELDS_LEGACY},
	{ngx_string("both"), NGX_HTTP_WEIR_FIELDS_BOTH},
	{ngx_null_string, 0},
};

static ngx_conf_enum_t body_words[] = {
	{ngx_string("off"), NGX_HTTP_WEIR_BODY_OFF},
	{ngx_string("problem"), NGX_HTTP_WEIR_BODY_PROBLEM},
	{ngx_string("json"), NGX_HTTP_WEIR_BODY_JSON},
	{ngx_null_string, 0},
};

static ngx_conf_enum_t level_words[] = {
	{ngx_string("info"), NGX_LOG_INFO},
	{ngx_string("notice"), NGX_LOG_NOTICE},
	{ngx_string("warn"), NGX_LOG_WARN},
	{ngx_string("error"), NGX_LOG_ERR},
	{ngx_null_string, 0},
};

/* A directive of one value in the main or the location's configuration. */
#define MAIN_VALUE(directive, set, field, post)                                                \
	{                                                                                      \
		ngx_string(directive), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set,               \
			NGX_HTTP_MAIN_CONF_OFFSET, offsetof(ngx_http_weir_main_conf_t, field), \
			post                                                                   \
	}
#define LOC_VALUE(directive, takes, set, field, post)                                     \
	{                                                                                 \
		ngx_string(directive), ANYWHERE | (takes), set, NGX_HTTP_LOC_CONF_OFFSET, \
			offsetof(ngx_http_weir_loc_conf_t, field), post                   \
	}

ngx_command_t ngx_http_weir_commands[] = {
	{ngx_string("weir_address"), NGX_HTTP_MAIN_CONF | NGX_CONF_1MORE, address_directive,
	 NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL},
	{ngx_string("weir_zone"), NGX_HTTP_MAIN_CONF | NGX_CONF_2MORE, ngx_http_weir_zone,
	 NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL},
	MAIN_VALUE("weir_dir", ngx_conf_set_str_slot, dir, NULL),
	MAIN_VALUE("weir_held_max", ngx_conf_set_num_slot, held_max, &held_post),
	{ngx_string("weir_penalty"), NGX_HTTP_MAIN_CONF | NGX_CONF_2MORE, ngx_http_weir_penalty,
	 NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL},
	{ngx_string("weir_form_field"), NGX_HTTP_MAIN_CONF | NGX_CONF_2MORE,
	 ngx_http_weir_form_field, NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL},
	{ngx_string("weir_check"), NGX_HTTP_LOC_CONF | NGX_CONF_1MORE, ngx_http_weir_check,
	 NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
	{ngx_string("weir_route"), NGX_HTTP_LOC_CONF | NGX_CONF_2MORE, ngx_http_weir_route,
	 NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
	{ngx_string("weir_cors"), ANYWHERE | NGX_CONF_1MORE, ngx_http_weir_cors,
	 NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
	{ngx_string("weir"), ANYWHERE | NGX_CONF_1MORE, ngx_http_weir_limit,
	 NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
	LOC_VALUE("weir_headers", NGX_CONF_TAKE1, ngx_conf_set_enum_slot, fields, fields_words),
	LOC_VALUE("weir_body", NGX_CONF_TAKE1, ngx_conf_set_enum_slot, body, body_words),
	LOC_VALUE("weir_log_level", NGX_CONF_TAKE1, ngx_conf_set_enum_slot, log_level, level_words),
	LOC_VALUE("weir_refusal_status", NGX_CONF_TAKE1, ngx_conf_set_num_slot, status,
		  &status_post),
	LOC_VALUE("weir_retry_jitter", NGX_CONF_TAKE1, ngx_conf_set_sec_slot, jitter_sec,
		  &jitter_post),
	LOC_VALUE("weir_reveal", NGX_CONF_FLAG, ngx_conf_set_flag_slot, reveal, NULL),
	LOC_VALUE("weir_exempt_preflight", NGX_CONF_FLAG, ngx_conf_set_flag_slot, exempt_preflight,
		  NULL),
	ngx_null_command,
};

void *ngx_http_weir_create_main_conf(ngx_conf_t *cf)
{
	ngx_http_weir_main_conf_t *conf = ngx_pcalloc(cf->pool, sizeof(*conf));

	if (!conf || ngx_array_init(&conf->zones, cf->pool, 4, sizeof(ngx_http_weir_zone_t *)) ||
	    ngx_array_init(&conf->trusted, cf->pool, 4, sizeof(struct prefix)) ||
	    ngx_array_init(&conf->form_names, cf->pool, 4, sizeof(ngx_str_t)))
		return NULL;
	conf->held_max = NGX_CONF_UNSET;
	conf->ipv6_prefix = KEY_IPV6_PREFIX_DEFAULT;
	return conf;
}

char *ngx_http_weir_init_main_conf(ngx_conf_t *cf, void *opaque)
{
	ngx_http_weir_main_conf_t *conf = opaque;

	ngx_conf_init_value(conf->held_max, HELD_MAX_DEFAULT);
	if (!conf->dir.len) {
		ngx_str_set(&conf->dir, ZONE_DIRECTORY);
	}
	return ngx_conf_full_name(cf->cycle, &conf->dir, 0) ? NGX_CONF_ERROR : NGX_CONF_OK;
}

void *ngx_http_weir_create_loc_conf(ngx_conf_t *cf)
{
	ngx_http_weir_loc_conf_t *conf = ngx_pcalloc(cf->pool, sizeof(*conf));

	if (!conf)
		return NULL;
	conf->fields = NGX_CONF_UNSET_UINT;
	conf->body = NGX_CONF_UNSET_UINT;
	conf->status = NGX_CONF_UNSET_UINT;
	conf->log_level = NGX_CONF_UNSET_UINT;
	conf->reveal = NGX_CONF_UNSET;
	conf->exempt_preflight = NGX_CONF_UNSET;
	conf->jitter_sec = NGX_CONF_UNSET;
	return conf;
}

char *ngx_http_weir_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
	ngx_http_weir_loc_conf_t *outer = parent, *conf = child;
	bool is_inherited = !conf->limits;

	if (is_inherited)
		conf->limits = outer->limits;
	ngx_conf_merge_uint_value(conf->fields, outer->fields, NGX_HTTP_WEIR_FIELDS_DRAFT);
	ngx_conf_merge_uint_value(conf->body, outer->body, NGX_HTTP_WEIR_BODY_PROBLEM);
	ngx_conf_merge_uint_value(conf->status, outer->status, 429);
	ngx_conf_merge_uint_value(conf->log_level, outer->log_level, NGX_LOG_WARN);
	ngx_conf_merge_value(conf->reveal, outer->reveal, 1);
	ngx_conf_merge_value(conf->exempt_preflight, outer->exempt_preflight, 0);
	ngx_conf_merge_sec_value(conf->jitter_sec, outer->jitter_sec, 0);
	if (!conf->origins) {
		conf->origins = outer->origins;
		conf->shares_credentials = outer->shares_credentials;
	}
	if (ngx_http_weir_check_inherit(cf, outer, conf))
		return NGX_CONF_OK;
	if (conf->check)
		return ngx_http_weir_check_verify(cf, conf, !is_inherited);
	if (!conf->limits)
		return NGX_CONF_OK;
	if (ngx_http_weir_limits_check(cf, conf->limits))
		return NGX_CONF_ERROR;
	ngx_http_weir_lint(cf, outer, conf, is_inherited);
	return ngx_http_weir_fields_prepare(cf, conf) ? NGX_CONF_ERROR : NGX_CONF_OK;
}
