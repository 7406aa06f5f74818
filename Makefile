# Forwards to Meson; see meson.build and tools/setup.sh.
B ?= build
.PHONY: all tests arm64 setup check-quick test soak sanitize mutations demo picture bench bench-quick install format clean
# What is installed; the tests are twice as much again.
all: $(B)/build.ninja
	@ninja -C $(B) product
tests: $(B)/build.ninja
	@ninja -C $(B)
setup:
	@sh tools/setup.sh
	@sh tools/npm.sh view/web "uft is built without the page of uft view"
	@sh tools/npm.sh tests/func/report/readers "Parquet, speedscope and Firefox profiles are not tested by their own readers"
$(B)/build.ninja: | setup
	@test -f $@ || meson setup $(B)
# uft for arm64, on another machine: what it is built with is fetched from Debian and unpacked beside it.
arm64:
	@ini=$$(tests/lib/fetch-libs.sh -d $(B)/arm64-libs arm64) && \
	{ test -f $(B)/arm64/build.ninja || meson setup --cross-file $$ini --cross-file tools/cross/arm64.ini $(B)/arm64; } && ninja -C $(B)/arm64 product
# The part that takes under three minutes on two cores: units, encodings, checks, golden texts, a hazard of each kind.
check-quick: tests
	@sh tests/run.sh $(B) unit arch check golden quick
test: tests
	@sh tests/run.sh $(B)
# RUNS of each program that a tracer easily changes, quiet and loaded; attach and detach CYCLES times under load, RACES attaches to
# processes that end, fork and execute, and FLIPS changes of code that four threads run; HOSTILE runs of each form of a hostile target
# against a recorder with sanitizers. It lists the places of control/ that allocate, map or trace and that no test made fail.
# Hours; one at a time.
CYCLES ?= 1000
RUNS ?= 100
RACES ?= 5000
FLIPS ?= 10000000
HOSTILE ?= 1000
soak: tests
	@rm -f $(B)/failing.places
	@UFT_RUNS=$(RUNS) UFT_CYCLES=$(CYCLES) UFT_RACES=$(RACES) UFT_STRESS_FLIPS=$(FLIPS) UFT_SITES=all UFT_PLACES=$(abspath $(B))/failing.places nice meson test -C $(B) --no-rebuild -t 0 --num-processes 1 -v \
		programs-repeated detach-cycles detach-cycles-unprepared detach-server-redis detach-server-nginx detach-server-postgres detach-server-memcached detach-server-sshd uml-attach attach-race patch-flip-st8 patch-flip-js \
		attach-failing-calls detach-failing-calls start-failing-calls $$(meson test -C $(B) --list 2>/dev/null | sed -n 's,.* / \(failing-.*\),\1,p')
	@python3 tests/func/attach/failing_places.py $(B)/uft $(B)/failing.places
	@UFT_RUNS=$(HOSTILE) UFT_TIMES=0 UFT_SANITIZE="trust-hostile trust-impostor" nice sh tests/sanitize.sh $(B) address
# Unit and functional tests built with sanitizers: addresses and undefined behaviour, data races. An hour.
sanitize: | setup
	@sh tests/sanitize.sh $(B)
# Takes the guards out one by one: the tests that hold them must fail. Minutes.
mutations: | setup
	@sh tests/mutations/run.sh $(B)
demo: all
	@sh tools/demo.sh $(B)
# Draws the pictures in README.md from the demo's recordings: what they print, and uft view (with Chromium).
picture: demo
	@python3 tools/picture.py $(B) doc/session.svg
	@cp tools/demo.lua $(B)/demo/
	@cd $(B)/demo && ../uft record -q -o view.uft ./lua demo.lua >/dev/null && ../uft view --png "$(CURDIR)/doc/view.png" --tab flame view.uft
bench: tests
	@sh bench/run.sh $(B)
# The figures that decide, in under two minutes, beside bench/baseline.txt; KEEP=--keep writes that anew.
bench-quick: tests
	@sh bench/quick.sh $(B) $(KEEP)
install: all
	@meson install -C $(B) --no-rebuild
# The lines that differ from $(BASE) as clang-format would have them; `make format BASE=HEAD~3` for older ones.
BASE ?= HEAD
format:
	@git clang-format --diff --extensions c,h $(BASE)
clean:
	@rm -rf $(B)
