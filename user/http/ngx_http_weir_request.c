/* SPDX-License-Identifier: MIT */
/* What a request keeps through redirects, which wipe module contexts: it hangs on a cleanup of the
 * request's pool, as realip's does. The context only finds it faster. */
#include "http/ngx_http_weir.h"

static void request_cleanup(void *opaque)
{
	ngx_http_weir_request_t *kept = opaque;

	if (kept->decision)
		ngx_http_weir_hold_forget(kept->decision);
}

/* Runs before realip and PROXY protocol change the connection's address. The socket is not asked
 * later: it no longer knows once the client has reset the connection. */
ngx_int_t ngx_http_weir_remember(ngx_http_request_t *r)
{
	ngx_pool_cleanup_t *cleanup =
		ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_weir_request_t));
	ngx_http_weir_request_t *kept;

	if (!cleanup)
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	kept = cleanup->data;
	ngx_memzero(kept, sizeof(*kept));
	kept->peer = r->connection->sockaddr;
	cleanup->handler = request_cleanup;
	ngx_http_set_ctx(r, kept, ngx_http_weir_module);
	return NGX_DECLINED;
}

ngx_http_weir_request_t *ngx_http_weir_request(ngx_http_request_t *r)
{
	ngx_http_weir_request_t *kept = ngx_http_get_module_ctx(r->main, ngx_http_weir_module);

	if (kept)
		return kept;
	for (ngx_pool_cleanup_t *at = r->main->pool->cleanup; at; at = at->next) {
		if (at->handler == request_cleanup)
			return at->data;
	}
	return NULL;
}

ngx_http_weir_asked_t *ngx_http_weir_asked(ngx_http_request_t *r)
{
	ngx_http_weir_request_t *kept = ngx_http_weir_request(r);
	ngx_http_weir_asked_t *asked = kept ? kept->asked : NULL;

	while (asked && asked->by != r)
		asked = asked->next;
	return asked;
}

ngx_http_weir_asked_t *ngx_http_weir_asked_add(ngx_http_request_t *r,
					       const ngx_http_weir_asked_t *told)
{
	ngx_http_weir_request_t *kept = ngx_http_weir_request(r);
	ngx_http_weir_asked_t *asked = kept ? ngx_palloc(r->pool, sizeof(*asked)) : NULL;

	if (!asked)
		return NULL;
	*asked = *told;
	asked->by = r;
	asked->next = kept->asked;
	kept->asked = asked;
	return asked;
}

ngx_http_weir_decision_t *ngx_http_weir_decision(ngx_http_request_t *r)
{
	ngx_http_weir_request_t *kept = ngx_http_weir_request(r);
	ngx_http_weir_asked_t *asked = ngx_http_weir_asked(r);

	if (asked)
		return asked->decision;
	return kept ? kept->decision : NULL;
}
