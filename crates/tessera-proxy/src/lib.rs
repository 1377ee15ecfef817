//! The common parts of Tessera's proxies. Without the feature `http` this crate only carries bytes, and links no HTTP
//! library.
//!
//! | module | purpose |
//! |---|---|
//! | [`address`] | addresses to listen on and to connect to, in text form |
//! | [`socket`] | a TCP or Unix socket, and its peer |
//! | [`keys_ahead`] | key pairs made in idle time, for the handshakes to come |
//! | [`listen`] | listening: TCP, Unix, sockets that a supervisor passes |
//! | [`gate`] | admission: limits on all connections and on each address, time-outs, the rate of new connections |
//! | [`dial`] | connecting: every address of a name in turn, within one deadline |
//! | [`pump`] | carries bytes between two streams, both ways |
//! | [`datagrams`] | carries datagrams, one for one: DTLS connections, UDP sockets, and the programs that share one |
//! | [`proxy_protocol`] | names the forwarded client: the header of HAProxy's PROXY protocol, version 2 |
//! | [`certificates`] | expiry of certificates, and warnings in time |
//! | [`changes`] | changes of a reloaded configuration that wait for a restart |
//! | [`check`] | the output of `check`: a table for each section |
//! | [`config`] | a configuration from a TOML file; errors name the line and suggest the nearest key |
//! | [`admin`] | metrics and health over HTTP |
//! | [`logging`] | log lines that never block |
//! | [`service`] | notifications to systemd |
//! | [`confine`] | restricts the process to the files, ports and processes it needs |
//! | [`http`] (feature `http`) | servers and pooled clients of HTTP/1.1 and HTTP/2, with limits and deadlines |
//! | [`grpc`] (feature `grpc`) | gRPC, as servers of Envoy need it |
//! | [`process`] | a whole process: its log, signals, reloads, and end |
//! | [`stores`] (feature `stores`) | ticket keys and one-time keys: in memory, in a directory, or shared by a fleet |
//! | [`drain`] | accepts until the end, gives connections time to end, and cuts the rest |
//! | [`demo`] (feature `demo`) | parts of demonstrations: temporary files, operators of SEPPs, and an adversary on the path |
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
pub mod datagrams;
#[cfg(feature = "demo")]
pub mod demo;
pub mod dial;
pub mod drain;
pub mod gate;
#[cfg(feature = "grpc")]
pub mod grpc;
#[cfg(feature = "http")]
pub mod http;
pub mod keys_ahead;
pub mod listen;
pub mod logging;
pub mod process;
pub mod proxy_protocol;
pub mod pump;
pub mod service;
pub mod socket;
#[cfg(feature = "stores")]
pub mod stores;
