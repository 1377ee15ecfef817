//! Configurations for both ends of the channel.

use std::sync::Arc;

use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::{AcceptEarlyData, OfferEarlyData};
use tessera::{ClientConfig, Error, ServerConfig};

use crate::PROTOCOL;
use crate::known::KnownSites;

/// Makes a configuration for the connector of a [`TlsSiteChannel`](crate::TlsSiteChannel): it offers only the channel's
/// protocol, and sends no early data.
///
/// # Errors
/// As of [`ClientConfig::checked`].
pub fn client_config(mut config: ClientConfig) -> Result<Checked<ClientConfig>, Error> {
    config.protocols = vec![PROTOCOL.to_vec()];
    config.policy.early_data = OfferEarlyData::default();
    config.checked()
}

/// Makes a configuration for the acceptor of a [`SiteServer`](crate::SiteServer): it accepts only the channel's
/// protocol, accepts no early data, and requires a certificate of a known site.
///
/// # Errors
/// As of [`ServerConfig::checked`].
pub fn server_config(
    mut config: ServerConfig,
    sites: KnownSites,
) -> Result<Checked<ServerConfig>, Error> {
    config.protocols = vec![PROTOCOL.to_vec()];
    config.policy.early_data = AcceptEarlyData::default();
    config.client_authentication = ClientAuthentication::Required(Arc::new(sites));
    config.chooser = None;
    config.checked()
}
