//! What the products of Tessera share as proxies. Without the feature `http` it carries bytes, and links no HTTP library.
//!
//! | module | what it is for |
//! |---|---|
//! | [`address`] | where to listen and where to connect to, as people write it |
//! | [`socket`] | a socket of TCP or Unix, and who is at its other end |
//! | [`listen`] | listening: TCP, Unix, sockets that a supervisor hands over |
//! | [`gate`] | who may come in: places for all and for each address, time-outs, the rate of new connections |
//! | [`dial`] | connecting: every address of a name in turn, within one deadline |
//! | [`pump`] | carries bytes between two streams, both ways |
//! | [`proxy_protocol`] | says whom a connection is forwarded for: the header of HAProxy's PROXY protocol, version 2 |
//! | [`certificates`] | when certificates end, and warnings in time |
//! | [`changes`] | what of a configuration that is loaded again waits for a restart |
//! | [`check`] | what `check` prints: a table for each section |
//! | [`config`] | a configuration from a TOML file, and errors that say the line and the nearest key |
//! | [`admin`] | metrics, and whether the process is well, over HTTP |
//! | [`logging`] | log lines that delay nobody |
//! | [`service`] | what systemd is told |
//! | [`confine`] | files, ports and processes that can't be reached any more |
//! | [`http`] (feature `http`) | servers and pooled clients of HTTP/1.1 and HTTP/2, with limits and deadlines |
//! | [`process`] | a whole process: its log, signals, reloads, and end |
//! | [`stores`] (feature `stores`) | ticket keys and one-time keys: in memory, in a directory, or shared by a fleet |
//! | [`drain`] | the end of connections: within a limit, and the rest is cut |
//! | [`demo`] (feature `demo`) | what demonstrations stand on: files of their own, and somebody on the path |
//!
//! A connection comes in through a [`gate::Gate`] at a [`listen::Listener`], and goes out by a [`dial::Dialler`].
#![forbid(unsafe_code)]

pub mod address;
pub mod admin;
pub mod certificates;
pub mod changes;
pub mod check;
pub mod config;
pub mod confine;
#[cfg(feature = "demo")]
pub mod demo;
pub mod dial;
pub mod drain;
pub mod gate;
#[cfg(feature = "http")]
pub mod http;
pub mod listen;
pub mod logging;
pub mod process;
pub mod proxy_protocol;
pub mod pump;
pub mod service;
pub mod socket;
#[cfg(feature = "stores")]
pub mod stores;
