/* SPDX-License-Identifier: MIT */
/* Whom a key= of weir_zone stands for, in words. Pure. */
#ifndef WEIR_NGINX_CONF_KEY_H
#define WEIR_NGINX_CONF_KEY_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/nginx_conf.h"

/* "client address", "header X-Api-Key", "form field username"; what has no words is written as it
 * is. http is the first directive of the http block, where form fields are named. */
void conf_key_write(FILE *out, const char *text, const struct nginx_directive *http);

/* Whether it is $weir_address and nothing else. */
bool conf_key_is_address(const char *text);

#endif
