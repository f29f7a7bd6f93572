/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "text/failure.h"

static void a_failure_returns_the_error_negative_whatever_its_sign(void **state)
{
	struct failure why;

	(void)state;
	assert_int_equal(failure_set(&why, ENOENT, "no such map"), -ENOENT);
	assert_int_equal(failure_set(&why, -ENOENT, "no such map"), -ENOENT);
	assert_int_equal(failure_set(&why, 0, "nothing"), 0);
}

static void an_errno_is_told_in_the_systems_words_whatever_its_sign(void **state)
{
	struct failure why;

	(void)state;
	assert_int_equal(failure_errno(&why, ENOENT), -ENOENT);
	assert_string_equal(why.reason, "No such file or directory");
	assert_int_equal(failure_errno(&why, -EISDIR), -EISDIR);
	assert_string_equal(why.reason, "Is a directory");
	assert_int_equal(failure_errno(NULL, ENOMEM), -ENOMEM);
}

static void a_reason_is_stored_as_formatted(void **state)
{
	struct failure why;

	(void)state;
	failure_set(&why, EBUSY, "'%s' has program %d", "eth0", 42);
	assert_string_equal(why.reason, "'eth0' has program 42");
}

static void a_new_reason_clears_the_hint(void **state)
{
	struct failure why = {.hint = "of another failure"};

	(void)state;
	failure_set(&why, EPERM, "not permitted");
	assert_string_equal(why.hint, "");
}

static void a_hint_leaves_the_reason_alone(void **state)
{
	struct failure why;

	(void)state;
	failure_set(&why, EPERM, "not permitted");
	failure_hint(&why, "run it as %s", "root");
	assert_string_equal(why.reason, "not permitted");
	assert_string_equal(why.hint, "run it as root");
	failure_hint(&why, "ask somebody");
	assert_string_equal(why.hint, "ask somebody");
}

static void nobody_needs_to_ask_why(void **state)
{
	(void)state;
	assert_int_equal(failure_set(NULL, EINVAL, "%s", "not asked for"), -EINVAL);
	failure_hint(NULL, "%s", "not asked for");
}

static void what_does_not_fit_is_cut(void **state)
{
	char text[2 * sizeof(((struct failure *)NULL)->reason)];
	struct failure why;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(failure_set(&why, EINVAL, "%s", text), -EINVAL);
	failure_hint(&why, "%s", text);
	assert_int_equal(strlen(why.reason), sizeof(why.reason) - 1);
	assert_int_equal(strlen(why.hint), sizeof(why.hint) - 1);
	assert_memory_equal(why.reason, text, sizeof(why.reason) - 1);
}

static void a_failure_can_be_told_in_terms_of_itself(void **state)
{
	struct failure why;

	(void)state;
	failure_set(&why, EIO, "the disk is full");
	failure_hint(&why, "make room");
	failure_set(&why, EIO, "cannot write: %s (%s)", why.reason, why.hint);
	assert_string_equal(why.reason, "cannot write: the disk is full (make room)");
	failure_hint(&why, "since %s", why.reason);
	failure_hint(&why, "wait, %s", why.hint);
	assert_string_equal(why.hint, "wait, since cannot write: the disk is full (make room)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_returns_the_error_negative_whatever_its_sign),
		cmocka_unit_test(an_errno_is_told_in_the_systems_words_whatever_its_sign),
		cmocka_unit_test(a_reason_is_stored_as_formatted),
		cmocka_unit_test(a_new_reason_clears_the_hint),
		cmocka_unit_test(a_hint_leaves_the_reason_alone),
		cmocka_unit_test(nobody_needs_to_ask_why),
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(a_failure_can_be_told_in_terms_of_itself),
	};

	return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}
