# The daily verbs. The logic lives in `cargo xtask`.

# Format, lints, tidy and tests: what CI runs
check:
    cargo xtask ci

# The README's test command
test:
    cargo test --workspace

# Format, and apply the lints' own suggestions
fix:
    cargo xtask fix

# Measurements beside their bare loops
bench *ARGS:
    cargo run --release --package creel-bench -- {{ARGS}}

# Install real agents for the end-to-end tests
peers *ARGS:
    cargo xtask peers {{ARGS}}

# The rules that no lint covers
tidy:
    cargo xtask tidy
