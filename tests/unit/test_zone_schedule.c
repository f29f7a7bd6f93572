/* SPDX-License-Identifier: MIT */
/* The zone's own code under schedules that a seed chooses: every read and every exchange of a slot
 * is a step, and between two steps any other actor may go on, or be gone for ever. */
#include "zone_made.h"

#include <ucontext.h>

#include "random.h"

static struct slot_pair step_read(const struct zone_slot *slot);
static bool step_exchange(struct slot_pair *at, struct slot_pair from, struct slot_pair to);

/* The shipped files once more, under names of their own and with those steps. */
#define slot_read             step_read
#define slot_exchange         step_exchange
#define zone_places_find      step_places_find
#define zone_place_find       step_place_find
#define zone_place_free       step_place_free
#define zone_place_is_claimed step_place_is_claimed
#define zone_place_claim      step_place_claim
#define zone_place_resolve    step_place_resolve
#define zone_charge_look      step_charge_look
#define zone_charge_take      step_charge_take
#define zone_charge_give_back step_charge_give_back
#include "http/zone_charge.c"
#include "http/zone_place.c"
#undef slot_read
#undef slot_exchange

#define ACTORS     4
#define KEYS       2
#define TAKES      3
#define SCHEDULES  4000
#define STACK_SIZE (128 * 1024)

/* What an actor does: bring one key a request, TAKES times. */
struct actor {
	ucontext_t context;
	struct zone view;
	uint64_t seed;
	bool over;
	char stack[STACK_SIZE];
};

static struct {
	struct actor actors[ACTORS];
	struct actor *running;
	ucontext_t scheduler;
	struct zone zone;
	uint64_t admitted[KEYS + 1];
	uint64_t seed;
	void (*take)(struct zone_charge *charge);
} stage;

static void step(void)
{
	if (stage.running)
		swapcontext(&stage.running->context, &stage.scheduler);
}

static struct slot_pair step_read(const struct zone_slot *slot)
{
	step();
	return slot_read(slot);
}

static bool step_exchange(struct slot_pair *at, struct slot_pair from, struct slot_pair to)
{
	step();
	return slot_exchange(at, from, to);
}

static void take_as_shipped(struct zone_charge *charge)
{
	step_charge_take(charge, made_clock);
}

/* What anybody would write first: look for the key, else take a free slot by one exchange. */
static void take_without_a_claim(struct zone_charge *charge)
{
	struct zone *zone = charge->zone;
	struct zone_places places;
	struct slot_pair pair;
	struct zone_slot *slot;

	step_places_find(zone, charge->key.hash, &places);
	if (!step_place_find(zone, &places, &pair)) {
		slot = step_place_free(zone, &places, made_clock(), &pair);
		if (slot)
			step_exchange(&slot->pair, pair, (struct slot_pair){places.key, 0});
	}
	step_charge_take(charge, made_clock);
}

static void act(void)
{
	struct actor *actor = stage.running;

	for (unsigned int i = 0; i < TAKES; i++) {
		uint64_t number = random_next(&actor->seed) % KEYS + 1;
		struct zone_charge charge = made_charge(&actor->view, number, 1);

		stage.take(&charge);
		stage.admitted[number] += charge.status == ZONE_PASSED;
	}
	actor->over = true;
	swapcontext(&actor->context, &stage.scheduler);
}

static void actor_begin(struct actor *actor)
{
	actor->seed = random_next(&stage.seed);
	actor->over = false;
	getcontext(&actor->context);
	actor->context.uc_stack.ss_sp = actor->stack;
	actor->context.uc_stack.ss_size = sizeof(actor->stack);
	actor->context.uc_link = &stage.scheduler;
	makecontext(&actor->context, act, 0);
}

static bool a_key_has_two_slots(void)
{
	for (uint64_t number = 1; number <= KEYS; number++) {
		if (made_slots(&stage.zone, number, 0) > 1)
			return true;
	}
	return false;
}

/* One step of somebody who is not over; one in 64 is his last. False: nobody is left. */
static bool schedule_step(void)
{
	unsigned int first = random_next(&stage.seed) % ACTORS;

	for (unsigned int i = 0; i < ACTORS; i++) {
		struct actor *actor = &stage.actors[(first + i) % ACTORS];

		if (actor->over)
			continue;
		actor->over = random_next(&stage.seed) % 64 == 0;
		stage.running = actor;
		swapcontext(&stage.scheduler, &actor->context);
		stage.running = NULL;
		return true;
	}
	return false;
}

/* Two sets of slots, so that all keys want the same ones. */
static void stage_make(uint64_t capacity, void (*take)(struct zone_charge *charge))
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, capacity);

	stage.seed = capacity;
	stage.take = take;
	made_zone(&stage.zone, 2 * ZONE_WAYS, &rule, 1);
	for (unsigned int i = 0; i < ACTORS; i++)
		made_view(&stage.actors[i].view, &stage.zone);
}

static void stage_clear(void)
{
	memset(stage.zone.slots, 0, 2 * ZONE_WAYS * sizeof(*stage.zone.slots));
	memset(stage.admitted, 0, sizeof(stage.admitted));
	for (unsigned int i = 0; i < ACTORS; i++)
		actor_begin(&stage.actors[i]);
}

/* Time passes, so that slots become free. */
static unsigned int schedules_with_two_slots(void (*take)(struct zone_charge *charge))
{
	unsigned int count = 0;

	stage_make(1, take);
	for (unsigned int i = 0; i < SCHEDULES; i++) {
		bool had_two = false;

		stage_clear();
		while (schedule_step() && !had_two) {
			had_two = a_key_has_two_slots();
			made_now_ns += random_next(&stage.seed) % 2 ? NS_PER_SEC / 16 : 0;
		}
		count += had_two;
	}
	made_free(&stage.zone);
	return count;
}

static void no_schedule_gives_a_key_two_slots(void **state)
{
	(void)state;
	assert_int_equal(schedules_with_two_slots(take_as_shipped), 0);
}

static void without_a_claim_some_schedule_does(void **state)
{
	(void)state;
	assert_true(schedules_with_two_slots(take_without_a_claim) > 0);
}

/* The clock stands, so that every key has its capacity and nothing more; whoever comes after the
 * actors finds things in order, whatever they left. */
static void no_schedule_admits_beyond_the_limit(void **state)
{
	(void)state;
	stage_make(2, take_as_shipped);
	for (unsigned int i = 0; i < SCHEDULES; i++) {
		stage_clear();
		while (schedule_step())
			;
		for (uint64_t number = 1; number <= KEYS; number++) {
			stage.admitted[number] += made_take_all(&stage.zone, number, 3);
			assert_true(stage.admitted[number] <= 2);
			assert_true(made_slots(&stage.zone, number, 0) <= 1);
		}
	}
	made_free(&stage.zone);
}

/* Places of a key that were claimed by hand. */
static struct zone_slot *claim_by_hand(struct zone *zone, uint64_t number, unsigned int place)
{
	struct zone_places places;
	struct zone_slot *slot;

	step_places_find(zone, made_hash(number), &places);
	slot = zone_place_slot(zone, &places, place);
	assert_true(step_place_claim(zone, &places, slot, slot_read(slot), made_now_ns));
	return slot;
}

static void a_claim_whose_owner_died_is_brought_to_an_end(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 2);
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	claim_by_hand(&zone, 1, 6);
	claim_by_hand(&zone, 1, 3);
	claim_by_hand(&zone, 1, 7);
	assert_int_equal(made_slots(&zone, 1, SLOT_CLAIMED), 3);
	assert_int_equal(made_take_all(&zone, 1, 4), 2);
	assert_int_equal(made_slots(&zone, 1, SLOT_CLAIMED), 0);
	assert_int_equal(made_slots(&zone, 1, 0), 1);
	made_free(&zone);
}

static void a_claim_of_another_key_is_free_after_a_second(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1000);
	struct zone zone;

	(void)state;
	made_zone(&zone, 4, &rule, 1);
	for (unsigned int place = 0; place < 4; place++)
		claim_by_hand(&zone, place + 10, place);
	assert_int_equal(made_take(&zone, 1, 1), ZONE_OVERFLOW_PASSED);
	made_now_ns += NS_PER_SEC * 9 / 10;
	assert_int_equal(made_take(&zone, 1, 1), ZONE_OVERFLOW_REFUSED);
	made_now_ns += NS_PER_SEC * 2 / 10;
	assert_int_equal(made_take(&zone, 1, 1), ZONE_PASSED);
	made_free(&zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_schedule_gives_a_key_two_slots),
		cmocka_unit_test(without_a_claim_some_schedule_does),
		cmocka_unit_test(no_schedule_admits_beyond_the_limit),
		cmocka_unit_test(a_claim_whose_owner_died_is_brought_to_an_end),
		cmocka_unit_test(a_claim_of_another_key_is_free_after_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
