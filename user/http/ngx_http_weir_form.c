/* SPDX-License-Identifier: MIT */
/* weir_form_field: a variable that is a field of the request's body. The body is read when the key
 * of a limit asks for the variable, and no earlier. */
#include "http/form_field.h"
#include "http/ngx_http_weir.h"

#define MAX_DEFAULT 8192
#define MAX_MAX     65536 /* JSON may take 80 times as much memory */
#define VALUE_MAX   1024  /* bytes of a field */

/* Whether there may be a body to look into: of a kind that is read, and not too large. */
static bool has_form(ngx_http_request_t *r, size_t max_bytes)
{
	const ngx_table_elt_t *type = r->headers_in.content_type;
	off_t length = r->headers_in.content_length_n;

	if (!type || form_kind_of((const char *)type->value.data, type->value.len) == FORM_OTHER)
		return false;
	if (length >= 0)
		return length && length <= (off_t)max_bytes;
	return r->headers_in.chunked || r->http_version >= NGX_HTTP_VERSION_20;
}

static off_t buf_bytes(const ngx_buf_t *buf)
{
	return buf->in_file ? buf->file_last - buf->file_pos : buf->last - buf->pos;
}

static off_t chain_bytes(const ngx_chain_t *chain)
{
	off_t bytes = 0;

	for (; chain; chain = chain->next)
		bytes += buf_bytes(chain->buf);
	return bytes;
}

static ngx_int_t buf_copy(ngx_buf_t *buf, u_char *to)
{
	ssize_t bytes = (ssize_t)buf_bytes(buf);

	if (buf->in_file)
		return ngx_read_file(buf->file, to, (size_t)bytes, buf->file_pos) == bytes
			       ? NGX_OK
			       : NGX_ERROR;
	ngx_memcpy(to, buf->pos, (size_t)bytes);
	return NGX_OK;
}

ngx_int_t ngx_http_weir_body_gather(ngx_http_request_t *r, size_t max_bytes, ngx_str_t *ret)
{
	ngx_chain_t *chain = r->request_body ? r->request_body->bufs : NULL;
	off_t bytes = chain_bytes(chain);
	u_char *at;

	ret->len = 0;
	if (!bytes || bytes > (off_t)max_bytes)
		return NGX_OK;
	ret->len = (size_t)bytes;
	ret->data = at = ngx_pnalloc(r->pool, ret->len);
	if (!at)
		return NGX_ERROR;
	for (; chain; chain = chain->next) {
		/* The last of a body in chunks has neither bytes nor memory. */
		if (buf_bytes(chain->buf) && buf_copy(chain->buf, at))
			return NGX_ERROR;
		at += buf_bytes(chain->buf);
	}
	return NGX_OK;
}

/* An empty value where it is absent. */
static ngx_int_t value_find(ngx_http_request_t *r, const ngx_http_weir_form_t *form, ngx_str_t *ret)
{
	const ngx_str_t *type = &r->headers_in.content_type->value;
	ngx_str_t body;

	ret->len = 0;
	ret->data = ngx_pnalloc(r->pool, VALUE_MAX);
	if (!ret->data || ngx_http_weir_body_gather(r, form->max_bytes, &body))
		return NGX_ERROR;
	if (!body.len || !form_field_find(form_kind_of((const char *)type->data, type->len),
					  (const char *)body.data, body.len, form->field,
					  (char *)ret->data, VALUE_MAX, &ret->len))
		ret->len = 0;
	if (form->lowercase)
		form_value_fold((char *)ret->data, &ret->len);
	return NGX_OK;
}

/* Once a request, however many keys and log lines it is in: JSON takes milliseconds to read. NULL
 * without memory, or where the body cannot be read. */
static const ngx_str_t *value_known(ngx_http_request_t *r, ngx_http_weir_request_t *kept,
				    const ngx_http_weir_form_t *form)
{
	ngx_http_weir_field_t *field = kept->fields;

	while (field && field->form != form)
		field = field->next;
	if (field)
		return &field->value;
	field = ngx_palloc(r->pool, sizeof(*field));
	if (!field || value_find(r, form, &field->value))
		return NULL;
	field->form = form;
	field->next = kept->fields;
	kept->fields = field;
	return &field->value;
}

static ngx_int_t value_get(ngx_http_request_t *r, ngx_http_variable_value_t *value,
			   uintptr_t opaque)
{
	const ngx_http_weir_form_t *form = (const ngx_http_weir_form_t *)opaque;
	ngx_http_weir_request_t *kept = ngx_http_weir_request(r);
	const ngx_str_t *text;

	if (!kept || !has_form(r->main, form->max_bytes))
		return ngx_http_weir_value_absent(value);
	if (!kept->has_read_body) {
		kept->wants_body |= kept->is_collecting;
		return ngx_http_weir_value_absent(value);
	}
	text = value_known(r->main, kept, form);
	if (!text)
		return NGX_ERROR;
	return text->len ? ngx_http_weir_value_set(value, text->data, text->len)
			 : ngx_http_weir_value_absent(value);
}

static char *form_parameter(ngx_conf_t *cf, ngx_http_weir_form_t *form, ngx_str_t *word)
{
	char *text = ngx_http_weir_parameter(word, "max");
	ngx_str_t size = {text ? ngx_strlen(text) : 0, (u_char *)text};
	ssize_t bytes;

	if (!text) {
		form->lowercase |= !ngx_strcmp(word->data, "lowercase");
		return !ngx_strcmp(word->data, "lowercase") ? NGX_CONF_OK
							    : ngx_http_weir_parameter_bad(cf, word);
	}
	bytes = ngx_parse_size(&size);
	if (bytes <= 0 || bytes > MAX_MAX)
		return ngx_http_weir_parameter_bad(cf, word);
	form->max_bytes = (size_t)bytes;
	return NGX_CONF_OK;
}

char *ngx_http_weir_form_field(ngx_conf_t *cf, ngx_command_t *command, void *opaque)
{
	ngx_http_weir_main_conf_t *conf = opaque;
	ngx_str_t *words = cf->args->elts;
	ngx_str_t name = ngx_http_weir_variable_name(&words[1]);
	ngx_http_weir_form_t *form = ngx_pcalloc(cf->pool, sizeof(*form));
	ngx_http_variable_t *variable;
	ngx_str_t *known;

	(void)command;
	if (!form)
		return NGX_CONF_ERROR;
	if (!name.len)
		return "needs a variable first, such as $login_name";
	if (!words[2].len)
		return "needs a field's name";
	form->field = (const char *)words[2].data;
	form->max_bytes = MAX_DEFAULT;
	for (ngx_uint_t i = 3; i < cf->args->nelts; i++) {
		if (ngx_http_weir_is_repeated(words, 3, i))
			return ngx_http_weir_parameter_bad(cf, &words[i]);
		if (form_parameter(cf, form, &words[i]))
			return NGX_CONF_ERROR;
	}
	variable = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
	known = ngx_array_push(&conf->form_names);
	if (!variable || !known)
		return NGX_CONF_ERROR;
	*known = name;
	variable->get_handler = value_get;
	variable->data = (uintptr_t)form;
	conf->form_max_bytes = ngx_max(conf->form_max_bytes, form->max_bytes);
	return NGX_CONF_OK;
}

/* Names of variables are compared in any case, as nginx does. */
static bool is_form_name(const ngx_http_weir_main_conf_t *conf, const ngx_str_t *name)
{
	const ngx_str_t *known = conf->form_names.elts;

	for (ngx_uint_t i = 0; i < conf->form_names.nelts; i++) {
		if (known[i].len == name->len &&
		    !ngx_strncasecmp(known[i].data, name->data, name->len))
			return true;
	}
	return false;
}

ngx_uint_t ngx_http_weir_form_keys(const ngx_http_weir_main_conf_t *conf,
				   const ngx_http_weir_zone_t *zone)
{
	const ngx_http_complex_value_t *keys = zone->keys->elts;
	ngx_uint_t count = 0;

	for (ngx_uint_t i = 0; i < zone->keys->nelts; i++) {
		ngx_str_t name = ngx_http_weir_variable_name(&keys[i].value);

		count += is_form_name(conf, &name);
	}
	return count;
}

/* Whether each variable is known; NULL without memory. */
static u_char *variables_known(ngx_http_request_t *r, ngx_uint_t count)
{
	u_char *known = ngx_pnalloc(r->pool, count);

	for (ngx_uint_t i = 0; known && i < count; i++)
		known[i] = r->variables[i].valid || r->variables[i].not_found;
	return known;
}

/* Those that were not known before may follow from a field that was not there yet. */
static void variables_forget(ngx_http_request_t *r, const u_char *known, ngx_uint_t count)
{
	for (ngx_uint_t i = 0; i < count; i++) {
		if (known[i])
			continue;
		r->variables[i].valid = 0;
		r->variables[i].not_found = 0;
	}
}

ngx_int_t ngx_http_weir_form_collect(ngx_http_request_t *r, ngx_http_weir_request_t *kept,
				     ngx_http_weir_decision_t *decision)
{
	ngx_http_weir_main_conf_t *conf = ngx_http_get_module_main_conf(r, ngx_http_weir_module);
	ngx_http_core_main_conf_t *core = ngx_http_get_module_main_conf(r, ngx_http_core_module);
	ngx_uint_t variables = core->variables.nelts;
	u_char *known = NULL;
	ngx_int_t rc;

	kept->wants_body = false;
	kept->is_collecting =
		conf->form_max_bytes && !kept->has_read_body && has_form(r, conf->form_max_bytes);
	if (kept->is_collecting)
		known = variables_known(r, variables);
	if (kept->is_collecting && !known)
		return NGX_ERROR;
	rc = ngx_http_weir_charges_collect(r, decision, decision->conf->limits);
	kept->is_collecting = false;
	decision->lacks_body = kept->wants_body;
	if (kept->wants_body)
		variables_forget(r, known, variables);
	return rc;
}

static void body_is_read(ngx_http_request_t *r)
{
	ngx_http_weir_request(r)->has_read_body = true;
	r->preserve_body = 1;
	r->write_event_handler = ngx_http_core_run_phases;
	ngx_http_core_run_phases(r);
}

ngx_int_t ngx_http_weir_form_read(ngx_http_request_t *r)
{
	ngx_int_t rc = ngx_http_read_client_request_body(r, body_is_read);

	if (rc >= NGX_HTTP_SPECIAL_RESPONSE)
		return rc;
	ngx_http_finalize_request(r, NGX_DONE);
	return NGX_DONE;
}
