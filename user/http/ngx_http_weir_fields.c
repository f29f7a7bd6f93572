/* SPDX-License-Identifier: MIT */
/* The header fields of every response of a limited route. */
#include "http/ngx_http_weir.h"

#define PREPARED_MAX 16 /* zones of a location whose policy is written beforehand */

static ngx_http_output_header_filter_pt next_header_filter;

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

ngx_int_t ngx_http_weir_field_set(ngx_http_request_t *r, const ngx_str_t *name, u_char *value,
				  size_t size)
{
	field_remove(r, name);
	return ngx_http_weir_field_add(r, name, value, size);
}

ngx_int_t ngx_http_weir_field_add(ngx_http_request_t *r, const ngx_str_t *name, u_char *value,
				  size_t size)
{
	ngx_table_elt_t *field = ngx_list_push(&r->headers_out.headers);

	if (!field)
		return NGX_ERROR;
	ngx_memzero(field, sizeof(*field));
	field->hash = 1;
	field->key = *name;
	field->value.data = value;
	field->value.len = size;
	return NGX_OK;
}

ngx_int_t ngx_http_weir_field_set_number(ngx_http_request_t *r, const ngx_str_t *name,
					 uint64_t number)
{
	u_char *value = ngx_pnalloc(r->pool, NGX_INT64_LEN);

	if (!value)
		return NGX_ERROR;
	return ngx_http_weir_field_set(r, name, value,
				       (size_t)(ngx_sprintf(value, "%uL", number) - value));
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
	return ngx_http_weir_field_set(r, name, value, write((char *)value, size, policies, count));
}

static bool is_fixed(const ngx_http_weir_zone_t *zone)
{
	return !zone->capacity && !zone->rate;
}

ngx_int_t ngx_http_weir_fields_prepare(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf)
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
		rc = ngx_http_weir_field_set(r, &policy, prepared->data, prepared->len);
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

	return ngx_http_weir_field_set_number(r, &limit, answer->limit) ||
	       ngx_http_weir_field_set_number(r, &remaining, answer->remaining) ||
	       ngx_http_weir_field_set_number(r, &reset,
					      reply_seconds_told(answer->reset_after_ns));
}

static ngx_int_t refusal_fields_set(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	static const ngx_str_t cache_control = ngx_string("Cache-Control");
	static const ngx_str_t retry_after = ngx_string("Retry-After");

	if (ngx_http_weir_field_set(r, &cache_control, (u_char *)"no-store",
				    sizeof("no-store") - 1))
		return NGX_ERROR;
	field_remove(r, &retry_after);
	if (!decision->conf->reveal)
		return NGX_OK;
	if (ngx_http_weir_settle(r, decision))
		return NGX_ERROR;
	return decision->retry_after
		       ? ngx_http_weir_field_set_number(r, &retry_after, decision->retry_after)
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

/* What is said of limits is said afterwards. */
static void refund(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	if (decision->refused || decision->refunded)
		return;
	decision->refunded = true;
	for (ngx_uint_t i = 0; i < decision->enforced + decision->observed; i++) {
		const struct status_list *list = decision->limits[i]->refund_on;

		if (!list || !status_list_contains(list, (unsigned int)r->headers_out.status))
			continue;
		zone_refund(&decision->charges[i], ngx_http_weir_now_ns);
		decision->policies = NULL;
	}
}

/* A subrequest's response is its main request's, but for a check. */
static ngx_int_t header_filter(ngx_http_request_t *r)
{
	ngx_http_weir_decision_t *decision = NULL;

	if (r == r->main || ngx_http_weir_asked(r))
		decision = ngx_http_weir_decision(r);
	if (!decision)
		return next_header_filter(r);
	refund(r, decision);
	if ((decision->refused && (refusal_fields_set(r, decision) ||
				   ngx_http_weir_cors_fields_set(r, decision->conf))) ||
	    limit_fields_set(r, decision))
		return NGX_ERROR;
	return next_header_filter(r);
}

ngx_int_t ngx_http_weir_fields_init(ngx_conf_t *cf)
{
	(void)cf;
	next_header_filter = ngx_http_top_header_filter;
	ngx_http_top_header_filter = header_filter;
	return NGX_OK;
}
