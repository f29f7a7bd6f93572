/* SPDX-License-Identifier: MIT */
/* The variables: $weir_address, and what was decided. */
#include "http/ngx_http_weir.h"

#define NUMBER_SIZE NGX_INT64_LEN
#define HASH_SIZE   16 /* hexadecimal digits */

ngx_int_t ngx_http_weir_value_set(ngx_http_variable_value_t *value, u_char *bytes, size_t size)
{
	value->len = size;
	value->valid = 1;
	value->no_cacheable = 0;
	value->not_found = 0;
	value->data = bytes;
	return NGX_OK;
}

ngx_int_t ngx_http_weir_value_absent(ngx_http_variable_value_t *value)
{
	value->not_found = 1;
	return NGX_OK;
}

static ngx_int_t value_set_number(ngx_http_request_t *r, ngx_http_variable_value_t *value,
				  uint64_t number)
{
	u_char *bytes = ngx_pnalloc(r->pool, NUMBER_SIZE);

	if (!bytes)
		return NGX_ERROR;
	return ngx_http_weir_value_set(value, bytes,
				       (size_t)(ngx_sprintf(bytes, "%uL", number) - bytes));
}

/* Absent where the peer has no address (a unix socket), and where an application asks: a key is
 * then empty, and a log has "-". */
static ngx_int_t address_get(ngx_http_request_t *r, ngx_http_variable_value_t *value,
			     uintptr_t unused)
{
	struct ngx_http_weir_source source = ngx_http_weir_source(r);
	u_char *bytes;

	(void)unused;
	if (source.is_nameless)
		return ngx_http_weir_value_set(value, (u_char *)NGX_HTTP_WEIR_NAMELESS,
					       sizeof(NGX_HTTP_WEIR_NAMELESS) - 1);
	if (!source.address.family)
		return ngx_http_weir_value_absent(value);
	bytes = ngx_pnalloc(r->pool, PREFIX_TEXT_SIZE);
	if (!bytes)
		return NGX_ERROR;
	prefix_format((char *)bytes, PREFIX_TEXT_SIZE, &source.address);
	return ngx_http_weir_value_set(value, bytes, ngx_strlen(bytes));
}

ngx_str_t ngx_http_weir_status(const ngx_http_weir_decision_t *decision)
{
	static const ngx_str_t enforced[] = {
		[NGX_HTTP_WEIR_PASSED] = ngx_string("PASSED"),
		[NGX_HTTP_WEIR_DELAYED] = ngx_string("DELAYED"),
		[NGX_HTTP_WEIR_REFUSED] = ngx_string("REFUSED"),
		[NGX_HTTP_WEIR_OVERFLOW] = ngx_string("OVERFLOW"),
		[NGX_HTTP_WEIR_BANNED] = ngx_string("BANNED"),
	};
	static const ngx_str_t observed[] = {
		[NGX_HTTP_WEIR_DELAYED] = ngx_string("DELAYED_OBSERVED"),
		[NGX_HTTP_WEIR_REFUSED] = ngx_string("REFUSED_OBSERVED"),
		[NGX_HTTP_WEIR_OVERFLOW] = ngx_string("OVERFLOW_OBSERVED"),
	};

	return (decision->is_observed ? observed : enforced)[decision->outcome];
}

static ngx_int_t status_get(ngx_http_request_t *r, ngx_http_variable_value_t *value,
			    uintptr_t unused)
{
	ngx_http_weir_decision_t *decision = ngx_http_weir_decision(r);
	ngx_str_t name;

	(void)unused;
	if (!decision)
		return ngx_http_weir_value_absent(value);
	name = ngx_http_weir_status(decision);
	return ngx_http_weir_value_set(value, name.data, name.len);
}

/* The decision once it is known which charge it speaks of. *ret is NULL where nothing was decided.
 */
static ngx_int_t decision_told(ngx_http_request_t *r, ngx_http_weir_decision_t **ret)
{
	*ret = ngx_http_weir_decision(r);
	return *ret && !ngx_http_weir_policies(r, *ret) ? NGX_ERROR : NGX_OK;
}

static ngx_int_t zone_get(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t unused)
{
	ngx_http_weir_decision_t *decision;
	ngx_str_t *name;

	(void)unused;
	if (decision_told(r, &decision))
		return NGX_ERROR;
	if (!decision)
		return ngx_http_weir_value_absent(value);
	name = &decision->limits[decision->telling]->zone->name;
	return ngx_http_weir_value_set(value, name->data, name->len);
}

enum { NUMBER_LIMIT, NUMBER_REMAINING, NUMBER_RETRY_AFTER };

static ngx_int_t number_get(ngx_http_request_t *r, ngx_http_variable_value_t *value,
			    uintptr_t which)
{
	ngx_http_weir_decision_t *decision;
	const struct answer *answer;

	if (decision_told(r, &decision) || (decision && ngx_http_weir_settle(r, decision)))
		return NGX_ERROR;
	if (!decision || (which == NUMBER_RETRY_AFTER && !decision->retry_after))
		return ngx_http_weir_value_absent(value);
	if (which == NUMBER_RETRY_AFTER)
		return value_set_number(r, value, decision->retry_after);
	answer = &decision->policies[decision->telling].answer;
	return value_set_number(r, value,
				which == NUMBER_LIMIT ? answer->limit : answer->remaining);
}

static ngx_int_t key_hash_get(ngx_http_request_t *r, ngx_http_variable_value_t *value,
			      uintptr_t unused)
{
	ngx_http_weir_decision_t *decision;
	u_char *bytes;

	(void)unused;
	if (decision_told(r, &decision))
		return NGX_ERROR;
	if (!decision)
		return ngx_http_weir_value_absent(value);
	bytes = ngx_pnalloc(r->pool, HASH_SIZE);
	if (!bytes)
		return NGX_ERROR;
	ngx_sprintf(bytes, "%016xL", decision->charges[decision->telling].key.hash);
	return ngx_http_weir_value_set(value, bytes, HASH_SIZE);
}

enum { ASKED_METHOD, ASKED_PATH };

static ngx_int_t asked_get(ngx_http_request_t *r, ngx_http_variable_value_t *value, uintptr_t which)
{
	const ngx_http_weir_asked_t *asked = ngx_http_weir_asked(r);
	const ngx_str_t *text;

	if (!asked)
		return ngx_http_weir_value_absent(value);
	text = which == ASKED_METHOD ? &asked->method : &asked->path;
	if (!text->len)
		return ngx_http_weir_value_absent(value);
	return ngx_http_weir_value_set(value, text->data, text->len);
}

static const ngx_http_variable_t variables[] = {
	{.name = ngx_string("weir_address"), .get_handler = address_get},
	{.name = ngx_string("weir_status"), .get_handler = status_get},
	{.name = ngx_string("weir_zone"), .get_handler = zone_get},
	{.name = ngx_string("weir_limit"), .get_handler = number_get, .data = NUMBER_LIMIT},
	{.name = ngx_string("weir_remaining"), .get_handler = number_get, .data = NUMBER_REMAINING},
	{.name = ngx_string("weir_retry_after"),
	 .get_handler = number_get,
	 .data = NUMBER_RETRY_AFTER},
	{.name = ngx_string("weir_key_hash"), .get_handler = key_hash_get},
	{.name = ngx_string("weir_method"), .get_handler = asked_get, .data = ASKED_METHOD},
	{.name = ngx_string("weir_uri"), .get_handler = asked_get, .data = ASKED_PATH},
};

/* They change when the request is decided, or when a front tells of another. */
ngx_int_t ngx_http_weir_add_variables(ngx_conf_t *cf)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		ngx_str_t name = variables[i].name;
		ngx_http_variable_t *variable =
			ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);

		if (!variable)
			return NGX_ERROR;
		variable->get_handler = variables[i].get_handler;
		variable->data = variables[i].data;
	}
	return NGX_OK;
}
