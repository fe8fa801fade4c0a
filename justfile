set positional-arguments := true

# Lists the recipes.
default:
    @just --list

# Starts the service on embedded SQLite in ./data (more flags: `just run --listen 127.0.0.1:9000`).
run *FLAGS:
    cargo run -- serve "$@"

# Places a simulated call from end to end and leaves the service running (`--exit` ends it).
demo *FLAGS:
    cargo run --release -- demo "$@"

# Everything a change must pass; sets up PostgreSQL and Redis itself (`--quick`, `--all`, `--pictures`, `-- NEXTEST ARGUMENTS`).
test *ARGUMENTS:
    scripts/test "$@"

# One crate's tests, soon after a change in it: `just test-crate storage page` (`just test-crate --stop` ends its servers).
test-crate *ARGUMENTS:
    scripts/test-crate "$@"

# Formatting, clippy and the layers.
lint: layers
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Which crate may use which; with the check's own test.
layers:
    scripts/layers --self-test
    scripts/layers
    scripts/circles

# Lines, crates, MiB and seconds (`just size --check` holds them against limits.toml).
size *ARGUMENTS:
    scripts/size "$@"

# The files in deploy/, without anything to deploy to.
deploy-check:
    scripts/deploy-check

# Licences, banned crates and sources of the dependencies; installs cargo-deny.
deny:
    scripts/deny

# The dependencies' known vulnerabilities too. It fetches the advisory database, so it needs the internet, which CI has not.
audit:
    scripts/deny advisories

# Measures speed and memory; docs/PERFORMANCE.md explains the figures.
bench *ARGUMENTS:
    scripts/bench "$@"

# Kills nodes while clients place calls, and looks whether every promise was kept; docs/RELIABILITY.md explains it.
chaos *ARGUMENTS:
    scripts/chaos "$@"

# Cuts the links of nodes in network namespaces, and looks what clients are told (needs root).
network *ARGUMENTS:
    scripts/chaos network "$@"

# Keeps a node under half of what it can do, and looks whether anything grows (`--minutes N`).
soak *ARGUMENTS:
    scripts/chaos soak "$@"

# Attacks a running server with schemathesis, by its own OpenAPI document.
fuzz:
    scripts/fuzz

# Fuzzes what reads bytes from outside, 10 s for each target (`--seconds 60 --keep`, target names).
fuzz-parsers *ARGUMENTS:
    scripts/fuzz-parsers "$@"

# Builds the TypeScript and the Python package, and uses them and the skill on a running server (needs Node.js and npm).
clients:
    scripts/clients

# Prints the OpenAPI document.
openapi:
    cargo run --quiet -- openapi

# What CI runs.
ci:
    .ci/run
