package driver

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unsafe"
)

// hip is AMD's runtime: libamdhip64, with the compiler in it or beside it.
type hip struct {
	// hipError_t hipInit(unsigned int flags)
	init uintptr
	// hipError_t hipDriverGetVersion(int *version)
	driverGetVersion uintptr
	// hipError_t hipGetDeviceCount(int *count)
	getDeviceCount uintptr
	// hipError_t hipSetDevice(int device)
	setDevice uintptr
	// hipError_t hipDeviceGetName(char *name, int len, hipDevice_t device)
	deviceGetName uintptr
	// hipError_t hipGetDeviceProperties(hipDeviceProp_t *prop, int device); the struct has another layout from ROCm 6 on, under the name ...R0600
	getDeviceProperties uintptr
	// hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device)
	deviceGetAttribute uintptr
	// hipError_t hipDeviceGetPCIBusId(char *id, int len, int device)
	deviceGetPCIBusID uintptr
	// hipError_t hipMemGetInfo(size_t *free, size_t *total)
	memGetInfo uintptr
	// hipError_t hipMalloc(void **ptr, size_t size)
	malloc uintptr
	// hipError_t hipExtMallocWithFlags(void **ptr, size_t size, unsigned int flags)
	extMallocWithFlags uintptr
	// hipError_t hipFree(void *ptr)
	free uintptr
	// hipError_t hipHostMalloc(void **ptr, size_t size, unsigned int flags)
	hostMalloc uintptr
	// hipError_t hipHostFree(void *ptr)
	hostFree uintptr
	// hipError_t hipMemcpyAsync(void *dst, const void *src, size_t size, hipMemcpyKind kind, hipStream_t stream)
	memcpyAsync uintptr
	// hipError_t hipMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t size, hipStream_t stream)
	memcpyPeerAsync uintptr
	// hipError_t hipMemsetAsync(void *dst, int value, size_t size, hipStream_t stream)
	memsetAsync uintptr
	// hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags)
	streamCreateWithFlags uintptr
	// hipError_t hipStreamDestroy(hipStream_t stream)
	streamDestroy uintptr
	// hipError_t hipStreamSynchronize(hipStream_t stream)
	streamSynchronize uintptr
	// hipError_t hipStreamQuery(hipStream_t stream)
	streamQuery uintptr
	// hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags)
	streamWaitEvent uintptr
	// hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned int flags)
	eventCreateWithFlags uintptr
	// hipError_t hipEventDestroy(hipEvent_t event)
	eventDestroy uintptr
	// hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
	eventRecord uintptr
	// hipError_t hipEventQuery(hipEvent_t event)
	eventQuery uintptr
	// hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
	eventElapsedTime uintptr
	// hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer)
	deviceCanAccessPeer uintptr
	// hipError_t hipDeviceEnablePeerAccess(int peer, unsigned int flags)
	deviceEnablePeerAccess uintptr
	// hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
	moduleLoadData uintptr
	// hipError_t hipModuleUnload(hipModule_t module)
	moduleUnload uintptr
	// hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
	moduleGetFunction uintptr
	// hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned int gridX, gridY, gridZ, blockX, blockY, blockZ,
	//     unsigned int sharedBytes, hipStream_t stream, void **params, void **extra)
	moduleLaunchKernel uintptr
	// hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
	streamBeginCapture uintptr
	// hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph)
	streamEndCapture uintptr
	// hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *errorNode, char *log, size_t size)
	graphInstantiate uintptr
	// hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
	graphLaunch uintptr
	// hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
	graphExecDestroy uintptr
	// hipError_t hipGraphDestroy(hipGraph_t graph)
	graphDestroy uintptr
	// const char *hipGetErrorString(hipError_t error)
	getErrorString uintptr
}

func (h *hip) bind(l *library) error {
	for name, at := range map[string]*uintptr{
		"hipInit": &h.init, "hipDriverGetVersion": &h.driverGetVersion, "hipGetDeviceCount": &h.getDeviceCount, "hipSetDevice": &h.setDevice,
		"hipDeviceGetName": &h.deviceGetName, "hipDeviceGetAttribute": &h.deviceGetAttribute, "hipDeviceGetPCIBusId": &h.deviceGetPCIBusID,
		"hipMemGetInfo": &h.memGetInfo, "hipMalloc": &h.malloc, "hipFree": &h.free, "hipHostMalloc": &h.hostMalloc, "hipHostFree": &h.hostFree,
		"hipMemcpyAsync": &h.memcpyAsync, "hipMemcpyPeerAsync": &h.memcpyPeerAsync, "hipMemsetAsync": &h.memsetAsync,
		"hipStreamCreateWithFlags": &h.streamCreateWithFlags, "hipStreamDestroy": &h.streamDestroy, "hipStreamSynchronize": &h.streamSynchronize,
		"hipStreamQuery": &h.streamQuery, "hipStreamWaitEvent": &h.streamWaitEvent, "hipEventCreateWithFlags": &h.eventCreateWithFlags,
		"hipEventDestroy": &h.eventDestroy, "hipEventRecord": &h.eventRecord, "hipEventQuery": &h.eventQuery, "hipEventElapsedTime": &h.eventElapsedTime,
		"hipDeviceCanAccessPeer": &h.deviceCanAccessPeer, "hipDeviceEnablePeerAccess": &h.deviceEnablePeerAccess,
		"hipModuleLoadData": &h.moduleLoadData, "hipModuleUnload": &h.moduleUnload, "hipModuleGetFunction": &h.moduleGetFunction,
		"hipModuleLaunchKernel": &h.moduleLaunchKernel, "hipStreamBeginCapture": &h.streamBeginCapture, "hipStreamEndCapture": &h.streamEndCapture,
		"hipGraphInstantiate": &h.graphInstantiate, "hipGraphLaunch": &h.graphLaunch, "hipGraphExecDestroy": &h.graphExecDestroy,
		"hipGraphDestroy": &h.graphDestroy, "hipGetErrorString": &h.getErrorString,
	} {
		*at = l.symbol(name)
	}
	h.extMallocWithFlags = l.optional("hipExtMallocWithFlags")
	if h.getDeviceProperties = l.optional("hipGetDevicePropertiesR0600", "hipGetDeviceProperties"); h.getDeviceProperties == 0 {
		l.missed = append(l.missed, "hipGetDeviceProperties")
	}
	return l.complete()
}

const (
	hipHostPortable          = 1 // hipHostMallocPortable: all cards see it
	hipFineGrained           = 1 // hipDeviceMallocFinegrained: writes of others are seen while a kernel runs
	hipNonBlocking           = 1 // of streams
	hipDisableTiming         = 2 // of events
	hipMemcpyDefault         = 4
	hipCaptureThreadLocal    = 1
	hipAttributeMultiprocess = 63 // hipDeviceAttributeMultiprocessorCount
)

func openHIP() (*library, error) {
	return open("INGOT_HIP_LIBRARY", "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so")
}

// HIP loads AMD's driver.
func HIP() (*Driver, error) {
	l, err := openHIP()
	if err != nil {
		return nil, err
	}
	h := &hip{}
	if err := h.bind(l); err != nil {
		return nil, err
	}
	d := &Driver{Kind: "hip", Symbol: l.find}
	if err := h.start(d); err != nil {
		return nil, err
	}
	h.memory(d)
	h.streams(d)
	h.kernels(d)
	rtc, err := hipCompiler(l)
	if err != nil {
		return nil, err
	}
	rtc.fill(d)
	return d, nil
}

func (h *hip) error(name string, code int) error {
	if code == 0 {
		return nil
	}
	return failure("hip", name, code, gostring(word(h.getErrorString, uintptr(code))))
}

func (h *hip) start(d *Driver) error {
	if err := h.error("hipInit", call(h.init, 0)); err != nil {
		return err
	}
	var version, count int32
	if call(h.driverGetVersion, uintptr(unsafe.Pointer(&version))) == 0 {
		d.Version = fmt.Sprintf("%d.%d", version/10000000, version/100000%100)
	}
	if err := h.error("hipGetDeviceCount", call(h.getDeviceCount, uintptr(unsafe.Pointer(&count)))); err != nil {
		return err
	}
	if d.Count = int(count); count == 0 {
		return fmt.Errorf("hip: %w", ErrNoCard)
	}
	d.Use = func(card int) error { return h.error("hipSetDevice", call(h.setDevice, uintptr(card))) }
	d.Props = func(card int) (Props, error) { return h.props(card) }
	d.MemInfo = func() (int64, int64, error) {
		var free, total uint64
		err := h.error("hipMemGetInfo", call(h.memGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total))))
		return int64(free), int64(total), err
	}
	d.CanReach = func(card, peer int) bool {
		var can int32
		return call(h.deviceCanAccessPeer, uintptr(unsafe.Pointer(&can)), uintptr(card), uintptr(peer)) == 0 && can != 0
	}
	d.Reach = func(peer int) error {
		code := call(h.deviceEnablePeerAccess, uintptr(peer), 0)
		if code == errPeerAlready {
			return nil
		}
		return h.error("hipDeviceEnablePeerAccess", code)
	}
	return nil
}

// props reads the properties' struct, whose layout differs between versions: the architecture is the one text in it that begins with gfx.
func (h *hip) props(card int) (Props, error) {
	raw := make([]byte, 8192)
	if err := h.error("hipGetDeviceProperties", call(h.getDeviceProperties, uintptr(unsafe.Pointer(&raw[0])), uintptr(card))); err != nil {
		return Props{}, err
	}
	p := Props{Wave: 32}
	at := bytes.Index(raw[256:], []byte("gfx")) // behind the name
	if at < 0 {
		return p, fmt.Errorf("hip:%d: %w: its properties name no architecture", card, ErrMissing)
	}
	p.Arch = text(raw[256+at:])
	if strings.HasPrefix(p.Arch, "gfx9") {
		p.Wave = 64
	}
	name, bus := make([]byte, 256), make([]byte, 64)
	if err := h.error("hipDeviceGetName", call(h.deviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(card))); err != nil {
		return p, err
	}
	if call(h.deviceGetPCIBusID, uintptr(unsafe.Pointer(&bus[0])), uintptr(len(bus)), uintptr(card)) == 0 {
		p.BusID = text(bus)
	}
	var units int32
	if call(h.deviceGetAttribute, uintptr(unsafe.Pointer(&units)), hipAttributeMultiprocess, uintptr(card)) == 0 {
		p.Units = int(units)
	}
	p.Name = text(name)
	return p, nil
}

func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

func (h *hip) memory(d *Driver) {
	d.Malloc = func(n int64) (p Ptr, err error) {
		err = h.error("hipMalloc", call(h.malloc, uintptr(unsafe.Pointer(&p)), uintptr(n)))
		return p, err
	}
	d.MallocShared = func(n int64) (p Ptr, err error) {
		if h.extMallocWithFlags == 0 || call(h.extMallocWithFlags, uintptr(unsafe.Pointer(&p)), uintptr(n), hipFineGrained) != 0 {
			return d.Malloc(n)
		}
		return p, nil
	}
	d.Free = func(p Ptr) error { return h.error("hipFree", call(h.free, uintptr(p))) }
	d.HostMalloc = func(n int64) (p unsafe.Pointer, err error) {
		err = h.error("hipHostMalloc", call(h.hostMalloc, uintptr(unsafe.Pointer(&p)), uintptr(n), hipHostPortable))
		return p, err
	}
	d.HostFree = func(p unsafe.Pointer) error { return h.error("hipHostFree", call(h.hostFree, uintptr(p))) }
	move := func(to, from uintptr, n int64, s Stream) error {
		return h.error("hipMemcpyAsync", call(h.memcpyAsync, to, from, uintptr(n), hipMemcpyDefault, uintptr(s)))
	}
	d.Upload = func(to Ptr, from unsafe.Pointer, n int64, s Stream) error {
		return move(uintptr(to), uintptr(from), n, s)
	}
	d.Download = func(to unsafe.Pointer, from Ptr, n int64, s Stream) error {
		return move(uintptr(to), uintptr(from), n, s)
	}
	d.Copy = func(to, from Ptr, n int64, s Stream) error { return move(uintptr(to), uintptr(from), n, s) }
	d.CopyPeer = func(to Ptr, toCard int, from Ptr, fromCard int, n int64, s Stream) error {
		return h.error("hipMemcpyPeerAsync", call(h.memcpyPeerAsync, uintptr(to), uintptr(toCard), uintptr(from), uintptr(fromCard), uintptr(n), uintptr(s)))
	}
	d.Clear = func(to Ptr, n int64, s Stream) error {
		return h.error("hipMemsetAsync", call(h.memsetAsync, uintptr(to), 0, uintptr(n), uintptr(s)))
	}
}

func (h *hip) streams(d *Driver) {
	d.NewStream = func() (s Stream, err error) {
		err = h.error("hipStreamCreateWithFlags", call(h.streamCreateWithFlags, uintptr(unsafe.Pointer(&s)), hipNonBlocking))
		return s, err
	}
	d.FreeStream = func(s Stream) error { return h.error("hipStreamDestroy", call(h.streamDestroy, uintptr(s))) }
	d.Sync = func(s Stream) error { return h.error("hipStreamSynchronize", call(h.streamSynchronize, uintptr(s))) }
	d.Done = func(s Stream) (bool, error) {
		code := call(h.streamQuery, uintptr(s))
		if code == errNotReady {
			return false, nil
		}
		return code == 0, h.error("hipStreamQuery", code)
	}
	d.Wait = func(s Stream, e Event) error {
		return h.error("hipStreamWaitEvent", call(h.streamWaitEvent, uintptr(s), uintptr(e), 0))
	}
	d.NewEvent = func(timed bool) (e Event, err error) {
		flags := uintptr(hipDisableTiming)
		if timed {
			flags = 0
		}
		err = h.error("hipEventCreateWithFlags", call(h.eventCreateWithFlags, uintptr(unsafe.Pointer(&e)), flags))
		return e, err
	}
	d.FreeEvent = func(e Event) error { return h.error("hipEventDestroy", call(h.eventDestroy, uintptr(e))) }
	d.Record = func(e Event, s Stream) error {
		return h.error("hipEventRecord", call(h.eventRecord, uintptr(e), uintptr(s)))
	}
	d.Passed = func(e Event) (bool, error) {
		code := call(h.eventQuery, uintptr(e))
		if code == errNotReady {
			return false, nil
		}
		return code == 0, h.error("hipEventQuery", code)
	}
	d.Elapsed = func(from, to Event) (time.Duration, error) {
		var ms float32
		err := h.error("hipEventElapsedTime", call(h.eventElapsedTime, uintptr(unsafe.Pointer(&ms)), uintptr(from), uintptr(to)))
		return time.Duration(float64(ms) * 1e6), err
	}
}

func (h *hip) kernels(d *Driver) {
	d.Load = func(image []byte) (m Module, err error) {
		err = h.error("hipModuleLoadData", call(h.moduleLoadData, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&image[0]))))
		return m, err
	}
	d.Unload = func(m Module) error { return h.error("hipModuleUnload", call(h.moduleUnload, uintptr(m))) }
	d.Find = func(m Module, name string) (f Function, err error) {
		err = h.error("hipModuleGetFunction "+name, call(h.moduleGetFunction, uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(cstring(name)))))
		return f, err
	}
	d.Launch = func(f Function, grid [3]int, threads int, s Stream, args unsafe.Pointer) error {
		params := [1]unsafe.Pointer{args}
		return h.error("hipModuleLaunchKernel", call(h.moduleLaunchKernel, uintptr(f), uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]),
			uintptr(threads), 1, 1, 0, uintptr(s), uintptr(unsafe.Pointer(&params)), 0))
	}
	d.Capture = func(s Stream) error {
		return h.error("hipStreamBeginCapture", call(h.streamBeginCapture, uintptr(s), hipCaptureThreadLocal))
	}
	d.EndCapture = func(s Stream) (Graph, error) {
		var g, exec uintptr
		if err := h.error("hipStreamEndCapture", call(h.streamEndCapture, uintptr(s), uintptr(unsafe.Pointer(&g)))); err != nil {
			return 0, err
		}
		err := h.error("hipGraphInstantiate", call(h.graphInstantiate, uintptr(unsafe.Pointer(&exec)), g, 0, 0, 0))
		call(h.graphDestroy, g)
		return Graph(exec), err
	}
	d.LaunchGraph = func(g Graph, s Stream) error {
		return h.error("hipGraphLaunch", call(h.graphLaunch, uintptr(g), uintptr(s)))
	}
	d.FreeGraph = func(g Graph) error { return h.error("hipGraphExecDestroy", call(h.graphExecDestroy, uintptr(g))) }
}

// hipCompiler is hiprtc, a part of the runtime's library up to ROCm 5 and a library of its own since.
func hipCompiler(runtime *library) (*compiler, error) {
	l := runtime
	if l.optional("hiprtcCompileProgram") == 0 {
		var err error
		if l, err = open("INGOT_HIPRTC_LIBRARY", "libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "/opt/rocm/lib/libhiprtc.so"); err != nil {
			return nil, err
		}
	}
	return newCompiler(l, "hiprtc", "Code", "hiprtc", func(arch string) string { return "--offload-arch=" + arch })
}
