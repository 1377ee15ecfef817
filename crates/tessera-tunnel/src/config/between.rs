//! Contradictions between the sections of a configuration.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tessera_kit::ProgramError;
use tessera_proxy::config::{check_listeners, wrong};

use super::{DialAddress, ListenAddress, Tunnels};

impl Tunnels {
    /// Finds contradictions in all sections and between them, without reading any file.
    ///
    /// # Errors
    /// `[server.NAME] key: ` or `[client.NAME] key: `, and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        self.server.iter().try_for_each(|(name, section)| section.check(name))?;
        self.client.iter().try_for_each(|(name, section)| section.check(name))?;
        self.check_addresses()?;
        self.check_circles()?;
        self.check_directories()
    }

    /// Sections that form a loop would forward each connection until the process runs out of files.
    fn check_circles(&self) -> Result<(), ProgramError> {
        let servers = self.server.iter().map(|(name, it)| Way {
            section: ("server", name),
            listen: &it.listen,
            to: ("forward", &it.forward),
        });
        let clients = self.client.iter().map(|(name, it)| Way {
            section: ("client", name),
            listen: &it.listen,
            to: ("connect", &it.connect),
        });
        let ways: Vec<_> = servers.chain(clients).collect();
        for way in &ways {
            let ((role, name), (key, address)) = (way.section, way.to);
            let mut at = way;
            for _ in &ways {
                let Some(next) = ways.iter().find(|next| leads_to(at.to.1, next.listen)) else {
                    break;
                };
                at = next;
                if at.section == way.section {
                    let what = format!(
                        "{address} leads back to this section's own listener, {}: set the address that connections \
                         are for",
                        way.listen
                    );
                    return wrong(format_args!("{role}.{name}"), key, what);
                }
            }
        }
        Ok(())
    }

    fn check_addresses(&self) -> Result<(), ProgramError> {
        let servers = self.server.iter().map(|(name, it)| ("server", name, &it.listen));
        let clients = self.client.iter().map(|(name, it)| ("client", name, &it.listen));
        let table = |(role, name, listen)| (format!("{role}.{name}"), "listen", listen);
        let admin = self.process.admin.iter().map(|admin| ("process".to_owned(), "admin", admin));
        check_listeners(admin.chain(servers.chain(clients).map(table)))
    }

    fn check_directories(&self) -> Result<(), ProgramError> {
        let mut states = BTreeMap::new();
        for (name, section) in &self.server {
            let other = section.state.as_ref().and_then(|state| states.insert(state, name));
            if let Some(other) = other {
                let what =
                    format!("[server.{other}] has the same directory: each server needs its own");
                return wrong(format_args!("server.{name}"), "state", what);
            }
        }
        for (name, section) in &self.client {
            let is_directory = !matches!(name.as_str(), "" | "." | "..") && !name.contains('/');
            if section.sessions.is_some() && !is_directory {
                let what = "the section name is used as a directory name, so it must not be `.`, `..` or empty, or \
                            contain `/`";
                return wrong(format_args!("client.{name}"), "sessions", what);
            }
        }
        Ok(())
    }
}

/// A section's listening address and destination, with the key of the latter.
struct Way<'a> {
    section: (&'static str, &'a String),
    listen: &'a ListenAddress,
    to: (&'static str, &'a DialAddress),
}

/// Whether a connection to this destination arrives here, as far as addresses show.
fn leads_to(to: &DialAddress, listen: &ListenAddress) -> bool {
    match (listen, to) {
        (ListenAddress::Unix(here), DialAddress::Unix(there)) => here == there,
        (ListenAddress::Name(here), DialAddress::Name(there)) => here == there,
        (ListenAddress::Everywhere(port), _) => to.port() == Some(*port) && to.is_loopback(),
        (ListenAddress::Tcp(here), _) if to.port() == Some(here.port()) => {
            let ip = here.ip().to_canonical();
            let is_named = matches!(to, DialAddress::Tcp(to) if to.ip().to_canonical() == ip);
            let is_local = ip.is_unspecified() && to.is_loopback();
            // What `localhost` resolves to; 127.0.0.2 is another place.
            let is_localhost = matches!(to, DialAddress::Name(_))
                && [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()].contains(&ip);
            is_named || is_local || is_localhost && to.is_loopback()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::check::tests;
    use crate::config::{ClientSection, ServerSection};

    #[test]
    fn tunnels_share_no_directory_and_have_none_elsewhere() {
        let tunnels = |server: [(&str, &str); 2], client: &str| Tunnels {
            server: server
                .map(|(name, state)| {
                    (
                        name.to_owned(),
                        ServerSection {
                            listen: ":0".parse().unwrap(),
                            state: Some(state.into()),
                            ..tests::server()
                        },
                    )
                })
                .into(),
            client: [(
                client.to_owned(),
                ClientSection { sessions: Some("sessions".into()), ..tests::client() },
            )]
            .into(),
            ..Tunnels::default()
        };
        tunnels([("a", "/one"), ("b", "/two")], "c.d").check().unwrap();
        let error = tunnels([("a", "/one"), ("b", "/one")], "c").check().unwrap_err().to_string();
        assert!(error.starts_with("[server.b] state: [server.a] has the same"), "{error}");
        for name in ["", "..", "../c", "/c"] {
            let error = tunnels([("a", "/one"), ("b", "/two")], name).check().unwrap_err();
            assert!(error.to_string().starts_with(&format!("[client.{name}] sessions: ")));
        }
    }

    #[test]
    fn two_tunnels_with_the_same_listening_address_are_reported() {
        let mut tunnels = Tunnels::default();
        tunnels.server.insert("a".into(), tests::server());
        tunnels.server.insert("b".into(), tests::server());
        let error = tunnels.check().unwrap_err();
        assert_eq!(
            (error.exit_code(), &*error.to_string()),
            (
                2,
                "[server.b] listen: [server.a] listen is already :8443: each listener needs its own address"
            ),
        );
        tunnels.server.get_mut("b").unwrap().listen = "127.0.0.1:8444".parse().unwrap();
        tunnels.check().unwrap();
        tunnels.process.admin = Some("127.0.0.1:8444".parse().unwrap());
        assert!(tunnels.check().unwrap_err().to_string().contains("[process] admin"));
        // Several of these don't conflict.
        tunnels.process.admin = Some("127.0.0.1:0".parse().unwrap());
        for section in tunnels.server.values_mut() {
            section.listen = ":0".parse().unwrap();
        }
        tunnels.check().unwrap();
    }

    #[test]
    fn sections_that_lead_in_a_circle_are_refused_by_what_they_lead_to() {
        let server = |listen: &str, forward: &str| ServerSection {
            listen: listen.parse().unwrap(),
            forward: forward.parse().unwrap(),
            ..tests::server()
        };
        let client = |listen: &str, connect: &str| ClientSection {
            listen: listen.parse().unwrap(),
            connect: connect.parse().unwrap(),
            ..tests::client()
        };
        let alone = |section: ServerSection| Tunnels {
            server: [("a".to_owned(), section)].into(),
            ..Tunnels::default()
        };
        for (listen, forward) in [
            (":8443", "127.0.0.1:8443"),
            (":8443", "localhost:8443"),
            ("0.0.0.0:8443", "127.0.0.2:8443"),
            ("127.0.0.1:8443", "[::ffff:127.0.0.1]:8443"),
            ("127.0.0.1:8443", "localhost:8443"),
            ("192.0.2.1:8443", "192.0.2.1:8443"),
            ("a.example:8443", "a.example:8443"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
        ] {
            let error = alone(server(listen, forward)).check().unwrap_err().to_string();
            assert!(error.starts_with("[server.a] forward: "), "{listen} {forward}: {error}");
        }
        for (listen, forward) in [
            (":8443", "127.0.0.1:8444"),
            (":8443", "192.0.2.1:8443"),
            ("192.0.2.1:8443", "127.0.0.1:8443"),
            ("127.0.0.1:8443", "127.0.0.2:8443"),
            ("127.0.0.2:8443", "localhost:8443"),
            (":8443", "db:8443"),
            ("unix:/run/a.sock", "unix:/run/b.sock"),
        ] {
            alone(server(listen, forward)).check().unwrap();
        }
        let mut both = alone(server(":8443", "127.0.0.1:5432"));
        both.client.insert("b".into(), client("127.0.0.1:5432", "127.0.0.1:8443"));
        let error = both.check().unwrap_err().to_string();
        assert!(error.starts_with("[server.a] forward: 127.0.0.1:5432 leads back"), "{error}");
        both.server.get_mut("a").unwrap().forward = "127.0.0.1:5433".parse().unwrap();
        both.check().unwrap();
        both.client.insert("b".into(), client("127.0.0.1:5432", "localhost:5432"));
        let error = both.check().unwrap_err().to_string();
        assert!(error.starts_with("[client.b] connect: localhost:5432 leads back"), "{error}");
    }
}
