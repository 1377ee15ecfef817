//! The files of a demonstration: certificates and the key of a state, removed with it.

use tessera_kit::{ProgramError, hex};
use tessera_proxy::demo::{Authority, Files, failed};

/// The name in the server's certificate.
pub(super) const SERVER: &str = "db.example";
/// The name in the client's.
pub(super) const CLIENT: &str = "app.example";

/// Creates an authority `ca.pem`, two certificates with their keys, `server.pem` and `client.pem`, and the key of a
/// state, `state.key`.
pub(super) fn make() -> Result<Files, ProgramError> {
    let files = Files::make()?;
    let authority = Authority::make(&files, "ca.pem", "Tessera demonstration")?;
    authority.certify(&files, "server.pem", SERVER)?;
    authority.certify(&files, "client.pem", CLIENT)?;
    let mut key = [0; 32];
    let filled = tessera_aws_lc::provider().random.fill(&mut key);
    filled.map_err(|_| failed("the random number generator failed"))?;
    files.write("state.key", &hex::encode(&key))?;
    Ok(files)
}
