//go:build !headless

package wire

import (
	"io"
	"log"
	"os"
	"runtime"

	"github.com/go-gl/glfw/v3.3/glfw"
)

// noWindow says why there is no window; "" where there can be one. Called on the main thread, before the toolkit starts.
func noWindow() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return "there is no display"
	}
	return refused()
}

// refused opens a window that is not shown, as the toolkit would: the toolkit itself panics where the display does not answer, and
// waits for ever for a window that OpenGL refused.
func refused() (why string) {
	was := log.Writer()
	log.SetOutput(io.Discard) // the binding logs what is told here
	defer log.SetOutput(was)
	defer func() {
		if recover() != nil { // the binding's, for a library that could not start
			why = "the display does not answer"
		}
	}()
	if err := glfw.Init(); err != nil {
		return err.Error()
	}
	defer glfw.Terminate()
	glfw.WindowHint(glfw.Visible, glfw.False)
	glfw.WindowHint(glfw.ContextVersionMajor, 2)
	if runtime.GOARCH == "arm" || runtime.GOARCH == "arm64" {
		glfw.WindowHint(glfw.ClientAPI, glfw.OpenGLESAPI)
	} else {
		glfw.WindowHint(glfw.ContextVersionMinor, 1)
	}
	w, err := glfw.CreateWindow(16, 16, "Ingot", nil, nil)
	if err != nil {
		return "the display has no OpenGL: " + err.Error()
	}
	w.Destroy()
	return ""
}
