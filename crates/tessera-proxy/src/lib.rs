//! The byte half of a proxy: what the products of Tessera share.
//!
//! | module | what it is for |
//! |---|---|
//! | [`pump`] | carries bytes between two streams, both ways |
//! | [`proxy_protocol`] | says whom a connection is forwarded for: the header of HAProxy's PROXY protocol, version 2 |
#![forbid(unsafe_code)]

pub mod proxy_protocol;
pub mod pump;
