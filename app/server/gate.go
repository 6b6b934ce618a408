package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"ingot/app/openai"
)

// gate decides who may call. A server on loopback is within reach of every page the user's browser opens: the
// Host check stops names that an attacker points at 127.0.0.1, the Origin check stops pages that call openly.
type gate struct {
	private bool // a unix socket, which no browser reaches: no Host, only the token
	access  Access
}

// checkHost admits loopback addresses with the listener's own port, the address the connection came in on,
// and the configured names.
func (g gate) checkHost(r *http.Request) *openai.Error {
	if g.private {
		return nil
	}
	host, port := splitHost(r.Host)
	for _, allowed := range g.access.Hosts {
		name, itsPort := splitHost(allowed)
		if allowed == "*" || (strings.EqualFold(name, host) && host != "" && (itsPort == "" || itsPort == port)) {
			return nil
		}
	}
	local := localAddr(r)
	if port == "" {
		port = "80"
	}
	if !local.IsValid() || port == strconv.Itoa(int(local.Port())) {
		if strings.EqualFold(host, "localhost") {
			return nil
		}
		// An address cannot be re-pointed by an attacker's name server, so the one that was dialled is fine.
		if ip, err := netip.ParseAddr(host); err == nil && (ip.IsLoopback() || ip == local.Addr().Unmap()) {
			return nil
		}
	}
	return openai.NewError(http.StatusForbidden, openai.TypePermission, "host_not_allowed",
		"this server does not answer to the host "+strconv.Quote(r.Host)+"; allow it (--allow-host) if it is yours")
}

// checkOrigin admits programs, which send none, pages of this very server, and the configured origins.
func (g gate) checkOrigin(r *http.Request) *openai.Error {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	if len(origins) == 1 && (g.allowedOrigin(origins[0]) || sameHost(origins[0], r.Host)) {
		return nil
	}
	return openai.NewError(http.StatusForbidden, openai.TypePermission, "origin_not_allowed",
		"pages of "+strconv.Quote(strings.Join(origins, ", "))+" may not call this server; allow it (--allow-origin) if it is yours")
}

func (g gate) allowedOrigin(origin string) bool {
	for _, allowed := range g.access.Origins {
		if allowed == "*" || strings.EqualFold(strings.TrimSuffix(allowed, "/"), origin) {
			return true
		}
	}
	return false
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && host != "" && strings.EqualFold(u.Host, host)
}

// checkType wants JSON, which a page cannot send across origins without asking first.
func checkType(r *http.Request) *openai.Error {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return openai.NewError(http.StatusUnsupportedMediaType, openai.TypeInvalid, "unsupported_media_type",
			"the content type must be application/json, not "+strconv.Quote(r.Header.Get("Content-Type")))
	}
	return nil
}

// checkKey compares in constant time; hashing first hides the length too.
func (g gate) checkKey(r *http.Request) *openai.Error {
	if g.access.Key == "" {
		return nil
	}
	header := r.Header.Get("Authorization")
	scheme, key, _ := strings.Cut(header, " ")
	given, want := sha256.Sum256([]byte(strings.TrimSpace(key))), sha256.Sum256([]byte(g.access.Key))
	if subtle.ConstantTimeCompare(given[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	if header == "" {
		return openai.NewError(http.StatusUnauthorized, openai.TypeAuth, "missing_api_key",
			"this server needs a key: send it as \"Authorization: Bearer KEY\"")
	}
	return openai.NewError(http.StatusUnauthorized, openai.TypeAuth, "invalid_api_key", "the key is not the one this server was given")
}

// allowCross marks an answer as readable by the allowed page that asked, and answers its preflight question.
// It reports whether the request was such a question.
func (g gate) allowCross(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	header := w.Header()
	header.Add("Vary", "Origin")
	if origin == "" || !g.allowedOrigin(origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	// OpenAI's browser client adds x-stainless headers of its own, so what is asked for is granted.
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		header.Set("Access-Control-Allow-Headers", asked)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		header.Set("Access-Control-Allow-Private-Network", "true")
	}
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// splitHost parts "name:port", "[::1]:port", "name" and "[::1]"; the brackets go.
func splitHost(hostport string) (host, port string) {
	if host, port, err := net.SplitHostPort(hostport); err == nil {
		return host, port
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]"), ""
}

// localAddr is where the connection came in; invalid when the handler runs without one.
func localAddr(r *http.Request) netip.AddrPort {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return addr.AddrPort()
	}
	return netip.AddrPort{}
}
