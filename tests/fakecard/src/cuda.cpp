// The names of libcuda and nvrtc that Ingot uses, over the emulated cards. What has the same meaning as in HIP is HIP's.
#include "card.h"
#include <cstdio>
#include <cstring>

using namespace fake;

extern "C" {

int hipMemGetInfo(size_t *, size_t *);
int hipMalloc(void **, size_t);
int hipFree(void *);
int hipHostFree(void *);
int hipMemsetAsync(void *, int, size_t, Stream *);
int hipStreamCreateWithFlags(Stream **, unsigned);
int hipStreamDestroy(Stream *);
int hipStreamSynchronize(Stream *);
int hipStreamQuery(Stream *);
int hipStreamWaitEvent(Stream *, Event *, unsigned);
int hipEventCreateWithFlags(Event **, unsigned);
int hipEventDestroy(Event *);
int hipEventRecord(Event *, Stream *);
int hipEventQuery(Event *);
int hipEventElapsedTime(float *, Event *, Event *);
int hipDeviceCanAccessPeer(int *, int, int);
int hipDeviceEnablePeerAccess(int, unsigned);
int hipDeviceGetPCIBusId(char *, int, int);
int hipModuleLoadData(Module **, const void *);
int hipModuleUnload(Module *);
int hipModuleGetFunction(Kernel **, Module *, const char *);
int hipModuleLaunchKernel(Kernel *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream *, void **, void **);
int hipStreamBeginCapture(Stream *, int);
int hipStreamEndCapture(Stream *, std::shared_ptr<Graph> **);
int hipGraphInstantiate(std::shared_ptr<Graph> **, std::shared_ptr<Graph> *, void **, char *, size_t);
int hipGraphLaunch(std::shared_ptr<Graph> *, Stream *);
int hipGraphExecDestroy(std::shared_ptr<Graph> *);
int hipGraphDestroy(std::shared_ptr<Graph> *);
const char *hipGetErrorString(int);
int hiprtcCreateProgram(Program **, const char *, const char *, int, const char **, const char **);
int hiprtcCompileProgram(Program *, int, const char **);
int hiprtcGetCodeSize(Program *, size_t *);
int hiprtcGetCode(Program *, char *);
int hiprtcGetProgramLogSize(Program *, size_t *);
int hiprtcGetProgramLog(Program *, char *);
int hiprtcDestroyProgram(Program **);
const char *hiprtcGetErrorString(int);

int cuInit(unsigned) { return init(); }

int cuDriverGetVersion(int *v) {
	*v = 12040;
	return ok;
}

int cuDeviceGetCount(int *n) {
	*n = (int)cards.size();
	return ok;
}

int cuDeviceGet(int *d, int i) {
	*d = i;
	return i < (int)cards.size() ? ok : bad_device;
}

int cuDeviceGetName(char *name, int len, int i) {
	snprintf(name, len, "Emulated card %d", i);
	return ok;
}

int cuDeviceTotalMem_v2(size_t *n, int) {
	*n = config.memory;
	return ok;
}

int cuDeviceGetAttribute(int *v, int what, int) {
	int sm = config.arch.compare(0, 3, "sm_") == 0 ? atoi(config.arch.c_str() + 3) : 80;
	*v = what == 75 ? sm / 10 : what == 76 ? sm % 10 : 4;
	return ok;
}

int cuDeviceGetPCIBusId(char *id, int len, int i) { return hipDeviceGetPCIBusId(id, len, i); }

// A context is a card's number and one, so that none is 0.
int cuDevicePrimaryCtxRetain(uintptr_t *context, int i) {
	*context = (uintptr_t)i + 1;
	return i < (int)cards.size() ? ok : bad_device;
}

int cuCtxSetCurrent(uintptr_t context) {
	if (context < 1 || context > cards.size())
		return 201;
	current = (int)context - 1;
	return ok;
}

int cuMemGetInfo_v2(size_t *free, size_t *total) { return hipMemGetInfo(free, total); }
int cuMemAlloc_v2(void **p, size_t n) { return hipMalloc(p, n); }
int cuMemFree_v2(void *p) { return hipFree(p); }
int cuMemHostAlloc(void **p, size_t n, unsigned) { return host_allocate(p, n); }
int cuMemFreeHost(void *p) { return hipHostFree(p); }
int cuMemcpyAsync(void *to, const void *from, size_t n, Stream *s) { return copy(s->card, s, to, from, n); }
int cuMemcpyPeerAsync(void *to, uintptr_t, const void *from, uintptr_t, size_t n, Stream *s) { return copy(s->card, s, to, from, n); }
int cuMemsetD8Async(void *p, unsigned char v, size_t n, Stream *s) { return hipMemsetAsync(p, v, n, s); }
int cuStreamCreate(Stream **s, unsigned flags) { return hipStreamCreateWithFlags(s, flags); }
int cuStreamDestroy_v2(Stream *s) { return hipStreamDestroy(s); }
int cuStreamSynchronize(Stream *s) { return hipStreamSynchronize(s); }
int cuStreamQuery(Stream *s) { return hipStreamQuery(s); }
int cuStreamWaitEvent(Stream *s, Event *e, unsigned flags) { return hipStreamWaitEvent(s, e, flags); }
int cuEventCreate(Event **e, unsigned flags) { return hipEventCreateWithFlags(e, flags); }
int cuEventDestroy_v2(Event *e) { return hipEventDestroy(e); }
int cuEventRecord(Event *e, Stream *s) { return hipEventRecord(e, s); }
int cuEventQuery(Event *e) { return hipEventQuery(e); }
int cuEventElapsedTime(float *ms, Event *a, Event *b) { return hipEventElapsedTime(ms, a, b); }
int cuDeviceCanAccessPeer(int *can, int a, int b) { return hipDeviceCanAccessPeer(can, a, b); }
int cuCtxEnablePeerAccess(uintptr_t context, unsigned flags) { return hipDeviceEnablePeerAccess((int)context - 1, flags); }
int cuModuleLoadData(Module **m, const void *image) { return hipModuleLoadData(m, image); }
int cuModuleUnload(Module *m) { return hipModuleUnload(m); }
int cuModuleGetFunction(Kernel **k, Module *m, const char *name) { return hipModuleGetFunction(k, m, name); }

int cuLaunchKernel(Kernel *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, Stream *s, void **params,
		   void **extra) {
	return hipModuleLaunchKernel(k, gx, gy, gz, bx, by, bz, shared, s, params, extra);
}

int cuStreamBeginCapture_v2(Stream *s, int mode) { return hipStreamBeginCapture(s, mode); }
int cuStreamEndCapture(Stream *s, std::shared_ptr<Graph> **g) { return hipStreamEndCapture(s, g); }
int cuGraphInstantiateWithFlags(std::shared_ptr<Graph> **exec, std::shared_ptr<Graph> *g, unsigned long long) {
	return hipGraphInstantiate(exec, g, nullptr, nullptr, 0);
}
int cuGraphLaunch(std::shared_ptr<Graph> *exec, Stream *s) { return hipGraphLaunch(exec, s); }
int cuGraphExecDestroy(std::shared_ptr<Graph> *g) { return hipGraphExecDestroy(g); }
int cuGraphDestroy(std::shared_ptr<Graph> *g) { return hipGraphDestroy(g); }

int cuGetErrorString(int e, const char **text) {
	*text = hipGetErrorString(e);
	return ok;
}

int nvrtcVersion(int *major, int *minor) {
	*major = 12, *minor = 4;
	return ok;
}

int nvrtcCreateProgram(Program **p, const char *source, const char *name, int n, const char **headers, const char **names) {
	return hiprtcCreateProgram(p, source, name, n, headers, names);
}
int nvrtcCompileProgram(Program *p, int n, const char **options) { return hiprtcCompileProgram(p, n, options); }
int nvrtcGetCUBINSize(Program *p, size_t *n) { return hiprtcGetCodeSize(p, n); }
int nvrtcGetCUBIN(Program *p, char *to) { return hiprtcGetCode(p, to); }
int nvrtcGetPTXSize(Program *p, size_t *n) { return hiprtcGetCodeSize(p, n); }
int nvrtcGetPTX(Program *p, char *to) { return hiprtcGetCode(p, to); }
int nvrtcGetProgramLogSize(Program *p, size_t *n) { return hiprtcGetProgramLogSize(p, n); }
int nvrtcGetProgramLog(Program *p, char *to) { return hiprtcGetProgramLog(p, to); }
int nvrtcDestroyProgram(Program **p) { return hiprtcDestroyProgram(p); }
const char *nvrtcGetErrorString(int e) { return hiprtcGetErrorString(e); }
}
