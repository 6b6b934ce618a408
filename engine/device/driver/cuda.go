package driver

import (
	"fmt"
	"time"
	"unsafe"
)

// cuda is NVIDIA's driver: libcuda, with nvrtc beside it as the compiler.
type cuda struct {
	contexts []uintptr // by card, made when first used

	// CUresult cuInit(unsigned int flags)
	init uintptr
	// CUresult cuDriverGetVersion(int *version)
	driverGetVersion uintptr
	// CUresult cuDeviceGetCount(int *count)
	deviceGetCount uintptr
	// CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
	deviceGetName uintptr
	// CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
	deviceTotalMem uintptr
	// CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
	deviceGetAttribute uintptr
	// CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
	deviceGetPCIBusID uintptr
	// CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice dev)
	primaryCtxRetain uintptr
	// CUresult cuCtxSetCurrent(CUcontext context)
	ctxSetCurrent uintptr
	// CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
	memGetInfo uintptr
	// CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t size)
	memAlloc uintptr
	// CUresult cuMemFree_v2(CUdeviceptr ptr)
	memFree uintptr
	// CUresult cuMemHostAlloc(void **ptr, size_t size, unsigned int flags)
	memHostAlloc uintptr
	// CUresult cuMemFreeHost(void *ptr)
	memFreeHost uintptr
	// CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
	memcpyAsync uintptr
	// CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src, CUcontext srcContext, size_t size, CUstream stream)
	memcpyPeerAsync uintptr
	// CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
	memsetD8Async uintptr
	// CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
	streamCreate uintptr
	// CUresult cuStreamDestroy_v2(CUstream stream)
	streamDestroy uintptr
	// CUresult cuStreamSynchronize(CUstream stream)
	streamSynchronize uintptr
	// CUresult cuStreamQuery(CUstream stream)
	streamQuery uintptr
	// CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
	streamWaitEvent uintptr
	// CUresult cuEventCreate(CUevent *event, unsigned int flags)
	eventCreate uintptr
	// CUresult cuEventDestroy_v2(CUevent event)
	eventDestroy uintptr
	// CUresult cuEventRecord(CUevent event, CUstream stream)
	eventRecord uintptr
	// CUresult cuEventQuery(CUevent event)
	eventQuery uintptr
	// CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
	eventElapsedTime uintptr
	// CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
	deviceCanAccessPeer uintptr
	// CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
	ctxEnablePeerAccess uintptr
	// CUresult cuModuleLoadData(CUmodule *module, const void *image)
	moduleLoadData uintptr
	// CUresult cuModuleUnload(CUmodule module)
	moduleUnload uintptr
	// CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
	moduleGetFunction uintptr
	// CUresult cuLaunchKernel(CUfunction f, unsigned int gridX, gridY, gridZ, blockX, blockY, blockZ, unsigned int sharedBytes,
	//     CUstream stream, void **params, void **extra)
	launchKernel uintptr
	// CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
	streamBeginCapture uintptr
	// CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
	streamEndCapture uintptr
	// CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
	graphInstantiate uintptr
	// CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
	graphLaunch uintptr
	// CUresult cuGraphExecDestroy(CUgraphExec exec)
	graphExecDestroy uintptr
	// CUresult cuGraphDestroy(CUgraph graph)
	graphDestroy uintptr
	// CUresult cuGetErrorString(CUresult error, const char **text)
	getErrorString uintptr
}

func (c *cuda) bind(l *library) error {
	for name, at := range map[string]*uintptr{
		"cuInit": &c.init, "cuDriverGetVersion": &c.driverGetVersion, "cuDeviceGetCount": &c.deviceGetCount,
		"cuDeviceGetName": &c.deviceGetName, "cuDeviceTotalMem_v2": &c.deviceTotalMem, "cuDeviceGetAttribute": &c.deviceGetAttribute,
		"cuDeviceGetPCIBusId": &c.deviceGetPCIBusID, "cuDevicePrimaryCtxRetain": &c.primaryCtxRetain, "cuCtxSetCurrent": &c.ctxSetCurrent,
		"cuMemGetInfo_v2": &c.memGetInfo, "cuMemAlloc_v2": &c.memAlloc, "cuMemFree_v2": &c.memFree, "cuMemHostAlloc": &c.memHostAlloc,
		"cuMemFreeHost": &c.memFreeHost, "cuMemcpyAsync": &c.memcpyAsync, "cuMemcpyPeerAsync": &c.memcpyPeerAsync, "cuMemsetD8Async": &c.memsetD8Async,
		"cuStreamCreate": &c.streamCreate, "cuStreamDestroy_v2": &c.streamDestroy, "cuStreamSynchronize": &c.streamSynchronize,
		"cuStreamQuery": &c.streamQuery, "cuStreamWaitEvent": &c.streamWaitEvent, "cuEventCreate": &c.eventCreate, "cuEventDestroy_v2": &c.eventDestroy,
		"cuEventRecord": &c.eventRecord, "cuEventQuery": &c.eventQuery, "cuEventElapsedTime": &c.eventElapsedTime,
		"cuDeviceCanAccessPeer": &c.deviceCanAccessPeer, "cuCtxEnablePeerAccess": &c.ctxEnablePeerAccess, "cuModuleLoadData": &c.moduleLoadData,
		"cuModuleUnload": &c.moduleUnload, "cuModuleGetFunction": &c.moduleGetFunction, "cuLaunchKernel": &c.launchKernel,
		"cuStreamBeginCapture_v2": &c.streamBeginCapture, "cuStreamEndCapture": &c.streamEndCapture, "cuGraphInstantiateWithFlags": &c.graphInstantiate,
		"cuGraphLaunch": &c.graphLaunch, "cuGraphExecDestroy": &c.graphExecDestroy, "cuGraphDestroy": &c.graphDestroy, "cuGetErrorString": &c.getErrorString,
	} {
		*at = l.symbol(name)
	}
	return l.complete()
}

const (
	cuHostPortable          = 1 // CU_MEMHOSTALLOC_PORTABLE: all contexts see it
	cuNonBlocking           = 1 // of streams
	cuDisableTiming         = 2 // of events
	cuCaptureThreadLocal    = 1
	cuAttributeMultiprocess = 16 // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
	cuAttributeMajor        = 75 // of the compute capability
	cuAttributeMinor        = 76
)

// CUDA loads NVIDIA's driver.
func CUDA() (*Driver, error) {
	l, err := open("INGOT_CUDA_LIBRARY", "libcuda.so.1", "libcuda.so", "/usr/local/nvidia/lib64/libcuda.so.1")
	if err != nil {
		return nil, err
	}
	c := &cuda{}
	if err := c.bind(l); err != nil {
		return nil, err
	}
	d := &Driver{Kind: "cuda", Symbol: l.find}
	if err := c.start(d); err != nil {
		return nil, err
	}
	c.memory(d)
	c.streams(d)
	c.kernels(d)
	rtc, err := cudaCompiler()
	if err != nil {
		return nil, err
	}
	rtc.fill(d)
	return d, nil
}

func (c *cuda) error(name string, code int) error {
	if code == 0 {
		return nil
	}
	var text uintptr
	call(c.getErrorString, uintptr(code), uintptr(unsafe.Pointer(&text)))
	return failure("cuda", name, code, gostring(text))
}

func (c *cuda) start(d *Driver) error {
	if err := c.error("cuInit", call(c.init, 0)); err != nil {
		return err
	}
	var version, count int32
	if call(c.driverGetVersion, uintptr(unsafe.Pointer(&version))) == 0 {
		d.Version = fmt.Sprintf("%d.%d", version/1000, version/10%100)
	}
	if err := c.error("cuDeviceGetCount", call(c.deviceGetCount, uintptr(unsafe.Pointer(&count)))); err != nil {
		return err
	}
	if d.Count = int(count); count == 0 {
		return fmt.Errorf("cuda: %w", ErrNoCard)
	}
	c.contexts = make([]uintptr, count)
	d.Use = func(card int) error {
		if c.contexts[card] == 0 {
			var context uintptr
			if err := c.error("cuDevicePrimaryCtxRetain", call(c.primaryCtxRetain, uintptr(unsafe.Pointer(&context)), uintptr(card))); err != nil {
				return err
			}
			c.contexts[card] = context // two threads get the same
		}
		return c.error("cuCtxSetCurrent", call(c.ctxSetCurrent, c.contexts[card]))
	}
	d.Props = c.props
	d.MemInfo = func() (int64, int64, error) {
		var free, total uint64
		err := c.error("cuMemGetInfo", call(c.memGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total))))
		return int64(free), int64(total), err
	}
	d.CanReach = func(card, peer int) bool {
		var can int32
		return call(c.deviceCanAccessPeer, uintptr(unsafe.Pointer(&can)), uintptr(card), uintptr(peer)) == 0 && can != 0
	}
	d.Reach = func(peer int) error {
		if c.contexts[peer] == 0 {
			return fmt.Errorf("cuda:%d: %w: the card was not used yet", peer, ErrNoPeer)
		}
		code := call(c.ctxEnablePeerAccess, c.contexts[peer], 0)
		if code == errPeerAlready {
			return nil
		}
		return c.error("cuCtxEnablePeerAccess", code)
	}
	return nil
}

func (c *cuda) props(card int) (Props, error) {
	p := Props{Wave: 32}
	name, bus := make([]byte, 256), make([]byte, 64)
	if err := c.error("cuDeviceGetName", call(c.deviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(card))); err != nil {
		return p, err
	}
	if call(c.deviceGetPCIBusID, uintptr(unsafe.Pointer(&bus[0])), uintptr(len(bus)), uintptr(card)) == 0 {
		p.BusID = text(bus)
	}
	var total uint64
	if err := c.error("cuDeviceTotalMem", call(c.deviceTotalMem, uintptr(unsafe.Pointer(&total)), uintptr(card))); err != nil {
		return p, err
	}
	attribute := func(n uintptr) int {
		var v int32
		call(c.deviceGetAttribute, uintptr(unsafe.Pointer(&v)), n, uintptr(card))
		return int(v)
	}
	p.Name, p.Total, p.Units = text(name), int64(total), attribute(cuAttributeMultiprocess)
	p.Arch = fmt.Sprintf("sm_%d%d", attribute(cuAttributeMajor), attribute(cuAttributeMinor))
	return p, nil
}

func (c *cuda) memory(d *Driver) {
	d.Malloc = func(n int64) (p Ptr, err error) {
		err = c.error("cuMemAlloc", call(c.memAlloc, uintptr(unsafe.Pointer(&p)), uintptr(n)))
		return p, err
	}
	d.MallocShared = d.Malloc
	d.Free = func(p Ptr) error { return c.error("cuMemFree", call(c.memFree, uintptr(p))) }
	d.HostMalloc = func(n int64) (p unsafe.Pointer, err error) {
		err = c.error("cuMemHostAlloc", call(c.memHostAlloc, uintptr(unsafe.Pointer(&p)), uintptr(n), cuHostPortable))
		return p, err
	}
	d.HostFree = func(p unsafe.Pointer) error { return c.error("cuMemFreeHost", call(c.memFreeHost, uintptr(p))) }
	move := func(to, from uintptr, n int64, s Stream) error {
		return c.error("cuMemcpyAsync", call(c.memcpyAsync, to, from, uintptr(n), uintptr(s)))
	}
	d.Upload = func(to Ptr, from unsafe.Pointer, n int64, s Stream) error {
		return move(uintptr(to), uintptr(from), n, s)
	}
	d.Download = func(to unsafe.Pointer, from Ptr, n int64, s Stream) error {
		return move(uintptr(to), uintptr(from), n, s)
	}
	d.Copy = func(to, from Ptr, n int64, s Stream) error { return move(uintptr(to), uintptr(from), n, s) }
	d.CopyPeer = func(to Ptr, toCard int, from Ptr, fromCard int, n int64, s Stream) error {
		return c.error("cuMemcpyPeerAsync", call(c.memcpyPeerAsync, uintptr(to), c.contexts[toCard], uintptr(from), c.contexts[fromCard], uintptr(n), uintptr(s)))
	}
	d.Clear = func(to Ptr, n int64, s Stream) error {
		return c.error("cuMemsetD8Async", call(c.memsetD8Async, uintptr(to), 0, uintptr(n), uintptr(s)))
	}
}

func (c *cuda) streams(d *Driver) {
	d.NewStream = func() (s Stream, err error) {
		err = c.error("cuStreamCreate", call(c.streamCreate, uintptr(unsafe.Pointer(&s)), cuNonBlocking))
		return s, err
	}
	d.FreeStream = func(s Stream) error { return c.error("cuStreamDestroy", call(c.streamDestroy, uintptr(s))) }
	d.Sync = func(s Stream) error { return c.error("cuStreamSynchronize", call(c.streamSynchronize, uintptr(s))) }
	d.Done = func(s Stream) (bool, error) {
		code := call(c.streamQuery, uintptr(s))
		if code == errNotReady {
			return false, nil
		}
		return code == 0, c.error("cuStreamQuery", code)
	}
	d.Wait = func(s Stream, e Event) error {
		return c.error("cuStreamWaitEvent", call(c.streamWaitEvent, uintptr(s), uintptr(e), 0))
	}
	d.NewEvent = func(timed bool) (e Event, err error) {
		flags := uintptr(cuDisableTiming)
		if timed {
			flags = 0
		}
		err = c.error("cuEventCreate", call(c.eventCreate, uintptr(unsafe.Pointer(&e)), flags))
		return e, err
	}
	d.FreeEvent = func(e Event) error { return c.error("cuEventDestroy", call(c.eventDestroy, uintptr(e))) }
	d.Record = func(e Event, s Stream) error {
		return c.error("cuEventRecord", call(c.eventRecord, uintptr(e), uintptr(s)))
	}
	d.Passed = func(e Event) (bool, error) {
		code := call(c.eventQuery, uintptr(e))
		if code == errNotReady {
			return false, nil
		}
		return code == 0, c.error("cuEventQuery", code)
	}
	d.Elapsed = func(from, to Event) (time.Duration, error) {
		var ms float32
		err := c.error("cuEventElapsedTime", call(c.eventElapsedTime, uintptr(unsafe.Pointer(&ms)), uintptr(from), uintptr(to)))
		return time.Duration(float64(ms) * 1e6), err
	}
}

func (c *cuda) kernels(d *Driver) {
	d.Load = func(image []byte) (m Module, err error) {
		err = c.error("cuModuleLoadData", call(c.moduleLoadData, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&image[0]))))
		return m, err
	}
	d.Unload = func(m Module) error { return c.error("cuModuleUnload", call(c.moduleUnload, uintptr(m))) }
	d.Find = func(m Module, name string) (f Function, err error) {
		err = c.error("cuModuleGetFunction "+name, call(c.moduleGetFunction, uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(cstring(name)))))
		return f, err
	}
	d.Launch = func(f Function, grid [3]int, threads int, s Stream, args unsafe.Pointer) error {
		params := [1]unsafe.Pointer{args}
		return c.error("cuLaunchKernel", call(c.launchKernel, uintptr(f), uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]),
			uintptr(threads), 1, 1, 0, uintptr(s), uintptr(unsafe.Pointer(&params)), 0))
	}
	d.Capture = func(s Stream) error {
		return c.error("cuStreamBeginCapture", call(c.streamBeginCapture, uintptr(s), cuCaptureThreadLocal))
	}
	d.EndCapture = func(s Stream) (Graph, error) {
		var g, exec uintptr
		if err := c.error("cuStreamEndCapture", call(c.streamEndCapture, uintptr(s), uintptr(unsafe.Pointer(&g)))); err != nil {
			return 0, err
		}
		err := c.error("cuGraphInstantiate", call(c.graphInstantiate, uintptr(unsafe.Pointer(&exec)), g, 0))
		call(c.graphDestroy, g)
		return Graph(exec), err
	}
	d.LaunchGraph = func(g Graph, s Stream) error {
		return c.error("cuGraphLaunch", call(c.graphLaunch, uintptr(g), uintptr(s)))
	}
	d.FreeGraph = func(g Graph) error { return c.error("cuGraphExecDestroy", call(c.graphExecDestroy, uintptr(g))) }
}

func cudaCompiler() (*compiler, error) {
	l, err := open("INGOT_NVRTC_LIBRARY", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
		"/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/targets/x86_64-linux/lib/libnvrtc.so.12")
	if err != nil {
		return nil, err
	}
	// machine code rather than PTX: the driver need not be as new as the compiler
	return newCompiler(l, "nvrtc", "CUBIN", "nvrtc", func(arch string) string { return "--gpu-architecture=" + arch })
}
