/* SPDX-License-Identifier: MIT */
/* What works and is likely a mistake: warnings of nginx -t. */
#include "http/ngx_http_weir_conf.h"

#define REFUND_LOSS_FELT_NS 10000000000ULL

/* Not in every nginx. */
extern ngx_module_t ngx_http_rewrite_module __attribute__((weak));

/* How the configuration of nginx's rewrite module begins, whose type is its own. */
typedef struct {
	ngx_array_t *codes; /* of uintptr_t */
} rewrite_loc_conf_t;

/* The configuration of the location being merged, of any module. */
static void *sibling_conf(ngx_conf_t *cf, const ngx_module_t *module)
{
	return ((ngx_http_conf_ctx_t *)cf->ctx)->loc_conf[module->ctx_index];
}

/* return is the first thing its rewrite phase does, which comes before ours. */
static bool only_returns(ngx_conf_t *cf)
{
	const rewrite_loc_conf_t *rewrite;

	if (!&ngx_http_rewrite_module)
		return false;
	rewrite = sibling_conf(cf, &ngx_http_rewrite_module);
	return rewrite->codes && rewrite->codes->nelts &&
	       *(ngx_http_script_code_pt *)rewrite->codes->elts == ngx_http_script_return_code;
}

static bool has_zone(const ngx_array_t *limits, const ngx_http_weir_zone_t *zone)
{
	const ngx_http_weir_limit_t *limit = limits->elts;

	for (ngx_uint_t i = 0; i < limits->nelts; i++) {
		if (limit[i].zone == zone)
			return true;
	}
	return false;
}

static void lint_dropped(ngx_conf_t *cf, const ngx_http_weir_loc_conf_t *parent,
			 const ngx_http_weir_loc_conf_t *conf, const ngx_str_t *location)
{
	const ngx_http_weir_limit_t *own = conf->limits->elts;
	const ngx_http_weir_limit_t *outer;

	if (!parent->limits)
		return;
	outer = parent->limits->elts;
	for (ngx_uint_t i = 0; i < parent->limits->nelts; i++) {
		if (has_zone(conf->limits, outer[i].zone))
			continue;
		ngx_log_error(NGX_LOG_WARN, cf->log, 0,
			      "location \"%V\" has limits of its own and so drops zone \"%V\" of "
			      "the level above in %V:%ui",
			      location, &outer[i].zone->name, &own->place.file, own->place.line);
	}
}

static bool begins(const ngx_str_t *name, const char *start)
{
	size_t size = ngx_strlen(start);

	return name->len >= size && !ngx_strncmp(name->data, start, size);
}

static bool is_any(const ngx_str_t *name, const char *const *names)
{
	for (; *names; names++) {
		if (begins(name, *names) && name->len == ngx_strlen(*names))
			return true;
	}
	return false;
}

/* What a client can send as it likes, and nothing has verified yet. */
static bool is_claim(const ngx_str_t *text)
{
	static const char *const names[] = {"remote_user", "proxy_add_x_forwarded_for", NULL};
	ngx_str_t name = ngx_http_weir_variable_name(text);

	return begins(&name, "http_") || begins(&name, "cookie_") || begins(&name, "arg_") ||
	       is_any(&name, names);
}

/* Keyed by an address that costs something to change, ours or another of nginx's. */
static bool is_address_zone(const ngx_http_weir_zone_t *zone)
{
	static const char *const names[] = {"remote_addr", "binary_remote_addr",
					    "proxy_protocol_addr", "realip_remote_addr", NULL};
	const ngx_http_complex_value_t *keys = zone->keys->elts;
	ngx_str_t name = ngx_http_weir_variable_name(&keys->value);

	return zone->is_address || (zone->keys->nelts == 1 && is_any(&name, names));
}

static bool is_claimed_zone(const ngx_http_weir_zone_t *zone)
{
	const ngx_http_complex_value_t *keys = zone->keys->elts;

	for (ngx_uint_t i = 0; i < zone->keys->nelts; i++) {
		if (is_claim(&keys[i].value))
			return true;
	}
	return false;
}

static void lint_claims(ngx_conf_t *cf, const ngx_array_t *limits)
{
	const ngx_http_weir_limit_t *limit = limits->elts;
	bool has_address = false;

	for (ngx_uint_t i = 0; i < limits->nelts; i++)
		has_address |= is_address_zone(limit[i].zone) && !limit[i].zone->observe;
	for (ngx_uint_t i = 0; i < limits->nelts && !has_address; i++) {
		if (!is_claimed_zone(limit[i].zone))
			continue;
		ngx_log_error(NGX_LOG_WARN, cf->log, 0,
			      "zone \"%V\" is keyed by what the client claims, and each new claim "
			      "has a full bucket: put a zone keyed by $weir_address beside it, or "
			      "map known keys in %V:%ui",
			      &limit[i].zone->name, &limit[i].place.file, limit[i].place.line);
	}
}

/* A client that sets its own limit also fills the zone's table of limits. */
static void lint_chosen(ngx_conf_t *cf, const ngx_array_t *limits)
{
	const ngx_http_weir_limit_t *limit = limits->elts;

	for (ngx_uint_t i = 0; i < limits->nelts; i++) {
		const ngx_http_weir_zone_t *zone = limit[i].zone;

		if ((zone->capacity && is_claim(&zone->capacity->value)) ||
		    (zone->rate && is_claim(&zone->rate->value)))
			ngx_log_error(NGX_LOG_WARN, cf->log, 0,
				      "zone \"%V\" lets the client say its own limit: map what it "
				      "sends to limits of yours in %V:%ui",
				      &zone->name, &zone->place.file, zone->place.line);
	}
}

/* A bucket that yields a unit within the time of some responses: what it yields meanwhile is not
 * given back (rule_refund), so that many successes at once run it dry. */
static bool keeps_refunds(const struct rule *rule)
{
	return !algorithm_is_window(rule->algorithm) &&
	       rule->rate.period_ns / rule->rate.count < REFUND_LOSS_FELT_NS;
}

static void lint_refunds(ngx_conf_t *cf, const ngx_array_t *limits)
{
	const ngx_http_weir_limit_t *limit = limits->elts;

	for (ngx_uint_t i = 0; i < limits->nelts; i++) {
		if (!limit[i].refund_on || !keeps_refunds(&limit[i].zone->settings.main))
			continue;
		ngx_log_error(NGX_LOG_WARN, cf->log, 0,
			      "zone \"%V\" is a bucket of over 6/min, which keeps part of each "
			      "refund, as \"algorithm=sliding-window\" does not, in %V:%ui",
			      &limit[i].zone->name, &limit[i].place.file, limit[i].place.line);
	}
}

/* Anybody can make a field unreadable, and is exempt then. */
static void lint_forms(ngx_conf_t *cf, const ngx_array_t *limits)
{
	const ngx_http_weir_main_conf_t *conf =
		ngx_http_conf_get_module_main_conf(cf, ngx_http_weir_module);
	const ngx_http_weir_limit_t *limit = limits->elts;

	for (ngx_uint_t i = 0; i < limits->nelts; i++) {
		const ngx_http_weir_zone_t *zone = limit[i].zone;

		if (ngx_http_weir_form_keys(conf, zone) < zone->keys->nelts)
			continue;
		ngx_log_error(NGX_LOG_WARN, cf->log, 0,
			      "zone \"%V\" is keyed by a field of the body alone, and who makes it "
			      "unreadable is exempt: give it a second \"key=$weir_address\" in "
			      "%V:%ui",
			      &zone->name, &zone->place.file, zone->place.line);
	}
}

void ngx_http_weir_lint(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *parent,
			ngx_http_weir_loc_conf_t *conf, bool is_inherited)
{
	const ngx_http_core_loc_conf_t *core = sibling_conf(cf, &ngx_http_core_module);
	const ngx_http_weir_limit_t *limit = conf->limits->elts;

	if (core->noname || !conf->limits->nelts)
		return;
	if (only_returns(cf))
		ngx_log_error(NGX_LOG_WARN, cf->log, 0,
			      "location \"%V\" only returns, which is done before any limit in "
			      "%V:%ui",
			      &core->name, &limit->place.file, limit->place.line);
	if (is_inherited)
		return;
	lint_dropped(cf, parent, conf, &core->name);
	lint_claims(cf, conf->limits);
	lint_forms(cf, conf->limits);
	lint_chosen(cf, conf->limits);
	lint_refunds(cf, conf->limits);
}
