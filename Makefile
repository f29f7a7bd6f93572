# make            the weir command, build/weir
# make test       installs what is missing, builds and runs every test layer (as root)
# make demo       an honest client beside a flood, without weir and with it (as root)
# make bench      what a decision costs, as ratios within one run (as root)
# make check      formatting, static analysis, shell scripts, and a build by clang
# make install    under PREFIX, /usr/local unless set

PREFIX ?= /usr/local
CLANG ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
B := build

WARNINGS := -Wall -Wextra -Werror
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
INCLUDES := -Iuser -Ibpf -I$(B)
CFLAGS ?= -O2 -g
C_FLAGS := -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(INCLUDES) -MMD -MP
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
BPF_FLAGS := -target bpf -mcpu=v3 -O2 -g $(WARNINGS) -idirafter /usr/include/$(MULTIARCH) -Ibpf -MMD -MP
BPF_LIBS := -lbpf -lelf -lz
LIBS := $(BPF_LIBS) -ljansson

TEXT := $(wildcard user/text/*.c)
CONTROL := $(wildcard user/control/*.c)
CLI := $(wildcard user/cli/*.c)
OBJECTS := $(patsubst %.c,$(B)/%.o,$(TEXT) $(CONTROL) $(CLI))
# What the tests of the program link, and what the unit tests do: all that needs no kernel.
LIMIT := user/control/limit.c user/text/failure.c
PURE := $(TEXT) user/control/limit.c user/cli/options.c user/cli/values.c user/cli/snapshot.c

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
.PHONY: all tests test demo bench check checks format install clean deps

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

$(B)/tests/unit/%: tests/unit/%.c $(PURE)
	@mkdir -p $(@D)
	$(CC) -O1 -g $(SANITIZE) $(C_FLAGS) -MF $@.d -o $@ $(filter %.c,$^) -lcmocka -ljansson -lm

$(B)/tests/prog/%: tests/prog/%.c $(LIMIT) $(PROG_BPF) $(B)/weir.skel.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(C_FLAGS) -I$(@D) -Itests/prog -MF $@.d -o $@ $(filter %.c,$^) -lcmocka -lpthread -lm $(BPF_LIBS)

$(B)/tests/net/%: tests/net/%.c $(NET_BPF)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(C_FLAGS) -I$(@D) -MF $@.d -o $@ $< $(BPF_LIBS)

$(B)/tests/bench/%: tests/bench/%.c $(LIMIT) $(BENCH_BPF) $(B)/weir.skel.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(C_FLAGS) -I$(@D) -MF $@.d -o $@ $(filter %.c,$^) -lpthread $(BPF_LIBS)

$(B)/tests/fuzz/%: tests/fuzz/%.c $(PURE)
	@mkdir -p $(@D)
	$(CLANG) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $(filter-out -MMD -MP,$(C_FLAGS)) -o $@ $(filter %.c,$^) -ljansson

# Several sources in one command leave the last one's headers in the .d file.
$(UNIT) $(PROG) $(BENCH) $(FUZZ): $(wildcard bpf/*.h user/*/*.h tests/*/*.h)

tests: all $(UNIT) $(PROG) $(NET) $(FUZZ)

deps:
	scripts/install-deps.sh

test: deps
	+$(MAKE) --no-print-directory tests
	tests/run.sh

demo: deps
	+$(MAKE) --no-print-directory all $(NET)
	scripts/demo.sh

bench: deps
	+$(MAKE) --no-print-directory $(BENCH)
	$(B)/tests/bench/decision

SOURCES := $(wildcard bpf/*.[ch] user/*/*.[ch] tests/*/*.[ch])
SCRIPTS := $(wildcard scripts/*.sh tests/*.sh tests/*/*.sh .ci/run)

check: deps
	+$(MAKE) --no-print-directory checks

checks: $(B)/weir.skel.h
	clang-format --dry-run -Werror $(SOURCES)
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --enable=warning,portability,performance -D__x86_64__ $(INCLUDES) user tests/unit tests/fuzz
	shellcheck -x $(SCRIPTS)
	+$(MAKE) --no-print-directory CC=$(CLANG) B=$(B)/clang all

format:
	clang-format -i $(SOURCES)

install: all
	install -D -m 755 $(B)/weir $(DESTDIR)$(PREFIX)/sbin/weir
	install -D -m 644 user/man/weir.8 $(DESTDIR)$(PREFIX)/share/man/man8/weir.8
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	$(B)/weir completion > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/weir

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
