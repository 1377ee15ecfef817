//! The program `tessera` as users start it.
// Most servers here make their certificate themselves.
#![cfg(feature = "demo")]
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod advise;
mod cached_certificates;
mod certificate;
mod closing;
mod datagrams;
mod document;
#[cfg(feature = "edge")]
mod edge;
mod emulated;
mod facts;
mod fast_open;
mod forwarding;
mod full_disk;
mod hostile;
mod http;
mod kem_auth;
mod load;
mod manual;
mod moving;
mod openssl;
mod openssl_kems;
#[cfg(feature = "orchestrator")]
mod orchestrator;
mod own_sockets;
mod program;
mod readers;
mod refusals;
mod reload;
mod reloaded_trust;
mod restart;
#[cfg(any(feature = "sepp", feature = "signer", feature = "tunnel"))]
mod running;
mod sepp;
mod server_restarts;
mod sessions;
mod shared_certificates;
#[cfg(all(feature = "edge", feature = "signer"))]
mod signer;
#[cfg(feature = "stek")]
mod stek;
mod tunnel;
mod ways;
