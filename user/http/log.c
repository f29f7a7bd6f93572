/* SPDX-License-Identifier: MIT */
/* Cells of number n are written only while the slot's state is n, and once: who finds cell n
 * written only moves the state on. So what was loaded from a cell before a re-read of the slot that
 * still says n is what the compare-and-swap must find there.
 *
 * A key's first number is the microsecond of its first charge. A slot is reused when all its
 * charges are over, and no rate is above one a microsecond, so a key that comes back to a slot
 * starts beyond every number it has used there, and its cells of old are never taken for new. */
#include "http/log.h"

/* A cell's word: microseconds << 16 | barrier << 15 | cost. */
#define WORD_COST     0x7fffULL
#define WORD_BARRIER  0x8000ULL
#define WORD_TIME_BIT 16

/* A number that no cell ever has: nothing was charged. */
#define NO_CELL UINT64_MAX

/* Any odd number far from 0: ids of one key never meet, and those of two keys only by chance. */
#define NUMBER_SPREAD 0x9e3779b97f4a7c15ULL

/* Goes through a key's cells that count, from the newest to the oldest. */
struct log_walk {
	const struct log_ring *ring;
	uint64_t tag;
	uint64_t number; /* of the cell after the next one */
	uint64_t now_ns;
	uint64_t period_ns;
	uint32_t left; /* cells that may still be looked at */
};

/* What the cells that count come to. */
struct log_sum {
	uint64_t charged;
	bool from_future; /* the clock went back after the newest was written */
	bool has_room;    /* a cell is free for one more */
};

static uint64_t cell_id(uint64_t tag, uint64_t number)
{
	return (tag & SLOT_KEY_MASK) + number * NUMBER_SPREAD;
}

static struct log_cell *cell_at(const struct log_ring *ring, uint64_t number)
{
	return &ring->cells[number % ring->size];
}

/* May be torn, but then the slot has moved on, or another's compare-and-swap comes before ours. */
static struct log_cell cell_load(const struct log_cell *cell)
{
	struct log_cell loaded;

	loaded.id = __atomic_load_n(&cell->id, __ATOMIC_ACQUIRE);
	loaded.word = __atomic_load_n(&cell->word, __ATOMIC_ACQUIRE);
	return loaded;
}

/* A cell has the shape of a slot's pair: two words that change together. */
static bool cell_exchange(struct log_cell *cell, struct log_cell from, struct log_cell to)
{
	return slot_exchange((struct slot_pair *)cell, (struct slot_pair){from.id, from.word},
			     (struct slot_pair){to.id, to.word});
}

/* Rounded up, so that a charge never ends early. */
static uint64_t time_of(uint64_t now_ns)
{
	return now_ns / LOG_TICK_NS + (now_ns % LOG_TICK_NS != 0);
}

static uint64_t word_of(uint64_t now_ns, uint64_t cost)
{
	return time_of(now_ns) << WORD_TIME_BIT | cost;
}

static uint64_t word_ends_ns(uint64_t word, uint64_t period_ns)
{
	return (word >> WORD_TIME_BIT) * LOG_TICK_NS + period_ns;
}

static struct log_walk walk_start(const struct log_ring *ring, const struct rule *rule,
				  struct slot_pair seen, uint64_t now_ns)
{
	return (struct log_walk){
		.ring = ring,
		.tag = seen.tag,
		.number = seen.state,
		.now_ns = now_ns,
		.period_ns = rule->rate.period_ns,
		.left = ring->size,
	};
}

static bool walk_next(struct log_walk *walk, uint64_t *ret_word)
{
	struct log_cell cell;

	if (!walk->left || !walk->number)
		return false;
	cell = cell_load(cell_at(walk->ring, walk->number - 1));
	if (cell.id != cell_id(walk->tag, walk->number - 1) ||
	    word_ends_ns(cell.word, walk->period_ns) <= walk->now_ns)
		return false;
	walk->number--;
	walk->left = cell.word & WORD_BARRIER ? 0 : walk->left - 1;
	*ret_word = cell.word;
	return true;
}

/* Whether the cell after the last is free. Where the walk went once around it is the oldest that
 * counts, and free only if what it charged was given back. */
static bool walk_leaves_room(const struct log_walk *walk, uint64_t newest, uint64_t oldest_word)
{
	return newest - walk->number < walk->ring->size || !(oldest_word & WORD_COST);
}

static struct log_sum log_sum_up(const struct log_ring *ring, const struct rule *rule,
				 struct slot_pair seen, uint64_t now_ns)
{
	struct log_walk walk = walk_start(ring, rule, seen, now_ns);
	struct log_sum sum = {0};
	uint64_t word = 0;

	while (walk_next(&walk, &word)) {
		if (walk.number + 1 == seen.state)
			sum.from_future = word >> WORD_TIME_BIT > time_of(now_ns);
		sum.charged += word & WORD_COST;
	}
	sum.has_room = walk_leaves_room(&walk, seen.state, word);
	return sum;
}

static uint64_t sum_left(const struct log_sum *sum, const struct rule *rule)
{
	if (sum->from_future || !sum->has_room || sum->charged >= rule->capacity)
		return 0;
	return rule->capacity - sum->charged;
}

static void advance(const struct log_ring *ring, struct slot_pair seen)
{
	slot_exchange(&ring->slot->pair, seen, (struct slot_pair){seen.tag, seen.state + 1});
}

/* A key that has charged nothing yet gets its first number. */
static bool number_begin(const struct log_ring *ring, struct slot_pair *seen, uint64_t now_ns)
{
	struct slot_pair begun = {seen->tag, time_of(now_ns) + 1};

	if (!slot_exchange(&ring->slot->pair, *seen, begun))
		return false;
	*seen = begun;
	return true;
}

/* Charges word. found is the cell's content from before the slot was read again. False where
 * nothing was charged. */
static bool log_write(const struct log_ring *ring, struct slot_pair *seen, struct log_cell found,
		      uint64_t word)
{
	struct log_cell written = {cell_id(seen->tag, seen->state), word};

	if (!cell_exchange(cell_at(ring, seen->state), found, written))
		return false;
	advance(ring, *seen);
	/* The slot may have been given away while nothing in it counted; a charge there is lost. */
	return !((slot_read(ring->slot).tag ^ seen->tag) & SLOT_KEY_MASK);
}

/* The word to write, 0 for none. */
static uint64_t log_charge(const struct log_sum *sum, const struct rule *rule, bool admitted,
			   uint64_t cost, uint64_t now_ns, enum take_mode mode)
{
	uint64_t left = sum_left(sum, rule);

	if (sum->from_future)
		return word_of(now_ns, rule->capacity) | WORD_BARRIER;
	if (!cost)
		return 0;
	if (admitted)
		return word_of(now_ns, cost);
	return mode == TAKE_CHARGE_REFUSED && left ? word_of(now_ns, left) : 0;
}

enum log_taken log_take(const struct log_ring *ring, const struct rule *rule, struct slot_pair seen,
			uint64_t cost, uint64_t now_ns, enum take_mode mode, uint64_t *ret_cell)
{
	struct log_sum sum = log_sum_up(ring, rule, seen, now_ns);
	bool admitted = cost_wanted(cost) <= sum_left(&sum, rule);
	uint64_t word = log_charge(&sum, rule, admitted, cost, now_ns, mode);
	struct log_cell found;

	if (!seen.state && word && !number_begin(ring, &seen, now_ns))
		return LOG_MOVED;
	found = cell_load(cell_at(ring, seen.state));
	if (!slot_pair_equals(slot_read(ring->slot), seen))
		return LOG_MOVED;
	if (seen.state && found.id == cell_id(seen.tag, seen.state)) {
		advance(ring, seen);
		return LOG_MOVED;
	}
	if (word && !log_write(ring, &seen, found, word))
		return LOG_MOVED;
	if (!admitted)
		return LOG_REFUSED;
	*ret_cell = word ? seen.state : NO_CELL;
	return LOG_ADMITTED;
}

void log_give_back(const struct log_ring *ring, struct slot_pair seen, uint64_t cell)
{
	struct log_cell found = cell_load(cell_at(ring, cell));

	if (found.id == cell_id(seen.tag, cell))
		cell_exchange(cell_at(ring, cell), found,
			      (struct log_cell){found.id, found.word & ~WORD_COST});
}

/* The charge in the next cell counts, though the state has not moved on yet. */
static struct slot_pair caught_up(const struct log_ring *ring, struct slot_pair seen)
{
	if (seen.state && cell_load(cell_at(ring, seen.state)).id == cell_id(seen.tag, seen.state))
		seen.state++;
	return seen;
}

/* Until units can be taken: what must end first is found where the sum, from the newest on, leaves
 * no room for them. */
static uint64_t log_wait_ns(const struct log_ring *ring, const struct rule *rule,
			    struct slot_pair seen, uint64_t units, uint64_t now_ns)
{
	struct log_walk walk = walk_start(ring, rule, seen, now_ns);
	uint64_t sum = units, word = 0;

	while (walk_next(&walk, &word)) {
		sum += word & WORD_COST;
		if (sum > rule->capacity)
			return word_ends_ns(word, walk.period_ns) - now_ns;
	}
	if (!walk_leaves_room(&walk, seen.state, word))
		return word_ends_ns(word, walk.period_ns) - now_ns;
	return 0;
}

void log_answer(const struct log_ring *ring, const struct rule *rule, struct slot_pair seen,
		uint64_t cost, uint64_t now_ns, struct answer *ret)
{
	uint64_t limit = rule->capacity, all_ns, left;
	struct log_sum sum;

	seen = caught_up(ring, seen);
	sum = log_sum_up(ring, rule, seen, now_ns);
	left = sum_left(&sum, rule);
	*ret = (struct answer){.limit = limit, .remaining = left, .retry_after_ns = RULE_NEVER_NS};
	/* All of it, as the barrier that the next take writes will have it. */
	if (sum.from_future) {
		all_ns = word_ends_ns(word_of(now_ns, limit), rule->rate.period_ns) - now_ns;
		ret->next_after_ns = ret->reset_after_ns = all_ns;
		if (cost_wanted(cost) <= limit)
			ret->retry_after_ns = all_ns;
		return;
	}
	ret->reset_after_ns = log_wait_ns(ring, rule, seen, limit, now_ns);
	if (left < limit)
		ret->next_after_ns = log_wait_ns(ring, rule, seen, left + 1, now_ns);
	if (cost_wanted(cost) <= limit)
		ret->retry_after_ns = log_wait_ns(ring, rule, seen, cost_wanted(cost), now_ns);
}

/* Leaves out a number that no cell ever has, where every walk ends. It is not the next one: whoever
 * has read the slot before may still write that cell, which belongs to the charges before. */
uint64_t log_forgotten(uint64_t state)
{
	return state ? state + 2 : 0;
}

bool log_is_empty(const struct log_ring *ring, const struct rule *rule, struct slot_pair seen,
		  uint64_t now_ns)
{
	struct log_sum sum = log_sum_up(ring, rule, caught_up(ring, seen), now_ns);

	return !sum.from_future && !sum.charged;
}
