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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::config::Document;

    use super::*;
    use crate::changes;

    #[test]
    fn a_reload_keeps_a_port_that_the_system_chose_and_a_new_one_waits() {
        let read = |port: u16| -> Configuration {
            let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/sepp.toml");
            let mut read: Configuration =
                Document::read(Path::new(example)).unwrap().parse().unwrap();
            read.listen.sbi = ListenAddress::Everywhere(port);
            read
        };
        let bound = BoundAddresses(vec![("sbi", vec!["[::]:4711".parse().unwrap()])]);
        let running = bound.fill(&read(0));
        let waiting = |port| {
            let mut wanted = bound.fill(&read(port));
            let waiting = changes::keep(&running, &mut wanted).0;
            assert_eq!(wanted, running);
            waiting
        };
        assert!(waiting(0).is_empty());
        assert_eq!(waiting(4712), ["[listen] sbi"]);
    }
}
