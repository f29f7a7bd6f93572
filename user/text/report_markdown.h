/* SPDX-License-Identifier: MIT */
/* A report's tree in GitHub's Markdown, for documents:
 *
 *   - a list of flat objects is a table, a column for each key; a list of nothing is left out;
 *   - any other scalar is a paragraph, without its key; null is left out.
 *
 * All text is shown as it is, none is markup. An empty line parts what stands together. */
#ifndef WEIR_REPORT_MARKDOWN_H
#define WEIR_REPORT_MARKDOWN_H

#include <jansson.h>
#include <stdio.h>

/* 0, -ENOMEM, or -EINVAL for what has no form above. Errors of writing to out: see ferror. */
int report_markdown_write(const json_t *root, FILE *out);

#endif
