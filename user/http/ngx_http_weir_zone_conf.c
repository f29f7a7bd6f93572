/* SPDX-License-Identifier: MIT */
/* weir_zone: its words to a zone's rule and settings. */
#include "http/key.h"
#include "http/ngx_http_weir_conf.h"

#include <ctype.h>

#define ENTRIES_DEFAULT 100000
#define NAME_LEN_MAX    (ZONE_NAME_SIZE - 1)

ngx_http_weir_place_t ngx_http_weir_place(ngx_conf_t *cf)
{
	ngx_http_weir_place_t place = {ngx_null_string, 0};

	if (cf->conf_file) {
		place.file = cf->conf_file->file.name;
		place.line = cf->conf_file->line;
	}
	return place;
}

ngx_http_complex_value_t *ngx_http_weir_compile(ngx_conf_t *cf, ngx_str_t *text)
{
	ngx_http_complex_value_t *value = ngx_pcalloc(cf->pool, sizeof(*value));
	ngx_http_compile_complex_value_t compile = {
		.cf = cf, .value = text, .complex_value = value};

	return value && !ngx_http_compile_complex_value(&compile) ? value : NULL;
}

ngx_str_t ngx_http_weir_variable_name(const ngx_str_t *text)
{
	ngx_str_t name = {text->len, text->data};

	if (!name.len || name.data[0] != '$')
		return (ngx_str_t)ngx_null_string;
	name.data++;
	name.len--;
	if (name.len > 1 && name.data[0] == '{' && name.data[name.len - 1] == '}') {
		name.data++;
		name.len -= 2;
	}
	for (size_t i = 0; i < name.len; i++) {
		if (!isalnum(name.data[i]) && name.data[i] != '_')
			return (ngx_str_t)ngx_null_string;
	}
	return name;
}

static bool name_is_valid(const ngx_str_t *name)
{
	if (!name->len || name->len > NAME_LEN_MAX)
		return false;
	for (size_t i = 0; i < name->len; i++) {
		u_char c = name->data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-')
			return false;
	}
	return true;
}

ngx_http_weir_zone_t *ngx_http_weir_zone_find(const ngx_http_weir_main_conf_t *conf,
					      const ngx_str_t *name)
{
	ngx_http_weir_zone_t **zones = conf->zones.elts;

	for (ngx_uint_t i = 0; i < conf->zones.nelts; i++) {
		if (zones[i]->name.len == name->len &&
		    !ngx_memcmp(zones[i]->name.data, name->data, name->len))
			return zones[i];
	}
	return NULL;
}

ngx_http_weir_zone_t *ngx_http_weir_zone_named(ngx_conf_t *cf, ngx_str_t *name)
{
	ngx_http_weir_main_conf_t *conf =
		ngx_http_conf_get_module_main_conf(cf, ngx_http_weir_module);
	ngx_http_weir_zone_t *zone = ngx_http_weir_zone_find(conf, name), **place;

	if (zone)
		return zone;
	if (!name_is_valid(name)) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
				   "invalid zone name \"%V\", it must be 1 to %d of a-z, 0-9, _ "
				   "and -",
				   name, NAME_LEN_MAX);
		return NULL;
	}
	zone = ngx_pcalloc(cf->pool, sizeof(*zone));
	place = ngx_array_push(&conf->zones);
	if (!zone || !place)
		return NULL;
	zone->name = *name;
	zone->place = ngx_http_weir_place(cf);
	*place = zone;
	return zone;
}

/* The words of one weir_zone, before they are put together. */
struct zone_words {
	ngx_conf_t *cf;
	ngx_http_weir_zone_t *zone;
	ngx_str_t algorithm, capacity, rate, limit, per, defaults, entries, max, overflow, shared;
};

static const struct {
	ngx_str_t name;
	size_t offset;
} zone_parameters[] = {
	{ngx_string("algorithm="), offsetof(struct zone_words, algorithm)},
	{ngx_string("capacity="), offsetof(struct zone_words, capacity)},
	{ngx_string("rate="), offsetof(struct zone_words, rate)},
	{ngx_string("limit="), offsetof(struct zone_words, limit)},
	{ngx_string("per="), offsetof(struct zone_words, per)},
	{ngx_string("default="), offsetof(struct zone_words, defaults)},
	{ngx_string("entries="), offsetof(struct zone_words, entries)},
	{ngx_string("max="), offsetof(struct zone_words, max)},
	{ngx_string("overflow="), offsetof(struct zone_words, overflow)},
	{ngx_string("shared="), offsetof(struct zone_words, shared)},
};

static ngx_int_t fault(const struct zone_words *words, const char *what, const ngx_str_t *value)
{
	ngx_conf_log_error(NGX_LOG_EMERG, words->cf, 0, "zone \"%V\": %s \"%V\"",
			   &words->zone->name, what, value);
	return NGX_ERROR;
}

static ngx_int_t fault_plain(const struct zone_words *words, const char *what)
{
	ngx_conf_log_error(NGX_LOG_EMERG, words->cf, 0, "zone \"%V\": %s", &words->zone->name,
			   what);
	return NGX_ERROR;
}

static ngx_int_t key_add(struct zone_words *words, ngx_str_t *word)
{
	ngx_str_t text = {word->len - 4, word->data + 4};
	ngx_http_complex_value_t *value, *place;

	if (!text.len)
		return fault(words, "empty parameter", word);
	value = ngx_http_weir_compile(words->cf, &text);
	place = value ? ngx_array_push(words->zone->keys) : NULL;
	if (!place)
		return NGX_ERROR;
	*place = *value;
	if (!value->lengths)
		return fault(words,
			     "the key is the same for every request, without a variable:", &text);
	return NGX_OK;
}

static ngx_int_t word_read(struct zone_words *words, ngx_str_t *word)
{
	if (!ngx_strncmp(word->data, "key=", 4))
		return key_add(words, word);
	if (!ngx_strcmp(word->data, "observe") && !words->zone->observe) {
		words->zone->observe = true;
		return NGX_OK;
	}
	if (!ngx_strcmp(word->data, "count-refused") && !words->zone->mode) {
		words->zone->mode = TAKE_CHARGE_REFUSED;
		return NGX_OK;
	}
	for (size_t i = 0; i < sizeof(zone_parameters) / sizeof(zone_parameters[0]); i++) {
		const ngx_str_t *name = &zone_parameters[i].name;
		ngx_str_t *place = (ngx_str_t *)((char *)words + zone_parameters[i].offset);

		if (ngx_strncmp(word->data, name->data, name->len))
			continue;
		if (place->data)
			return fault(words, "duplicate parameter", word);
		if (word->len == name->len)
			return fault(words, "empty parameter", word);
		place->data = word->data + name->len;
		place->len = word->len - name->len;
		return NGX_OK;
	}
	return fault(words, "invalid parameter", word);
}

static ngx_int_t algorithm_read(struct zone_words *words, enum algorithm *ret)
{
	bool is_window;

	*ret = ALGORITHM_TOKEN_BUCKET;
	if (words->algorithm.data && !algorithm_parse((char *)words->algorithm.data, ret))
		return fault(words,
			     "the algorithm must be token-bucket, leaky-bucket, fixed-window, "
			     "sliding-window or sliding-log, not",
			     &words->algorithm);
	is_window = algorithm_is_window(*ret);
	if (is_window && (words->capacity.data || words->rate.data))
		return fault_plain(words, "windows take \"limit=\" and \"per=\", not \"capacity=\" "
					  "and \"rate=\"");
	if (!is_window && (words->limit.data || words->per.data))
		return fault_plain(words,
				   "buckets take \"capacity=\" and \"rate=\"; \"limit=\" and "
				   "\"per=\" are for windows, see \"algorithm=\"");
	if (words->max.data && *ret != ALGORITHM_SLIDING_LOG)
		return fault_plain(words, "\"max=\" is for sliding-log");
	return NGX_OK;
}

/* "10,1/s": a count, and a rate or a duration. */
static ngx_int_t pair_read(const struct zone_words *words, ngx_str_t *text, bool is_window,
			   uint64_t *ret_count, struct rate *ret_rate)
{
	char *comma = strchr((char *)text->data, ',');
	bool good;

	if (!comma)
		return fault(words, "a count and a rate are needed, such as 10,1/s, not", text);
	*comma = '\0';
	good = count_parse((char *)text->data, ret_count) &&
	       (is_window ? duration_parse(comma + 1, &ret_rate->period_ns)
			  : rate_parse(comma + 1, ret_rate));
	*comma = ',';
	return good ? NGX_OK : fault(words, "invalid pair", text);
}

/* A constant into its place, or a variable; *ret_is_constant says which. */
static ngx_int_t value_read(const struct zone_words *words, ngx_str_t *text, const char *name,
			    ngx_http_complex_value_t **ret, bool *ret_is_constant)
{
	*ret_is_constant = false;
	if (!text->data) {
		ngx_conf_log_error(NGX_LOG_EMERG, words->cf, 0, "zone \"%V\": \"%s=\" is missing",
				   &words->zone->name, name);
		return NGX_ERROR;
	}
	if (!ngx_http_script_variables_count(text)) {
		*ret_is_constant = true;
		return NGX_OK;
	}
	*ret = ngx_http_weir_compile(words->cf, text);
	return *ret ? NGX_OK : NGX_ERROR;
}

static ngx_int_t rule_read(struct zone_words *words, enum algorithm algorithm)
{
	bool is_window = algorithm_is_window(algorithm), fixed_count, fixed_rate;
	ngx_str_t *count_text = is_window ? &words->limit : &words->capacity;
	ngx_str_t *rate_text = is_window ? &words->per : &words->rate;
	ngx_http_weir_zone_t *zone = words->zone;
	struct rate rate = {0};
	struct failure why;
	uint64_t count = 0;

	if (value_read(words, count_text, is_window ? "limit" : "capacity", &zone->capacity,
		       &fixed_count) ||
	    value_read(words, rate_text, is_window ? "per" : "rate", &zone->rate, &fixed_rate))
		return NGX_ERROR;
	if (!words->defaults.data != (fixed_count && fixed_rate))
		return fault_plain(words, words->defaults.data
						  ? "\"default=\" is for limits in variables"
						  : "a limit in a variable needs \"default=\"");
	if (words->defaults.data && pair_read(words, &words->defaults, is_window, &count, &rate))
		return NGX_ERROR;
	if (fixed_count && !count_parse((char *)count_text->data, &count))
		return fault(words,
			     is_window ? "the limit must be a count, such as 100, not"
				       : "the capacity must be a count, such as 100, not",
			     count_text);
	if (fixed_rate && !(is_window ? duration_parse((char *)rate_text->data, &rate.period_ns)
				      : rate_parse((char *)rate_text->data, &rate)))
		return fault(words,
			     is_window ? "the time must have a unit, such as 60s or 1h, not"
				       : "the rate must be such as 20/s or 5/min, not",
			     rate_text);
	if (is_window)
		rate.count = count;
	if (rule_build(algorithm, count, &rate, &zone->settings.main, &why))
		return fault_plain(words, why.reason);
	return NGX_OK;
}

/* Of windows: the limit, and as much in one of them. */
static ngx_int_t overflow_read(struct zone_words *words)
{
	const struct rule *main = &words->zone->settings.main;
	uint64_t capacity = main->capacity;
	struct rate rate = main->rate;
	struct failure why;

	if (words->overflow.data && pair_read(words, &words->overflow, false, &capacity, &rate))
		return NGX_ERROR;
	if (rule_build(ALGORITHM_TOKEN_BUCKET, capacity, &rate, &words->zone->settings.overflow,
		       &why)) {
		ngx_conf_log_error(NGX_LOG_EMERG, words->cf, 0,
				   "zone \"%V\": overflow bucket: %s (say \"overflow=\")",
				   &words->zone->name, why.reason);
		return NGX_ERROR;
	}
	return NGX_OK;
}

static ngx_int_t size_read(struct zone_words *words)
{
	struct zone_settings *settings = &words->zone->settings;

	settings->entries = ENTRIES_DEFAULT;
	if (words->entries.data &&
	    (!count_parse((char *)words->entries.data, &settings->entries) ||
	     settings->entries < ZONE_ENTRIES_MIN || settings->entries > ZONE_ENTRIES_MAX)) {
		ngx_conf_log_error(NGX_LOG_EMERG, words->cf, 0,
				   "zone \"%V\": invalid entries \"%V\", it must be %d to %uL",
				   &words->zone->name, &words->entries, ZONE_ENTRIES_MIN,
				   (uint64_t)ZONE_ENTRIES_MAX);
		return NGX_ERROR;
	}
	if (words->zone->settings.main.algorithm != ALGORITHM_SLIDING_LOG)
		return NGX_OK;
	settings->cells_per_slot = words->zone->settings.main.capacity;
	if (words->max.data && (!count_parse((char *)words->max.data, &settings->cells_per_slot) ||
				settings->cells_per_slot > LOG_COST_MAX))
		return fault(words, "invalid max", &words->max);
	if (settings->cells_per_slot < words->zone->settings.main.capacity)
		return fault(words, "the limit needs more cells than max", &words->max);
	if (!zone_size(settings->entries, settings->cells_per_slot, settings->offenders))
		return fault_plain(words, "entries= times max= is too much memory");
	return NGX_OK;
}

static void identity_set(ngx_http_weir_zone_t *zone)
{
	static const uint8_t no_secret[KEY_SECRET_SIZE];
	static const ngx_str_t address = ngx_string("weir_address");
	const ngx_http_complex_value_t *keys = zone->keys->elts;
	struct zone_identity *identity = &zone->settings.identity;
	ngx_str_t name = ngx_http_weir_variable_name(&keys->value);

	for (ngx_uint_t i = 0; i < zone->keys->nelts; i++)
		identity->key_hash = identity->key_hash * 31 +
				     key_siphash(no_secret, keys[i].value.data, keys[i].value.len);
	zone->is_address = zone->keys->nelts == 1 && name.len == address.len &&
			   !ngx_strncmp(name.data, address.data, address.len);
	identity->is_address = zone->is_address;
	identity->algorithm = zone->settings.main.algorithm;
}

static char *shared_set(struct zone_words *words)
{
	if (words->shared.data && !name_is_valid(&words->shared)) {
		fault(words, "invalid name to share under", &words->shared);
		return NGX_CONF_ERROR;
	}
	words->zone->settings.shared = words->shared.data != NULL;
	words->zone->shared = words->shared;
	return NGX_CONF_OK;
}

char *ngx_http_weir_zone(ngx_conf_t *cf, ngx_command_t *command, void *conf)
{
	ngx_str_t *args = cf->args->elts;
	struct zone_words words = {.cf = cf};
	ngx_http_weir_zone_t *zone;
	enum algorithm algorithm;

	(void)command;
	(void)conf;
	if (!ngx_strcmp(args[1].data, "off"))
		return "cannot be named \"off\"";
	zone = words.zone = ngx_http_weir_zone_named(cf, &args[1]);
	if (!zone)
		return NGX_CONF_ERROR;
	if (zone->defined) {
		fault_plain(&words, "is defined twice");
		return NGX_CONF_ERROR;
	}
	zone->defined = true;
	zone->place = ngx_http_weir_place(cf);
	zone->keys = ngx_array_create(cf->pool, 1, sizeof(ngx_http_complex_value_t));
	if (!zone->keys)
		return NGX_CONF_ERROR;
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++) {
		if (word_read(&words, &args[i]))
			return NGX_CONF_ERROR;
	}
	if (!zone->keys->nelts)
		return "needs \"key=\"";
	if (algorithm_read(&words, &algorithm) || rule_read(&words, algorithm) ||
	    overflow_read(&words) || size_read(&words))
		return NGX_CONF_ERROR;
	identity_set(zone);
	return shared_set(&words);
}
