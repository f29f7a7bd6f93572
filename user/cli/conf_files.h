/* SPDX-License-Identifier: MIT */
/* nginx's configuration files as they are on disk. */
#ifndef WEIR_CONF_FILES_H
#define WEIR_CONF_FILES_H

#include "cli/nginx_conf.h"

extern const struct nginx_conf_files conf_files;

#endif
