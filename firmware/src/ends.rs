//! The ends of each image, by its features.

use tessera::Destination;

pub use crate::settings::{DATA, DATAGRAM, NOW, RECORD, SERVER_NAME, StoppedClock, datagrams};

#[cfg(feature = "chains")]
pub use crate::chains::client;
#[cfg(not(any(feature = "chains", feature = "kem-pinned")))]
pub use crate::external_psk::{client, server};
#[cfg(feature = "kem-pinned")]
pub use crate::known_key::{client, server};

pub fn destination() -> Destination {
    Destination {
        server_name: SERVER_NAME.into(),
        #[cfg(not(any(feature = "chains", feature = "kem-pinned")))]
        external_psks: crate::external_psk::psks(),
        #[cfg(feature = "kem-pinned")]
        known_server_key: Some(crate::known_key::known()),
        ..Destination::default()
    }
}

#[cfg(feature = "chains")]
pub fn server() -> Result<tessera::ServerConfig, tessera::Error> {
    crate::chains::CHAIN.server()
}
