// Kernels for the emulated cards: the same source as for real ones, given to the host's compiler with the host's dialect. Shared objects are
// kept under a hash of all that went in.
#include "card.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#ifndef HOST_DIALECT
#error "HOST_DIALECT is the path of dialect/host.h"
#endif

namespace fake {

static std::string read(const std::string &path) {
	std::ifstream f(path, std::ios::binary);
	std::ostringstream s;
	s << f.rdbuf();
	return s.str();
}

static uint64_t hash(uint64_t h, const std::string &s) { // FNV-1a
	for (unsigned char c : s)
		h = (h ^ c) * 0x100000001b3ull;
	return (h ^ 0xff) * 0x100000001b3ull;
}

static std::string library() {
	Dl_info i;
	return dladdr((void *)&library, &i) ? i.dli_fname : "";
}

static std::string cache() {
	const char *dir = getenv("FAKECARD_CACHE");
	if (dir)
		return dir;
	std::string at = library();
	return at.substr(0, at.rfind('/')) + "/kernels";
}

static void make_dirs(const std::string &path) {
	for (size_t i = 1; i <= path.size(); i++)
		if (i == path.size() || path[i] == '/')
			mkdir(path.substr(0, i).c_str(), 0777);
}

static void write(const std::string &path, const std::string &text) {
	size_t slash = path.rfind('/');
	make_dirs(path.substr(0, slash));
	std::ofstream(path, std::ios::binary) << text;
}

// The source with the host's words in the place of the card's: Ingot puts all files into one text, and says by #line where each begins.
static std::string in_host_words(const std::string &source, const std::string &dialect) {
	size_t from = source.find("#line 1 \"dialect/"), to = from;
	if (from == std::string::npos)
		return source;
	do
		to = source.find("#line 1 \"", to + 1);
	while (to != std::string::npos && source.compare(to, 17, "#line 1 \"dialect/") == 0);
	return source.substr(0, from) + "#line 1 \"dialect/host.h\"\n" + dialect + (to == std::string::npos ? "" : source.substr(to));
}

// Runs a command, with what it prints.
static int run(const std::string &command, std::string *out) {
	FILE *p = popen((command + " 2>&1").c_str(), "r");
	if (!p)
		return -1;
	char buf[4096];
	for (size_t n; (n = fread(buf, 1, sizeof buf, p)) > 0;)
		out->append(buf, n);
	return pclose(p);
}

int compile(Program *p, const std::vector<std::string> &options) {
	std::string arch = config.arch;
	std::string flags = "-std=c++17 -O2 -g0 -fPIC -w -fno-strict-aliasing -ffp-contract=off -fno-math-errno -fno-exceptions";
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		flags += " -march=x86-64-v3";
#endif
	int threads = 0;
	for (auto &o : options) {
		if (o.rfind("-D", 0) == 0)
			flags += " '" + o + "'";
		if (o.rfind("-DTHREADS=", 0) == 0)
			threads = atoi(o.c_str() + 10);
		for (const char *name : {"--offload-arch=", "--gpu-architecture="})
			if (o.rfind(name, 0) == 0)
				arch = o.substr(strlen(name));
	}
	flags += " -DARCH_WAVE=" + std::to_string(arch.compare(0, 4, "gfx9") == 0 ? 64 : 32);
	flags += arch.compare(0, 3, "sm_") == 0 && atoi(arch.c_str() + 3) >= 80 ? " -DARCH_MMA=1" : " -DARCH_MMA=0";
	if (config.check)
		flags += " -fsanitize=thread --param=tsan-instrument-func-entry-exit=0";
	std::string dialect = read(HOST_DIALECT);
	if (dialect.empty()) {
		p->log = std::string("no ") + HOST_DIALECT;
		return bad_value;
	}
	std::string lib = library();
	uint64_t h = hash(hash(hash(0xcbf29ce484222325ull, flags), p->source), dialect);
	for (auto &header : p->headers)
		if (header.first != "dialect.h")
			h = hash(hash(h, header.first), header.second);
	h = hash(h, lib); // the library's name holds a hash of its own source
	char name[32];
	snprintf(name, sizeof name, "%016llx", (unsigned long long)h);
	std::string so = cache() + "/" + name + ".so";
	p->image = "fakecard\n" + so + "\n" + std::to_string(threads) + "\n";
	if (access(so.c_str(), R_OK) == 0)
		return ok;
	std::string dir = cache() + "/" + name + "." + std::to_string(getpid()) + "." + std::to_string((uintptr_t)p);
	for (auto &header : p->headers)
		write(dir + "/" + header.first, header.second);
	write(dir + "/dialect.h", dialect);
	write(dir + "/kernel.cpp", in_host_words(p->source, dialect));
	std::string go = "cd '" + dir + "' && ";
	const char *cxx = getenv("FAKECARD_CXX");
	std::string compiler = cxx ? cxx : "g++";
	// In one go and without the libraries of C++, which kernels do not need: a quarter less to do.
	int e = run(go + compiler + " " + flags + " -I. -shared -nostdlib -pipe -o kernel.so kernel.cpp '" + lib + "' -lm -lc -lgcc && mv kernel.so '" + so + "'", &p->log);
	std::string none;
	run("rm -rf '" + dir + "'", &none);
	return e ? bad_value : ok;
}

int load(Module *m, const char *image) {
	std::istringstream lines(image);
	std::string magic, threads;
	if (!std::getline(lines, magic) || magic != "fakecard" || !std::getline(lines, m->path) || !std::getline(lines, threads))
		return bad_image;
	m->threads = atoi(threads.c_str());
	// Bound to this library, not to another of its kind that the process loaded before.
	m->so = dlopen(m->path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	return m->so ? ok : bad_image;
}

Kernel *find(Module *m, const char *name) {
	auto &k = m->kernels[name];
	if (!k) {
		auto entry = (void (*)(const void *))dlsym(m->so, name);
		auto size = (unsigned (*)())dlsym(m->so, (std::string(name) + "_size").c_str());
		if (!entry || !size)
			return nullptr;
		k = std::make_unique<Kernel>(Kernel{name, entry, size(), m});
	}
	return k.get();
}

} // namespace fake
