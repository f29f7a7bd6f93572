/* SPDX-License-Identifier: MIT */
/* What the client is told: a refusal's response, and the fields of every response of a limited
 * route. */
#include "http/ngx_http_weir.h"

#define PREPARED_MAX 16 /* zones of a location whose policy is written beforehand */

static ngx_http_output_header_filter_pt next_header_filter;

static void policy_write(const ngx_http_weir_decision_t *decision, ngx_uint_t at,
			 struct reply_policy *ret)
{
	const struct zone_charge *charge = &decision->charges[at];
	const ngx_http_weir_zone_t *zone = decision->limits[at]->zone;

	ret->name = (const char *)zone->name.data;
	ret->rule = ngx_http_weir_is_overflow(charge) ? &charge->zone->overflow_rule
						      : &charge->zone->rules[charge->rule];
	ret->refused = charge->status == ZONE_REFUSED || charge->status == ZONE_OVERFLOW_REFUSED;
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
	decision->retry_after = decision->hold_ns ? reply_seconds(decision->hold_ns)
						  : reply_retry_after(policies, decision->enforced);
	if (decision->retry_after && decision->conf->jitter_sec)
		decision->retry_after +=
			(uint64_t)ngx_random() % ((uint64_t)decision->conf->jitter_sec + 1);
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
	body->last_buf = 1;
	body->last_in_chain = 1;
	return body;
}

static void body_type_set(ngx_http_request_t *r, ngx_uint_t body)
{
	static const ngx_str_t json = ngx_string("application/json");
	static const ngx_str_t problem = ngx_string("application/problem+json");

	r->headers_out.content_type = body == NGX_HTTP_WEIR_BODY_JSON ? json : problem;
	r->headers_out.content_type_len = r->headers_out.content_type.len;
	r->headers_out.content_type_lowcase = NULL;
}

static ngx_int_t body_send(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	ngx_buf_t *body = body_write(r, decision);
	ngx_chain_t out = {.buf = body};
	ngx_int_t rc;

	if (!body)
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	if (ngx_http_discard_request_body(r))
		r->keepalive = 0;
	/* Where an error page led here, over its status. */
	r->err_status = decision->conf->status;
	r->headers_out.content_length_n = body->last - body->pos;
	body_type_set(r, decision->conf->body);
	rc = ngx_http_send_header(r);
	/* NGX_AGAIN: it waits for the client to read, and the body behind it. */
	if (rc != NGX_ERROR && rc <= NGX_OK && !r->header_only)
		rc = ngx_http_output_filter(r, &out);
	ngx_http_finalize_request(r, rc);
	return NGX_DONE;
}

ngx_int_t ngx_http_weir_refuse(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	/* Which may want the body. */
	if (has_error_page(r, decision->conf->status))
		return (ngx_int_t)decision->conf->status;
	/* No 100 is sent, so whether a body follows is the client's choice: only a new connection
	 * is in step for sure (RFC 9110, 10.1.1). */
	if (r->headers_in.expect) {
		r->expect_tested = 1;
		r->keepalive = 0;
	}
	if (decision->conf->body == NGX_HTTP_WEIR_BODY_OFF)
		return (ngx_int_t)decision->conf->status;
	return body_send(r, decision);
}

static void field_remove(ngx_http_request_t *r, const ngx_str_t *name)
{
	ngx_list_part_t *part = &r->headers_out.headers.part;

	for (; part; part = part->next) {
		ngx_table_elt_t *field = part->elts;

		for (ngx_uint_t i = 0; i < part->nelts; i++) {
			if (ngx_http_weir_is_named(&field[i], name))
				field[i].hash = 0;
		}
	}
}

/* In place of whatever there is of that name. */
static ngx_int_t field_set(ngx_http_request_t *r, const ngx_str_t *name, u_char *value, size_t size)
{
	ngx_table_elt_t *field;

	field_remove(r, name);
	field = ngx_list_push(&r->headers_out.headers);
	if (!field)
		return NGX_ERROR;
	ngx_memzero(field, sizeof(*field));
	field->hash = 1;
	field->key = *name;
	field->value.data = value;
	field->value.len = size;
	return NGX_OK;
}

static ngx_int_t field_set_number(ngx_http_request_t *r, const ngx_str_t *name, uint64_t number)
{
	u_char *value = ngx_pnalloc(r->pool, NGX_INT64_LEN);

	if (!value)
		return NGX_ERROR;
	return field_set(r, name, value, (size_t)(ngx_sprintf(value, "%uL", number) - value));
}

typedef size_t (*field_writer)(char *buf, size_t size, const struct reply_policy *policies,
			       size_t count);

static ngx_int_t field_set_list(ngx_http_request_t *r, const ngx_str_t *name, field_writer write,
				const struct reply_policy *policies, ngx_uint_t count)
{
	size_t size = count * REPLY_POLICY_SIZE + 1;
	u_char *value = ngx_pnalloc(r->pool, size);

	if (!value)
		return NGX_ERROR;
	return field_set(r, name, value, write((char *)value, size, policies, count));
}

static bool is_fixed(const ngx_http_weir_zone_t *zone)
{
	return !zone->capacity && !zone->rate;
}

ngx_int_t ngx_http_weir_answer_prepare(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf)
{
	const ngx_http_weir_limit_t *limit = conf->limits->elts;
	struct reply_policy policies[PREPARED_MAX];
	size_t size;

	for (ngx_uint_t i = 0; i < conf->limits->nelts; i++) {
		const ngx_http_weir_zone_t *zone = limit[i].zone;

		if (zone->observe)
			continue;
		if (!is_fixed(zone) || conf->policies == PREPARED_MAX) {
			conf->policies = 0;
			return NGX_OK;
		}
		policies[conf->policies].name = (const char *)zone->name.data;
		policies[conf->policies++].rule = &zone->settings.main;
	}
	size = conf->policies * REPLY_POLICY_SIZE + 1;
	conf->policy.data = ngx_pnalloc(cf->pool, size);
	if (!conf->policy.data)
		return NGX_ERROR;
	conf->policy.len =
		reply_policy_field((char *)conf->policy.data, size, policies, conf->policies);
	return NGX_OK;
}

/* Whether every enforced zone of the location had its say, under its own limit. */
static bool policy_is_prepared(const ngx_http_weir_decision_t *decision)
{
	if (decision->enforced != decision->conf->policies)
		return false;
	for (ngx_uint_t i = 0; i < decision->enforced; i++) {
		if (ngx_http_weir_is_overflow(&decision->charges[i]))
			return false;
	}
	return true;
}

static ngx_int_t draft_fields_set(ngx_http_request_t *r, const ngx_http_weir_decision_t *decision)
{
	static const ngx_str_t policy = ngx_string("RateLimit-Policy");
	static const ngx_str_t limit = ngx_string("RateLimit");
	const ngx_str_t *prepared = &decision->conf->policy;
	ngx_int_t rc;

	if (policy_is_prepared(decision))
		rc = field_set(r, &policy, prepared->data, prepared->len);
	else
		rc = field_set_list(r, &policy, reply_policy_field, decision->policies,
				    decision->enforced);
	return rc ||
	       field_set_list(r, &limit, reply_limit_field, decision->policies, decision->enforced);
}

static ngx_int_t legacy_fields_set(ngx_http_request_t *r, const struct reply_policy *policies,
				   ngx_uint_t count)
{
	static const ngx_str_t limit = ngx_string("X-RateLimit-Limit");
	static const ngx_str_t remaining = ngx_string("X-RateLimit-Remaining");
	static const ngx_str_t reset = ngx_string("X-RateLimit-Reset");
	const struct answer *answer = &reply_tightest(policies, count)->answer;

	return field_set_number(r, &limit, answer->limit) ||
	       field_set_number(r, &remaining, answer->remaining) ||
	       field_set_number(r, &reset, reply_seconds_told(answer->reset_after_ns));
}

static ngx_int_t refusal_fields_set(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	static const ngx_str_t cache_control = ngx_string("Cache-Control");
	static const ngx_str_t retry_after = ngx_string("Retry-After");

	if (field_set(r, &cache_control, (u_char *)"no-store", sizeof("no-store") - 1))
		return NGX_ERROR;
	field_remove(r, &retry_after);
	if (!decision->conf->reveal)
		return NGX_OK;
	if (ngx_http_weir_settle(r, decision))
		return NGX_ERROR;
	return decision->retry_after ? field_set_number(r, &retry_after, decision->retry_after)
				     : NGX_OK;
}

static ngx_int_t limit_fields_set(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	ngx_uint_t fields = decision->conf->fields;
	struct reply_policy *policies;

	if (!fields || !decision->conf->reveal || !decision->enforced)
		return NGX_OK;
	policies = ngx_http_weir_policies(r, decision);
	if (!policies)
		return NGX_ERROR;
	if (fields & NGX_HTTP_WEIR_FIELDS_DRAFT && draft_fields_set(r, decision))
		return NGX_ERROR;
	if (fields & NGX_HTTP_WEIR_FIELDS_LEGACY &&
	    legacy_fields_set(r, policies, decision->enforced))
		return NGX_ERROR;
	return NGX_OK;
}

static ngx_int_t header_filter(ngx_http_request_t *r)
{
	ngx_http_weir_decision_t *decision = r == r->main ? ngx_http_weir_decision(r) : NULL;

	if (!decision)
		return next_header_filter(r);
	if ((decision->refused && refusal_fields_set(r, decision)) || limit_fields_set(r, decision))
		return NGX_ERROR;
	return next_header_filter(r);
}

ngx_int_t ngx_http_weir_answer_init(ngx_conf_t *cf)
{
	(void)cf;
	next_header_filter = ngx_http_top_header_filter;
	ngx_http_top_header_filter = header_filter;
	return NGX_OK;
}
