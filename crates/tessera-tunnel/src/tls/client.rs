//! The TLS configuration of a client end.

use std::sync::Arc;

use tessera::handshake::Checked;
use tessera::resume::Continuation;
use tessera::{ClientConfig, Destination};
use tessera_kit::ProgramError;

use super::server::TICKETS;
use crate::config::{ClientSection, Early, EarlyKeyExchange};
use crate::peers;

/// Loads the configuration of the section of this name, and the destination, which holds the external PSKs.
///
/// `host` is that of `connect`; it is the server's name if the section sets no other.
///
/// # Errors
/// If the section contradicts itself, a file can't be read or is malformed, or their contents can't be used together.
pub fn client(
    name: &str,
    section: &ClientSection,
    host: &str,
) -> Result<(Checked<ClientConfig>, Destination), ProgramError> {
    section.check(name)?;
    let own = section.end(name);
    let allowed = peers::allowed(&section.peers, tessera::Role::Server, &own.label)?;
    let mut config = ClientConfig::new(own.provider(), Arc::new(allowed));
    own.choose(&mut config.groups, &mut config.suites);
    config.credentials = own.credentials()?;
    config.certificate_codecs = tessera_compression::codecs();
    config.handshake_timeout = section.limits.handshake;
    config.policy.tickets = TICKETS;
    config.policy.early_data.forward_secret = match (section.early, section.early_key_exchange) {
        (Early::Never, _) => None,
        (Early::Fs, EarlyKeyExchange::PskDheKe) => Some(Continuation::PskDheKe),
        (Early::Fs, EarlyKeyExchange::PskKe) => Some(Continuation::PskKe),
    };
    let destination = Destination {
        server_name: section.server_name.clone().unwrap_or_else(|| host.to_owned()),
        external_psks: peers::psks(&section.peers, &own.label)?,
        ..Destination::default()
    };
    Ok((config.checked().map_err(|error| own.by_key(error))?, destination))
}
