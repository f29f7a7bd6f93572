/* SPDX-License-Identifier: MIT */
/* What the nginx glue does with a request: who asks, what is decided, and what is told of it.
 *
 * What returns ngx_int_t and says no more returns NGX_OK, or anything else without memory. */
#ifndef NGX_HTTP_WEIR_H
#define NGX_HTTP_WEIR_H

#include "http/forwarded.h"
#include "http/key.h"
#include "http/ngx_http_weir_conf.h"
#include "http/reply.h"
#include "http/zone.h"

enum ngx_http_weir_outcome {
	NGX_HTTP_WEIR_PASSED,
	NGX_HTTP_WEIR_DELAYED,
	NGX_HTTP_WEIR_REFUSED,
	NGX_HTTP_WEIR_OVERFLOW,
	NGX_HTTP_WEIR_BANNED,
};

/* Of a client's request, or of one that a check was asked about. */
typedef struct {
	ngx_http_weir_loc_conf_t *conf; /* of the location that decided */
	enum ngx_http_weir_outcome outcome;
	bool is_observed; /* outcome is what an observed zone would have made of it */
	bool refused;
	bool is_held;
	bool lacks_body; /* a key of it may be another once the body was read */
	bool refunded;   /* what was to be given back */
	bool settled;
	uint64_t hold_ns;
	uint64_t ban_ns;      /* what is left of it; 0: not banned */
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
	const ngx_http_weir_check_t *check;
	ngx_str_t method;
	ngx_str_t path;                     /* normalised (route.h) */
	struct ngx_http_weir_source source; /* nobody where an application asks */
	ngx_http_weir_decision_t *decision; /* NULL: nothing was decided (yet) */
};

/* A field that was looked for in a request's body. */
typedef struct ngx_http_weir_field_s ngx_http_weir_field_t;
struct ngx_http_weir_field_s {
	ngx_http_weir_field_t *next;
	const ngx_http_weir_form_t *form;
	ngx_str_t value; /* empty: absent */
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
	ngx_http_weir_field_t *fields;
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

/* ngx_http_weir_request.c */
/* NGX_DECLINED, or a status without memory. */
ngx_int_t ngx_http_weir_remember(ngx_http_request_t *r);
/* NULL where the request ended before its first phase. */
ngx_http_weir_request_t *ngx_http_weir_request(ngx_http_request_t *r);
/* Of the check that r is, else of the client's request; NULL: there is none. */
ngx_http_weir_decision_t *ngx_http_weir_decision(ngx_http_request_t *r);
/* NULL: r is no check. */
ngx_http_weir_asked_t *ngx_http_weir_asked(ngx_http_request_t *r);
/* A copy is added to what r keeps: from now on r is that check. NULL without memory. */
ngx_http_weir_asked_t *ngx_http_weir_asked_add(ngx_http_request_t *r,
					       const ngx_http_weir_asked_t *told);

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
/* Whom a header that lists addresses makes out, for a peer that is in from (forwarded.h). False:
 * there is no line of it. */
bool ngx_http_weir_walk(ngx_http_request_t *r, enum forwarded_header header,
			const ngx_array_t *from, const struct prefix *peer, struct prefix *ret);

/* ngx_http_weir_charges.c: fills charges and limits, leaving out zones that exempt the request. */
ngx_int_t ngx_http_weir_charges_collect(ngx_http_request_t *r, ngx_http_weir_decision_t *decision,
					ngx_array_t *limits);
/* The number of the rule that the zone has for the request. */
unsigned int ngx_http_weir_rule(ngx_http_request_t *r, ngx_http_weir_zone_t *zone);
/* In the zone, whose key is the address alone; *ret is all zeroes before. */
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

/* ngx_http_weir_penalty.c */
/* Whether a zone bans the request's key: then that is the decision, and counted. */
bool ngx_http_weir_penalty_bans(ngx_http_weir_decision_t *decision);
/* Counts the refusals of zones with a penalty. */
void ngx_http_weir_penalty_count(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);

/* ngx_http_weir_form.c */
/* Collects charges, and sets wants_body where a key needs the body first. */
ngx_int_t ngx_http_weir_form_collect(ngx_http_request_t *r, ngx_http_weir_request_t *kept,
				     ngx_http_weir_decision_t *decision);
/* The whole body that was read, in one piece; empty where there is none or it is larger. Another
 * value than NGX_OK also where it cannot be read from its file. */
ngx_int_t ngx_http_weir_body_gather(ngx_http_request_t *r, size_t max_bytes, ngx_str_t *ret);
/* Reads the body; the phase runs again when it is there. NGX_DONE, or a status. */
ngx_int_t ngx_http_weir_form_read(ngx_http_request_t *r);

/* ngx_http_weir_front.c: what the front tells. NGX_DECLINED: something is lacking, and logged. */
ngx_int_t ngx_http_weir_front_read(ngx_http_request_t *r, ngx_http_weir_asked_t *asked);
/* Whether the peer may ask; logged where not. */
bool ngx_http_weir_front_is_trusted(ngx_http_request_t *r);
/* Whether what is wrong with a question may be logged now, of whichever check: one line a second
 * and worker, since anybody may ask. */
bool ngx_http_weir_may_complain(void);

/* ngx_http_weir_check.c, ngx_http_weir_app.c: content handlers */
ngx_int_t ngx_http_weir_check_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_weir_app_handler(ngx_http_request_t *r);

/* ngx_http_weir_grpc.c */
bool ngx_http_weir_is_grpc(ngx_http_request_t *r);
/* Sends the refusal. */
ngx_int_t ngx_http_weir_grpc_refuse(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);

/* ngx_http_weir_cors.c */
/* Lets a script of an origin that weir_cors names read the refusal. */
ngx_int_t ngx_http_weir_cors_fields_set(ngx_http_request_t *r,
					const ngx_http_weir_loc_conf_t *conf);

/* ngx_http_weir_fields.c */
/* In place of whatever there is of that name. */
ngx_int_t ngx_http_weir_field_set(ngx_http_request_t *r, const ngx_str_t *name, u_char *value,
				  size_t size);
ngx_int_t ngx_http_weir_field_set_number(ngx_http_request_t *r, const ngx_str_t *name,
					 uint64_t number);
/* Besides whatever there is of that name. */
ngx_int_t ngx_http_weir_field_add(ngx_http_request_t *r, const ngx_str_t *name, u_char *value,
				  size_t size);

/* ngx_http_weir_answer.c */
/* Ends the request by a refusal, or returns a status for which nginx has a page. */
ngx_int_t ngx_http_weir_refuse(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);
/* Sends header and body of a refusal; returns what nginx's filters do, or a status. */
ngx_int_t ngx_http_weir_refusal_send(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);
/* The response's Content-Type. */
void ngx_http_weir_type_set(ngx_http_request_t *r, const ngx_str_t *type);
/* Sends the header, whose status is set, and the whole body; returns as refusal_send does. */
ngx_int_t ngx_http_weir_body_send(ngx_http_request_t *r, const ngx_str_t *type, ngx_buf_t *body);
/* What clients and variables are told, one for each charge; NULL without memory. */
struct reply_policy *ngx_http_weir_policies(ngx_http_request_t *r,
					    ngx_http_weir_decision_t *decision);
/* How long to wait before asking again, jitter included. */
ngx_int_t ngx_http_weir_settle(ngx_http_request_t *r, ngx_http_weir_decision_t *decision);

/* ngx_http_weir_variables.c */
/* bytes must last as long as the request. */
ngx_int_t ngx_http_weir_value_set(ngx_http_variable_value_t *value, u_char *bytes, size_t size);
ngx_int_t ngx_http_weir_value_absent(ngx_http_variable_value_t *value);
/* As $weir_status has it. */
ngx_str_t ngx_http_weir_status(const ngx_http_weir_decision_t *decision);

#endif
