/* SPDX-License-Identifier: MIT */
/* The directives, but for weir_zone (ngx_http_weir_zone_conf.c). */
#include "http/ngx_http_weir.h"

#define ANYWHERE (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF)

#define HELD_MAX_DEFAULT    1024
#define HELD_MAX_MAX        1000000
#define IPV6_PREFIX_DEFAULT 64
#define STATUS_MIN          400
#define STATUS_MAX          599
#define JITTER_MAX_SEC      3600

/* The value of "name=value" where word is of that form. */
static char *parameter_of(ngx_str_t *word, const char *name)
{
	size_t size = ngx_strlen(name);

	if (word->len <= size || ngx_strncmp(word->data, name, size) || word->data[size] != '=')
		return NULL;
	return (char *)word->data + size + 1;
}

static char *parameter_bad(ngx_conf_t *cf, ngx_str_t *word)
{
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"", word);
	return NGX_CONF_ERROR;
}

static char *address_parameter(ngx_conf_t *cf, ngx_http_weir_main_conf_t *conf, ngx_str_t *word)
{
	char *text = parameter_of(word, "from");
	struct prefix prefix, *place;
	uint8_t length;

	if (text && !ngx_strcmp(text, "unix:")) {
		conf->trusts_unix = true;
		return NGX_CONF_OK;
	}
	if (text && prefix_parse(text, &prefix)) {
		place = ngx_array_push(&conf->trusted);
		if (!place)
			return NGX_CONF_ERROR;
		*place = prefix;
		return NGX_CONF_OK;
	}
	text = parameter_of(word, "ipv6-prefix");
	if (!text || !prefix_length_parse(text, 128, &length))
		return parameter_bad(cf, word);
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

static char *limit_cost(ngx_conf_t *cf, ngx_http_weir_limit_t *limit, ngx_str_t *word)
{
	char *text = parameter_of(word, "cost");
	ngx_str_t value = {word->len - (size_t)(text - (char *)word->data), (u_char *)text};

	if (ngx_http_script_variables_count(&value)) {
		limit->cost = ngx_http_weir_compile(cf, &value);
		return limit->cost ? NGX_CONF_OK : NGX_CONF_ERROR;
	}
	if (!ngx_strcmp(text, "0")) {
		limit->fixed_cost = 0;
		return NGX_CONF_OK;
	}
	if (!count_parse(text, &limit->fixed_cost))
		return parameter_bad(cf, word);
	return NGX_CONF_OK;
}

static char *limit_parameter(ngx_conf_t *cf, ngx_http_weir_limit_t *limit, ngx_str_t *word)
{
	char *delay = parameter_of(word, "delay");

	if (parameter_of(word, "cost"))
		return limit_cost(cf, limit, word);
	if (!delay && ngx_strcmp(word->data, "nodelay"))
		return parameter_bad(cf, word);
	if (limit->hold_given)
		return "has \"delay=\" or \"nodelay\" twice";
	limit->hold_given = true;
	limit->may_hold = delay != NULL;
	limit->burst = 0;
	if (!delay || !ngx_strcmp(delay, "0") || count_parse(delay, &limit->burst))
		return NGX_CONF_OK;
	return parameter_bad(cf, word);
}

static char *limits_off(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf)
{
	if (cf->args->nelts != 2)
		return "takes no parameter after \"off\"";
	if (conf->limits)
		return "has \"off\" beside a zone";
	conf->limits = ngx_array_create(cf->pool, 1, sizeof(ngx_http_weir_limit_t));
	return conf->limits ? NGX_CONF_OK : NGX_CONF_ERROR;
}

/* One that is not limited already by the zone. */
static char *limit_add(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf, ngx_http_weir_zone_t *zone,
		       ngx_http_weir_limit_t **ret)
{
	ngx_http_weir_limit_t *limit;

	if (conf->limits && !conf->limits->nelts)
		return "has \"off\" beside a zone";
	if (!conf->limits)
		conf->limits = ngx_array_create(cf->pool, 2, sizeof(ngx_http_weir_limit_t));
	if (!conf->limits)
		return NGX_CONF_ERROR;
	limit = conf->limits->elts;
	for (ngx_uint_t i = 0; i < conf->limits->nelts; i++) {
		if (limit[i].zone == zone)
			return "is duplicate";
	}
	limit = ngx_array_push(conf->limits);
	if (!limit)
		return NGX_CONF_ERROR;
	ngx_memzero(limit, sizeof(*limit));
	*ret = limit;
	return NGX_CONF_OK;
}

static char *weir_directive(ngx_conf_t *cf, ngx_command_t *command, void *opaque)
{
	ngx_str_t *words = cf->args->elts;
	ngx_http_weir_limit_t *limit;
	ngx_http_weir_zone_t *zone;
	char *rc;

	(void)command;
	if (!ngx_strcmp(words[1].data, "off"))
		return limits_off(cf, opaque);
	zone = ngx_http_weir_zone_named(cf, &words[1]);
	if (!zone)
		return NGX_CONF_ERROR;
	rc = limit_add(cf, opaque, zone, &limit);
	if (rc)
		return rc;
	zone->used = true;
	limit->zone = zone;
	limit->fixed_cost = 1;
	limit->place = ngx_http_weir_place(cf);
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++) {
		rc = limit_parameter(cf, limit, &words[i]);
		if (rc)
			return rc;
	}
	return NGX_CONF_OK;
}

/* nginx closes the connection at some statuses, and shows others of its own as 400. */
static bool status_is_plain(ngx_uint_t status)
{
	return status >= STATUS_MIN && status <= STATUS_MAX && status != 408 && status != 444 &&
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
			   STATUS_MIN, STATUS_MAX);
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
	{ngx_string("weir"), ANYWHERE | NGX_CONF_1MORE, weir_directive, NGX_HTTP_LOC_CONF_OFFSET, 0,
	 NULL},
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
	    ngx_array_init(&conf->trusted, cf->pool, 4, sizeof(struct prefix)))
		return NULL;
	conf->held_max = NGX_CONF_UNSET;
	conf->ipv6_prefix = IPV6_PREFIX_DEFAULT;
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

/* Now that every zone is known: what each algorithm takes. */
static char *limit_check(ngx_conf_t *cf, ngx_http_weir_limit_t *limit)
{
	const ngx_http_weir_zone_t *zone = limit->zone;
	const char *fault = NULL;

	if (!zone->defined)
		fault = "is not defined";
	else if (limit->hold_given && algorithm_is_window(zone->settings.main.algorithm))
		fault = "is of windows, which hold nothing back: no \"delay=\" or \"nodelay\"";
	else if (!limit->cost && !zone->capacity &&
		 limit->fixed_cost > zone->settings.main.capacity)
		fault = "has less capacity than the cost of one request";
	else if (limit->may_hold && !zone->capacity && limit->burst > zone->settings.main.capacity)
		fault = "has less capacity than \"delay=\"";
	if (!fault) {
		if (!limit->hold_given)
			limit->may_hold = zone->settings.main.algorithm == ALGORITHM_LEAKY_BUCKET;
		return NGX_CONF_OK;
	}
	ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "weir zone \"%V\" %s in %V:%ui", &zone->name,
		      fault, &limit->place.file, limit->place.line);
	return NGX_CONF_ERROR;
}

char *ngx_http_weir_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
	ngx_http_weir_loc_conf_t *outer = parent, *conf = child;
	bool is_inherited = !conf->limits;
	ngx_http_weir_limit_t *limit;

	if (is_inherited)
		conf->limits = outer->limits;
	ngx_conf_merge_uint_value(conf->fields, outer->fields, NGX_HTTP_WEIR_FIELDS_DRAFT);
	ngx_conf_merge_uint_value(conf->body, outer->body, NGX_HTTP_WEIR_BODY_PROBLEM);
	ngx_conf_merge_uint_value(conf->status, outer->status, 429);
	ngx_conf_merge_uint_value(conf->log_level, outer->log_level, NGX_LOG_WARN);
	ngx_conf_merge_value(conf->reveal, outer->reveal, 1);
	ngx_conf_merge_value(conf->exempt_preflight, outer->exempt_preflight, 0);
	ngx_conf_merge_sec_value(conf->jitter_sec, outer->jitter_sec, 0);
	if (!conf->limits)
		return NGX_CONF_OK;
	limit = conf->limits->elts;
	for (ngx_uint_t i = 0; i < conf->limits->nelts; i++) {
		if (limit_check(cf, &limit[i]))
			return NGX_CONF_ERROR;
	}
	ngx_http_weir_lint(cf, outer, conf, is_inherited);
	return ngx_http_weir_answer_prepare(cf, conf) ? NGX_CONF_ERROR : NGX_CONF_OK;
}
