/* SPDX-License-Identifier: MIT */
/* The nginx glue's own types: configuration, and the decision that a request carries. */
#ifndef NGX_HTTP_WEIR_H
#define NGX_HTTP_WEIR_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <stdbool.h>

#include "http/forwarded.h"
#include "http/key.h"
#include "http/reply.h"
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
	bool used; /* some "weir" names it */
	bool observe;
	bool is_address; /* keyed by $weir_address alone */
	enum take_mode mode;
	ngx_array_t *keys;                  /* of ngx_http_complex_value_t */
	ngx_http_complex_value_t *capacity; /* or the limit; NULL: as in main */
	ngx_http_complex_value_t *rate;     /* or per */
	struct zone_settings settings;      /* main: the limit, or the default of a variable one */
	ngx_str_t shared;                   /* name to share under; empty: not shared */
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
	bool hold_given; /* delay= or nodelay */
	uint64_t burst;  /* excess that passes at once */
	ngx_http_weir_place_t place;
} ngx_http_weir_limit_t;

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
	/* RateLimit-Policy where all enforced zones have fixed limits, and how many they are. */
	ngx_str_t policy;
	ngx_uint_t policies;
} ngx_http_weir_loc_conf_t;

enum ngx_http_weir_outcome {
	NGX_HTTP_WEIR_PASSED,
	NGX_HTTP_WEIR_DELAYED,
	NGX_HTTP_WEIR_REFUSED,
	NGX_HTTP_WEIR_OVERFLOW,
};

typedef struct {
	ngx_http_weir_loc_conf_t *conf; /* of the location that decided */
	enum ngx_http_weir_outcome outcome;
	bool is_observed; /* outcome is what an observed zone would have made of it */
	bool refused;
	bool is_held;
	uint64_t hold_ns;
	bool settled;
	uint64_t retry_after; /* seconds, once settled; 0: no promise */
	/* Enforced zones first, both in configuration order. */
	ngx_uint_t enforced;
	ngx_uint_t observed;
	ngx_uint_t telling; /* the charge that variables speak of */
	struct zone_charge *charges;
	ngx_http_weir_limit_t **limits;
	struct reply_policy *policies; /* of all charges, NULL until somebody asks */
} ngx_http_weir_decision_t;

/* ngx_http_weir_directives.c */
extern ngx_command_t ngx_http_weir_commands[];
void *ngx_http_weir_create_main_conf(ngx_conf_t *cf);
char *ngx_http_weir_init_main_conf(ngx_conf_t *cf, void *conf);
void *ngx_http_weir_create_loc_conf(ngx_conf_t *cf);
char *ngx_http_weir_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);

/* What a request keeps. */
typedef struct {
	const struct sockaddr *peer;        /* as the socket says */
	ngx_http_weir_decision_t *decision; /* NULL: nothing was decided (yet) */
} ngx_http_weir_request_t;

static inline bool ngx_http_weir_is_named(const ngx_table_elt_t *field, const ngx_str_t *name)
{
	return field->key.len == name->len &&
	       !ngx_strncasecmp(field->key.data, name->data, name->len);
}

static inline bool ngx_http_weir_is_overflow(const struct zone_charge *charge)
{
	return charge->status == ZONE_OVERFLOW_PASSED || charge->status == ZONE_OVERFLOW_REFUSED;
}

/* ngx_http_weir_zone_conf.c */
char *ngx_http_weir_zone(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* Found or made, to be defined later; NULL without memory, or after an error was logged. */
ngx_http_weir_zone_t *ngx_http_weir_zone_named(ngx_conf_t *cf, ngx_str_t *name);
ngx_http_weir_place_t ngx_http_weir_place(ngx_conf_t *cf);
/* The name in "$name" or "${name}"; empty where text is anything more or else. */
ngx_str_t ngx_http_weir_variable_name(const ngx_str_t *text);
/* NULL without memory, or after an error was logged. */
ngx_http_complex_value_t *ngx_http_weir_compile(ngx_conf_t *cf, ngx_str_t *text);

/* ngx_http_weir_zones.c */
ngx_int_t ngx_http_weir_zones_prepare(ngx_conf_t *cf, ngx_http_weir_main_conf_t *conf);
ngx_int_t ngx_http_weir_zones_commit(ngx_cycle_t *cycle);

/* ngx_http_weir_lint.c: what nginx -t warns of. Called as a location is merged. */
void ngx_http_weir_lint(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *parent,
			ngx_http_weir_loc_conf_t *conf, bool is_inherited);

/* ngx_http_weir_request.c */
ngx_int_t ngx_http_weir_remember(ngx_http_request_t *r);
/* NULL where the request ended before its first phase. */
ngx_http_weir_request_t *ngx_http_weir_request(ngx_http_request_t *r);
ngx_http_weir_decision_t *ngx_http_weir_decision(ngx_http_request_t *r);

/* ngx_http_weir_address.c */
struct ngx_http_weir_source {
	struct prefix address; /* normalised; family 0: unknown */
	struct prefix origin;  /* whose /24 or /48 has a share of a zone's slots */
	bool is_peer;
	bool is_nameless; /* a trusted unix socket named nobody: all such are one source */
};

/* The key, and the value of $weir_address, of nameless ones. */
#define NGX_HTTP_WEIR_NAMELESS "unix:"

struct ngx_http_weir_source ngx_http_weir_source(ngx_http_request_t *r);

/* ngx_http_weir_charges.c: fills charges and limits, leaving out zones that exempt the request. */
ngx_int_t ngx_http_weir_charges_collect(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);

/* ngx_http_weir_decide.c */
ngx_int_t ngx_http_weir_preaccess(ngx_http_request_t *r);
uint64_t ngx_http_weir_now_ns(void);

/* ngx_http_weir_hold.c */
ngx_int_t ngx_http_weir_hold(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);
/* How long a charge that passed wants the request held. */
uint64_t ngx_http_weir_charge_hold_ns(const ngx_http_weir_decision_t *decision, ngx_uint_t at);
bool ngx_http_weir_may_hold(ngx_http_request_t *r);
void ngx_http_weir_hold_forget(ngx_http_weir_decision_t *decision);

/* ngx_http_weir_answer.c */
ngx_int_t ngx_http_weir_answer_init(ngx_conf_t *cf);
/* Writes what of the answer is the same for every request. */
ngx_int_t ngx_http_weir_answer_prepare(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf);
ngx_int_t ngx_http_weir_refuse(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);
/* What clients and variables are told, one for each charge; NULL without memory. */
struct reply_policy *ngx_http_weir_policies(ngx_http_request_t *r,
					    ngx_http_weir_decision_t *decision);
/* Seconds for Retry-After, 0: none. Settles jitter. */
ngx_int_t ngx_http_weir_settle(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);

/* ngx_http_weir_variables.c */
ngx_int_t ngx_http_weir_add_variables(ngx_conf_t *cf);

#endif
