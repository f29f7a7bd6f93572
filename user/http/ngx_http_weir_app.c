/* SPDX-License-Identifier: MIT */
/* The check service's answer to an application: JSON to JSON (check_app.h). */
#include "http/check_app.h"
#include "http/ngx_http_weir.h"

#define QUESTION_MAX 16384 /* bytes: eight keys of the largest size */
#define ANSWER_SIZE  1024  /* besides the fields */

static ngx_int_t json_send(ngx_http_request_t *r, ngx_uint_t status, ngx_buf_t *body)
{
	static const ngx_str_t type = ngx_string("application/json");

	/* The question's own conditions are not about the answer. */
	r->disable_not_modified = 1;
	r->headers_out.status = status;
	return ngx_http_weir_body_send(r, &type, body);
}

static void error_log(ngx_http_request_t *r, const char *reason)
{
	if (ngx_http_weir_may_complain()) {
		ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "weir_check app answers 400: %s",
			      reason);
	}
}

/* Logged too, since applications may look at the status alone. */
static ngx_int_t error_send(ngx_http_request_t *r, const char *reason)
{
	ngx_buf_t *body = ngx_create_temp_buf(r->pool, ANSWER_SIZE);

	error_log(r, reason);
	if (!body)
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	body->last += check_error_write((char *)body->pos, ANSWER_SIZE, reason);
	return json_send(r, NGX_HTTP_BAD_REQUEST, body);
}

static ngx_http_weir_zone_t *zone_asked(ngx_http_request_t *r, const char *text)
{
	ngx_str_t name = {ngx_strlen(text), (u_char *)text};

	return ngx_http_weir_zone_find(ngx_http_get_module_main_conf(r, ngx_http_weir_module),
				       &name);
}

/* False: the zone's keys are addresses, and this is none. */
static bool key_set(ngx_http_request_t *r, ngx_http_weir_zone_t *zone,
		    const struct check_item *item, struct zone_key *ret)
{
	struct ngx_http_weir_source source;
	struct prefix address;

	if (!zone->is_address) {
		ret->hash = key_hash_text(zone->zone->header->secret, item->key, item->key_size);
		key_label_hash(ret->hash, &ret->label);
		return true;
	}
	if (!forwarded_node_parse(item->key, item->key_size, &address))
		return false;
	source = ngx_http_weir_source_of(r, &address);
	ngx_http_weir_key_of_address(zone, &source, ret);
	return true;
}

/* NULL, or what is wrong with the item. Observed zones come after all others. */
static const char *charge_add(ngx_http_request_t *r, ngx_http_weir_decision_t *decision,
			      const struct check_item *item, ngx_http_weir_limit_t *limit,
			      bool observe)
{
	ngx_uint_t at = decision->enforced + decision->observed;
	struct zone_charge *charge = &decision->charges[at];
	ngx_http_weir_zone_t *zone = zone_asked(r, item->zone);

	if (!zone)
		return "there is no such zone";
	if (zone->observe != observe)
		return NULL;
	ngx_memzero(charge, sizeof(*charge));
	if (!key_set(r, zone, item, &charge->key))
		return "the zone's keys are addresses, and the key is none";
	charge->zone = zone->zone;
	charge->mode = zone->mode;
	charge->rule = ngx_http_weir_rule(r, zone);
	charge->cost = item->cost;
	limit->zone = zone;
	decision->limits[at] = limit;
	if (observe)
		decision->observed++;
	else
		decision->enforced++;
	return NULL;
}

static const char *charges_add(ngx_http_request_t *r, ngx_http_weir_decision_t *decision,
			       const struct check_question *question, ngx_http_weir_limit_t *limits)
{
	const char *fault = NULL;

	for (size_t i = 0; i < 2 * question->count && !fault; i++) {
		size_t at = i % question->count;

		fault = charge_add(r, decision, &question->items[at], &limits[at],
				   i >= question->count);
	}
	return fault;
}

/* The fields as texts: they go into the body too. */
static ngx_int_t answer_send(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	struct reply_policy *policies = ngx_http_weir_policies(r, decision);
	size_t fields_size = (decision->enforced + decision->observed) * REPLY_POLICY_SIZE + 1;
	char *policy = ngx_pnalloc(r->pool, 2 * fields_size);
	size_t size = ANSWER_SIZE + 4 * fields_size; /* quotes are escaped */
	ngx_buf_t *body = ngx_create_temp_buf(r->pool, size);
	struct check_answer answer = {.allowed = !decision->refused};

	if (!policies || !policy || !body || ngx_http_weir_settle(r, decision))
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	if (decision->conf->fields && decision->conf->reveal && decision->enforced) {
		reply_policy_field(policy, fields_size, policies, decision->enforced);
		reply_limit_field(policy + fields_size, fields_size, policies, decision->enforced);
		answer.policy_field = policy;
		answer.limit_field = policy + fields_size;
	}
	answer.status = (const char *)ngx_http_weir_status(decision).data;
	answer.zone = (const char *)decision->limits[decision->telling]->zone->name.data;
	answer.limit = policies[decision->telling].answer.limit;
	answer.remaining = policies[decision->telling].answer.remaining;
	answer.retry_after = decision->retry_after;
	body->last += check_answer_write((char *)body->pos, size, &answer);
	return json_send(r, NGX_HTTP_OK, body);
}

/* The question's key is of whomever it is about, who need not be an address, and its sender is the
 * application: for the log there is no address. */
static ngx_int_t question_answer(ngx_http_request_t *r, const struct check_question *question)
{
	ngx_http_weir_loc_conf_t *conf = ngx_http_get_module_loc_conf(r, ngx_http_weir_module);
	ngx_http_weir_decision_t *decision = ngx_http_weir_decision_new(r, conf, question->count);
	ngx_http_weir_limit_t *limits = ngx_pcalloc(r->pool, question->count * sizeof(*limits));
	ngx_http_weir_asked_t told = {.decision = decision};
	const char *fault;

	if (!decision || !limits)
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	fault = charges_add(r, decision, question, limits);
	if (fault)
		return error_send(r, fault);
	if (!ngx_http_weir_asked_add(r, &told))
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	ngx_http_weir_decide(r, decision);
	return answer_send(r, decision);
}

static ngx_int_t body_answer(ngx_http_request_t *r)
{
	struct check_question question;
	struct failure why;
	ngx_str_t body;
	ngx_int_t rc;

	if (ngx_http_weir_body_gather(r, QUESTION_MAX, &body))
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	if (!body.len)
		return error_send(r, "the question is empty, or larger than 16k");
	rc = check_question_parse((const char *)body.data, body.len, &question, &why);
	if (rc)
		return error_send(r, why.reason);
	rc = question_answer(r, &question);
	check_question_free(&question);
	return rc;
}

static void body_is_read(ngx_http_request_t *r)
{
	ngx_http_finalize_request(r, body_answer(r));
}

ngx_int_t ngx_http_weir_app_handler(ngx_http_request_t *r)
{
	ngx_int_t rc;

	if (r != r->main) {
		error_log(r, "a subrequest asks no question");
		return NGX_HTTP_BAD_REQUEST;
	}
	if (!ngx_http_weir_front_is_trusted(r))
		return NGX_HTTP_FORBIDDEN;
	if (r->method != NGX_HTTP_POST)
		return NGX_HTTP_NOT_ALLOWED;
	if (r->headers_in.content_length_n > QUESTION_MAX)
		return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
	rc = ngx_http_read_client_request_body(r, body_is_read);
	return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}
