//! The byte half of a proxy: what the products of Tessera share.
//!
//! | module | what it is for |
//! |---|---|
//! | [`config`] | a configuration from a TOML file, and errors that say the line and the nearest key |
//! | [`admin`] | metrics, and whether the process is well, over HTTP |
//! | [`logging`] | log lines that delay nobody |
//! | [`service`] | what systemd is told |
//! | [`confine`] | files, ports and processes that can't be reached any more |
//! | [`drain`] | the end of a process |
#![forbid(unsafe_code)]

pub mod admin;
pub mod config;
pub mod confine;
pub mod drain;
pub mod logging;
pub mod service;
