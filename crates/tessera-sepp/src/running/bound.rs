//! Where the listeners are.

use std::net::SocketAddr;

use crate::config::{Configuration, ListenAddress};

/// Where each listener is.
pub(super) struct Bound(pub(super) Vec<(&'static str, Vec<SocketAddr>)>);

impl Bound {
    /// The configuration with the ports that others are told, where the system chose one or somebody handed it over.
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
