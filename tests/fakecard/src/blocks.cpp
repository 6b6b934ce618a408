// A kernel's blocks, one after the other, each thread a fiber with a stack of its own: barriers and shuffles are real.
#include "card.h"
#define ARCH_WAVE 64 // of no use here: the runner goes by the card
#include "../../../kernels/gpu/dialect/host.h"
#include <chrono>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>

#if defined(__x86_64__)
// Saves the callee's registers on this stack, goes to another.
asm(".text\n.globl fake_switch\n.hidden fake_switch\n.type fake_switch,@function\nfake_switch:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
extern "C" void fake_switch(void **from, void *to);
#else
#include <ucontext.h>
#endif

__thread fake_lane *fake_now;

namespace fake {

constexpr size_t stack_size = 256 << 10;
constexpr size_t lds_size = 64 << 10;

enum State { ready, at_barrier, at_exchange, paused, ended };

struct Fiber {
	fake_lane lane;
	State state;
	void *sp;
	char *stack;
	unsigned turn; // exchanges so far
#if !defined(__x86_64__)
	ucontext_t context;
#endif
};

// What runs blocks on one thread of the host.
struct Runner {
	std::vector<Fiber> fibers;
	std::vector<char *> stacks; // free ones
	std::vector<char> exchange; // [wave][2][WAVE][64]
	char *lds = nullptr;
	struct Piece {
		const void *key;
		size_t at, size;
	};
	std::vector<Piece> pieces; // of LDS that the block's declarations have
	size_t lds_used = 0;
	void *home = nullptr;
	Fiber *running = nullptr;
	const Launch *launch = nullptr;
	int wave = 64;
	bool checking = false;
	Card *card = nullptr;
	std::string failure;
#if !defined(__x86_64__)
	ucontext_t home_context;
#endif

	~Runner() {
		for (char *s : stacks)
			munmap(s, stack_size);
		free(lds);
	}
	void start(Fiber *f);
	void enter(Fiber *f);
	void leave(State why);
	bool next();
	bool block(int index);
};

static __thread Runner *runner __attribute__((tls_model("initial-exec"))); // of the thread; see fake_now

static void fiber_main() {
	Runner *r = runner;
	do
		r->launch->kernel->entry(r->launch->args.data());
	while (r->next());
	r->leave(ended);
	__builtin_unreachable();
}

// Lets the next thread of the wave, where it did not begin yet, go on in the place of the running one, which has ended: two switches less.
bool Runner::next() {
	Fiber *f = running, *g = f + 1;
	int i = g->lane.thread;
	if (f + 1 == fibers.data() + fibers.size() || i % wave == 0 || g->state != ready || g->stack || (checking && check_failed()))
		return false;
	f->state = ended;
	std::swap(f->stack, g->stack);
	running = g;
	fake_now = &g->lane;
	if (checking)
		check_fiber(i);
	return true;
}

void Runner::start(Fiber *f) {
	if (stacks.empty()) {
		void *p = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			abort();
		stacks.push_back((char *)p);
	}
	f->stack = stacks.back();
	stacks.pop_back();
#if defined(__x86_64__)
	void **top = (void **)(f->stack + stack_size);
	*--top = nullptr; // what fiber_main would return to; keeps the stack aligned as after a call
	*--top = (void *)fiber_main;
	for (int i = 0; i < 6; i++)
		*--top = nullptr;
	f->sp = top;
#else
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = stack_size;
	f->context.uc_link = nullptr;
	makecontext(&f->context, fiber_main, 0);
#endif
}

void Runner::enter(Fiber *f) {
	if (!f->stack)
		start(f);
	running = f;
	fake_now = &f->lane;
	if (checking)
		check_fiber(f->lane.thread);
#if defined(__x86_64__)
	fake_switch(&home, f->sp);
#else
	swapcontext(&home_context, &f->context);
#endif
	if (running->state == ended) { // f, or one that took its place
		stacks.push_back(running->stack);
		running->stack = nullptr;
	}
}

void Runner::leave(State why) {
	Fiber *f = running;
	f->state = why;
#if defined(__x86_64__)
	fake_switch(&f->sp, home);
#else
	swapcontext(&f->context, &home_context);
#endif
}

static double now() {
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs one block; false with the reason in failure.
bool Runner::block(int index) {
	int n = launch->threads, waves = (n + wave - 1) / wave;
	fibers.resize(n);
	exchange.resize((size_t)waves * 2 * wave * 64);
	if (!lds)
		lds = (char *)aligned_alloc(64, lds_size);
	pieces.clear();
	lds_used = 0;
	if (checking)
		check_block(index, lds, lds_size);
	const int *g = launch->grid;
	fake_lane lane = {0, {index % g[0], index / g[0] % g[1], index / g[0] / g[1]}, n, {g[0], g[1], g[2]}};
	for (int t = 0; t < n; t++) {
		Fiber *f = &fibers[t];
		f->lane = lane;
		f->lane.thread = t;
		f->state = ready;
		f->stack = nullptr;
		f->turn = 0;
	}
	double waits_since = 0;
	int idle = 0;
	for (;;) {
		bool progress = false;
		int live = 0, barred = 0, waiting = 0;
		for (int w = 0; w < waves; w++) {
			Fiber *f = &fibers[w * wave];
			int m = std::min(wave, n - w * wave);
			for (bool again = true; again;) {
				again = false;
				int exchanging = 0, ends = 0;
				for (int i = 0; i < m; i++) {
					if (f[i].state == ready) {
						enter(&f[i]);
						progress = true;
						if (checking && check_failed())
							return false;
					}
					exchanging += f[i].state == at_exchange;
					ends += f[i].state == ended;
				}
				if (exchanging && exchanging == m - ends) {
					for (int i = 0; i < m; i++) {
						if (f[i].state == at_exchange)
							f[i].state = ready;
						else
							memset(&exchange[((size_t)(w * 2) * wave + i) * 64], 0xff, 64),
								memset(&exchange[((size_t)(w * 2 + 1) * wave + i) * 64], 0xff, 64);
					}
					again = true;
				}
			}
			for (int i = 0; i < m; i++) {
				live += f[i].state != ended;
				barred += f[i].state == at_barrier;
				waiting += f[i].state == paused;
			}
		}
		if (!failure.empty())
			return false;
		if (live == 0)
			return true;
		if (barred == live) {
			for (auto &f : fibers)
				if (f.state == at_barrier)
					f.state = ready;
			if (checking)
				check_barrier();
			idle = 0;
			continue;
		}
		if (waiting) { // for another card
			for (auto &f : fibers)
				if (f.state == paused)
					f.state = ready;
			double t = now();
			if (waits_since == 0)
				waits_since = t;
			if (card->broken) {
				failure = "ends with its card";
				return false;
			}
			if (t - waits_since > config.patience) {
				failure = "waits for ever";
				return false;
			}
			if (++idle < 16)
				sched_yield();
			else // there are more cards than cores
				std::this_thread::sleep_for(std::chrono::microseconds(50));
			continue;
		}
		if (!progress) {
			failure = "hangs: some threads are at a barrier, others at a shuffle, or a wave does not shuffle together";
			return false;
		}
	}
}

void abandon() { runner->leave(ended); }

int run_blocks(Card *c, const Launch &l, int first, int last, std::string *why) {
	static thread_local std::unique_ptr<Runner> own; // freed with the thread
	if (!own) {
		own = std::make_unique<Runner>();
		runner = own.get();
	}
	Runner *r = runner;
	r->launch = &l;
	r->card = c;
	r->wave = config.wave();
	r->checking = config.check;
	r->failure.clear();
	for (int i = first; i < last; i++) {
		if (c->broken) {
			return c->broken;
		}
		if (!r->block(i)) {
			for (auto &f : r->fibers)
				if (f.stack) {
					r->stacks.push_back(f.stack);
					f.stack = nullptr;
				}
			*why = l.kernel->name + ", block " + std::to_string(i) + ": " + r->failure;
			return r->failure == "waits for ever" ? timeout : launch_failure;
		}
	}
	return ok;
}

} // namespace fake

using namespace fake;

extern "C" {

void fake_barrier(void) { runner->leave(at_barrier); }

void fake_pause(void) { runner->leave(paused); }

void *fake_shared(const void *key, unsigned long size) {
	for (auto &p : runner->pieces)
		if (p.key == key)
			return runner->lds + p.at;
	size_t at = (runner->lds_used + 63) / 64 * 64;
	if (at + size > lds_size) {
		runner->failure = "takes more than 64 KB of LDS";
		runner->leave(ended);
	}
	memset(runner->lds + at, 0xff, size); // no kernel may count on what it finds
	runner->lds_used = at + size;
	runner->pieces.push_back({key, at, size});
	return runner->lds + at;
}

const char *fake_exchange(const void *mine, unsigned size) {
	Runner *r = runner;
	Fiber *f = r->running;
	int w = f->lane.thread / r->wave, i = f->lane.thread % r->wave;
	char *all = &r->exchange[(size_t)(w * 2 + f->turn++ % 2) * r->wave * 64];
	memcpy(all + 64 * i, mine, size);
	r->leave(at_exchange);
	return all;
}
}
