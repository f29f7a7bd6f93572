/* SPDX-License-Identifier: MIT */
/* The check service's answer to a front: may that request pass? */
#include "http/ngx_http_weir.h"

/* auth_request takes any other refusal for a failure. */
#define NGINX_REFUSAL NGX_HTTP_FORBIDDEN

static ngx_int_t answer_empty(ngx_http_request_t *r, ngx_uint_t status)
{
	r->headers_out.status = status;
	r->headers_out.content_length_n = 0;
	r->header_only = 1;
	/* The conditions that came with the question are on the document asked about. */
	r->disable_not_modified = 1;
	return ngx_http_send_header(r);
}

/* The limits of the route that is asked about; NULL: it has none. */
static ngx_array_t *limits_find(const ngx_http_weir_check_t *check,
				const ngx_http_weir_asked_t *asked)
{
	ngx_array_t **limits = check->limits.elts;
	size_t at =
		route_find(check->routes.elts, check->routes.nelts, (const char *)asked->path.data,
			   asked->path.len, (const char *)asked->method.data, asked->method.len);

	return at == ROUTE_NONE ? NULL : limits[at];
}

static ngx_int_t asked_decide(ngx_http_request_t *r, ngx_http_weir_loc_conf_t *conf,
			      ngx_http_weir_asked_t *asked, ngx_array_t *limits)
{
	ngx_http_weir_decision_t *decision = ngx_http_weir_decision_new(r, conf, limits->nelts);

	if (!decision || ngx_http_weir_charges_collect(r, decision, limits))
		return NGX_ERROR;
	if (!decision->enforced && !decision->observed)
		return NGX_OK;
	asked->decision = decision;
	ngx_http_weir_decide(r, decision);
	return NGX_OK;
}

/* Who asks wrongly is no check: where an error page leads to limits, they are his own. NGX_OK, or a
 * status. */
static ngx_int_t ask(ngx_http_request_t *r, ngx_http_weir_loc_conf_t *conf,
		     ngx_http_weir_asked_t **ret)
{
	ngx_http_weir_asked_t told = {.check = conf->check};
	ngx_int_t rc = ngx_http_weir_front_read(r, &told);
	ngx_array_t *limits;

	if (rc)
		return rc == NGX_DECLINED ? NGX_HTTP_BAD_REQUEST : NGX_HTTP_INTERNAL_SERVER_ERROR;
	*ret = ngx_http_weir_asked_add(r, &told);
	if (!*ret)
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	limits = limits_find(conf->check, *ret);
	return limits && asked_decide(r, conf, *ret, limits) ? NGX_HTTP_INTERNAL_SERVER_ERROR
							     : NGX_OK;
}

/* What an earlier subrequest asked the same check about the same request; NULL: there was none. */
static const ngx_http_weir_asked_t *asked_before(ngx_http_request_t *r,
						 const ngx_http_weir_check_t *check)
{
	const ngx_http_weir_request_t *kept = ngx_http_weir_request(r);
	const ngx_http_weir_asked_t *asked = kept && r != r->main ? kept->asked : NULL;

	while (asked && (asked->check != check || asked->by == r->main))
		asked = asked->next;
	return asked;
}

/* nginx asks again after each internal redirect, such as to an index file or an error page: it is
 * one request of the client still. */
static ngx_int_t ask_once(ngx_http_request_t *r, ngx_http_weir_loc_conf_t *conf,
			  ngx_http_weir_asked_t **ret)
{
	const ngx_http_weir_asked_t *before = asked_before(r, conf->check);

	if (!before)
		return ask(r, conf, ret);
	*ret = ngx_http_weir_asked_add(r, before);
	return *ret ? NGX_OK : NGX_HTTP_INTERNAL_SERVER_ERROR;
}

ngx_int_t ngx_http_weir_check_handler(ngx_http_request_t *r)
{
	ngx_http_weir_loc_conf_t *conf = ngx_http_get_module_loc_conf(r, ngx_http_weir_module);
	ngx_http_weir_asked_t *asked;
	ngx_int_t rc;

	rc = ngx_http_discard_request_body(r);
	if (!rc)
		rc = ask_once(r, conf, &asked);
	if (rc)
		return rc;
	if (!asked->decision || !asked->decision->refused)
		return answer_empty(r, NGX_HTTP_OK);
	if (conf->check->front == NGX_HTTP_WEIR_NGINX)
		return answer_empty(r, NGINX_REFUSAL);
	return ngx_http_weir_refusal_send(r, asked->decision);
}
