//! Turns on features of `tessera-cli` for commands without `--package`, such as `cargo run`: see the manifest.
#![forbid(unsafe_code)]
