# make            the weir command, build/weir
# make module     the nginx module, build/ngx_http_weir_module.so
# make test       installs what is missing, builds and runs every test layer (as root)
# make demo       an honest client beside a flood, without weir and with it (as root)
# make demo-http  nginx with the module: five requests pass, the sixth gets a 429
# make bench      what a decision costs, as ratios within one run (as root)
# make bench-http the module beside limit_req, HAProxy and express-rate-limit
# make check      formatting, static analysis, shell scripts, and a build by clang
# make install    under PREFIX, /usr/local unless set; make install-module beside nginx's modules

PREFIX ?= /usr/local
CLANG ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
B := build

WARNINGS := -Wall -Wextra -Werror
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZED := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
INCLUDES := -Iuser -Ibpf -I$(B)
CFLAGS ?= -O2 -g
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
# The compare-and-swap of user/http/slot.c.
WIDE_SWAP := $(if $(filter x86_64%,$(MULTIARCH)),-mcx16)
C_FLAGS := -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(WIDE_SWAP) $(INCLUDES) -MMD -MP
BPF_FLAGS := -target bpf -mcpu=v3 -O2 -g $(WARNINGS) -idirafter /usr/include/$(MULTIARCH) -Ibpf -MMD -MP
BPF_LIBS := -lbpf -lelf -lz
LIBS := $(BPF_LIBS) -ljansson

TEXT := $(wildcard user/text/*.c)
CONTROL := $(wildcard user/control/*.c)
CLI := $(wildcard user/cli/*.c)
GLUE := $(wildcard user/http/ngx_*.c)
HTTP := $(filter-out $(GLUE),$(wildcard user/http/*.c))
OBJECTS := $(patsubst %.c,$(B)/%.o,$(TEXT) $(CONTROL) $(HTTP) $(CLI))
# What the tests of the program link, and what the unit tests do: all that needs no kernel.
LIMIT := user/control/limit.c user/text/failure.c
PURE := $(TEXT) user/control/limit.c $(HTTP) user/cli/options.c user/cli/values.c user/cli/snapshot.c \
	user/cli/http_conf.c user/cli/http_top.c user/cli/http_zones.c $(wildcard user/cli/access_*.c user/cli/nginx_conf*.c)
MODULE_SOURCES := $(LIMIT) user/text/quantity.c user/text/address.c $(HTTP) $(GLUE)

UNIT := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
PROG := $(patsubst %.c,$(B)/%,$(wildcard tests/prog/test_*.c))
PROG_BPF := $(patsubst %.bpf.c,$(B)/%.skel.h,$(wildcard tests/prog/*.bpf.c))
NET := $(patsubst %.c,$(B)/%,$(filter-out %.bpf.c,$(wildcard tests/net/*.c)))
NET_BPF := $(patsubst %.bpf.c,$(B)/%.skel.h,$(wildcard tests/net/*.bpf.c))
FUZZ := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCH := $(patsubst %.c,$(B)/%,$(filter-out %.bpf.c,$(wildcard tests/bench/*.c)))
BENCH_BPF := $(patsubst %.bpf.c,$(B)/%.skel.h,$(wildcard tests/bench/*.bpf.c))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all module tests test demo demo-http bench bench-http check checks format install install-module clean deps deps-demo

all: $(B)/weir

$(B)/weir: $(OBJECTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(C_FLAGS) -c -o $@ $<

$(patsubst %.c,$(B)/%.o,$(CONTROL)): | $(B)/weir.skel.h

$(B)/%.bpf.o: %.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_FLAGS) -c -o $@ $<

$(B)/weir.skel.h: $(B)/bpf/weir.bpf.o
	$(BPFTOOL) gen skeleton $< name weir_bpf > $@

# A dash in a file's name becomes an underscore in the skeleton's.
$(B)/tests/%.skel.h: $(B)/tests/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $(subst -,_,$(notdir $*))_bpf > $@

module: $(B)/ngx_http_weir_module.so

NGINX_SOURCE ?= /usr/share/nginx/src
NGINX_MODULES ?= /usr/lib/nginx/modules
NGINX_INCLUDES := $(patsubst %,-isystem $(NGINX_SOURCE)/src/%,core event event/modules os/unix http \
	http/modules http/v2) -isystem build/nginx

# nginx's own configuration of the build, which config lists the module's sources for; compiling is
# done here, with our flags.
build/nginx/configured: user/http/config
	@mkdir -p build/nginx
	cd $(NGINX_SOURCE) && bash -c '. ./conf_flags && ./configure "$${NGX_CONF_FLAGS[@]}" \
		--add-dynamic-module=$(CURDIR)/user/http --builddir=$(CURDIR)/build/nginx' > $(CURDIR)/build/nginx/log
	touch $@

build/nginx/ngx_http_weir_module_modules.c: build/nginx/configured

define MODULE_RULES
$(B)/$(1)/%.o: %.c build/nginx/configured
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $(2) -fPIC $$(C_FLAGS) $$(NGINX_INCLUDES) -c -o $$@ $$<

$(B)/$(1)/modules.o: build/nginx/ngx_http_weir_module_modules.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $(2) -fPIC $$(NGINX_INCLUDES) -c -o $$@ $$<
endef

$(eval $(call MODULE_RULES,module,))
$(eval $(call MODULE_RULES,asan,$(SANITIZE)))

$(B)/ngx_http_weir_module.so: $(patsubst %.c,$(B)/module/%.o,$(MODULE_SOURCES)) $(B)/module/modules.o
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -o $@ $^ -ljansson

$(B)/asan/ngx_http_weir_module.so: $(patsubst %.c,$(B)/asan/%.o,$(MODULE_SOURCES)) $(B)/asan/modules.o
	$(CC) $(CFLAGS) $(LDFLAGS) $(SANITIZE) -shared -o $@ $^ -ljansson

# As archives, so that a test which includes a source does not get it twice.
$(B)/sanitized/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -O1 -g $(SANITIZE) $(C_FLAGS) -c -o $@ $<

$(B)/fuzzed/%.o: %.c
	@mkdir -p $(@D)
	$(CLANG) -O1 -g $(FUZZED) $(C_FLAGS) -c -o $@ $<

$(B)/sanitized/pure.a: $(patsubst %.c,$(B)/sanitized/%.o,$(PURE))
$(B)/fuzzed/pure.a: $(patsubst %.c,$(B)/fuzzed/%.o,$(PURE))
%/pure.a:
	rm -f $@
	ar rcs $@ $^

$(B)/tests/unit/%: $(B)/sanitized/tests/unit/%.o $(B)/sanitized/pure.a
	@mkdir -p $(@D)
	$(CC) $(SANITIZE) -o $@ $(filter %.o %.a,$^) -lcmocka -ljansson -lpthread -lm

$(B)/tests/fuzz/%: $(B)/fuzzed/tests/fuzz/%.o $(B)/fuzzed/pure.a
	@mkdir -p $(@D)
	$(CLANG) -fsanitize=fuzzer $(FUZZED) -o $@ $(filter %.o %.a,$^) -ljansson

$(B)/tests/prog/%: tests/prog/%.c $(LIMIT) $(PROG_BPF) $(B)/weir.skel.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(C_FLAGS) -I$(@D) -Itests/prog -MF $@.d -o $@ $(filter %.c,$^) -lcmocka -lpthread -lm $(BPF_LIBS)

$(B)/tests/net/%: tests/net/%.c $(NET_BPF)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(C_FLAGS) -I$(@D) -MF $@.d -o $@ $< $(BPF_LIBS)

$(B)/tests/bench/%: tests/bench/%.c $(LIMIT) $(BENCH_BPF) $(B)/weir.skel.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(C_FLAGS) -I$(@D) -MF $@.d -o $@ $(filter %.c,$^) -lpthread $(BPF_LIBS)

# Several sources in one command leave the last one's headers in the .d file.
$(PROG) $(BENCH): $(wildcard bpf/*.h user/*/*.h tests/*/*.h)

# What tests take from npm: readers of header fields, express-rate-limit for the bench.
NPM := build/npm/node_modules/.package-lock.json

$(NPM): tests/npm/package.json tests/npm/package-lock.json
	@mkdir -p build/npm
	cp $^ build/npm
	cd build/npm && npm ci --silent --no-audit --no-fund

tests: all module $(NPM) $(B)/asan/ngx_http_weir_module.so $(UNIT) $(PROG) $(NET) $(FUZZ)

deps:
	scripts/install-deps.sh

deps-demo:
	scripts/install-deps.sh demo

test: deps
	+$(MAKE) --no-print-directory tests
	tests/run.sh

demo: deps-demo
	+$(MAKE) --no-print-directory all $(NET)
	scripts/demo.sh

demo-http: deps-demo
	+$(MAKE) --no-print-directory all module
	scripts/demo-http.sh

bench: deps
	+$(MAKE) --no-print-directory $(BENCH)
	$(B)/tests/bench/decision

bench-http: deps
	+$(MAKE) --no-print-directory module $(NPM)
	scripts/bench-http.sh

SOURCES := $(wildcard bpf/*.[ch] user/*/*.[ch] tests/*/*.[ch])
SCRIPTS := $(wildcard scripts/*.sh tests/*.sh tests/*/*.sh .ci/run)

check: deps
	+$(MAKE) --no-print-directory checks

checks: $(B)/weir.skel.h
	clang-format --dry-run -Werror $(SOURCES)
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --enable=warning,portability,performance -D__x86_64__ -D__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16 $(INCLUDES) user tests/unit tests/fuzz
	shellcheck -x $(SCRIPTS)
	+$(MAKE) --no-print-directory CC=$(CLANG) B=$(B)/clang all module

format:
	clang-format -i $(SOURCES)

install: all
	install -D -m 755 $(B)/weir $(DESTDIR)$(PREFIX)/sbin/weir
	install -D -m 644 user/man/weir.8 $(DESTDIR)$(PREFIX)/share/man/man8/weir.8
	install -D -m 644 user/man/ngx_http_weir_module.7 $(DESTDIR)$(PREFIX)/share/man/man7/ngx_http_weir_module.7
	install -D -m 644 user/man/weir_migration.7 $(DESTDIR)$(PREFIX)/share/man/man7/weir_migration.7
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	$(B)/weir completion > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/weir

# Beside nginx's own modules, where load_module modules/... finds it.
install-module: module
	install -D -m 644 $(B)/ngx_http_weir_module.so $(DESTDIR)$(NGINX_MODULES)/ngx_http_weir_module.so

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
