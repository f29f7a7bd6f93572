/* SPDX-License-Identifier: MIT */
/* The configuration of the nginx glue: what directives say, and who reads them.
 *
 * What returns char * and says no more returns NGX_CONF_OK, the fault, or NGX_CONF_ERROR once it
 * is logged. */
#ifndef NGX_HTTP_WEIR_CONF_H
#define NGX_HTTP_WEIR_CONF_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <stdbool.h>

#include "http/forwarded.h"
#include "http/offender.h"
#include "http/route.h"
#include "http/status_list.h"
#include "http/zone.h"
#include "http/zone_file.h"

extern ngx_module_t ngx_http_weir_module;

/* Where something was said, for warnings that come after parsing. */
typedef struct {
	ngx_str_t file;
	ngx_uint_t line;
} ngx_http_weir_place_t;

/* weir_zone */
typedef struct {
	ngx_str_t name;              /* ends with NUL */
	ngx_http_weir_place_t place; /* of the first mention, the definition once there is one */
	bool defined;
	bool used; /* a limit names it, or an application may */
	bool observe;
	bool is_address; /* keyed by $weir_address alone */
	enum take_mode mode;
	ngx_array_t *keys;                  /* of ngx_http_complex_value_t */
	ngx_http_complex_value_t *capacity; /* or the limit; NULL: as in main */
	ngx_http_complex_value_t *rate;     /* or per */
	struct zone_settings settings;      /* main: the limit, or the default of a variable one */
	ngx_str_t shared;                   /* name to share under; empty: not shared */
	struct penalty penalty;             /* weir_penalty; refusals 0: none */
	bool penalises_any_key;
	ngx_http_weir_place_t penalty_place;
	struct zone_file *file;
	struct zone *zone;
	/* refusals in this worker */
	time_t logged_sec;
	ngx_uint_t suppressed;
	time_t overflow_logged_sec;
} ngx_http_weir_zone_t;

/* weir ZONE */
typedef struct {
	ngx_http_weir_zone_t *zone;
	ngx_http_complex_value_t *cost; /* NULL: fixed_cost */
	uint64_t fixed_cost;
	bool may_hold;
	bool hold_given;               /* delay= or nodelay */
	uint64_t burst;                /* excess that passes at once */
	struct status_list *refund_on; /* responses that give the charge back; NULL: none */
	ngx_http_weir_place_t place;
} ngx_http_weir_limit_t;

/* weir_form_field */
typedef struct {
	const char *field;
	size_t max_bytes; /* of a body that is read */
	bool lowercase;
} ngx_http_weir_form_t;

enum ngx_http_weir_front {
	NGX_HTTP_WEIR_NGINX,
	NGX_HTTP_WEIR_CADDY,
	NGX_HTTP_WEIR_TRAEFIK,
	NGX_HTTP_WEIR_ENVOY,
	NGX_HTTP_WEIR_HAPROXY,
	NGX_HTTP_WEIR_APP,
};

/* weir_check, and the weir_route directives beside it */
typedef struct {
	bool defined; /* a weir_check was met */
	enum ngx_http_weir_front front;
	ngx_array_t from; /* of struct prefix */
	bool trusts_unix;
	ngx_array_t routes; /* of struct route */
	ngx_array_t limits; /* of ngx_array_t *, one for each route, of ngx_http_weir_limit_t */
} ngx_http_weir_check_t;

typedef struct {
	ngx_str_t dir;
	ngx_array_t zones; /* of ngx_http_weir_zone_t * */
	ngx_int_t held_max;
	/* weir_address */
	ngx_uint_t address_set;
	enum forwarded_header header;
	bool proxy_protocol; /* the client is whom that header names */
	ngx_array_t trusted; /* of struct prefix */
	bool trusts_unix;
	ngx_uint_t ipv6_prefix;
	/* weir_form_field */
	ngx_array_t form_names; /* of ngx_str_t: the variables */
	size_t form_max_bytes;  /* the largest of them; 0: there is none */
	bool has_app;           /* a weir_check app, which may name any zone */
} ngx_http_weir_main_conf_t;

enum ngx_http_weir_fields {
	NGX_HTTP_WEIR_FIELDS_OFF = 0,
	NGX_HTTP_WEIR_FIELDS_DRAFT = 1,
	NGX_HTTP_WEIR_FIELDS_LEGACY = 2,
	NGX_HTTP_WEIR_FIELDS_BOTH = 3,
};

enum ngx_http_weir_body {
	NGX_HTTP_WEIR_BODY_OFF,
	NGX_HTTP_WEIR_BODY_PROBLEM,
	NGX_HTTP_WEIR_BODY_JSON,
};

typedef struct {
	ngx_array_t *limits; /* of ngx_http_weir_limit_t; NULL: inherits; empty: off */
	ngx_uint_t fields;
	ngx_flag_t reveal;
	ngx_uint_t status;
	ngx_uint_t body;
	ngx_uint_t log_level;
	time_t jitter_sec;
	ngx_flag_t exempt_preflight;
	ngx_array_t *origins; /* weir_cors, of ngx_str_t; NULL: inherits; empty: off */
	bool shares_credentials;
	ngx_http_weir_check_t *check; /* not inherited by locations */
	/* RateLimit-Policy where all enforced zones have fixed limits, and how many they are. */
	ngx_str_t policy;
	ngx_uint_t policies;
} ngx_http_weir_loc_conf_t;

/* ngx_http_weir_directives.c */
extern ngx_command_t ngx_http_weir_commands[];
void *ngx_http_weir_create_main_conf(ngx_conf_t *cf);
char *ngx_http_weir_init_main_conf(ngx_conf_t *cf, void *conf);
void *ngx_http_weir_create_loc_conf(ngx_conf_t *cf);
char *ngx_http_weir_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);
/* "from=" of a directive that trusts; NGX_DECLINED: it is not that. */
ngx_int_t ngx_http_weir_from(ngx_str_t *word, ngx_array_t *prefixes, bool *trusts_unix);
/* Whether a peer, family 0 for a unix socket's, is one of those. */
bool ngx_http_weir_is_from(const ngx_array_t *prefixes, bool trusts_unix,
			   const struct prefix *peer);

/* ngx_http_weir_zone_conf.c */
char *ngx_http_weir_zone(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* NULL: there is none of that name. */
ngx_http_weir_zone_t *ngx_http_weir_zone_find(const ngx_http_weir_main_conf_t *conf,
					      const ngx_str_t *name);
/* Found or made, to be defined later; NULL without memory, or after an error was logged. */
ngx_http_weir_zone_t *ngx_http_weir_zone_named(ngx_conf_t *cf, ngx_str_t *name);
/* Of the directive that is being read. */
ngx_http_weir_place_t ngx_http_weir_place(ngx_conf_t *cf);
/* The name in "$name" or "${name}"; empty where text is anything more or else. */
ngx_str_t ngx_http_weir_variable_name(const ngx_str_t *text);
/* NULL without memory, or after an error was logged. */
ngx_http_complex_value_t *ngx_http_weir_compile(ngx_conf_t *cf, ngx_str_t *text);

/* ngx_http_weir_limit_conf.c */
char *ngx_http_weir_limit(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* Adds a limit by the zone of that name, which was not there yet. */
char *ngx_http_weir_limit_add(ngx_conf_t *cf, ngx_array_t *limits, ngx_str_t *name,
			      ngx_http_weir_limit_t **ret);
/* "cost=..." of a limit. */
char *ngx_http_weir_limit_cost(ngx_conf_t *cf, ngx_http_weir_limit_t *limit, ngx_str_t *word);
/* Once every zone is known. */
char *ngx_http_weir_limits_check(ngx_conf_t *cf, ngx_array_t *limits);
/* The value of "name=value" where word is of that form, else NULL. */
char *ngx_http_weir_parameter(ngx_str_t *word, const char *name);
/* Logs that it is invalid. */
char *ngx_http_weir_parameter_bad(ngx_conf_t *cf, ngx_str_t *word);
/* Whether one of the words from first on, before the one at, has the same name. */
bool ngx_http_weir_is_repeated(const ngx_str_t *words, ngx_uint_t first, ngx_uint_t at);

/* ngx_http_weir_check_conf.c */
char *ngx_http_weir_check(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *ngx_http_weir_route(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* Into "if" and limit_except, which are the location still; whether conf is that of one. */
bool ngx_http_weir_check_inherit(ngx_conf_t *cf, const ngx_http_weir_loc_conf_t *outer,
				 ngx_http_weir_loc_conf_t *conf);
/* Once every zone is known. */
char *ngx_http_weir_check_verify(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf, bool has_limits);

/* ngx_http_weir_penalty.c */
char *ngx_http_weir_penalty(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* Once every zone is known. */
ngx_int_t ngx_http_weir_penalty_check(ngx_conf_t *cf, const ngx_http_weir_zone_t *zone);

/* ngx_http_weir_form.c */
char *ngx_http_weir_form_field(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* How many of the zone's keys are such a variable and nothing else; what is made of one by a map or
 * in a longer text is not seen. */
ngx_uint_t ngx_http_weir_form_keys(const ngx_http_weir_main_conf_t *conf,
				   const ngx_http_weir_zone_t *zone);

/* ngx_http_weir_cors.c */
char *ngx_http_weir_cors(ngx_conf_t *cf, ngx_command_t *command, void *conf);

/* ngx_http_weir_fields.c */
ngx_int_t ngx_http_weir_fields_init(ngx_conf_t *cf);
/* Writes what of the fields is the same for every request. */
ngx_int_t ngx_http_weir_fields_prepare(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf);

/* ngx_http_weir_variables.c */
ngx_int_t ngx_http_weir_add_variables(ngx_conf_t *cf);

/* ngx_http_weir_zones.c */
ngx_int_t ngx_http_weir_zones_prepare(ngx_conf_t *cf, ngx_http_weir_main_conf_t *conf);
ngx_int_t ngx_http_weir_zones_commit(ngx_cycle_t *cycle);

/* ngx_http_weir_lint.c: what nginx -t warns of. Called as a location is merged. */
void ngx_http_weir_lint(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *parent,
			ngx_http_weir_loc_conf_t *conf, bool is_inherited);

#endif
