/* SPDX-License-Identifier: MIT */
/* weir_check and weir_route: a location that answers fronts and applications which ask whether a
 * request of theirs may pass. */
#include "http/ngx_http_weir.h"

/* The location's check, made by whichever of its directives comes first. NULL without memory. */
static ngx_http_weir_check_t *check_of(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf)
{
	ngx_http_weir_check_t *check = conf->check;

	if (check)
		return check;
	check = ngx_pcalloc(cf->pool, sizeof(*check));
	if (!check || ngx_array_init(&check->from, cf->pool, 4, sizeof(struct prefix)) ||
	    ngx_array_init(&check->routes, cf->pool, 4, sizeof(struct route)) ||
	    ngx_array_init(&check->limits, cf->pool, 4, sizeof(ngx_array_t *)))
		return NULL;
	conf->check = check;
	return check;
}

static const ngx_conf_enum_t fronts[] = {
	{ngx_string("nginx"), NGX_HTTP_WEIR_NGINX},
	{ngx_string("caddy"), NGX_HTTP_WEIR_CADDY},
	{ngx_string("traefik"), NGX_HTTP_WEIR_TRAEFIK},
	{ngx_string("envoy"), NGX_HTTP_WEIR_ENVOY},
	{ngx_string("haproxy"), NGX_HTTP_WEIR_HAPROXY},
	{ngx_string("app"), NGX_HTTP_WEIR_APP},
	{ngx_null_string, 0},
};

static bool front_find(const ngx_str_t *word, enum ngx_http_weir_front *ret)
{
	for (const ngx_conf_enum_t *at = fronts; at->name.len; at++) {
		if (at->name.len != word->len || ngx_strncmp(at->name.data, word->data, word->len))
			continue;
		*ret = (enum ngx_http_weir_front)at->value;
		return true;
	}
	return false;
}

/* Envoy asks at the location's path with the client's behind it, which may begin with "/..". */
static void envoy_lint(ngx_conf_t *cf, const ngx_str_t *location)
{
	if (location->len != 1)
		ngx_conf_log_error(
			NGX_LOG_WARN, cf, 0,
			"weir_check envoy in location \"%V\": a client's path with \"..\" "
			"leads to other locations, whose answer Envoy takes for the check's; "
			"only \"location /\", alone in a server, has no others",
			location);
}

static ngx_http_handler_pt handler_of(const ngx_http_weir_check_t *check)
{
	return check->front == NGX_HTTP_WEIR_APP ? ngx_http_weir_app_handler
						 : ngx_http_weir_check_handler;
}

char *ngx_http_weir_check(ngx_conf_t *cf, ngx_command_t *command, void *opaque)
{
	ngx_http_weir_main_conf_t *main =
		ngx_http_conf_get_module_main_conf(cf, ngx_http_weir_module);
	ngx_http_core_loc_conf_t *core =
		ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
	ngx_http_weir_check_t *check = check_of(cf, opaque);
	ngx_str_t *words = cf->args->elts;

	(void)command;
	if (!check)
		return NGX_CONF_ERROR;
	if (check->defined)
		return "is duplicate";
	check->defined = true;
	if (!front_find(&words[1], &check->front))
		return "must name nginx, caddy, traefik, envoy, haproxy or app";
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++) {
		ngx_int_t rc = ngx_http_weir_from(&words[i], &check->from, &check->trusts_unix);

		if (rc)
			return rc == NGX_DECLINED ? ngx_http_weir_parameter_bad(cf, &words[i])
						  : NGX_CONF_ERROR;
	}
	if (!check->from.nelts && !check->trusts_unix && check->front != NGX_HTTP_WEIR_NGINX)
		return "needs \"from=\": who may ask";
	if (check->front == NGX_HTTP_WEIR_ENVOY)
		envoy_lint(cf, &core->name);
	main->has_app |= check->front == NGX_HTTP_WEIR_APP;
	core->handler = handler_of(check);
	return NGX_CONF_OK;
}

/* nginx keeps the location's handler within "if", but not within limit_except. */
bool ngx_http_weir_check_inherit(ngx_conf_t *cf, const ngx_http_weir_loc_conf_t *outer,
				 ngx_http_weir_loc_conf_t *conf)
{
	ngx_http_core_loc_conf_t *core =
		ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

	if (!core->noname || !outer->check)
		return false;
	conf->check = outer->check;
	if (core->lmt_excpt && !core->handler)
		core->handler = handler_of(conf->check);
	return true;
}

/* "methods=GET,POST" */
static char *route_methods(ngx_conf_t *cf, struct route *route, char *text)
{
	const char **methods;
	size_t count = 1;

	if (route->methods_count)
		return "has \"methods=\" twice";
	for (const char *at = text; *at; at++)
		count += *at == ',';
	methods = ngx_palloc(cf->pool, count * sizeof(*methods));
	if (!methods)
		return NGX_CONF_ERROR;
	route->methods = methods;
	route->methods_count = count;
	for (size_t i = 0; i < count; i++) {
		methods[i] = text;
		text += strcspn(text, ",");
		if (methods[i] == text)
			return "has an empty method";
		*text++ = '\0';
	}
	return NGX_CONF_OK;
}

/* Zones first: a cost is that of each. */
static char *route_words(ngx_conf_t *cf, struct route *route, ngx_array_t *limits)
{
	ngx_str_t *words = cf->args->elts;
	ngx_http_weir_limit_t *limit;
	char *rc = NGX_CONF_OK;

	for (ngx_uint_t i = 2; i < cf->args->nelts && rc == NGX_CONF_OK; i++) {
		char *methods = ngx_http_weir_parameter(&words[i], "methods");

		if (methods)
			rc = route_methods(cf, route, methods);
		else if (!strchr((char *)words[i].data, '='))
			rc = ngx_http_weir_limit_add(cf, limits, &words[i], &limit);
	}
	for (ngx_uint_t i = 2; i < cf->args->nelts && rc == NGX_CONF_OK; i++) {
		if (ngx_http_weir_parameter(&words[i], "methods") ||
		    !strchr((char *)words[i].data, '='))
			continue;
		if (!ngx_http_weir_parameter(&words[i], "cost"))
			return ngx_http_weir_parameter_bad(cf, &words[i]);
		limit = limits->elts;
		for (ngx_uint_t j = 0; j < limits->nelts && rc == NGX_CONF_OK; j++)
			rc = ngx_http_weir_limit_cost(cf, &limit[j], &words[i]);
	}
	return rc;
}

static bool collides(const ngx_array_t *routes, const struct route *route)
{
	const struct route *others = routes->elts;

	for (ngx_uint_t i = 0; i < routes->nelts; i++) {
		if (route_collides(&others[i], route))
			return true;
	}
	return false;
}

char *ngx_http_weir_route(ngx_conf_t *cf, ngx_command_t *command, void *opaque)
{
	ngx_http_weir_check_t *check = check_of(cf, opaque);
	ngx_array_t *limits = ngx_array_create(cf->pool, 2, sizeof(ngx_http_weir_limit_t));
	ngx_array_t **limits_place;
	struct route route, *route_place;
	ngx_str_t *words = cf->args->elts;
	char *path = ngx_pnalloc(cf->pool, words[1].len + 1);
	char *rc;

	(void)command;
	if (!check || !limits || !path)
		return NGX_CONF_ERROR;
	if (!route_pattern_parse((char *)words[1].data, path, &route))
		return "needs a path first, such as /api or =/login";
	rc = route_words(cf, &route, limits);
	if (rc != NGX_CONF_OK)
		return rc;
	if (!limits->nelts)
		return "needs a zone";
	if (collides(&check->routes, &route))
		return "is there twice for the path and method";
	route_place = ngx_array_push(&check->routes);
	limits_place = ngx_array_push(&check->limits);
	if (!route_place || !limits_place)
		return NGX_CONF_ERROR;
	*route_place = route;
	*limits_place = limits;
	return NGX_CONF_OK;
}

/* The front keeps the request's body. */
static char *route_forms_check(ngx_conf_t *cf, const ngx_http_weir_limit_t *limit)
{
	const ngx_http_weir_main_conf_t *conf =
		ngx_http_conf_get_module_main_conf(cf, ngx_http_weir_module);
	const ngx_http_weir_zone_t *zone = limit->zone;
	ngx_uint_t forms = ngx_http_weir_form_keys(conf, zone);
	bool has_other = forms < zone->keys->nelts;
	ngx_uint_t level = has_other ? NGX_LOG_WARN : NGX_LOG_EMERG;

	if (!forms)
		return NGX_CONF_OK;
	ngx_log_error(level, cf->log, 0,
		      "weir_route: zone \"%V\" is keyed by a field of the body, and a check has "
		      "none: %s in %V:%ui",
		      &zone->name,
		      has_other ? "only its other keys count here" : "it would limit nothing",
		      &limit->place.file, limit->place.line);
	return has_other ? NGX_CONF_OK : NGX_CONF_ERROR;
}

/* Nobody is held: the front waits for the answer. */
static char *route_limits_check(ngx_conf_t *cf, ngx_array_t *limits)
{
	ngx_http_weir_limit_t *limit = limits->elts;

	if (ngx_http_weir_limits_check(cf, limits))
		return NGX_CONF_ERROR;
	for (ngx_uint_t i = 0; i < limits->nelts; i++) {
		if (route_forms_check(cf, &limit[i]))
			return NGX_CONF_ERROR;
		limit[i].may_hold = false;
	}
	return NGX_CONF_OK;
}

static char *check_fault(ngx_conf_t *cf, const char *fault)
{
	ngx_http_core_loc_conf_t *core =
		((ngx_http_conf_ctx_t *)cf->ctx)->loc_conf[ngx_http_core_module.ctx_index];

	ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "weir_check in location \"%V\" %s", &core->name,
		      fault);
	return NGX_CONF_ERROR;
}

char *ngx_http_weir_check_verify(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf, bool has_limits)
{
	const ngx_http_weir_check_t *check = conf->check;
	ngx_array_t **limits = check->limits.elts;

	if (!check->defined)
		return check_fault(cf, "is missing beside weir_route");
	if (has_limits)
		return check_fault(cf, "takes its limits from weir_route, not from weir");
	if (check->front == NGX_HTTP_WEIR_APP && check->routes.nelts)
		return check_fault(cf,
				   "is for applications, which name their zones: no weir_route");
	if (check->front != NGX_HTTP_WEIR_APP && !check->routes.nelts)
		return check_fault(cf, "limits nothing without weir_route");
	for (ngx_uint_t i = 0; i < check->limits.nelts; i++) {
		if (route_limits_check(cf, limits[i]))
			return NGX_CONF_ERROR;
	}
	return NGX_CONF_OK;
}
