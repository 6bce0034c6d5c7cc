# sudo make run [ARGS="--interval 0.5"]   sets up what is missing and starts the dashboard
# make test [ARGS="-k history"]           the same set-up, then all tests; those on the real kernel need root
# make stress [ARGS="-k resized"]         the long versions of tests that have two: minutes of load each; as root, too
# make bench [ARGS="--quick"]             measures what schedtop costs, beside the tools it replaces
# sudo make soak                          ten minutes of the dashboard under load: does its memory grow?
# make screenshots [ARGS="quota steal"]   draws screenshots/ anew; as root, also the live ones
# sudo make record-scenes [ARGS="quota"]  makes these recordings anew: known loads on this kernel
# make monkey [SECONDS=120]               random keys, clicks and sizes: does anything break?
# sudo make test-bcc                      does every available bcc compile what the kernel loads? docs/bcc.md
# make fuzz [SECONDS=300]                 a fuzzer over all that reads files and names: docs/security.md
# sudo make test-kernels                  the kernel side on stock kernels, 5.10 to the newest, in virtual machines
# sudo make check-kernel [SECONDS=180]    random mixes of tasks: is every number the kernel's?
# make check                              lint and test
# make lock                               the packages that the set-up installs, and their hashes, anew
# make dist                               wheel and sdist of the last commit into dist/, the same bytes each time
# make deb, make rpm, make pyz [PYTHON=3.13]   a package, or one file, with all that schedtop imports, for that Python
# make image [RELEASE=trixie]              a container image (OCI) of Debian's Python and bcc, and schedtop
# sudo make install, sudo make uninstall  the command schedtop, into PREFIX (/usr/local)

PREFIX ?= /usr/local
ARGS ?=
SETUP := scripts/setup.sh
VENV := $(shell $(SETUP) where)
BIN := $(VENV)/bin
BPF_SOURCES := $(wildcard bpf/*.[ch] bpf/*/*.[ch])
# Without bcc: bpf/include/bcc.h. Parameters may be unused, because each front end fills in the same functions.
PARSE_BPF := cd bpf && clang @compile_flags.txt -fsyntax-only -Werror
BPF_PROGRAMS := $(patsubst bpf/%,%,$(filter %.c,$(BPF_SOURCES)))

.PHONY: run test stress check-kernel test-kernels bench screenshots record-scenes soak monkey fuzz test-bcc lint lock check dist deb rpm pyz image clean install uninstall
.NOTPARALLEL:

run:
	@$(SETUP) run
	@$(BIN)/schedtop $(ARGS)

test:
	@$(SETUP) test
	@status=0; scripts/tests.sh $(BIN)/python $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

stress:
	@$(SETUP) test
	@status=0; scripts/tests.sh $(BIN)/python stress $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

test-kernels:
	@$(SETUP) kernels
	@status=0; $(BIN)/python -m tests.kernels $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

bench:
	@$(SETUP) bench
	@status=0; $(BIN)/python -m tests.bench $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

screenshots:
	@$(SETUP) run
	@status=0; $(BIN)/python -m tests.scenes draw $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

record-scenes:
	@$(SETUP) test
	@status=0; $(BIN)/python -m tests.scenes record $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

lint:
	@$(SETUP) test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	clang-format --dry-run -Werror $(BPF_SOURCES)
	@command -v clang >/dev/null || { echo "make lint: clang is missing, so no program of bpf/ was parsed: sudo scripts/setup.sh test" >&2; exit 1; }
	$(PARSE_BPF) $(BPF_PROGRAMS)
	$(PARSE_BPF) -DFEWEST_FLAGS $(BPF_PROGRAMS)
	@$(SETUP) give-back

lock:
	scripts/lock.sh

check: lint test

soak:
	@$(SETUP) test
	@PYTHONPATH=tests/root $(BIN)/python tests/root/soak.py

monkey:
	@$(SETUP) test
	@status=0; $(BIN)/python -m tests.monkey --seconds $(or $(SECONDS),120) $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

check-kernel:
	@$(SETUP) run
	@status=0; $(BIN)/python -m tests.check_kernel --seconds $(or $(SECONDS),180) $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

test-bcc:
	@$(SETUP) run
	@status=0; $(BIN)/python -m tests.bcc $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

fuzz:
	@$(SETUP) fuzz
	@status=0; $(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),300) $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

dist:
	@$(SETUP) test
	@status=0; $(BIN)/python scripts/dist.py $(ARGS) || status=$$?; $(SETUP) give-back; exit $$status

deb rpm pyz:
	@$(SETUP) test
	@status=0; $(BIN)/python scripts/packages.py $@ $(if $(PYTHON),--python $(PYTHON)) || status=$$?; $(SETUP) give-back; exit $$status

image:
	@$(SETUP) test
	@status=0; $(BIN)/python scripts/image.py $(if $(RELEASE),--release $(RELEASE)) || status=$$?; $(SETUP) give-back; exit $$status

clean:
	rm -rf .venv $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -prune -exec rm -rf {} +

install:
	@$(SETUP) install "$(PREFIX)"

uninstall:
	@$(SETUP) uninstall "$(PREFIX)"
