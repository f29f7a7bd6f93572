/* SPDX-License-Identifier: MIT */
/* ngx_http_weir_module: where nginx calls in. */
#include "http/ngx_http_weir.h"

static ngx_int_t phase_add(ngx_conf_t *cf, ngx_uint_t phase, ngx_http_handler_pt handler)
{
	ngx_http_core_main_conf_t *core =
		ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
	ngx_http_handler_pt *place = ngx_array_push(&core->phases[phase].handlers);

	if (!place)
		return NGX_ERROR;
	*place = handler;
	return NGX_OK;
}

/* Handlers run in the reverse order of registration, so that ours sees the peer before realip
 * changes it. Registered without zones too: the chain of filters is the master's, and a reload that
 * fails must not leave one without us to workers of before. */
static ngx_int_t postconfiguration(ngx_conf_t *cf)
{
	ngx_http_weir_main_conf_t *conf =
		ngx_http_conf_get_module_main_conf(cf, ngx_http_weir_module);

	if (phase_add(cf, NGX_HTTP_POST_READ_PHASE, ngx_http_weir_remember) ||
	    phase_add(cf, NGX_HTTP_PREACCESS_PHASE, ngx_http_weir_preaccess) ||
	    ngx_http_weir_fields_init(cf))
		return NGX_ERROR;
	return ngx_http_weir_zones_prepare(cf, conf);
}

static ngx_http_module_t context = {
	.preconfiguration = ngx_http_weir_add_variables,
	.postconfiguration = postconfiguration,
	.create_main_conf = ngx_http_weir_create_main_conf,
	.init_main_conf = ngx_http_weir_init_main_conf,
	.create_loc_conf = ngx_http_weir_create_loc_conf,
	.merge_loc_conf = ngx_http_weir_merge_loc_conf,
};

/* clang-format off */
ngx_module_t ngx_http_weir_module = {
	NGX_MODULE_V1,
	&context,
	ngx_http_weir_commands,
	NGX_HTTP_MODULE,
	NULL,                       /* init master */
	ngx_http_weir_zones_commit, /* init module: the whole configuration was accepted */
	NULL,                       /* init process */
	NULL,                       /* init thread */
	NULL,                       /* exit thread */
	NULL,                       /* exit process */
	NULL,                       /* exit master */
	NGX_MODULE_V1_PADDING
};
/* clang-format on */
