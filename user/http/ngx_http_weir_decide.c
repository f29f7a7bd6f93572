/* SPDX-License-Identifier: MIT */
/* The decision, once a client request: whether all zones have room, and then pass, hold or refuse.
 */
#include "http/ngx_http_weir.h"

#include <time.h>

#define OVERFLOW_EVERY 60 /* seconds between notices of one zone and worker */

uint64_t ngx_http_weir_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

ngx_http_weir_decision_t *ngx_http_weir_decision_new(ngx_http_request_t *r,
						     ngx_http_weir_loc_conf_t *conf,
						     ngx_uint_t charges)
{
	ngx_http_weir_decision_t *decision;

	decision = ngx_palloc(r->pool, sizeof(*decision) + charges * (sizeof(*decision->charges) +
								      sizeof(*decision->limits)));
	if (!decision)
		return NULL;
	ngx_memzero(decision, sizeof(*decision));
	decision->conf = conf;
	decision->charges = (struct zone_charge *)(decision + 1);
	decision->limits = (ngx_http_weir_limit_t **)(decision->charges + charges);
	return decision;
}

/* A CORS-preflight request of the Fetch standard. */
static bool is_preflight(ngx_http_request_t *r)
{
	static const ngx_str_t origin = ngx_string("origin");
	static const ngx_str_t method = ngx_string("access-control-request-method");
	struct forwarded_line line;

	return r->method == NGX_HTTP_OPTIONS && ngx_http_weir_lines(r, &origin, &line, 1) &&
	       ngx_http_weir_lines(r, &method, &line, 1);
}

static void outcome_set(ngx_http_weir_decision_t *decision, enum ngx_http_weir_outcome outcome,
			ngx_uint_t telling)
{
	decision->outcome = outcome;
	decision->telling = telling;
}

static void refusing_find(ngx_http_weir_decision_t *decision)
{
	for (ngx_uint_t i = 0; i < decision->enforced; i++) {
		enum zone_status status = decision->charges[i].status;

		if (status == ZONE_OVERFLOW_REFUSED)
			outcome_set(decision, NGX_HTTP_WEIR_OVERFLOW, i);
		if (status == ZONE_REFUSED)
			outcome_set(decision, NGX_HTTP_WEIR_REFUSED, i);
		if (status == ZONE_REFUSED || status == ZONE_OVERFLOW_REFUSED)
			return;
	}
}

static void enforced_refused(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	decision->refused = true;
	refusing_find(decision);
	ngx_http_weir_penalty_count(r, decision);
}

static void enforced_passed(ngx_http_weir_decision_t *decision)
{
	for (ngx_uint_t i = 0; i < decision->enforced; i++) {
		uint64_t hold_ns = ngx_http_weir_charge_hold_ns(decision, i);

		if (ngx_http_weir_is_overflow(&decision->charges[i]) && !decision->hold_ns)
			outcome_set(decision, NGX_HTTP_WEIR_OVERFLOW, i);
		if (hold_ns > decision->hold_ns) {
			decision->hold_ns = hold_ns;
			outcome_set(decision, NGX_HTTP_WEIR_DELAYED, i);
		}
	}
}

/* An observed zone has a word only where the enforced ones let the request pass at once. */
static void observed_judge(ngx_http_weir_decision_t *decision)
{
	for (ngx_uint_t i = decision->enforced; i < decision->enforced + decision->observed; i++) {
		struct zone_charge *charge = &decision->charges[i];
		enum ngx_http_weir_outcome outcome = NGX_HTTP_WEIR_PASSED;

		if (!zone_take_all(charge, 1, ngx_http_weir_now_ns))
			outcome = NGX_HTTP_WEIR_REFUSED;
		else if (ngx_http_weir_charge_hold_ns(decision, i))
			outcome = NGX_HTTP_WEIR_DELAYED;
		if (ngx_http_weir_is_overflow(charge))
			outcome = NGX_HTTP_WEIR_OVERFLOW;
		if (outcome == NGX_HTTP_WEIR_PASSED || decision->outcome != NGX_HTTP_WEIR_PASSED)
			continue;
		outcome_set(decision, outcome, i);
		decision->is_observed = true;
	}
}

/* Too many are held already. After the hold there would be room at once. */
static void held_refused(ngx_http_weir_decision_t *decision)
{
	zone_refuse(decision->charges, decision->enforced, decision->telling);
	decision->refused = true;
	outcome_set(decision, NGX_HTTP_WEIR_REFUSED, decision->telling);
}

static void judge(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	if (decision->enforced &&
	    !zone_take_all(decision->charges, decision->enforced, ngx_http_weir_now_ns))
		enforced_refused(r, decision);
	else
		enforced_passed(decision);
	if (decision->hold_ns && !ngx_http_weir_may_hold(r))
		held_refused(decision);
	if (decision->refused)
		decision->observed = 0;
	else
		observed_judge(decision);
}

/* At most one line a second for a zone and worker. */
static void refusal_log(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	const struct zone_charge *charge = &decision->charges[decision->telling];
	ngx_http_weir_zone_t *zone = decision->limits[decision->telling]->zone;

	if (zone->logged_sec == ngx_time()) {
		zone->suppressed++;
		return;
	}
	if (zone->suppressed) {
		ngx_log_error(
			decision->conf->log_level, r->connection->log, 0,
			"weir refused a request, zone \"%V\", key %016xL, %ui more not logged",
			&zone->name, charge->key.hash, zone->suppressed);
	} else {
		ngx_log_error(decision->conf->log_level, r->connection->log, 0,
			      "weir refused a request, zone \"%V\", key %016xL", &zone->name,
			      charge->key.hash);
	}
	zone->logged_sec = ngx_time();
	zone->suppressed = 0;
}

static void overflow_log(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	for (ngx_uint_t i = 0; i < decision->enforced + decision->observed; i++) {
		ngx_http_weir_zone_t *zone = decision->limits[i]->zone;

		if (!ngx_http_weir_is_overflow(&decision->charges[i]) ||
		    ngx_time() - zone->overflow_logged_sec < OVERFLOW_EVERY)
			continue;
		zone->overflow_logged_sec = ngx_time();
		ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
			      "weir zone \"%V\" has no slot for a new key: it shares an overflow "
			      "bucket (entries=%uL may be too few)",
			      &zone->name, zone->settings.entries);
	}
}

void ngx_http_weir_decide(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	if (!ngx_http_weir_penalty_bans(decision))
		judge(r, decision);
	overflow_log(r, decision);
	if (decision->refused)
		refusal_log(r, decision);
}

/* NGX_DECLINED: no zone has a key for the request. NGX_AGAIN: its body has to be read first; not
 * that of a client who is banned already. */
static ngx_int_t decide(ngx_http_request_t *r, ngx_http_weir_loc_conf_t *conf,
			ngx_http_weir_request_t *kept)
{
	ngx_http_weir_decision_t *decision =
		ngx_http_weir_decision_new(r, conf, conf->limits->nelts);

	if (!decision || ngx_http_weir_form_collect(r, kept, decision))
		return NGX_ERROR;
	if (kept->wants_body && !ngx_http_weir_penalty_bans(decision))
		return NGX_AGAIN;
	if (!decision->enforced && !decision->observed)
		return NGX_DECLINED;
	kept->decision = decision;
	ngx_http_weir_decide(r, decision);
	return NGX_OK;
}

/* Never NGX_OK, which would skip the limits and checks of others. */
ngx_int_t ngx_http_weir_preaccess(ngx_http_request_t *r)
{
	ngx_http_weir_loc_conf_t *conf = ngx_http_get_module_loc_conf(r, ngx_http_weir_module);
	ngx_http_weir_request_t *kept;
	ngx_int_t rc;

	if (r != r->main || !conf->limits || !conf->limits->nelts || conf->check)
		return NGX_DECLINED;
	kept = ngx_http_weir_request(r);
	if (!kept)
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	if (kept->decision || (conf->exempt_preflight && is_preflight(r)))
		return NGX_DECLINED;
	rc = decide(r, conf, kept);
	if (rc == NGX_AGAIN)
		return ngx_http_weir_form_read(r);
	if (rc)
		return rc == NGX_DECLINED ? NGX_DECLINED : NGX_HTTP_INTERNAL_SERVER_ERROR;
	if (kept->decision->refused)
		return ngx_http_weir_refuse(r, kept->decision);
	return kept->decision->hold_ns ? ngx_http_weir_hold(r, kept->decision) : NGX_DECLINED;
}
