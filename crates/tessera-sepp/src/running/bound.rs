//! Addresses of the listeners.

use std::net::SocketAddr;

use crate::config::{Configuration, ListenAddress};

/// The addresses of each listener.
pub(super) struct BoundAddresses(pub(super) Vec<(&'static str, Vec<SocketAddr>)>);

impl BoundAddresses {
    /// Returns the configuration with the ports that others are given, where the system chose a port or the socket was
    /// inherited.
    pub(super) fn fill(&self, configuration: &Configuration) -> Configuration {
        let mut filled = configuration.clone();
        for (name, addresses) in &self.0 {
            let Some(address) = addresses.first() else { continue };
            let bound = |place: &mut ListenAddress| {
                let is_open = match place {
                    ListenAddress::Everywhere(port) => *port == 0,
                    ListenAddress::Tcp(address) => address.port() == 0,
                    ListenAddress::Inherited(_) => true,
                    ListenAddress::Name(_) | ListenAddress::Unix(_) => false,
                };
                if is_open {
                    *place = ListenAddress::Tcp(*address);
                }
            };
            let listen = &mut filled.listen;
            match *name {
                "sbi" => bound(&mut listen.sbi),
                "n32c" => bound(&mut listen.n32c),
                "n32f" => bound(&mut listen.n32f),
                _ => [&mut listen.n32c, &mut listen.n32f].into_iter().for_each(bound),
            }
        }
        filled
    }
}
