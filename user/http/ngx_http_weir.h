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
#include "http/offender.h"
#include "http/reply.h"
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
	bool used; /* some "weir" names it */
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

/* weir_check, and the weir_route lines beside it */
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
	size_t form_max_bytes; /* the largest of weir_form_field; 0: there is none */
	bool has_app;          /* which may name any zone */
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
	ngx_http_weir_check_t *check; /* not inherited */
	/* RateLimit-Policy where all enforced zones have fixed limits, and how many they are. */
	ngx_str_t policy;
	ngx_uint_t policies;
} ngx_http_weir_loc_conf_t;

enum ngx_http_weir_outcome {
	NGX_HTTP_WEIR_PASSED,
	NGX_HTTP_WEIR_DELAYED,
	NGX_HTTP_WEIR_REFUSED,
	NGX_HTTP_WEIR_OVERFLOW,
	NGX_HTTP_WEIR_BANNED,
};

typedef struct {
	ngx_http_weir_loc_conf_t *conf; /* of the location that decided */
	enum ngx_http_weir_outcome outcome;
	bool is_observed; /* outcome is what an observed zone would have made of it */
	bool refused;
	bool is_held;
	uint64_t hold_ns;
	uint64_t ban_ns; /* what is left of it */
	bool refunded;
	bool settled;
	uint64_t wait_ns;     /* once settled, with jitter; 0: no promise */
	uint64_t retry_after; /* the same in seconds */
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

/* ngx_http_weir_limit_conf.c */
char *ngx_http_weir_limit(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* Adds a limit by the zone of that name, which was not there yet. NGX_CONF_OK, or the fault. */
char *ngx_http_weir_limit_add(ngx_conf_t *cf, ngx_array_t *limits, ngx_str_t *name,
			      ngx_http_weir_limit_t **ret);
/* "cost=..." of a limit. */
char *ngx_http_weir_limit_cost(ngx_conf_t *cf, ngx_http_weir_limit_t *limit, ngx_str_t *word);
/* Once every zone is known. */
char *ngx_http_weir_limits_check(ngx_conf_t *cf, ngx_array_t *limits);
/* The value of "name=value" where word is of that form, else NULL. */
char *ngx_http_weir_parameter(ngx_str_t *word, const char *name);
/* Logs that it is invalid; NGX_CONF_ERROR. */
char *ngx_http_weir_parameter_bad(ngx_conf_t *cf, ngx_str_t *word);

/* Who asks. */
struct ngx_http_weir_source {
	struct prefix address; /* normalised; family 0: unknown */
	struct prefix origin;  /* whose /24 or /48 has a share of a zone's slots */
	bool is_peer;
	bool is_nameless; /* a trusted unix socket named nobody: all such are one source */
};

/* What a check was asked about: another request, of which its front told. */
typedef struct ngx_http_weir_asked_s ngx_http_weir_asked_t;
struct ngx_http_weir_asked_s {
	ngx_http_weir_asked_t *next;
	const ngx_http_request_t *by; /* the check's request, or subrequest */
	ngx_str_t method;
	ngx_str_t path; /* normalised (route.h) */
	struct ngx_http_weir_source source;
	ngx_http_weir_decision_t *decision; /* NULL: nothing was decided (yet) */
};

/* What a request keeps. */
typedef struct {
	const struct sockaddr *peer;        /* as the socket says */
	ngx_http_weir_decision_t *decision; /* NULL: nothing was decided (yet) */
	ngx_http_weir_asked_t *asked;       /* checks that this request and its subrequests are */
	/* of its body, for weir_form_field */
	bool is_collecting; /* a body that is wanted now can still be read */
	bool wants_body;
	bool has_read_body;
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
/* Of the check that r is, else of the client's request; NULL: there is none. */
ngx_http_weir_decision_t *ngx_http_weir_decision(ngx_http_request_t *r);
/* NULL: r is no check. */
ngx_http_weir_asked_t *ngx_http_weir_asked(ngx_http_request_t *r);
/* Added to what r keeps; NULL without memory. */
ngx_http_weir_asked_t *ngx_http_weir_asked_add(ngx_http_request_t *r);

/* ngx_http_weir_address.c */

/* The key, and the value of $weir_address, of nameless ones. */
#define NGX_HTTP_WEIR_NAMELESS "unix:"

struct ngx_http_weir_source ngx_http_weir_source(ngx_http_request_t *r);
/* The TCP peer, as the socket said; family 0: it has no address. */
struct prefix ngx_http_weir_peer(ngx_http_request_t *r);
/* An address that something is known by, as the source it counts as. */
struct ngx_http_weir_source ngx_http_weir_source_of(ngx_http_request_t *r,
						    const struct prefix *address);
/* Up to max lines of that header, the last ones, in the order they came; returns how many. */
size_t ngx_http_weir_lines(ngx_http_request_t *r, const ngx_str_t *name,
			   struct forwarded_line *lines, size_t max);

/* ngx_http_weir_charges.c: fills charges and limits, leaving out zones that exempt the request. */
ngx_int_t ngx_http_weir_charges_collect(ngx_http_request_t *r, ngx_http_weir_decision_t *decision,
					ngx_array_t *limits);
/* The number of the rule that the zone has for the request. */
unsigned int ngx_http_weir_rule(ngx_http_request_t *r, ngx_http_weir_zone_t *zone);
void ngx_http_weir_key_of_address(ngx_http_weir_zone_t *zone,
				  const struct ngx_http_weir_source *source, struct zone_key *ret);

/* ngx_http_weir_decide.c */
ngx_int_t ngx_http_weir_preaccess(ngx_http_request_t *r);
/* With room for that many charges; NULL without memory. */
ngx_http_weir_decision_t *ngx_http_weir_decision_new(ngx_http_request_t *r,
						     ngx_http_weir_loc_conf_t *conf,
						     ngx_uint_t charges);
/* Decides on what was collected, and logs what is worth it. */
void ngx_http_weir_decide(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);
uint64_t ngx_http_weir_now_ns(void);

/* ngx_http_weir_hold.c */
ngx_int_t ngx_http_weir_hold(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);
/* How long a charge that passed wants the request held. */
uint64_t ngx_http_weir_charge_hold_ns(const ngx_http_weir_decision_t *decision, ngx_uint_t at);
bool ngx_http_weir_may_hold(ngx_http_request_t *r);
void ngx_http_weir_hold_forget(ngx_http_weir_decision_t *decision);

/* ngx_http_weir_directives.c: "from=" of a directive that trusts; NGX_DECLINED: it is not that. */
ngx_int_t ngx_http_weir_from(ngx_str_t *word, ngx_array_t *prefixes, bool *trusts_unix);
/* Whether a peer, family 0 for a unix socket's, is one of those. */
bool ngx_http_weir_is_from(const ngx_array_t *prefixes, bool trusts_unix,
			   const struct prefix *peer);

/* ngx_http_weir_penalty.c */
char *ngx_http_weir_penalty(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* Once every zone is known. */
ngx_int_t ngx_http_weir_penalty_check(ngx_conf_t *cf, const ngx_http_weir_zone_t *zone);
/* Whether a zone bans the request's key: then that is the decision. */
bool ngx_http_weir_penalty_bans(ngx_http_weir_decision_t *decision);
/* Counts the refusals of zones with a penalty. */
void ngx_http_weir_penalty_count(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);

/* ngx_http_weir_form.c */
char *ngx_http_weir_form_field(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* Collects charges, and sets wants_body where a key needs the body first. */
ngx_int_t ngx_http_weir_form_collect(ngx_http_request_t *r, ngx_http_weir_request_t *kept,
				     ngx_http_weir_decision_t *decision);
/* The whole body that was read, in one piece; empty where there is none or it is larger. */
ngx_int_t ngx_http_weir_body_gather(ngx_http_request_t *r, size_t max_bytes, ngx_str_t *ret);
/* Reads the body; the phase runs again when it is there. NGX_DONE, or a status. */
ngx_int_t ngx_http_weir_form_read(ngx_http_request_t *r);

/* ngx_http_weir_check_conf.c */
char *ngx_http_weir_check(ngx_conf_t *cf, ngx_command_t *command, void *conf);
char *ngx_http_weir_route(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* Once every zone is known. */
char *ngx_http_weir_check_verify(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf, bool has_limits);

/* ngx_http_weir_front.c: what the front tells. NGX_DECLINED: something is lacking, and logged. */
ngx_int_t ngx_http_weir_front_read(ngx_http_request_t *r, ngx_http_weir_asked_t *asked);
/* Whether the peer may ask; logged where not. */
bool ngx_http_weir_front_is_trusted(ngx_http_request_t *r);

/* ngx_http_weir_check.c, ngx_http_weir_app.c: content handlers */
ngx_int_t ngx_http_weir_check_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_weir_app_handler(ngx_http_request_t *r);

/* ngx_http_weir_grpc.c */
bool ngx_http_weir_is_grpc(ngx_http_request_t *r);
/* Sends the refusal. */
ngx_int_t ngx_http_weir_grpc_refuse(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);

/* ngx_http_weir_cors.c */
char *ngx_http_weir_cors(ngx_conf_t *cf, ngx_command_t *command, void *conf);
/* Lets a script of an origin that weir_cors names read the refusal. */
ngx_int_t ngx_http_weir_cors_fields_set(ngx_http_request_t *r,
					const ngx_http_weir_loc_conf_t *conf);

/* ngx_http_weir_fields.c */
ngx_int_t ngx_http_weir_fields_init(ngx_conf_t *cf);
/* Writes what of the fields is the same for every request. */
ngx_int_t ngx_http_weir_fields_prepare(ngx_conf_t *cf, ngx_http_weir_loc_conf_t *conf);
/* In place of whatever there is of that name. */
ngx_int_t ngx_http_weir_field_set(ngx_http_request_t *r, const ngx_str_t *name, u_char *value,
				  size_t size);
ngx_int_t ngx_http_weir_field_set_number(ngx_http_request_t *r, const ngx_str_t *name,
					 uint64_t number);
/* Besides whatever there is of that name. */
ngx_int_t ngx_http_weir_field_add(ngx_http_request_t *r, const ngx_str_t *name, u_char *value,
				  size_t size);

/* ngx_http_weir_answer.c */
ngx_int_t ngx_http_weir_refuse(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);
/* Sends header and body of a refusal; returns what nginx's filters do, or a status. */
ngx_int_t ngx_http_weir_refusal_send(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);
void ngx_http_weir_type_set(ngx_http_request_t *r, const ngx_str_t *type);
/* Sends the header, whose status is set, and the whole body; returns as refusal_send does. */
ngx_int_t ngx_http_weir_body_send(ngx_http_request_t *r, const ngx_str_t *type, ngx_buf_t *body);
/* What clients and variables are told, one for each charge; NULL without memory. */
struct reply_policy *ngx_http_weir_policies(ngx_http_request_t *r,
					    ngx_http_weir_decision_t *decision);
/* How long to wait before asking again, jitter included. */
ngx_int_t ngx_http_weir_settle(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);

/* ngx_http_weir_variables.c */
ngx_int_t ngx_http_weir_value_set(ngx_http_variable_value_t *value, u_char *bytes, size_t size);
ngx_int_t ngx_http_weir_value_absent(ngx_http_variable_value_t *value);
/* As $weir_status has it. */
ngx_str_t ngx_http_weir_status(const ngx_http_weir_decision_t *decision);
ngx_int_t ngx_http_weir_add_variables(ngx_conf_t *cf);

#endif
