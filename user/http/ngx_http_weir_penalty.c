/* SPDX-License-Identifier: MIT */
/* weir_penalty: who is refused too often is banned for a while. */
#include "http/ngx_http_weir.h"
#include "http/zone_offenders.h"

static bool refusals_parse(const char *text, uint32_t *ret)
{
	uint64_t refusals;

	if (!count_parse(text, &refusals) || refusals > UINT32_MAX)
		return false;
	*ret = (uint32_t)refusals;
	return true;
}

static bool offenders_parse(const char *text, uint64_t *ret)
{
	return count_parse(text, ret) && *ret <= ZONE_OFFENDERS_MAX;
}

/* Puts a parameter where it goes. False: there is no such, or its value is bad. */
static bool penalty_parameter(ngx_str_t *word, ngx_http_weir_zone_t *zone)
{
	struct penalty *penalty = &zone->penalty;
	const struct {
		const char *name;
		uint64_t *place;
	} durations[] = {
		{"within", &penalty->within_ns},
		{"ban", &penalty->ban_ns},
		{"max", &penalty->max_ns},
	};
	char *refusals = ngx_http_weir_parameter(word, "refusals");
	char *offenders = ngx_http_weir_parameter(word, "offenders");

	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		char *duration = ngx_http_weir_parameter(word, durations[i].name);

		if (duration)
			return duration_parse(duration, durations[i].place);
	}
	if (refusals)
		return refusals_parse(refusals, &penalty->refusals);
	if (offenders)
		return offenders_parse(offenders, &zone->settings.offenders);
	if (ngx_strcmp(word->data, "penalty-any-key"))
		return false;
	zone->penalises_any_key = true;
	return true;
}

char *ngx_http_weir_penalty(ngx_conf_t *cf, ngx_command_t *command, void *conf)
{
	ngx_str_t *words = cf->args->elts;
	ngx_http_weir_zone_t *zone = ngx_http_weir_zone_named(cf, &words[1]);
	struct failure why;

	(void)command;
	(void)conf;
	if (!zone)
		return NGX_CONF_ERROR;
	if (zone->penalty.refusals)
		return "is there twice for the zone";
	zone->penalty_place = ngx_http_weir_place(cf);
	zone->settings.offenders = ZONE_OFFENDERS_DEFAULT;
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++) {
		if (ngx_http_weir_is_repeated(words, 2, i) || !penalty_parameter(&words[i], zone))
			return ngx_http_weir_parameter_bad(cf, &words[i]);
	}
	if (!zone->penalty.refusals || !zone->penalty.within_ns || !zone->penalty.ban_ns ||
	    !zone->penalty.max_ns)
		return "needs \"refusals=\", \"within=\", \"ban=\" and \"max=\"";
	if (!penalty_check(&zone->penalty, &why))
		return NGX_CONF_OK;
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "zone \"%V\": %s", &zone->name, why.reason);
	return NGX_CONF_ERROR;
}

ngx_int_t ngx_http_weir_penalty_check(ngx_conf_t *cf, const ngx_http_weir_zone_t *zone)
{
	const char *fault = NULL;

	if (!zone->penalty.refusals)
		return NGX_OK;
	if (!zone->defined)
		fault = "is not defined";
	else if (!zone->is_address && !zone->penalises_any_key)
		fault = "is not keyed by $weir_address alone: anybody could get another's key "
			"banned (\"penalty-any-key\" takes that risk)";
	if (!fault && zone->observe)
		ngx_log_error(NGX_LOG_WARN, cf->log, 0,
			      "weir zone \"%V\" observes, so that its weir_penalty bans nobody in "
			      "%V:%ui",
			      &zone->name, &zone->penalty_place.file, zone->penalty_place.line);
	if (!fault)
		return NGX_OK;
	ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "weir_penalty: zone \"%V\" %s in %V:%ui",
		      &zone->name, fault, &zone->penalty_place.file, zone->penalty_place.line);
	return NGX_ERROR;
}

/* Not those behind a unix socket whom nobody names: they are one key, and each would get all others
 * banned. */
static bool is_penalised(const ngx_http_weir_zone_t *zone, const struct zone_key *key)
{
	return zone->penalty.refusals &&
	       (zone->penalises_any_key || key->label.kind == LABEL_ADDRESS);
}

/* The other zones have no say, and nothing to tell. */
static void ban_tell(ngx_http_weir_decision_t *decision, ngx_uint_t at, uint64_t ban_ns,
		     uint64_t now_ns)
{
	struct zone_charge *charge = &decision->charges[0];

	*charge = decision->charges[at];
	charge->status = ZONE_REFUSED;
	charge->now_ns = now_ns;
	decision->limits[0] = decision->limits[at];
	decision->enforced = 1;
	decision->observed = 0;
	decision->telling = 0;
	decision->outcome = NGX_HTTP_WEIR_BANNED;
	decision->refused = true;
	decision->ban_ns = ban_ns;
}

/* Before the body was read the key of a text may still be the one for requests without a field. */
static bool may_be_banned(const ngx_http_weir_decision_t *decision, ngx_uint_t at)
{
	const ngx_http_weir_zone_t *zone = decision->limits[at]->zone;

	return is_penalised(zone, &decision->charges[at].key) &&
	       (zone->is_address || !decision->lacks_body);
}

/* The longest of several. */
bool ngx_http_weir_penalty_bans(ngx_http_weir_decision_t *decision)
{
	uint64_t now_ns = 0, longest_ns = 0;
	ngx_uint_t longest = 0;

	if (decision->ban_ns)
		return true;
	for (ngx_uint_t i = 0; i < decision->enforced; i++) {
		const struct zone_charge *charge = &decision->charges[i];
		uint64_t left_ns;

		if (!may_be_banned(decision, i))
			continue;
		now_ns = now_ns ? now_ns : ngx_http_weir_now_ns();
		left_ns = zone_ban_left_ns(charge->zone, charge->key.hash, now_ns);
		if (left_ns > longest_ns) {
			longest_ns = left_ns;
			longest = i;
		}
	}
	if (!longest_ns)
		return false;
	ban_tell(decision, longest, longest_ns, now_ns);
	zone_count_banned(decision->charges[0].zone, decision->charges[0].key.hash, now_ns);
	return true;
}

/* The one place that every new ban passes, whoever else is to learn of it. */
static void offender_tell(ngx_http_request_t *r, const ngx_http_weir_decision_t *decision,
			  ngx_uint_t at, uint64_t ban_ns)
{
	const struct zone_key *key = &decision->charges[at].key;
	char address[PREFIX_TEXT_SIZE] = "", duration[QUANTITY_TEXT_SIZE];
	struct prefix prefix = {.family = key->label.family, .length = key->label.prefix_length};

	if (key->label.kind == LABEL_ADDRESS) {
		ngx_memcpy(prefix.address, key->label.value, sizeof(prefix.address));
		prefix_format(address, sizeof(address), &prefix);
	}
	duration_format_rounded(duration, sizeof(duration), ban_ns);
	ngx_log_error(decision->conf->log_level, r->connection->log, 0,
		      "weir bans %s%skey %016xL for %s, zone \"%V\"", address, *address ? ", " : "",
		      key->hash, duration, &decision->limits[at]->zone->name);
}

/* What a shared overflow bucket refuses is not the key's own doing. The refusal that makes a ban
 * tells of the ban already. */
void ngx_http_weir_penalty_count(ngx_http_request_t *r, ngx_http_weir_decision_t *decision)
{
	uint64_t longest_ns = 0;
	ngx_uint_t longest = 0;

	for (ngx_uint_t i = 0; i < decision->enforced; i++) {
		const struct zone_charge *charge = &decision->charges[i];
		const ngx_http_weir_zone_t *zone = decision->limits[i]->zone;
		uint64_t ban_ns;

		if (charge->status != ZONE_REFUSED || !is_penalised(zone, &charge->key))
			continue;
		if (zone_offend(charge->zone, &zone->penalty, &charge->key, charge->now_ns,
				&ban_ns) != OFFENCE_BANNED)
			continue;
		offender_tell(r, decision, i, ban_ns);
		if (ban_ns > longest_ns) {
			longest_ns = ban_ns;
			longest = i;
		}
	}
	if (longest_ns)
		ban_tell(decision, longest, longest_ns, decision->charges[longest].now_ns);
}
