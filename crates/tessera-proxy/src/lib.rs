//! The byte half of a proxy: what the products of Tessera share.
//!
//! | module | what it is for |
//! |---|---|
//! | [`config`] | a configuration from a TOML file, and errors that say the line and the nearest key |
//! | [`admin`] | metrics, and whether the process is well |
//! | [`logging`] | log lines that delay nobody |
#![forbid(unsafe_code)]

pub mod admin;
pub mod config;
pub mod logging;
