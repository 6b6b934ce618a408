// The names of libamdhip64 and hiprtc that Ingot uses, over the emulated cards.
#include "card.h"
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sched.h>

using namespace fake;

static double now() {
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static Stream *of(Stream *s) { return s ? s : here()->standard.get(); }

extern "C" {

int hipInit(unsigned) { return init(); }

int hipDriverGetVersion(int *v) {
	*v = 50200000;
	return ok;
}

int hipGetDeviceCount(int *n) {
	*n = (int)cards.size();
	return *n ? ok : no_device;
}

int hipSetDevice(int i) {
	if (i < 0 || i >= (int)cards.size())
		return bad_device;
	current = i;
	return ok;
}

int hipDeviceGetName(char *name, int len, int i) {
	snprintf(name, len, "Emulated card %d", i);
	return ok;
}

int hipGetDeviceProperties(char *p, int i) { // only what says which architecture it is, where ROCm 5 has it
	if (i < 0 || i >= (int)cards.size())
		return bad_device;
	memset(p, 0, 792);
	snprintf(p, 256, "Emulated card %d", i);
	snprintf(p + 396, 256, "%s", config.arch.c_str());
	return ok;
}

int hipDeviceGetAttribute(int *v, int, int) {
	*v = 4;
	return ok;
}

int hipDeviceGetPCIBusId(char *id, int len, int i) {
	snprintf(id, len, "0000:%02x:00.0", i + 1);
	return ok;
}

int hipMemGetInfo(size_t *free, size_t *total) {
	Card *c = here();
	if (!c)
		return no_device;
	std::lock_guard<std::mutex> g(c->m);
	*total = config.memory;
	*free = config.memory - c->used;
	return ok;
}

int hipMalloc(void **p, size_t n) { return here() ? allocate(here(), p, n) : no_device; }
int hipExtMallocWithFlags(void **p, size_t n, unsigned) { return hipMalloc(p, n); }

int hipFree(void *p) {
	bool known;
	Card *c = owner(p, 0, &known);
	return p ? c ? release(c, p) : bad_value : ok;
}

int hipHostMalloc(void **p, size_t n, unsigned) { return host_allocate(p, n); }
int hipHostFree(void *p) { return host_release(p); }

int hipMemcpyAsync(void *to, const void *from, size_t n, int, Stream *s) { return copy(of(s)->card, of(s), to, from, n); }
int hipMemcpyPeerAsync(void *to, int, const void *from, int, size_t n, Stream *s) { return copy(of(s)->card, of(s), to, from, n); }

int hipMemsetAsync(void *p, int v, size_t n, Stream *s) {
	bool known;
	if (!owner(p, n, &known))
		return bad_value;
	return of(s)->add([=] {
		memset(p, v, n);
		return (int)ok;
	});
}

int hipStreamCreateWithFlags(Stream **s, unsigned) {
	if (!here())
		return no_device;
	*s = new Stream(here());
	return ok;
}

int hipStreamDestroy(Stream *s) {
	if (!s->card->broken)
		s->wait();
	delete s;
	return ok;
}

int hipStreamSynchronize(Stream *s) { return of(s)->wait(); }

int hipStreamQuery(Stream *s) {
	s = of(s);
	return s->card->broken ? (int)s->card->broken : s->idle() ? ok : not_ready;
}

int hipEventCreateWithFlags(Event **e, unsigned) {
	*e = new Event;
	return ok;
}

int hipEventDestroy(Event *e) {
	delete e;
	return ok;
}

int hipEventRecord(Event *e, Stream *s) {
	s = of(s);
	int err = s->add([e] {
		std::lock_guard<std::mutex> g(e->m);
		e->when = now();
		return (int)ok;
	});
	std::lock_guard<std::mutex> g(s->m);
	std::lock_guard<std::mutex> h(e->m);
	e->stream = s;
	e->at = s->put;
	return err;
}

static bool passed(Event *e) {
	if (!e->stream)
		return true;
	std::lock_guard<std::mutex> g(e->stream->m);
	return e->stream->ended >= e->at;
}

int hipEventQuery(Event *e) {
	if (e->stream && e->stream->card->broken)
		return e->stream->card->broken;
	return passed(e) ? ok : not_ready;
}

int hipEventSynchronize(Event *e) {
	if (!e->stream)
		return ok;
	std::unique_lock<std::mutex> g(e->stream->m);
	e->stream->done.wait(g, [&] { return e->stream->ended >= e->at; });
	return e->stream->card->broken;
}

int hipEventElapsedTime(float *ms, Event *a, Event *b) {
	if (!passed(a) || !passed(b))
		return not_ready;
	*ms = (float)((b->when - a->when) * 1e3);
	return ok;
}

int hipStreamWaitEvent(Stream *s, Event *e, unsigned) {
	Stream *from = e->stream;
	if (!from)
		return ok;
	uint64_t at = e->at;
	return of(s)->add([=] {
		std::unique_lock<std::mutex> g(from->m);
		from->done.wait(g, [&] { return from->ended >= at; });
		return (int)from->card->broken;
	});
}

int hipModuleLoadData(Module **m, const void *image) {
	*m = new Module;
	int e = load(*m, (const char *)image);
	if (e) {
		delete *m;
		*m = nullptr;
	}
	return e;
}

int hipModuleUnload(Module *m) { // the shared object stays: kernels of it may still be queued
	delete m;
	return ok;
}

int hipModuleGetFunction(Kernel **k, Module *m, const char *name) { return (*k = find(m, name)) ? ok : not_found; }

int hipFuncGetAttribute(int *v, int, Kernel *) {
	*v = 0;
	return ok;
}

int hipModuleLaunchKernel(Kernel *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, Stream *s,
			  void **params, void **) {
	if (!k || !params || by != 1 || bz != 1 || shared)
		return bad_value;
	const char *a = (const char *)params[0];
	return launch(of(s), {k, {(int)gx, (int)gy, (int)gz}, (int)bx, std::vector<char>(a, a + k->size)});
}

int hipStreamBeginCapture(Stream *s, int) {
	if (!s || !config.capture)
		return capture_refused;
	std::lock_guard<std::mutex> g(s->m);
	if (s->capture)
		return capture_broken;
	s->capture = std::make_shared<Graph>();
	return ok;
}

int hipStreamEndCapture(Stream *s, std::shared_ptr<Graph> **g) {
	std::lock_guard<std::mutex> l(s->m);
	if (!s->capture)
		return capture_broken;
	*g = new std::shared_ptr<Graph>(std::move(s->capture));
	s->capture = nullptr;
	return ok;
}

int hipGraphInstantiate(std::shared_ptr<Graph> **exec, std::shared_ptr<Graph> *g, void **, char *, size_t) {
	*exec = new std::shared_ptr<Graph>(*g);
	return ok;
}

int hipGraphLaunch(std::shared_ptr<Graph> *exec, Stream *s) {
	s = of(s);
	Card *c = s->card;
	return s->add([c, g = *exec] {
		c->counts.graphs++;
		for (auto &w : g->work)
			if (int e = w())
				return e;
		return (int)ok;
	});
}

int hipGraphExecDestroy(std::shared_ptr<Graph> *g) {
	delete g;
	return ok;
}

int hipGraphDestroy(std::shared_ptr<Graph> *g) {
	delete g;
	return ok;
}

int hipDeviceCanAccessPeer(int *can, int a, int b) {
	*can = config.peers && a != b;
	return ok;
}

int hipDeviceEnablePeerAccess(int peer, unsigned) {
	Card *c = here();
	if (!config.peers || peer < 0 || peer >= (int)cards.size() || peer == c->id)
		return peer < (int)cards.size() ? peer_missing : bad_device;
	if (c->reaches[peer])
		return peer_already;
	c->reaches[peer] = 1;
	return ok;
}

const char *hipGetErrorString(int e) {
	switch (e) {
	case ok: return "no error";
	case bad_value: return "invalid argument";
	case out_of_memory: return "out of memory";
	case no_device: return "no device";
	case bad_device: return "invalid device ordinal";
	case bad_image: return "device kernel image is invalid";
	case not_found: return "named symbol not found";
	case not_ready: return "device not ready";
	case illegal_address: return "an illegal memory access was encountered";
	case timeout: return "the launch timed out and was terminated";
	case peer_missing: return "peer access is not available";
	case launch_failure: return "unspecified launch failure";
	case capture_refused: return "operation not permitted when stream is capturing";
	}
	return "unknown error";
}

int hiprtcVersion(int *major, int *minor) {
	*major = 9, *minor = 0;
	return ok;
}

int hiprtcCreateProgram(Program **p, const char *source, const char *name, int n, const char **headers, const char **names) {
	*p = new Program;
	(*p)->source = source;
	(*p)->name = name ? name : "";
	for (int i = 0; i < n; i++)
		(*p)->headers[names[i]] = headers[i];
	return ok;
}

int hiprtcCompileProgram(Program *p, int n, const char **options) {
	return compile(p, std::vector<std::string>(options, options + n)) ? 6 : 0;
}

int hiprtcGetCodeSize(Program *p, size_t *n) {
	*n = p->image.size() + 1;
	return ok;
}

int hiprtcGetCode(Program *p, char *to) {
	memcpy(to, p->image.c_str(), p->image.size() + 1);
	return ok;
}

int hiprtcGetProgramLogSize(Program *p, size_t *n) {
	*n = p->log.size() + 1;
	return ok;
}

int hiprtcGetProgramLog(Program *p, char *to) {
	memcpy(to, p->log.c_str(), p->log.size() + 1);
	return ok;
}

int hiprtcDestroyProgram(Program **p) {
	delete *p;
	*p = nullptr;
	return ok;
}

const char *hiprtcGetErrorString(int e) { return e == 6 ? "compilation failed" : e ? "error" : "success"; }

// For tests: what a card did. 0 launches, 1 graphs, 2 bytes from the host, 3 to the host, 4 from other cards, 5 within, 6 bytes allocated;
// of the library of collectives 7 sums, 8 bytes summed, 9 members that are not freed.
int64_t fakecard_count(int card, int what) {
	if (card < 0 || card >= (int)cards.size())
		return -1;
	Card *c = cards[card].get();
	switch (what) {
	case 0: return c->counts.launches;
	case 1: return c->counts.graphs;
	case 2: return c->counts.up;
	case 3: return c->counts.down;
	case 4: return c->counts.across;
	case 5: return c->counts.within;
	case 6: return (int64_t)c->used;
	case 7: return c->counts.sums;
	case 8: return c->counts.summed;
	case 9: return c->counts.members;
	}
	return -1;
}

// Why a card broke, in words, as a text that stays until the next call.
const char *fakecard_why(void) {
	static thread_local std::string text;
	text = why();
	return text.c_str();
}
}
