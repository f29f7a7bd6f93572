/* SPDX-License-Identifier: MIT */
/* What a request is to be charged with: for each zone that limits it, whose key, under which rule,
 * at what cost. */
#include "http/ngx_http_weir.h"

#define VALUE_SIZE 64 /* of a limit or cost in a variable */

/* The source is looked up once, however many zones there are. */
struct asking {
	ngx_http_request_t *r;
	bool known;
	struct ngx_http_weir_source source;
};

static const struct ngx_http_weir_source *asking_source(struct asking *asking)
{
	if (!asking->known)
		asking->source = ngx_http_weir_source(asking->r);
	asking->known = true;
	return &asking->source;
}

void ngx_http_weir_key_of_address(ngx_http_weir_zone_t *zone,
				  const struct ngx_http_weir_source *source, struct zone_key *ret)
{
	const uint8_t *secret = zone->zone->header->secret;

	if (source->origin.family)
		ret->origin = key_hash_origin(secret, &source->origin);
	ret->hash = key_hash_address(secret, &source->address);
	key_label_address(&source->address, source->is_peer, &ret->label);
}

static bool key_of_client(struct asking *asking, ngx_http_weir_zone_t *zone, struct zone_key *ret)
{
	const struct ngx_http_weir_source *source = asking_source(asking);
	const uint8_t *secret = zone->zone->header->secret;

	if (source->is_nameless) {
		ret->hash = key_hash_text(secret, NGX_HTTP_WEIR_NAMELESS,
					  sizeof(NGX_HTTP_WEIR_NAMELESS) - 1);
		key_label_hash(ret->hash, &ret->label);
		return true;
	}
	if (!source->address.family)
		return false;
	ngx_http_weir_key_of_address(zone, source, ret);
	return true;
}

/* The first expression that is not empty. NGX_DECLINED: exempt. */
static ngx_int_t key_of_text(struct asking *asking, ngx_http_weir_zone_t *zone,
			     struct zone_key *ret)
{
	ngx_http_complex_value_t *keys = zone->keys->elts;

	for (ngx_uint_t i = 0; i < zone->keys->nelts; i++) {
		ngx_str_t text;

		if (ngx_http_complex_value(asking->r, &keys[i], &text))
			return NGX_ERROR;
		if (!text.len)
			continue;
		ret->hash = key_hash_text(zone->zone->header->secret, text.data, text.len);
		key_label_hash(ret->hash, &ret->label);
		return NGX_OK;
	}
	return NGX_DECLINED;
}

static ngx_int_t key_find(struct asking *asking, ngx_http_weir_zone_t *zone, struct zone_key *ret)
{
	const struct ngx_http_weir_source *source = asking_source(asking);

	ngx_memzero(ret, sizeof(*ret));
	if (zone->is_address)
		return key_of_client(asking, zone, ret) ? NGX_OK : NGX_DECLINED;
	if (source->origin.family)
		ret->origin = key_hash_origin(zone->zone->header->secret, &source->origin);
	return key_of_text(asking, zone, ret);
}

/* The text of a variable value, as a string of C. False: absent, empty or too long. */
static bool value_text(ngx_http_request_t *r, ngx_http_complex_value_t *value, char buf[VALUE_SIZE])
{
	ngx_str_t text;

	if (ngx_http_complex_value(r, value, &text) || !text.len || text.len >= VALUE_SIZE)
		return false;
	ngx_memcpy(buf, text.data, text.len);
	buf[text.len] = '\0';
	return ngx_strlen(buf) == text.len;
}

static bool rule_of_request(ngx_http_request_t *r, ngx_http_weir_zone_t *zone, struct rule *ret)
{
	uint64_t capacity = zone->settings.main.capacity;
	struct rate rate = zone->settings.main.rate;
	char text[VALUE_SIZE];

	if (zone->capacity &&
	    (!value_text(r, zone->capacity, text) || !count_parse(text, &capacity)))
		return false;
	if (zone->rate) {
		if (!value_text(r, zone->rate, text))
			return false;
		if (algorithm_is_window(zone->settings.main.algorithm)
			    ? !duration_parse(text, &rate.period_ns)
			    : !rate_parse(text, &rate))
			return false;
	}
	if (algorithm_is_window(zone->settings.main.algorithm))
		rate.count = capacity;
	return !rule_build(zone->settings.main.algorithm, capacity, &rate, ret, NULL);
}

/* A log has no more cells than it was made with. */
static bool rule_fits(const ngx_http_weir_zone_t *zone, const struct rule *rule)
{
	return rule->algorithm != ALGORITHM_SLIDING_LOG ||
	       rule->capacity <= zone->zone->header->cells_per_slot;
}

unsigned int ngx_http_weir_rule(ngx_http_request_t *r, ngx_http_weir_zone_t *zone)
{
	struct rule rule;
	int number = -1;

	if (!zone->capacity && !zone->rate)
		return zone->zone->main_rule;
	if (rule_of_request(r, zone, &rule) && rule_fits(zone, &rule))
		number = zone_rule_find(zone->zone, &rule);
	if (number >= 0)
		return (unsigned int)number;
	zone_count(zone->zone, ZONE_COUNT_DEFAULTED);
	return zone->zone->main_rule;
}

static uint64_t cost_find(ngx_http_request_t *r, const ngx_http_weir_limit_t *limit)
{
	char text[VALUE_SIZE];
	uint64_t cost;

	if (!limit->cost)
		return limit->fixed_cost;
	if (value_text(r, limit->cost, text)) {
		if (!ngx_strcmp(text, "0"))
			return 0;
		if (count_parse(text, &cost))
			return cost;
	}
	zone_count(limit->zone->zone, ZONE_COUNT_DEFAULTED);
	return 1;
}

static ngx_int_t charge_add(struct asking *asking, ngx_http_weir_decision_t *decision,
			    ngx_http_weir_limit_t *limit, ngx_uint_t *count)
{
	ngx_uint_t at = decision->enforced + decision->observed;
	struct zone_charge *charge = &decision->charges[at];
	ngx_int_t found;

	ngx_memzero(charge, sizeof(*charge));
	found = key_find(asking, limit->zone, &charge->key);
	if (found)
		return found == NGX_DECLINED ? NGX_OK : NGX_ERROR;
	charge->zone = limit->zone->zone;
	charge->mode = limit->zone->mode;
	charge->rule = ngx_http_weir_rule(asking->r, limit->zone);
	charge->cost = cost_find(asking->r, limit);
	decision->limits[at] = limit;
	(*count)++;
	return NGX_OK;
}

static ngx_int_t charges_collect(struct asking *asking, ngx_http_weir_decision_t *decision,
				 ngx_array_t *limits, bool observe)
{
	ngx_uint_t *count = observe ? &decision->observed : &decision->enforced;
	ngx_http_weir_limit_t *limit = limits->elts;

	for (ngx_uint_t i = 0; i < limits->nelts; i++) {
		if (limit[i].zone->observe == observe &&
		    charge_add(asking, decision, &limit[i], count))
			return NGX_ERROR;
	}
	return NGX_OK;
}

ngx_int_t ngx_http_weir_charges_collect(ngx_http_request_t *r, ngx_http_weir_decision_t *decision,
					ngx_array_t *limits)
{
	struct asking asking = {.r = r};

	return charges_collect(&asking, decision, limits, false) ||
	       charges_collect(&asking, decision, limits, true);
}
