/* SPDX-License-Identifier: MIT */
/* The limits of an nginx configuration as those who call the API are to read of them. Pure. */
#ifndef WEIR_NGINX_CONF_PUBLISH_H
#define WEIR_NGINX_CONF_PUBLISH_H

#include "cli/nginx_conf_limits.h"

/* Leaves of the limits, in their order:
 *
 *   - what clients meet: no zones that only observe, no internal locations;
 *   - routes without nginx's "=" and "^~", but the "=" where the path is a prefix too;
 *   - servers (NULL: none) only where two names differ, never by what they listen on, and not of
 *     routes that a front asks about: the check service's server is not the clients';
 *   - rows that then read the same once.
 *
 * Returns how many internal ones were left out that do not only observe. */
size_t nginx_limits_publish(struct nginx_limits *limits);

#endif
