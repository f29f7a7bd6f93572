/* SPDX-License-Identifier: MIT */
/* The files behind zones: prepared when the configuration was read, put in place when the whole of
 * it was accepted. */
#include "http/ngx_http_weir.h"
#include "http/rule_text.h"
#include "http/zone_directory.h"

#define NEW_KEYS_FEW 10 /* a second: fewer than these fit, and the lint speaks up */
#define MEGABYTE     (1024 * 1024)

/* "etc-nginx-nginx.conf": one name for one path, since '-' and '~' themselves follow a '~'. Returns
 * the end. */
static u_char *instance_write(u_char *at, const ngx_str_t *path)
{
	for (size_t i = path->data[0] == '/'; i < path->len; i++) {
		u_char c = path->data[i];

		if (c == '-' || c == '~')
			*at++ = '~';
		*at++ = c == '/' ? '-' : c;
	}
	return at;
}

/* "DIR/etc-nginx-nginx.conf", or "DIR/shared". */
static char *directory_of(ngx_conf_t *cf, const ngx_str_t *dir, const ngx_http_weir_zone_t *zone)
{
	static const ngx_str_t shared = ngx_string("shared");
	const ngx_str_t *conf_file = &cf->cycle->conf_file;
	size_t size = dir->len + 1 + ngx_max(2 * conf_file->len, shared.len) + 1;
	u_char *path = ngx_pnalloc(cf->pool, size);
	u_char *at;

	if (!path)
		return NULL;
	at = ngx_cpymem(path, dir->data, dir->len);
	*at++ = '/';
	at = zone->settings.shared ? ngx_cpymem(at, shared.data, shared.len)
				   : instance_write(at, conf_file);
	*at = '\0';
	return (char *)path;
}

static char *path_of(ngx_conf_t *cf, const char *directory, const ngx_http_weir_zone_t *zone)
{
	const ngx_str_t *name = zone->settings.shared ? &zone->shared : &zone->name;
	size_t size = ngx_strlen(directory) + 1 + name->len + 1;
	char *path = ngx_pnalloc(cf->pool, size);

	if (path)
		*ngx_sprintf((u_char *)path, "%s/%V", directory, name) = '\0';
	return path;
}

static void file_cleanup(void *file)
{
	zone_file_close(file);
}

static ngx_int_t prepare_failed(ngx_conf_t *cf, const ngx_http_weir_zone_t *zone,
				const struct failure *why)
{
	ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "weir zone \"%V\": %s%s%s in %V:%ui", &zone->name,
		      why->reason, *why->hint ? ": " : "", why->hint, &zone->place.file,
		      zone->place.line);
	return NGX_ERROR;
}

static ngx_int_t zone_prepare(ngx_conf_t *cf, const ngx_str_t *dir, ngx_http_weir_zone_t *zone)
{
	char *directory = directory_of(cf, dir, zone);
	ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(cf->cycle->pool, 0);
	struct failure why = {.reason = ""};

	if (!directory || !cleanup)
		return NGX_ERROR;
	zone->settings.name = (const char *)zone->name.data;
	zone->settings.path = path_of(cf, directory, zone);
	if (!zone->settings.path)
		return NGX_ERROR;
	if (zone_directory_make(directory, &why) ||
	    zone_file_prepare(&zone->settings, &zone->file, &why))
		return prepare_failed(cf, zone, &why);
	cleanup->handler = file_cleanup;
	cleanup->data = zone->file;
	return NGX_OK;
}

/* How many new keys a second the zone has room for, until each is full again, twice over. */
static uint64_t new_keys_a_second(const ngx_http_weir_zone_t *zone)
{
	uint64_t full_after_sec = rule_full_after_ns(&zone->settings.main) / 1000000000 + 1;

	return zone->settings.entries / 2 / full_after_sec;
}

/* What the zone promises: its bound in any interval, its memory. */
static void zone_describe(ngx_conf_t *cf, const ngx_http_weir_zone_t *zone)
{
	const struct rule *main = &zone->settings.main;
	const struct zone_settings *settings = &zone->settings;
	uint64_t size = zone_size(settings->entries, settings->cells_per_slot, settings->offenders);
	uint64_t keys = new_keys_a_second(zone);
	char bound[RULE_TEXT_SIZE], full_after[QUANTITY_TEXT_SIZE];

	rule_bound_format(bound, sizeof(bound), main);
	ngx_log_error(NGX_LOG_NOTICE, cf->log, 0,
		      "weir zone \"%V\": %s%s, %s, %uL entries in %uL MB, room for %uL new keys a "
		      "second",
		      &zone->name, algorithm_name(main->algorithm),
		      zone->capacity || zone->rate ? " by default" : "", bound,
		      zone->settings.entries, (size + MEGABYTE - 1) / MEGABYTE, keys);
	if (!zone->used)
		ngx_log_error(NGX_LOG_WARN, cf->log, 0,
			      "weir zone \"%V\" limits nothing: no \"weir %V\" names it in %V:%ui",
			      &zone->name, &zone->name, &zone->place.file, zone->place.line);
	if (keys >= NEW_KEYS_FEW)
		return;
	duration_format_rounded(full_after, sizeof(full_after), rule_full_after_ns(main));
	ngx_log_error(
		NGX_LOG_WARN, cf->log, 0,
		"weir zone \"%V\" has room for %uL new keys a second, since a key takes %s to "
		"owe nothing again: more share overflow buckets, see \"entries=\" in %V:%ui",
		&zone->name, keys, full_after, &zone->place.file, zone->place.line);
}

/* Nothing is touched by a test of the configuration, or by one that only sends a signal. */
ngx_int_t ngx_http_weir_zones_prepare(ngx_conf_t *cf, ngx_http_weir_main_conf_t *conf)
{
	ngx_http_weir_zone_t **zones = conf->zones.elts;

	for (ngx_uint_t i = 0; i < conf->zones.nelts; i++) {
		if (!zones[i]->defined) {
			ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
				      "weir zone \"%V\" is not defined in %V:%ui", &zones[i]->name,
				      &zones[i]->place.file, zones[i]->place.line);
			return NGX_ERROR;
		}
		if (ngx_http_weir_penalty_check(cf, zones[i]))
			return NGX_ERROR;
		zones[i]->used |= conf->has_app;
		zones[i]->settings.identity.ipv6_prefix =
			zones[i]->is_address ? (uint32_t)conf->ipv6_prefix : 0;
		if (ngx_process == NGX_PROCESS_SIGNALLER)
			continue;
		zone_describe(cf, zones[i]);
		if (!ngx_test_config && zone_prepare(cf, &conf->dir, zones[i]))
			return NGX_ERROR;
	}
	return NGX_OK;
}

static void past_log(ngx_cycle_t *cycle, const ngx_http_weir_zone_t *zone, enum zone_past past,
		     uint64_t lost)
{
	static const char *const words[] = {
		[ZONE_NEW] = "its file is new: starts empty",
		[ZONE_OTHER_BOOT] = "its file is of another boot: starts empty",
		[ZONE_OTHER_KEY] = "its file is of another key, algorithm or version: starts empty",
		[ZONE_SET_ASIDE] = "its file is damaged or foreign and was set aside (.aside): "
				   "starts empty",
	};

	if (past == ZONE_RESIZED) {
		ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0,
			      "weir zone \"%V\": what was owed is carried over to a new file, %uL "
			      "keys found no place",
			      &zone->name, lost);
		return;
	}
	if (past < sizeof(words) / sizeof(words[0]) && words[past]) {
		ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0, "weir zone \"%V\": %s", &zone->name,
			      words[past]);
	}
}

static void zone_commit(ngx_cycle_t *cycle, ngx_http_weir_zone_t *zone)
{
	struct failure why = {.reason = ""};
	enum zone_past past;
	uint64_t lost = 0;

	if (zone_file_commit(zone->file, ngx_http_weir_now_ns(), &past, &lost, &why)) {
		ngx_log_error(NGX_LOG_ALERT, cycle->log, 0,
			      "weir zone \"%V\" limits, but will be lost at the next reload: %s",
			      &zone->name, why.reason);
	} else {
		past_log(cycle, zone, past, lost);
	}
	zone->zone = zone_file_zone(zone->file);
}

/* Never an error: at a reload it would end the master. */
ngx_int_t ngx_http_weir_zones_commit(ngx_cycle_t *cycle)
{
	ngx_http_weir_main_conf_t *conf;
	ngx_http_weir_zone_t **zones;

	if (ngx_test_config || !ngx_get_conf(cycle->conf_ctx, ngx_http_module))
		return NGX_OK;
	conf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_weir_module);
	zones = conf->zones.elts;
	for (ngx_uint_t i = 0; i < conf->zones.nelts; i++)
		zone_commit(cycle, zones[i]);
	return NGX_OK;
}
