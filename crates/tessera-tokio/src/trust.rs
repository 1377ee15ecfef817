//! What the operating system trusts.

use std::io;

use tessera_webpki::WebPkiVerifier;
use tracing::warn;

/// Makes a verifier that trusts what the operating system trusts. It reads the system's store once, now, and
/// may block. `SSL_CERT_FILE` and `SSL_CERT_DIR`, if set, replace the store.
///
/// A root that can't be read is left out with a warning; without any root it returns an error.
///
/// ```no_run
/// use std::sync::Arc;
/// use tessera::ClientConfig;
///
/// # fn main() -> std::io::Result<()> {
/// let verifier = Arc::new(tessera_tokio::system_verifier()?);
/// let config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
/// # Ok(())
/// # }
/// ```
pub fn system_verifier() -> io::Result<WebPkiVerifier> {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        warn!("the system's trust store: {error}");
    }
    // One unparsable root must not make the others unusable.
    let mut roots = found.certs;
    roots.retain(|root| match WebPkiVerifier::new(&[root]) {
        Ok(_) => true,
        Err(error) => {
            warn!("the system's trust store: a root was skipped: {error}");
            false
        }
    });
    let verifier = WebPkiVerifier::new(&roots);
    verifier.map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))
}
