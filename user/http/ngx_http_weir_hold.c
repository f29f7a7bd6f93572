/* SPDX-License-Identifier: MIT */
/* Requests that pass, but not yet. */
#include "http/ngx_http_weir.h"

#define NSEC_PER_MSEC 1000000ULL

/* Requests that this worker holds. */
static ngx_int_t held;

bool ngx_http_weir_may_hold(ngx_http_request_t *r)
{
	ngx_http_weir_main_conf_t *conf = ngx_http_get_module_main_conf(r, ngx_http_weir_module);

	return held < conf->held_max;
}

void ngx_http_weir_hold_forget(ngx_http_weir_decision_t *decision)
{
	if (decision->is_held)
		held--;
	decision->is_held = false;
}

uint64_t ngx_http_weir_charge_hold_ns(const ngx_http_weir_decision_t *decision, ngx_uint_t at)
{
	const struct zone_charge *charge = &decision->charges[at];
	const ngx_http_weir_limit_t *limit = decision->limits[at];

	if (!limit->may_hold || charge->status != ZONE_PASSED)
		return 0;
	return rule_hold_ns(&charge->zone->rules[charge->rule], charge->pair.state, charge->cost,
			    limit->burst, charge->now_ns);
}

/* As long as the timer runs, only a client that leaves is listened for. */
static void hold_end(ngx_http_request_t *r)
{
	ngx_http_weir_decision_t *decision = ngx_http_weir_decision(r);
	ngx_event_t *write = r->connection->write;

	if (write->delayed) {
		if (ngx_handle_write_event(write, 0))
			ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
		return;
	}
	ngx_http_weir_hold_forget(decision);
	if (ngx_handle_read_event(r->connection->read, 0)) {
		ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
		return;
	}
	r->read_event_handler = ngx_http_block_reading;
	r->write_event_handler = ngx_http_core_run_phases;
	ngx_http_core_run_phases(r);
}

ngx_int_t ngx_http_weir_hold(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	uint64_t hold_ms = (decision->hold_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;

	if (ngx_handle_read_event(r->connection->read, 0))
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	for (ngx_uint_t i = 0; i < decision->enforced; i++) {
		if (ngx_http_weir_charge_hold_ns(decision, i))
			zone_count(decision->charges[i].zone, ZONE_COUNT_DELAYED);
	}
	decision->is_held = true;
	held++;
	r->read_event_handler = ngx_http_test_reading;
	r->write_event_handler = hold_end;
	r->connection->write->delayed = 1;
	ngx_add_timer(r->connection->write, (ngx_msec_t)hold_ms);
	return NGX_AGAIN;
}
