// The emulated cards: what the exported drivers (hip.cpp, cuda.cpp) are made of.
//
// A card has memory of its own (host memory with a limit and a list of allocations) and streams, each a thread that does what was
// given to it in order. Kernels are shared objects made by the host's compiler; their blocks run as fibers (blocks.cpp).
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fake {

// Numbers that HIP and CUDA share.
enum Error {
	ok = 0,
	bad_value = 1,
	out_of_memory = 2,
	not_initialized = 3,
	no_device = 100,
	bad_device = 101,
	bad_image = 200,
	bad_handle = 400,
	not_found = 500,
	not_ready = 600,
	illegal_address = 700,
	out_of_resources = 701,
	timeout = 702,
	peer_already = 704,
	peer_missing = 705,
	launch_failure = 719,
	capture_refused = 900,
	capture_broken = 901,
};

// What FAKECARD in the environment says, words with a space between; read again by every init.
struct Config {
	int cards = 1;              // cards=N
	size_t memory = 1ull << 40; // memory=BYTES, with K, M or G: of each card
	std::string arch = "gfx906:sramecc+:xnack-"; // arch=NAME
	bool peers = true;          // peers=0: no card reaches another's memory
	int oom = -1;               // oom=CARD: its allocations beyond oom_after bytes fail
	size_t oom_after = 0;       // oom_after=BYTES
	int hang = -1, hang_at = 0; // hang=CARD:N: its N-th launch never ends
	bool capture = true;        // capture=0: streams refuse to be captured
	bool check = false;         // check=1: every access of kernels is checked: bounds, peers, races
	double patience = 20;       // patience=SECONDS: how long a kernel may wait for another before it counts as hung
	int threads = 1;            // threads=N: that run a kernel's blocks
	bool nccl = true;           // nccl=0: the library of collectives connects no cards
	int sum_fails = -1, sum_fails_at = 0; // sum_fails=CARD:N: its N-th sum by the library is refused
	int sum_lost = -1, sum_lost_at = 0;   // sum_lost=CARD:N: its N-th sum never ends, and the library says so
	int wave() const { return arch.compare(0, 4, "gfx9") == 0 ? 64 : 32; }
};
extern Config config;

// What a card did so far; read by fakecard_count.
struct Counts {
	std::atomic<int64_t> launches{0}, graphs{0}, up{0}, down{0}, across{0}, within{0}; // bytes: from the host, to it, from other cards, within
	std::atomic<int64_t> sums{0}, summed{0}, members{0}; // by the library of collectives: calls, bytes, members that are not freed
};

struct Module;
struct Kernel {
	std::string name;
	void (*entry)(const void *);
	unsigned size; // of its args
	Module *module;
};
struct Module {
	void *so = nullptr;
	std::string path;
	int threads = 0; // the block size it was compiled for; 0: any
	std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

struct Launch {
	Kernel *kernel;
	int grid[3], threads;
	std::vector<char> args;
};

struct Card;

// A piece of work on a stream: returns an Error.
using Work = std::function<int()>;
struct Graph {
	std::vector<Work> work;
};

struct Stream {
	Card *card;
	std::thread thread;
	std::mutex m;
	std::condition_variable more, done;
	std::deque<Work> queue;
	uint64_t put = 0, ended = 0; // pieces of work given, and done
	bool closing = false;
	std::shared_ptr<Graph> capture; // what is put goes here instead
	explicit Stream(Card *c);
	~Stream();
	int add(Work w);
	int wait();
	bool idle();
};

struct Event {
	Stream *stream = nullptr;
	uint64_t at = 0; // the stream's work that it follows
	double when = 0; // seconds, once passed
	std::mutex m;
};

struct Card {
	int id;
	std::mutex m;
	std::map<uintptr_t, size_t> blocks; // allocations, by address
	size_t used = 0;
	std::atomic<int> broken{0}; // the error that the card stays in
	std::atomic<int> busy{0};   // pieces of work being done
	std::atomic<int64_t> launched{0};
	std::vector<char> reaches; // by card: whether peer access is enabled
	Counts counts;
	std::unique_ptr<Stream> standard;
};
extern std::vector<std::unique_ptr<Card>> cards;
extern std::mutex host_m;
extern std::map<uintptr_t, size_t> host_blocks; // pinned, seen by every card
extern thread_local int current;                // the calling thread's card

int init(); // reads the configuration; cards are made anew where it changed
Card *here();
int allocate(Card *c, void **p, size_t n);
int release(Card *c, void *p);
int host_allocate(void **p, size_t n);
int host_release(void *p);
Card *owner(const void *p, size_t n, bool *known);
bool in_space(uintptr_t p); // whether memory of cards, or pinned, may lie there
int copy(Card *c, Stream *s, void *to, const void *from, size_t n);
int launch(Stream *s, Launch l);

int run_blocks(Card *c, const Launch &l, int first, int last, std::string *why); // blocks.cpp
void abandon();                                                                // ends the running fiber
bool hung(Card *c);                                                            // whether this launch was chosen to hang
std::string why();
void say(Card *c, const std::string &what);                                    // remembers what broke a card

// compile.cpp: source and headers to the path of a shared object, as bytes of an image that load() takes.
struct Program {
	std::string source, name, log;
	std::map<std::string, std::string> headers;
	std::string image;
};
int compile(Program *p, const std::vector<std::string> &options);
int load(Module *m, const char *image);
Kernel *find(Module *m, const char *name);

// races.cpp: between begin and end the accesses of this thread's kernel are checked.
void check_begin(Card *c, const Launch &l);
std::string check_end();
void check_block(int block, char *lds, size_t size);
void check_fiber(int fiber);
void check_barrier();
bool check_failed();

} // namespace fake
