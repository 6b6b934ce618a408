package driver

import (
	"fmt"
	"slices"
	"unsafe"
)

// compiler is a driver's run-time compiler: hiprtc and nvrtc have the same functions under two prefixes.
type compiler struct {
	kind string
	arch func(string) string // the option that names an architecture
	// rtcResult rtcVersion(int *major, int *minor)
	version uintptr
	// rtcResult rtcCreateProgram(rtcProgram *prog, const char *src, const char *name, int numHeaders, const char **headers, const char **includeNames)
	create uintptr
	// rtcResult rtcCompileProgram(rtcProgram prog, int numOptions, const char **options)
	compile uintptr
	// rtcResult rtcGet...Size(rtcProgram prog, size_t *size)
	codeSize uintptr
	// rtcResult rtcGet...(rtcProgram prog, char *code)
	code uintptr
	// rtcResult rtcGetProgramLogSize(rtcProgram prog, size_t *size)
	logSize uintptr
	// rtcResult rtcGetProgramLog(rtcProgram prog, char *log)
	log uintptr
	// rtcResult rtcDestroyProgram(rtcProgram *prog)
	destroy uintptr
	// const char *rtcGetErrorString(rtcResult result)
	errorString uintptr
}

// newCompiler binds a compiler's functions; code is the word for what it makes: Code, CUBIN.
func newCompiler(l *library, prefix, code, kind string, arch func(string) string) (*compiler, error) {
	c := &compiler{kind: kind, arch: arch, version: l.symbol(prefix + "Version"), create: l.symbol(prefix + "CreateProgram"),
		compile: l.symbol(prefix + "CompileProgram"), codeSize: l.symbol(prefix + "Get" + code + "Size"), code: l.symbol(prefix + "Get" + code),
		logSize: l.symbol(prefix + "GetProgramLogSize"), log: l.symbol(prefix + "GetProgramLog"), destroy: l.symbol(prefix + "DestroyProgram"),
		errorString: l.symbol(prefix + "GetErrorString")}
	return c, l.complete()
}

func (c *compiler) fill(d *Driver) {
	var major, minor int32
	call(c.version, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))
	// hiprtc counts its interface, not its compiler, which comes with the driver
	d.Compiler = fmt.Sprintf("%s %d.%d, driver %s", c.kind, major, minor, d.Version)
	d.Compile = c.run
}

func (c *compiler) error(what string, code int) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: %s (%d)", ErrCompile, what, gostring(word(c.errorString, uintptr(code))), code)
}

func (c *compiler) run(src Source, arch string, options []string) (image []byte, log string, err error) {
	var names, bodies []string
	for name := range src.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		bodies = append(bodies, src.Headers[name])
	}
	nameList, nameAt := pointers(names)
	bodyList, bodyAt := pointers(bodies)
	var prog uintptr
	err = c.error(src.Name, call(c.create, uintptr(unsafe.Pointer(&prog)), uintptr(unsafe.Pointer(cstring(src.Text))), uintptr(unsafe.Pointer(cstring(src.Name))),
		uintptr(len(names)), bodyAt, nameAt))
	keep(nameList, bodyList)
	if err != nil {
		return nil, "", err
	}
	defer call(c.destroy, uintptr(unsafe.Pointer(&prog)))
	optionList, optionAt := pointers(append([]string{c.arch(arch)}, options...))
	code := call(c.compile, prog, uintptr(len(optionList)), optionAt)
	keep(optionList)
	var n uint64
	if call(c.logSize, prog, uintptr(unsafe.Pointer(&n))) == 0 && n > 1 {
		b := make([]byte, n)
		call(c.log, prog, uintptr(unsafe.Pointer(&b[0])))
		log = text(b)
	}
	if code != 0 {
		return nil, log, fmt.Errorf("%w\n%s", c.error(src.Name+" for "+arch, code), log)
	}
	if err := c.error("size", call(c.codeSize, prog, uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, log, err
	}
	image = make([]byte, n)
	return image, log, c.error("code", call(c.code, prog, uintptr(unsafe.Pointer(&image[0]))))
}
