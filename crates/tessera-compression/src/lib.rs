//! Compressed certificates (RFC 8879) for Tessera, in both directions.
//!
//! A certificate chain is most of what a server sends in a full handshake. [`Zlib`] and, with the
//! feature `brotli`, `Brotli` implement [`tessera::auth::CertificateCompression`]; put them into the
//! configuration of a client or a server:
//!
//! ```
//! # fn configure(config: &mut tessera::ServerConfig) {
//! config.certificate_codecs = tessera_compression::codecs();
//! # }
//! ```
//!
//! Safari offers zlib, Chromium Brotli. OpenSSL has both from version 3.2, Debian's 3.0 has neither.
//!
//! Each remembers the last 64 chains that it compressed, before and after: a server compresses a chain
//! once, not at every handshake. Give all connections the same configuration, or configurations with
//! the same values of these types. Nothing that a peer sends is remembered, and what a peer sends is
//! decompressed into no more than the length that the engine allows (128 KiB).
#![forbid(unsafe_code)]

#[cfg(feature = "brotli")]
mod brotli;
mod memory;
mod zlib;

#[cfg(feature = "brotli")]
pub use brotli::Brotli;
pub use zlib::Zlib;

use std::sync::Arc;

use tessera::auth::CertificateCodecFactory;

/// All algorithms of this crate, those that compress best first.
pub fn codecs() -> Vec<Arc<dyn CertificateCodecFactory>> {
    vec![
        #[cfg(feature = "brotli")]
        Arc::new(Brotli::default()),
        Arc::new(Zlib::default()),
    ]
}
