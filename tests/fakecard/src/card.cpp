// Cards, their memory, and streams.
#include "card.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <sys/mman.h>

namespace fake {

Config config;
std::vector<std::unique_ptr<Card>> cards;
std::mutex host_m;
std::map<uintptr_t, size_t> host_blocks;
thread_local int current = 0;

static std::string configured = "\n"; // no environment says that
static std::mutex init_m;
static std::vector<std::unique_ptr<Card>> gone;
static std::string why_text;

// Addresses are given out once and never again, with a gap behind every allocation: what goes out of bounds, or is used after it was
// freed, faults.
static std::mutex space_m;
static uintptr_t space_at = 0, space_end = 0;
constexpr size_t space_size = 8ull << 40, page = 4096;

static void *take(size_t n) {
	std::lock_guard<std::mutex> g(space_m);
	if (!space_at) {
		void *p = mmap(nullptr, space_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return nullptr;
		space_at = ((uintptr_t)p + 0xffff) & ~(uintptr_t)0xffff;
		space_end = (uintptr_t)p + space_size;
	}
	size_t size = (n + page - 1) / page * page;
	if (size > space_end - space_at - (1 << 20))
		return nullptr;
	void *p = (void *)space_at;
	space_at += (size + page + 0xffff) & ~(uintptr_t)0xffff;
	return mprotect(p, size, PROT_READ | PROT_WRITE) ? nullptr : p;
}

bool in_space(uintptr_t p) { return space_end && p >= space_end - space_size && p < space_end; }

static void drop(void *p, size_t n) {
	size_t size = (n + page - 1) / page * page;
	madvise(p, size, MADV_DONTNEED);
	mprotect(p, size, PROT_NONE);
}

static size_t bytes(const std::string &s) {
	char *end;
	double v = strtod(s.c_str(), &end);
	switch (*end) {
	case 'K': v *= 1 << 10; break;
	case 'M': v *= 1 << 20; break;
	case 'G': v *= 1 << 30; break;
	}
	return (size_t)v;
}

// CARD:N, the first where there is no N.
static void chosen(const std::string &v, int *card, int *at) {
	size_t colon = v.find(':');
	*card = atoi(v.c_str());
	*at = colon == std::string::npos ? 1 : atoi(v.c_str() + colon + 1);
}

int init() {
	std::lock_guard<std::mutex> g(init_m);
	const char *env = getenv("FAKECARD");
	std::string text = env ? env : "";
	if (text == configured)
		return config.cards ? ok : no_device;
	Config c;
	std::istringstream words(text);
	for (std::string w; words >> w;) {
		size_t eq = w.find('=');
		std::string k = w.substr(0, eq), v = eq == std::string::npos ? "" : w.substr(eq + 1);
		if (k == "cards") c.cards = atoi(v.c_str());
		else if (k == "memory") c.memory = bytes(v);
		else if (k == "arch") c.arch = v;
		else if (k == "peers") c.peers = v != "0";
		else if (k == "oom") c.oom = atoi(v.c_str());
		else if (k == "oom_after") c.oom_after = bytes(v);
		else if (k == "hang") chosen(v, &c.hang, &c.hang_at);
		else if (k == "nccl") c.nccl = v != "0";
		else if (k == "sum_fails") chosen(v, &c.sum_fails, &c.sum_fails_at);
		else if (k == "sum_lost") chosen(v, &c.sum_lost, &c.sum_lost_at);
		else if (k == "capture") c.capture = v != "0";
		else if (k == "check") c.check = v == "1";
		else if (k == "patience") c.patience = atof(v.c_str());
		else if (k == "threads") c.threads = atoi(v.c_str());
		else if (k != "run") return bad_value; // run=ANYTHING: makes the cards anew
	}
	if (c.check)
		c.threads = 1;
	for (auto &old : cards) { // kept, for streams that are not closed yet; what hangs ends
		old->broken = launch_failure;
		old->standard.reset();
	}
	for (auto &old : cards) {
		while (old->busy) // its kernels see that it broke
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		std::lock_guard<std::mutex> l(old->m);
		for (auto &b : old->blocks)
			drop((void *)b.first, b.second);
		old->blocks.clear();
		gone.push_back(std::move(old));
	}
	cards.clear();
	config = c;
	configured = text;
	for (int i = 0; i < c.cards; i++) {
		auto card = std::make_unique<Card>();
		card->id = i;
		card->reaches.assign(c.cards, 0);
		card->reaches[i] = 1;
		card->standard = std::make_unique<Stream>(card.get());
		cards.push_back(std::move(card));
	}
	current = 0;
	return config.cards ? ok : no_device;
}

Card *here() { return current < (int)cards.size() ? cards[current].get() : nullptr; }

int allocate(Card *c, void **p, size_t n) {
	std::lock_guard<std::mutex> g(c->m);
	if (n == 0) {
		*p = nullptr;
		return ok;
	}
	if (c->used + n > config.memory || (c->id == config.oom && c->used + n > config.oom_after))
		return out_of_memory;
	if (!(*p = take(n)))
		return out_of_memory;
	memset(*p, 0xff, std::min(n, (size_t)16 << 20)); // new memory is not zero
	c->blocks[(uintptr_t)*p] = n;
	c->used += n;
	return ok;
}

int release(Card *c, void *p) {
	if (!p)
		return ok;
	std::lock_guard<std::mutex> g(c->m);
	auto it = c->blocks.find((uintptr_t)p);
	if (it == c->blocks.end())
		return bad_value;
	drop(p, it->second);
	c->used -= it->second;
	c->blocks.erase(it);
	return ok;
}

int host_allocate(void **p, size_t n) {
	if (!(*p = take(n)))
		return out_of_memory;
	std::lock_guard<std::mutex> g(host_m);
	host_blocks[(uintptr_t)*p] = n;
	return ok;
}

int host_release(void *p) {
	std::lock_guard<std::mutex> g(host_m);
	auto it = host_blocks.find((uintptr_t)p);
	if (it == host_blocks.end())
		return bad_value;
	drop(p, it->second);
	host_blocks.erase(it);
	return ok;
}

static bool within(const std::map<uintptr_t, size_t> &blocks, const void *p, size_t n) {
	auto it = blocks.upper_bound((uintptr_t)p);
	if (it == blocks.begin())
		return false;
	--it;
	return (uintptr_t)p + n <= it->first + it->second;
}

// The card whose allocation holds n bytes at p; nullptr: none, and *known tells whether it is pinned or other host memory.
Card *owner(const void *p, size_t n, bool *known) {
	*known = true;
	for (auto &c : cards) {
		std::lock_guard<std::mutex> g(c->m);
		if (within(c->blocks, p, n))
			return c.get();
	}
	*known = !in_space((uintptr_t)p); // of the program's own memory nothing is known
	if (!*known) {
		std::lock_guard<std::mutex> g(host_m);
		*known = within(host_blocks, p, n);
	}
	return nullptr;
}

// A copy between any two memories, on a stream.
int copy(Card *c, Stream *s, void *to, const void *from, size_t n) {
	if (n == 0)
		return ok;
	bool known_to, known_from;
	Card *t = owner(to, n, &known_to), *f = owner(from, n, &known_from);
	if (!known_to || !known_from)
		return bad_value;
	return s->add([=] {
		auto &count = t && f ? (t == f ? c->counts.within : c->counts.across) : t ? c->counts.up : c->counts.down;
		count += n;
		memcpy(to, from, n);
		return (int)ok;
	});
}

void say(Card *c, const std::string &what) {
	std::lock_guard<std::mutex> g(host_m);
	why_text = "card " + std::to_string(c->id) + ": " + what;
}

std::string why() {
	std::lock_guard<std::mutex> g(host_m);
	return why_text;
}

bool hung(Card *c) { return c->id == config.hang && ++c->launched == config.hang_at; }

int launch(Stream *s, Launch l) {
	int threads = l.kernel->module->threads;
	if (l.grid[0] < 1 || l.grid[1] < 1 || l.grid[2] < 1 || l.grid[1] > 65535 || l.grid[2] > 65535 || l.threads < 1 || l.threads > 1024)
		return bad_value;
	if (threads && threads != l.threads)
		return bad_value;
	Card *c = s->card;
	return s->add([c, l = std::move(l)] {
		if (hung(c))
			while (!c->broken) // until the cards are made anew
				std::this_thread::sleep_for(std::chrono::milliseconds(20));
		c->counts.launches++;
		int blocks = l.grid[0] * l.grid[1] * l.grid[2], n = std::min(config.threads, blocks);
		std::vector<std::string> why(n);
		std::vector<int> err(n);
		if (config.check)
			check_begin(c, l);
		auto part = [&](int i) { err[i] = run_blocks(c, l, (int)((int64_t)blocks * i / n), (int)((int64_t)blocks * (i + 1) / n), &why[i]); };
		std::vector<std::thread> more;
		for (int i = 1; i < n; i++)
			more.emplace_back(part, i);
		part(0);
		for (auto &t : more)
			t.join();
		std::string found = config.check ? check_end() : "";
		if (!found.empty()) {
			err[0] = illegal_address;
			why[0] = l.kernel->name + ": " + found;
		}
		for (int i = 0; i < n; i++)
			if (err[i]) {
				say(c, why[i]);
				return err[i];
			}
		return (int)ok;
	});
}

Stream::Stream(Card *c) : card(c) {
	thread = std::thread([this] {
		std::unique_lock<std::mutex> g(m);
		for (;;) {
			more.wait(g, [&] { return closing || !queue.empty(); });
			if (queue.empty())
				return;
			Work w = std::move(queue.front());
			queue.pop_front();
			g.unlock();
			card->busy++;
			int e = card->broken ? (int)card->broken : w();
			card->busy--;
			if (e)
				card->broken = e; // a card that faulted answers everything with its fault
			g.lock();
			ended++;
			done.notify_all();
		}
	});
}

Stream::~Stream() {
	{
		std::lock_guard<std::mutex> g(m);
		closing = true;
		if (!queue.empty() || put != ended)
			card->broken = launch_failure; // what hangs ends, what waits fails
		more.notify_all();
	}
	thread.join();
}

int Stream::add(Work w) {
	std::lock_guard<std::mutex> g(m);
	if (capture) {
		capture->work.push_back(std::move(w));
		return ok;
	}
	if (card->broken)
		return card->broken;
	queue.push_back(std::move(w));
	put++;
	more.notify_one();
	return ok;
}

int Stream::wait() {
	std::unique_lock<std::mutex> g(m);
	if (capture)
		return capture_refused;
	uint64_t until = put;
	done.wait(g, [&] { return ended >= until; });
	return card->broken;
}

bool Stream::idle() {
	std::lock_guard<std::mutex> g(m);
	return ended >= put;
}

} // namespace fake
