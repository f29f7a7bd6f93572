/* SPDX-License-Identifier: MIT */
/* weir ZONE: its words to a limit of a location. */
#include "http/ngx_http_weir_conf.h"

char *ngx_http_weir_parameter(ngx_str_t *word, const char *name)
{
	size_t size = ngx_strlen(name);

	if (word->len <= size || ngx_strncmp(word->data, name, size) || word->data[size] != '=')
		return NULL;
	return (char *)word->data + size + 1;
}

bool ngx_http_weir_is_repeated(const ngx_str_t *words, ngx_uint_t first, ngx_uint_t at)
{
	size_t size = strcspn((char *)words[at].data, "=") + 1; /* with what ends the name */

	for (ngx_uint_t i = first; i < at; i++) {
		if (!ngx_strncmp(words[i].data, words[at].data, size))
			return true;
	}
	return false;
}

char *ngx_http_weir_parameter_bad(ngx_conf_t *cf, ngx_str_t *word)
{
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"", word);
	return NGX_CONF_ERROR;
}

char *ngx_http_weir_limit_cost(ngx_conf_t *cf, ngx_http_weir_limit_t *limit, ngx_str_t *word)
{
	char *text = ngx_http_weir_parameter(word, "cost");
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
		return ngx_http_weir_parameter_bad(cf, word);
	return NGX_CONF_OK;
}

static char *limit_refund(ngx_conf_t *cf, ngx_http_weir_limit_t *limit, ngx_str_t *word)
{
	if (limit->refund_on)
		return "has \"refund-on=\" twice";
	limit->refund_on = ngx_palloc(cf->pool, sizeof(*limit->refund_on));
	if (!limit->refund_on)
		return NGX_CONF_ERROR;
	return status_list_parse(ngx_http_weir_parameter(word, "refund-on"), limit->refund_on)
		       ? NGX_CONF_OK
		       : ngx_http_weir_parameter_bad(cf, word);
}

static char *limit_parameter(ngx_conf_t *cf, ngx_http_weir_limit_t *limit, ngx_str_t *word)
{
	char *delay = ngx_http_weir_parameter(word, "delay");

	if (ngx_http_weir_parameter(word, "cost"))
		return ngx_http_weir_limit_cost(cf, limit, word);
	if (ngx_http_weir_parameter(word, "refund-on"))
		return limit_refund(cf, limit, word);
	if (!delay && ngx_strcmp(word->data, "nodelay"))
		return ngx_http_weir_parameter_bad(cf, word);
	if (limit->hold_given)
		return "has \"delay=\" or \"nodelay\" twice";
	limit->hold_given = true;
	limit->may_hold = delay != NULL;
	limit->burst = 0;
	if (!delay || !ngx_strcmp(delay, "0") || count_parse(delay, &limit->burst))
		return NGX_CONF_OK;
	return ngx_http_weir_parameter_bad(cf, word);
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

char *ngx_http_weir_limit_add(ngx_conf_t *cf, ngx_array_t *limits, ngx_str_t *name,
			      ngx_http_weir_limit_t **ret)
{
	ngx_http_weir_zone_t *zone = ngx_http_weir_zone_named(cf, name);
	ngx_http_weir_limit_t *limit = limits->elts;

	if (!zone)
		return NGX_CONF_ERROR;
	for (ngx_uint_t i = 0; i < limits->nelts; i++) {
		if (limit[i].zone == zone)
			return "is duplicate";
	}
	limit = ngx_array_push(limits);
	if (!limit)
		return NGX_CONF_ERROR;
	ngx_memzero(limit, sizeof(*limit));
	zone->used = true;
	limit->zone = zone;
	limit->fixed_cost = 1;
	limit->place = ngx_http_weir_place(cf);
	*ret = limit;
	return NGX_CONF_OK;
}

char *ngx_http_weir_limit(ngx_conf_t *cf, ngx_command_t *command, void *opaque)
{
	ngx_http_weir_loc_conf_t *conf = opaque;
	ngx_str_t *words = cf->args->elts;
	ngx_http_weir_limit_t *limit;
	char *rc;

	(void)command;
	if (!ngx_strcmp(words[1].data, "off"))
		return limits_off(cf, conf);
	if (conf->limits && !conf->limits->nelts)
		return "has \"off\" beside a zone";
	if (!conf->limits)
		conf->limits = ngx_array_create(cf->pool, 2, sizeof(*limit));
	if (!conf->limits)
		return NGX_CONF_ERROR;
	rc = ngx_http_weir_limit_add(cf, conf->limits, &words[1], &limit);
	if (rc)
		return rc;
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++) {
		rc = limit_parameter(cf, limit, &words[i]);
		if (rc)
			return rc;
	}
	return NGX_CONF_OK;
}

/* What each algorithm takes; NULL where all is well. */
static const char *limit_fault(const ngx_http_weir_limit_t *limit)
{
	const ngx_http_weir_zone_t *zone = limit->zone;
	const struct rule *rule = &zone->settings.main;

	if (!zone->defined)
		return "is not defined";
	if (limit->hold_given && algorithm_is_window(rule->algorithm))
		return "is of windows, which hold nothing back: no \"delay=\" or \"nodelay\"";
	if (limit->refund_on && rule->algorithm == ALGORITHM_SLIDING_LOG)
		return "is a log, which gives back too late: take \"algorithm=sliding-window\", "
		       "which is exact, for \"refund-on=\"";
	if (!limit->cost && !zone->capacity && limit->fixed_cost > rule->capacity)
		return "has less capacity than the cost of one request";
	if (limit->may_hold && !zone->capacity && limit->burst > rule->capacity)
		return "has less capacity than \"delay=\"";
	return NULL;
}

static char *limit_check(ngx_conf_t *cf, ngx_http_weir_limit_t *limit)
{
	const ngx_http_weir_zone_t *zone = limit->zone;
	const char *fault = limit_fault(limit);

	if (!fault) {
		if (!limit->hold_given)
			limit->may_hold = zone->settings.main.algorithm == ALGORITHM_LEAKY_BUCKET;
		return NGX_CONF_OK;
	}
	ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "weir zone \"%V\" %s in %V:%ui", &zone->name,
		      fault, &limit->place.file, limit->place.line);
	return NGX_CONF_ERROR;
}

char *ngx_http_weir_limits_check(ngx_conf_t *cf, ngx_array_t *limits)
{
	ngx_http_weir_limit_t *limit = limits->elts;

	for (ngx_uint_t i = 0; i < limits->nelts; i++) {
		if (limit_check(cf, &limit[i]))
			return NGX_CONF_ERROR;
	}
	return NGX_CONF_OK;
}
