/* SPDX-License-Identifier: MIT */
/* Who asks: the TCP peer, or whom a trusted peer names. */
#include "http/ngx_http_weir.h"

#define LINES_MAX 64 /* of one header; older ones, to the left, are not believed */

/* Whole, and IPv4 where it is mapped into IPv6: as trusted prefixes are compared with. */
static bool prefix_of_sockaddr(const struct sockaddr *sockaddr, struct prefix *ret)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)sockaddr)->sin6_addr;
	const void *bytes = in6;
	bool is_ipv4 = sockaddr->sa_family == AF_INET;

	if (is_ipv4)
		bytes = &((const struct sockaddr_in *)sockaddr)->sin_addr;
	else if (sockaddr->sa_family != AF_INET6)
		return false;
	if (!is_ipv4 && IN6_IS_ADDR_V4MAPPED(in6)) {
		bytes = &in6->s6_addr[12];
		is_ipv4 = true;
	}
	*ret = (struct prefix){.family = is_ipv4 ? WEIR_IPV4 : WEIR_IPV6,
			       .length = is_ipv4 ? 32 : 128};
	ngx_memcpy(ret->address, bytes, is_ipv4 ? 4 : 16);
	return true;
}

/* A request that ends before it is remembered has the connection's own. */
struct prefix ngx_http_weir_peer(ngx_http_request_t *r)
{
	const ngx_http_weir_request_t *kept = ngx_http_weir_request(r);
	struct prefix peer = {.family = 0};

	prefix_of_sockaddr(kept ? kept->peer : r->connection->sockaddr, &peer);
	return peer;
}

size_t ngx_http_weir_lines(ngx_http_request_t *r, const ngx_str_t *name,
			   struct forwarded_line *lines, size_t max)
{
	ngx_list_part_t *part = &r->headers_in.headers.part;
	size_t count = 0;

	for (; part; part = part->next) {
		ngx_table_elt_t *header = part->elts;

		for (ngx_uint_t i = 0; i < part->nelts; i++) {
			if (!ngx_http_weir_is_named(&header[i], name))
				continue;
			if (count == max)
				ngx_memmove(lines, lines + 1, --count * sizeof(*lines));
			lines[count].bytes = (const char *)header[i].value.data;
			lines[count++].size = header[i].value.len;
		}
	}
	return count;
}

bool ngx_http_weir_walk(ngx_http_request_t *r, enum forwarded_header header,
			const ngx_array_t *from, const struct prefix *peer, struct prefix *ret)
{
	static const ngx_str_t names[] = {
		[FORWARDED_X_FORWARDED_FOR] = ngx_string("x-forwarded-for"),
		[FORWARDED_FORWARDED] = ngx_string("forwarded"),
	};
	struct forwarded_line lines[LINES_MAX];
	size_t count = ngx_http_weir_lines(r, &names[header], lines, LINES_MAX);

	if (count)
		*ret = forwarded_client(header, lines, count, from->elts, from->nelts, peer);
	return count;
}

/* Whom the PROXY protocol header names; the peer where there was none. */
static struct prefix client_proxied(ngx_http_request_t *r, const struct prefix *peer)
{
	const ngx_proxy_protocol_t *header = r->connection->proxy_protocol;
	struct prefix client = *peer;

	if (header)
		forwarded_node_parse((const char *)header->src_addr.data, header->src_addr.len,
				     &client);
	return client;
}

/* Where realip found another address than the peer's, clients behind that peer are not one network.
 */
static void origin_find(ngx_http_request_t *r, struct ngx_http_weir_source *source)
{
	struct prefix shown = {.family = 0};

	source->origin = source->address;
	if (source->is_peer && prefix_of_sockaddr(r->connection->sockaddr, &shown))
		source->origin = shown;
}

struct ngx_http_weir_source ngx_http_weir_source_of(ngx_http_request_t *r,
						    const struct prefix *address)
{
	ngx_http_weir_main_conf_t *conf = ngx_http_get_module_main_conf(r, ngx_http_weir_module);
	struct ngx_http_weir_source source = {.is_peer = false};

	address_normalise(address->family, address->address, conf->ipv6_prefix, &source.address);
	source.origin = source.address;
	return source;
}

struct ngx_http_weir_source ngx_http_weir_source(ngx_http_request_t *r)
{
	ngx_http_weir_main_conf_t *conf = ngx_http_get_module_main_conf(r, ngx_http_weir_module);
	const ngx_http_weir_asked_t *asked = ngx_http_weir_asked(r);
	struct ngx_http_weir_source source = {.address = {.family = 0}};
	struct prefix peer, client;
	bool is_trusted;

	if (asked)
		return asked->source;
	r = r->main;
	client = peer = ngx_http_weir_peer(r);
	is_trusted = ngx_http_weir_is_from(&conf->trusted, conf->trusts_unix, &peer);
	if (conf->proxy_protocol && is_trusted)
		client = client_proxied(r, &peer);
	else if (conf->header != FORWARDED_NONE && is_trusted)
		ngx_http_weir_walk(r, conf->header, &conf->trusted, &peer, &client);
	source.is_peer = !ngx_memcmp(&client, &peer, sizeof(peer));
	if (client.family)
		address_normalise(client.family, client.address, conf->ipv6_prefix,
				  &source.address);
	source.is_nameless = !client.family && conf->trusts_unix;
	origin_find(r, &source);
	return source;
}
