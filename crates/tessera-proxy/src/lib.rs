//! The byte half of a proxy: what the products of Tessera share. It knows nothing of HTTP.
//!
//! | module | what it is for |
//! |---|---|
//! | [`address`] | where to listen and where to connect to, as people write it |
//! | [`socket`] | a socket of TCP or Unix, and who is at its other end |
//! | [`listen`] | listening: TCP, Unix, sockets that a supervisor hands over |
//! | [`gate`] | who may come in: places for all and for each address, time-outs, the rate of new connections |
//! | [`dial`] | connecting: every address of a name in turn, within one deadline |
//!
//! A connection comes in through a [`gate::Gate`] at a [`listen::Listener`], and goes out by a [`dial::Dialler`].
#![forbid(unsafe_code)]

pub mod address;
pub mod dial;
pub mod gate;
pub mod listen;
mod rate;
pub mod socket;
