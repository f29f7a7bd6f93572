/* SPDX-License-Identifier: MIT */
/* weir_cors: without these fields a browser shows a script no refusal at all, but a network error
 * (Fetch standard, CORS protocol). */
#include "http/ngx_http_weir.h"

static bool is_any(const ngx_str_t *origin)
{
	return origin->len == 1 && origin->data[0] == '*';
}

static bool is_of(const ngx_str_t *origin, const char *scheme, const char *port)
{
	size_t size = strlen(port);

	return !ngx_strncmp(origin->data, scheme, strlen(scheme)) && origin->len > size &&
	       !ngx_strcmp(origin->data + origin->len - size, port);
}

#define ORIGIN_BYTES "abcdefghijklmnopqrstuvwxyz0123456789-._:[]"

/* As browsers send it: scheme and host in lower case, no path, and a port only where it is not the
 * scheme's own. Another spelling would never match. */
static bool origin_is_valid(const ngx_str_t *origin)
{
	const char *text = (const char *)origin->data;
	const char *colon = strstr(text, "://");

	if (is_any(origin))
		return true;
	if (!colon || colon == text || !colon[3] || is_of(origin, "http://", ":80") ||
	    is_of(origin, "https://", ":443"))
		return false;
	return text + strspn(text, ORIGIN_BYTES) == colon + 1 &&
	       !colon[3 + strspn(colon + 3, ORIGIN_BYTES)];
}

static char *origin_add(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf, const ngx_str_t *word)
{
	ngx_str_t *origin;

	if (!origin_is_valid(word)) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
				   "invalid origin \"%V\", it must be \"*\" or such as "
				   "https://app.example or https://app.example:8443",
				   word);
		return NGX_CONF_ERROR;
	}
	origin = ngx_array_push(conf->origins);
	if (!origin)
		return NGX_CONF_ERROR;
	*origin = *word;
	return NGX_CONF_OK;
}

/* Any site could read what a logged in user may. */
static bool shares_with_any(const ngx_http_weir_loc_conf_t *conf)
{
	const ngx_str_t *origins = conf->origins->elts;

	for (ngx_uint_t i = 0; i < conf->origins->nelts; i++) {
		if (is_any(&origins[i]) && (conf->shares_credentials || conf->origins->nelts > 1))
			return true;
	}
	return false;
}

char *ngx_http_weir_cors(ngx_conf_t *cf, ngx_command_t *command, void *opaque)
{
	ngx_http_weir_loc_conf_t *conf = opaque;
	ngx_str_t *words = cf->args->elts;

	(void)command;
	if (conf->origins)
		return "is duplicate";
	conf->origins = ngx_array_create(cf->pool, cf->args->nelts, sizeof(ngx_str_t));
	if (!conf->origins)
		return NGX_CONF_ERROR;
	if (cf->args->nelts == 2 && !ngx_strcmp(words[1].data, "off"))
		return NGX_CONF_OK;
	for (ngx_uint_t i = 1; i < cf->args->nelts; i++) {
		if (i == cf->args->nelts - 1 && !ngx_strcmp(words[i].data, "credentials"))
			conf->shares_credentials = true;
		else if (origin_add(cf, conf, &words[i]))
			return NGX_CONF_ERROR;
	}
	if (!conf->origins->nelts)
		return "needs an origin";
	return shares_with_any(conf) ? "has \"*\" beside \"credentials\" or another origin"
				     : NGX_CONF_OK;
}

/* The entry of weir_cors that stands for the request's origin. */
static const ngx_str_t *origin_find(ngx_http_request_t *r, const ngx_http_weir_loc_conf_t *conf)
{
	static const ngx_str_t name = ngx_string("origin");
	const ngx_str_t *origins = conf->origins->elts;
	struct forwarded_line sent[2]; /* room for one too many */

	if (ngx_http_weir_lines(r, &name, sent, 2) != 1)
		return NULL;
	for (ngx_uint_t i = 0; i < conf->origins->nelts; i++) {
		if (is_any(&origins[i]) || (origins[i].len == sent->size &&
					    !ngx_memcmp(origins[i].data, sent->bytes, sent->size)))
			return &origins[i];
	}
	return NULL;
}

#define EXPOSED_ALWAYS "Retry-After"
#define EXPOSED_DRAFT  ", RateLimit, RateLimit-Policy"
#define EXPOSED_LEGACY ", X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"

static const ngx_str_t exposed[] = {
	[NGX_HTTP_WEIR_FIELDS_OFF] = ngx_string(EXPOSED_ALWAYS),
	[NGX_HTTP_WEIR_FIELDS_DRAFT] = ngx_string(EXPOSED_ALWAYS EXPOSED_DRAFT),
	[NGX_HTTP_WEIR_FIELDS_LEGACY] = ngx_string(EXPOSED_ALWAYS EXPOSED_LEGACY),
	[NGX_HTTP_WEIR_FIELDS_BOTH] = ngx_string(EXPOSED_ALWAYS EXPOSED_DRAFT EXPOSED_LEGACY),
};

ngx_int_t ngx_http_weir_cors_fields_set(ngx_http_request_t *r, const ngx_http_weir_loc_conf_t *conf)
{
	static const ngx_str_t allow_origin = ngx_string("Access-Control-Allow-Origin");
	static const ngx_str_t expose = ngx_string("Access-Control-Expose-Headers");
	static const ngx_str_t credentials = ngx_string("Access-Control-Allow-Credentials");
	static const ngx_str_t vary = ngx_string("Vary");
	const ngx_str_t *origin;

	if (!conf->origins || !conf->origins->nelts)
		return NGX_OK;
	origin = origin_find(r, conf);
	if (!is_any(conf->origins->elts) &&
	    ngx_http_weir_field_add(r, &vary, (u_char *)"Origin", sizeof("Origin") - 1))
		return NGX_ERROR;
	if (!origin)
		return NGX_OK;
	if (conf->shares_credentials &&
	    ngx_http_weir_field_set(r, &credentials, (u_char *)"true", sizeof("true") - 1))
		return NGX_ERROR;
	if (ngx_http_weir_field_set(r, &allow_origin, origin->data, origin->len))
		return NGX_ERROR;
	return conf->reveal ? ngx_http_weir_field_set(r, &expose, exposed[conf->fields].data,
						      exposed[conf->fields].len)
			    : NGX_OK;
}
