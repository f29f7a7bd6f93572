/* SPDX-License-Identifier: MIT */
/* A refusal as gRPC has it: "trailers only", one header block that ends the stream (gRPC over
 * HTTP2), with how long to wait (gRFC A6). */
#include "http/ngx_http_weir.h"

#define NSEC_PER_MSEC 1000000ULL

bool ngx_http_weir_is_grpc(ngx_http_request_t *r)
{
	static const ngx_str_t grpc = ngx_string("application/grpc");
	const ngx_table_elt_t *type = r->headers_in.content_type;

	if (r->http_version < NGX_HTTP_VERSION_20 || !type || type->value.len < grpc.len ||
	    ngx_strncasecmp(type->value.data, grpc.data, grpc.len))
		return false;
	return type->value.len == grpc.len || strchr("+; ", type->value.data[grpc.len]);
}

/* Milliseconds, signed 32 bits; -1: do not try again. */
static ngx_int_t pushback_set(ngx_http_request_t *r, const ngx_http_weir_decision_t *decision)
{
	static const ngx_str_t pushback = ngx_string("grpc-retry-pushback-ms");
	uint64_t wait_ms = (decision->wait_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;

	if (!decision->wait_ns)
		return ngx_http_weir_field_set(r, &pushback, (u_char *)"-1", 2);
	return ngx_http_weir_field_set_number(r, &pushback, ngx_min(wait_ms, INT32_MAX));
}

ngx_int_t ngx_http_weir_grpc_refuse(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	static const ngx_str_t type = ngx_string("application/grpc");
	static const ngx_str_t status = ngx_string("grpc-status");
	static const ngx_str_t message = ngx_string("grpc-message");
	static const ngx_str_t text = ngx_string("too many requests");

	if (ngx_http_weir_settle(r, decision) ||
	    ngx_http_weir_field_set(r, &status, (u_char *)"8", 1) || /* RESOURCE_EXHAUSTED */
	    ngx_http_weir_field_set(r, &message, text.data, text.len) ||
	    (decision->conf->reveal && pushback_set(r, decision)))
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	/* The call's own conditions are not about the refusal. */
	r->disable_not_modified = 1;
	r->err_status = 0;
	r->headers_out.status = NGX_HTTP_OK;
	ngx_http_weir_type_set(r, &type);
	ngx_http_clear_content_length(r);
	r->header_only = 1;
	return ngx_http_send_header(r);
}
