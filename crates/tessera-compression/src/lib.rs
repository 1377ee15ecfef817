//! Compressed certificates (RFC 8879) for Tessera, in both directions.
//!
//! A certificate chain is most of what a server sends in a full handshake. [`Zlib`] and, with the feature `brotli`,
//! `Brotli` implement [`tessera::auth::CertificateCompression`]; put them into the configuration of a client or a
//! server:
//!
//! ```
//! # fn configure(config: &mut tessera::ServerConfig) {
//! config.certificate_codecs = tessera_compression::codecs();
//! # }
//! ```
//!
//! Safari offers zlib, Chromium Brotli. OpenSSL supports both from version 3.2; Debian's 3.0 supports neither.
//!
//! Each caches the last 64 chains that it compressed, before and after, so that a server compresses a chain once, not
//! at every handshake. Use the same configuration for all connections, or configurations that share the values of these
//! types. Data from peers is never cached, and is decompressed to at most the length that the engine allows (128 KiB).
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

/// Returns all algorithms of this crate, best compression first.
pub fn codecs() -> Vec<Arc<dyn CertificateCodecFactory>> {
    vec![
        #[cfg(feature = "brotli")]
        Arc::new(Brotli::default()),
        Arc::new(Zlib::default()),
    ]
}
