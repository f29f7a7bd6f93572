/* SPDX-License-Identifier: MIT */
/* What a front tells of the request it asks about. Only the fields that this kind of front sets
 * itself are read: it passes on whatever the client spelt of all others. */
#include "http/ngx_http_weir.h"

/* No method: the request's own method and URI are those asked about. */
struct front_fields {
	ngx_str_t method;
	ngx_str_t uri;
	ngx_str_t address;
	bool is_list; /* address is X-Forwarded-For */
};

static const struct front_fields fields[] = {
	[NGX_HTTP_WEIR_NGINX] = {ngx_string("x-original-method"), ngx_string("x-original-uri"),
				 ngx_string("x-real-ip"), false},
	[NGX_HTTP_WEIR_CADDY] = {ngx_string("x-forwarded-method"), ngx_string("x-forwarded-uri"),
				 ngx_string("x-forwarded-for"), true},
	[NGX_HTTP_WEIR_TRAEFIK] = {ngx_string("x-forwarded-method"), ngx_string("x-forwarded-uri"),
				   ngx_string("x-forwarded-for"), true},
	[NGX_HTTP_WEIR_ENVOY] = {ngx_null_string, ngx_null_string,
				 ngx_string("x-envoy-external-address"), false},
	[NGX_HTTP_WEIR_HAPROXY] = {ngx_string("x-haproxy-method"), ngx_string("x-haproxy-uri"),
				   ngx_string("x-haproxy-address"), false},
};

static ngx_http_weir_check_t *check_of(ngx_http_request_t *r)
{
	ngx_http_weir_loc_conf_t *conf = ngx_http_get_module_loc_conf(r, ngx_http_weir_module);

	return conf->check;
}

bool ngx_http_weir_may_complain(void)
{
	static time_t complained_sec;

	if (complained_sec == ngx_time())
		return false;
	complained_sec = ngx_time();
	return true;
}

bool ngx_http_weir_front_is_trusted(ngx_http_request_t *r)
{
	const ngx_http_weir_check_t *check = check_of(r);
	struct prefix peer = ngx_http_weir_peer(r);

	if (ngx_http_weir_is_from(&check->from, check->trusts_unix, &peer))
		return true;
	if (ngx_http_weir_may_complain()) {
		ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
			      "weir_check is asked by one who is not in its \"from=\"");
	}
	return false;
}

static ngx_int_t lacking(ngx_http_request_t *r, const ngx_str_t *name)
{
	if (ngx_http_weir_may_complain()) {
		ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
			      "weir_check needs one good field \"%V\" from its front", name);
	}
	return NGX_DECLINED;
}

/* There once, and not empty. */
static ngx_int_t field_read(ngx_http_request_t *r, const ngx_str_t *name, ngx_str_t *ret)
{
	struct forwarded_line lines[2];

	if (ngx_http_weir_lines(r, name, lines, 2) != 1 || !lines[0].size)
		return lacking(r, name);
	ret->data = (u_char *)lines[0].bytes;
	ret->len = lines[0].size;
	return NGX_OK;
}

/* What Envoy puts before the path (path_prefix) is the location. */
static void uri_own(ngx_http_request_t *r, ngx_str_t *ret)
{
	ngx_http_core_loc_conf_t *core = ngx_http_get_module_loc_conf(r, ngx_http_core_module);
	const ngx_str_t *prefix = &core->name;
	size_t skip = prefix->len;

	*ret = r->unparsed_uri;
	if (skip && prefix->data[skip - 1] == '/')
		skip--;
	if (ret->len < skip || ngx_strncmp(ret->data, prefix->data, skip))
		return;
	ret->data += skip;
	ret->len -= skip;
}

static ngx_int_t target_read(ngx_http_request_t *r, const struct front_fields *names,
			     ngx_http_weir_asked_t *asked, ngx_str_t *ret_uri)
{
	if (names->method.len)
		return field_read(r, &names->method, &asked->method)
			       ? NGX_DECLINED
			       : field_read(r, &names->uri, ret_uri);
	asked->method = r->method_name;
	uri_own(r, ret_uri);
	return NGX_OK;
}

static ngx_int_t address_read(ngx_http_request_t *r, const struct front_fields *names,
			      ngx_http_weir_asked_t *asked)
{
	struct prefix peer = ngx_http_weir_peer(r), address = {.family = 0};
	ngx_str_t text;

	if (names->is_list)
		ngx_http_weir_walk(r, FORWARDED_X_FORWARDED_FOR, &check_of(r)->from, &peer,
				   &address);
	else if (field_read(r, &names->address, &text))
		return NGX_DECLINED;
	else
		forwarded_node_parse((const char *)text.data, text.len, &address);
	if (!address.family)
		return lacking(r, &names->address);
	asked->source = ngx_http_weir_source_of(r, &address);
	return NGX_OK;
}

/* What has no path ("OPTIONS *") is asked about as "/", so that no spelling dodges the limits. */
static ngx_int_t path_set(ngx_http_request_t *r, ngx_http_weir_asked_t *asked, const ngx_str_t *uri)
{
	char *path = ngx_pnalloc(r->pool, uri->len + 2);

	if (!path)
		return NGX_ERROR;
	asked->path.data = (u_char *)path;
	asked->path.len = route_normalise((const char *)uri->data, uri->len, path);
	if (!asked->path.len)
		asked->path = (ngx_str_t)ngx_string("/");
	return NGX_OK;
}

/* A subrequest of nginx's own auth_request: nobody tells of the request, it is the main one. */
static ngx_int_t main_read(ngx_http_request_t *r, ngx_http_weir_asked_t *asked)
{
	asked->method = r->main->method_name;
	asked->source = ngx_http_weir_source(r->main);
	return path_set(r, asked, &r->main->unparsed_uri);
}

ngx_int_t ngx_http_weir_front_read(ngx_http_request_t *r, ngx_http_weir_asked_t *asked)
{
	const struct front_fields *names = &fields[check_of(r)->front];
	ngx_str_t uri;

	if (r != r->main)
		return main_read(r, asked);
	if (!ngx_http_weir_front_is_trusted(r) || target_read(r, names, asked, &uri) ||
	    address_read(r, names, asked))
		return NGX_DECLINED;
	return path_set(r, asked, &uri);
}
