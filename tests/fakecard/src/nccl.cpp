// The names of RCCL and NCCL that Ingot uses, over the emulated cards. A sum waits on its stream until all members of the group have come
// to theirs; it is made once, in another order than Ingot's own, and each member takes it.
#include "card.h"
#include <chrono>
#include <cstring>
#include <set>

using namespace fake;

enum { nccl_ok = 0, nccl_system = 2, nccl_argument = 4, nccl_usage = 5, nccl_remote = 6, nccl_float = 7, nccl_sum = 0 };

struct Round {
	std::vector<const float *> from; // by rank; null: not there yet
	std::vector<float> sum;
	size_t come = 0, left = 0;
	bool done = false, lost = false; // lost: a member left before it was done
};

struct Group {
	std::mutex m;
	std::condition_variable more;
	std::map<uint64_t, Round> rounds;
	int size;
};

struct Member {
	std::shared_ptr<Group> group;
	int rank;
	Card *card;
	uint64_t calls = 0;
	std::atomic<bool> aborted{false};
	std::atomic<int> error{nccl_ok};
};
using Handle = std::shared_ptr<Member>;

// A ring's order: each part of the message begins its round at another member.
static void make(Round *r, size_t n) {
	size_t size = r->from.size(), part = (n + size - 1) / size;
	r->sum.resize(n);
	for (size_t i = 0; i < n; i++) {
		size_t first = i / part + 1;
		float s = r->from[first % size][i];
		for (size_t k = 1; k < size; k++)
			s += r->from[(first + k) % size][i];
		r->sum[i] = s;
	}
	r->done = true;
}

// What a member's stream does: nothing where the member was aborted, as a kernel that ends early.
static int meet(const Handle &h, uint64_t call, const float *from, float *to, size_t n, bool comes) {
	Group *group = h->group.get();
	std::unique_lock<std::mutex> g(group->m);
	Round &r = group->rounds[call];
	r.from.resize(group->size);
	if (comes) {
		if (r.come && r.sum.size() != n) {
			say(h->card, "members sum messages of different lengths");
			return launch_failure;
		}
		r.sum.resize(n);
		r.from[h->rank] = from;
		if (++r.come == r.from.size() && !r.lost) {
			make(&r, n);
			group->more.notify_all();
		}
	}
	auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(config.patience);
	while (!r.done) {
		if (h->aborted || h->card->broken) {
			r.lost = true;
			return h->card->broken;
		}
		if (std::chrono::steady_clock::now() > until) {
			say(h->card, "a sum waits for ever");
			return timeout;
		}
		group->more.wait_for(g, std::chrono::milliseconds(5));
	}
	memcpy(to, r.sum.data(), n * 4);
	if (++r.left == r.from.size())
		group->rounds.erase(call);
	return ok;
}

extern "C" {

int ncclGetVersion(int *v) {
	*v = 21803;
	return nccl_ok;
}

int ncclCommInitAll(Handle **comms, int n, const int *list) {
	if (!config.nccl)
		return nccl_system;
	if (n < 1 || (int)std::set<int>(list, list + n).size() != n)
		return nccl_usage; // as the real ones: no card twice
	auto group = std::make_shared<Group>();
	group->size = n;
	for (int i = 0; i < n; i++)
		if (list[i] < 0 || list[i] >= (int)cards.size())
			return nccl_argument;
	for (int i = 0; i < n; i++) {
		auto h = std::make_shared<Member>();
		h->group = group;
		h->rank = i;
		h->card = cards[list[i]].get();
		h->card->counts.members++;
		comms[i] = new Handle(h);
	}
	return nccl_ok;
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, Handle *comm, Stream *s) {
	bool known;
	if (!comm || !s || s->capture || here() != (*comm)->card)
		return nccl_usage;
	Handle h = *comm;
	Card *c = h->card;
	if (type != nccl_float || op != nccl_sum || s->card != c || owner(from, n * 4, &known) != c || owner(to, n * 4, &known) != c)
		return nccl_argument;
	uint64_t call = ++h->calls;
	c->counts.sums++;
	if (c->id == config.sum_fails && (int)call == config.sum_fails_at)
		return nccl_system;
	bool comes = c->id != config.sum_lost || (int)call != config.sum_lost_at;
	if (!comes)
		h->error = nccl_remote;
	c->counts.summed += n * 4;
	return s->add([=] { return meet(h, call, (const float *)from, (float *)to, n, comes); }) ? nccl_system : nccl_ok;
}

int ncclCommGetAsyncError(Handle *comm, int *error) {
	*error = (*comm)->error;
	return nccl_ok;
}

int ncclCommAbort(Handle *comm) {
	Handle h = *comm;
	h->aborted = true;
	h->group->more.notify_all();
	h->card->counts.members--;
	delete comm;
	return nccl_ok;
}

int ncclCommDestroy(Handle *comm) {
	(*comm)->card->counts.members--;
	delete comm;
	return nccl_ok;
}

const char *ncclGetErrorString(int e) {
	switch (e) {
	case nccl_ok: return "no error";
	case nccl_system: return "unhandled system error";
	case nccl_argument: return "invalid argument";
	case nccl_usage: return "invalid usage";
	case nccl_remote: return "remote process exited or there was a network error";
	}
	return "unknown error";
}
}
