// What kernels do to memory, checked: the compiler's thread sanitizer calls the functions below before every access of a kernel compiled
// with it, and atomics go through the words of the dialect. Found are: accesses outside any allocation or of a card that may not be
// reached; two blocks on one cell, one of them writing, without an atomic or an order between them; two threads of a block likewise
// without a barrier in between.
#include "card.h"
#define ARCH_WAVE 64 // of no use here: the runner goes by the card
#include "../../../kernels/gpu/dialect/host.h"
#include <set>
#include <unordered_map>

namespace fake {

struct Cell { // what was last done to a byte
	int writer = -1, reader = -1; // blocks; reader -2: several
	int16_t write_fiber = 0, read_fiber = 0; // read_fiber -2: several
	int write_time = 0, read_time = 0; // barriers of the block before
	bool write_atomic = false, read_atomic = false;
};

struct Page {
	Cell cells[4096];
};

struct Check {
	Card *card = nullptr;
	int block = 0, fiber = 0, time = 0;
	uintptr_t lds = 0, lds_end = 0;
	std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
	uintptr_t last_page = 0;
	Page *last = nullptr;
	std::vector<std::pair<uintptr_t, uintptr_t>> ranges; // that the card may touch
	std::pair<uintptr_t, uintptr_t> range{0, 0};         // the one last touched
	std::unordered_map<int, std::set<int>> seen;         // block: blocks whose writes it knows to be done
	std::unordered_map<uintptr_t, std::set<int>> released; // address: blocks that released there
	std::set<int> fenced;
	std::string found;

	Cell *cell(uintptr_t p) {
		uintptr_t n = p / 4096;
		if (n != last_page || !last) {
			auto &page = pages[n];
			if (!page)
				page = std::make_unique<Page>();
			last = page.get();
			last_page = n;
		}
		return &last->cells[p % 4096];
	}
	bool knows(int other) {
		auto it = seen.find(block);
		return it != seen.end() && it->second.count(other);
	}
	void fail(const char *what, uintptr_t p, int other) {
		if (!found.empty())
			return;
		char text[256];
		const char *where = p >= lds && p < lds_end ? "LDS" : "memory";
		snprintf(text, sizeof text, "%s: block %d, thread %d at byte %#lx of %s; the other is %d", what, block, fiber,
			 (unsigned long)(p >= lds && p < lds_end ? p - lds : p - range.first), where, other);
		found = text;
	}
	bool mine(uintptr_t p, size_t n) { // whether p is memory of cards
		if (p >= range.first && p + n <= range.second)
			return true;
		if (p >= lds && p + n <= lds_end)
			return true;
		if (p >= 4096 && !in_space(p))
			return false; // a fiber's stack, or what a shuffle gave
		for (auto &r : ranges)
			if (p >= r.first && p < r.second) {
				range = r;
				if (p + n > r.second)
					fail("out of bounds", p, -1);
				return true;
			}
		bool known;
		Card *c = owner((void *)p, n, &known);
		if (c && !card->reaches[c->id])
			fail("memory of a card that it may not reach", p, c->id);
		else if (c || !known || p < 4096)
			fail("out of bounds", p, -1);
		return false;
	}
	void access(uintptr_t p, size_t n, bool write, bool atomic) {
		if (!found.empty() || !mine(p, n))
			return;
		bool shared = p >= lds && p < lds_end;
		for (size_t i = 0; i < n; i++) {
			Cell *c = cell(p + i);
			if (c->writer >= 0 && !(atomic && c->write_atomic)) {
				if (c->writer != block && !shared && !knows(c->writer))
					fail(write ? "two blocks write one cell" : "reads what another block writes", p, c->writer);
				else if (c->writer == block && c->write_fiber != fiber && c->write_time == time)
					fail(write ? "two threads write one cell without a barrier" : "reads what another thread wrote without a barrier", p, c->write_fiber);
			}
			if (write && c->reader != -1 && !(atomic && c->read_atomic)) {
				if (c->reader != block && !shared && (c->reader == -2 || !knows(c->reader)))
					fail("writes what another block reads", p, c->reader);
				else if (c->reader == block && c->read_time == time && c->read_fiber != fiber)
					fail("writes what another thread reads without a barrier", p, c->read_fiber);
			}
			if (write) {
				c->writer = block, c->write_fiber = (int16_t)fiber, c->write_time = time, c->write_atomic = atomic;
				continue;
			}
			if (c->reader != -1 && c->reader != block)
				c->reader = shared ? block : -2;
			else if (c->reader == block && c->read_time == time && c->read_fiber != fiber)
				c->read_fiber = -2;
			else
				c->reader = block, c->read_fiber = (int16_t)fiber;
			c->read_time = time;
			c->read_atomic = atomic;
		}
	}
};

static __thread Check *check __attribute__((tls_model("initial-exec"))); // of the kernel that the thread runs; null: it is not checked


void check_begin(Card *c, const Launch &) {
	static thread_local std::unique_ptr<Check> own = std::make_unique<Check>();
	check = own.get();
	Check &k = *own;
	k.pages.clear();
	k.last = nullptr;
	k.seen.clear();
	k.released.clear();
	k.fenced.clear();
	k.found.clear();
	k.ranges.clear();
	k.range = {0, 0};
	k.card = c;
	for (auto &other : cards)
		if (c->reaches[other->id]) {
			std::lock_guard<std::mutex> g(other->m);
			for (auto &b : other->blocks)
				k.ranges.push_back({b.first, b.first + b.second});
		}
	std::lock_guard<std::mutex> g(host_m);
	for (auto &b : host_blocks)
		k.ranges.push_back({b.first, b.first + b.second});
}

std::string check_end() {
	Check *k = check;
	check = nullptr;
	k->pages.clear();
	k->last = nullptr;
	return k->found;
}

void check_block(int block, char *lds, size_t size) {
	Check &k = *check;
	k.block = block;
	k.time = 0;
	k.lds = (uintptr_t)lds;
	k.lds_end = k.lds + size;
	for (uintptr_t p = k.lds / 4096; p <= k.lds_end / 4096; p++)
		k.pages.erase(p);
	k.last = nullptr;
}

void check_fiber(int fiber) { check->fiber = fiber; }
void check_barrier() { check->time++; }
bool check_failed() { return !check->found.empty(); }

static void accessed(const void *p, size_t n, bool write, bool atomic = false) {
	if (!check)
		return;
	check->access((uintptr_t)p, n, write, atomic);
	if (!check->found.empty())
		abandon(); // before the access faults
}

// Takes over what those who released at p knew.
static void acquire(const void *p) {
	if (!check)
		return;
	auto it = check->released.find((uintptr_t)p);
	if (it != check->released.end())
		check->seen[check->block].insert(it->second.begin(), it->second.end());
}

static void release_at(const void *p) {
	if (!check || !check->fenced.count(check->block))
		return;
	Check &k = *check;
	auto &r = k.released[(uintptr_t)p];
	r.insert(k.block);
	auto it = k.seen.find(k.block);
	if (it != k.seen.end())
		r.insert(it->second.begin(), it->second.end());
}

} // namespace fake

using namespace fake;

extern "C" {

void fake_fence(void) {
	std::atomic_thread_fence(std::memory_order_seq_cst);
	if (check)
		check->fenced.insert(check->block);
}

u32 fake_add(u32 *p, u32 v) {
	accessed(p, 4, true, true);
	acquire(p);
	release_at(p);
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

u32 fake_load(const u32 *p) {
	accessed(p, 4, false, true);
	acquire(p);
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

void fake_store(u32 *p, u32 v) {
	accessed(p, 4, true, true);
	if (check)
		check->fenced.insert(check->block); // a release orders what came before by itself
	release_at(p);
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

// What gcc's -fsanitize=thread calls.
void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
#define ACCESS(n)                                                                                                              \
	void __tsan_read##n(void *p) { accessed(p, n, false); }                                                                \
	void __tsan_write##n(void *p) { accessed(p, n, true); }                                                                \
	void __tsan_unaligned_read##n(void *p) { accessed(p, n, false); }                                                      \
	void __tsan_unaligned_write##n(void *p) { accessed(p, n, true); }                                                      \
	void __tsan_volatile_read##n(void *p) { accessed(p, n, false); }                                                       \
	void __tsan_volatile_write##n(void *p) { accessed(p, n, true); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
void __tsan_read_range(void *p, unsigned long n) { accessed(p, n, false); }
void __tsan_write_range(void *p, unsigned long n) { accessed(p, n, true); }
}
