/* SPDX-License-Identifier: MIT */
/* What is told of a decision, and a refusal's response. */
#include "http/ngx_http_weir.h"

static void ban_answer(const ngx_http_weir_decision_t *decision, struct reply_policy *policy)
{
	policy->answer = (struct answer){
		.limit = policy->rule->capacity,
		.retry_after_ns = decision->ban_ns,
		.next_after_ns = decision->ban_ns,
		.reset_after_ns = decision->ban_ns,
	};
}

static void policy_write(const ngx_http_weir_decision_t *decision, ngx_uint_t at,
			 struct reply_policy *ret)
{
	const struct zone_charge *charge = &decision->charges[at];
	const ngx_http_weir_zone_t *zone = decision->limits[at]->zone;

	ret->name = (const char *)zone->name.data;
	ret->rule = ngx_http_weir_is_overflow(charge) ? &charge->zone->overflow_rule
						      : &charge->zone->rules[charge->rule];
	ret->refused = charge->status == ZONE_REFUSED || charge->status == ZONE_OVERFLOW_REFUSED;
	if (decision->ban_ns)
		ban_answer(decision, ret);
	else
		zone_answer(charge, &ret->answer);
}

struct reply_policy *ngx_http_weir_policies(ngx_http_request_t *r,
					    ngx_http_weir_decision_t *decision)
{
	ngx_uint_t count = decision->enforced + decision->observed;
	struct reply_policy *policies = decision->policies;

	if (policies)
		return policies;
	policies = ngx_palloc(r->pool, count * sizeof(*policies));
	if (!policies)
		return NULL;
	for (ngx_uint_t i = 0; i < count; i++)
		policy_write(decision, i, &policies[i]);
	if (decision->outcome == NGX_HTTP_WEIR_PASSED || decision->refused)
		decision->telling =
			(ngx_uint_t)(reply_tightest(policies, decision->enforced
								      ? decision->enforced
								      : count) -
				     policies);
	decision->policies = policies;
	return policies;
}

ngx_int_t ngx_http_weir_settle(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	struct reply_policy *policies;

	if (!decision->refused || decision->settled)
		return NGX_OK;
	policies = ngx_http_weir_policies(r, decision);
	if (!policies)
		return NGX_ERROR;
	decision->settled = true;
	decision->wait_ns =
		decision->hold_ns ? decision->hold_ns : reply_wait_ns(policies, decision->enforced);
	if (decision->wait_ns && decision->conf->jitter_sec)
		decision->wait_ns += NS_PER_SECOND * ((uint64_t)ngx_random() %
						      ((uint64_t)decision->conf->jitter_sec + 1));
	decision->retry_after = reply_seconds(decision->wait_ns);
	return NGX_OK;
}

/* One that nginx would take: not from within another, unless recursive_error_pages. */
static bool has_error_page(ngx_http_request_t *r, ngx_uint_t status)
{
	ngx_http_core_loc_conf_t *core = ngx_http_get_module_loc_conf(r, ngx_http_core_module);
	ngx_http_err_page_t *page;

	if (!core->error_pages || r->error_page)
		return false;
	page = core->error_pages->elts;
	for (ngx_uint_t i = 0; i < core->error_pages->nelts; i++) {
		if (page[i].status == (ngx_int_t)status)
			return true;
	}
	return false;
}

/* NULL without memory. */
static ngx_buf_t *body_write(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	const ngx_http_weir_loc_conf_t *conf = decision->conf;
	ngx_uint_t count = conf->reveal ? decision->enforced : 0;
	size_t size = REPLY_BODY_SIZE + count * REPLY_POLICY_SIZE;
	struct reply_policy *policies = ngx_http_weir_policies(r, decision);
	ngx_buf_t *body = ngx_create_temp_buf(r->pool, size);

	if (!policies || !body || ngx_http_weir_settle(r, decision))
		return NULL;
	if (conf->body == NGX_HTTP_WEIR_BODY_JSON)
		body->last += reply_body_json((char *)body->pos, size,
					      conf->reveal ? decision->retry_after : 0);
	else
		body->last += reply_body_problem((char *)body->pos, size,
						 (unsigned int)conf->status, policies, count);
	return body;
}

void ngx_http_weir_type_set(ngx_http_request_t *r, const ngx_str_t *type)
{
	r->headers_out.content_type = *type;
	r->headers_out.content_type_len = type->len;
	r->headers_out.content_type_lowcase = NULL;
}

ngx_int_t ngx_http_weir_body_send(ngx_http_request_t *r, const ngx_str_t *type, ngx_buf_t *body)
{
	ngx_chain_t out = {.buf = body};
	ngx_int_t rc;

	body->last_buf = 1;
	body->last_in_chain = 1;
	r->headers_out.content_length_n = body->last - body->pos;
	ngx_http_weir_type_set(r, type);
	rc = ngx_http_send_header(r);
	/* NGX_AGAIN: it waits for the client to read, and the body behind it. */
	if (rc != NGX_ERROR && rc <= NGX_OK && !r->header_only)
		rc = ngx_http_output_filter(r, &out);
	return rc;
}

ngx_int_t ngx_http_weir_refusal_send(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	static const ngx_str_t json = ngx_string("application/json");
	static const ngx_str_t problem = ngx_string("application/problem+json");
	bool is_json = decision->conf->body == NGX_HTTP_WEIR_BODY_JSON;
	ngx_buf_t *body;

	if (decision->conf->body == NGX_HTTP_WEIR_BODY_OFF)
		return (ngx_int_t)decision->conf->status;
	body = body_write(r, decision);
	if (!body)
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	/* Where an error page led here, over its status. */
	r->err_status = decision->conf->status;
	return ngx_http_weir_body_send(r, is_json ? &json : &problem, body);
}

/* From within a phase. */
static ngx_int_t refusal_finish(ngx_http_request_t *r, ngx_http_weir_decision_t *decision,
				bool is_grpc)
{
	if (ngx_http_discard_request_body(r))
		r->keepalive = 0;
	ngx_http_finalize_request(r, is_grpc ? ngx_http_weir_grpc_refuse(r, decision)
					     : ngx_http_weir_refusal_send(r, decision));
	return NGX_DONE;
}

ngx_int_t ngx_http_weir_refuse(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	bool is_grpc = ngx_http_weir_is_grpc(r);

	/* Which may want the body. */
	if (!is_grpc && has_error_page(r, decision->conf->status))
		return (ngx_int_t)decision->conf->status;
	/* No 100 is sent, so whether a body follows is the client's choice: only a new connection
	 * is in step for sure (RFC 9110, 10.1.1). */
	if (r->headers_in.expect && !r->request_body) {
		r->expect_tested = 1;
		r->keepalive = 0;
	}
	return refusal_finish(r, decision, is_grpc);
}
