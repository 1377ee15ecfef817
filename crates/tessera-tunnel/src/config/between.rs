//! What contradicts itself between the sections of a configuration.

use std::collections::BTreeMap;

use tessera_kit::ProgramError;

use super::check::wrong;
use super::{ListenAddress, Tunnels};

impl Tunnels {
    /// Finds what contradicts itself, in all sections and between them, without looking at a file.
    ///
    /// # Errors
    /// `[server.NAME] key: `, or `[client.NAME] key: `, and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        self.server.iter().try_for_each(|(name, section)| section.check(name))?;
        self.client.iter().try_for_each(|(name, section)| section.check(name))?;
        self.check_addresses()?;
        self.check_directories()
    }

    fn check_addresses(&self) -> Result<(), ProgramError> {
        let servers = self.server.iter().map(|(name, it)| ("server", name, &it.listen));
        let clients = self.client.iter().map(|(name, it)| ("client", name, &it.listen));
        let mut taken = BTreeMap::new();
        if let Some(admin) = &self.process.admin {
            taken.insert(admin.to_string(), "[process] admin".to_owned());
        }
        for (role, name, listen) in servers.chain(clients) {
            // The system chooses another port each time.
            let port = match listen {
                ListenAddress::Everywhere(port) => Some(*port),
                ListenAddress::Tcp(address) => Some(address.port()),
                ListenAddress::Name(name) => Some(name.port),
                ListenAddress::Unix(_) | ListenAddress::Inherited(_) => None,
            };
            if port == Some(0) {
                continue;
            }
            let before = taken.insert(listen.to_string(), format!("[{role}.{name}]"));
            if let Some(before) = before {
                let what = format!("{listen} is where {before} listens: each needs its own");
                return wrong(role, name, "listen", what);
            }
        }
        Ok(())
    }

    fn check_directories(&self) -> Result<(), ProgramError> {
        let mut states = BTreeMap::new();
        for (name, section) in &self.server {
            let other = section.state.as_ref().and_then(|state| states.insert(state, name));
            if let Some(other) = other {
                let what = format!("[server.{other}] has the same directory: each needs its own");
                return wrong("server", name, "state", what);
            }
        }
        for (name, section) in &self.client {
            let is_directory = !matches!(name.as_str(), "" | "." | "..") && !name.contains('/');
            if section.sessions.is_some() && !is_directory {
                let what = "the name of this section is that of its directory there, and can't be";
                return wrong("client", name, "sessions", what);
            }
        }
        Ok(())
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
    fn two_that_would_listen_at_the_same_address_are_told() {
        let mut tunnels = Tunnels::default();
        tunnels.server.insert("a".into(), tests::server());
        tunnels.server.insert("b".into(), tests::server());
        let error = tunnels.check().unwrap_err();
        assert_eq!(
            (error.exit_code(), &*error.to_string()),
            (2, "[server.b] listen: :8443 is where [server.a] listens: each needs its own"),
        );
        tunnels.server.get_mut("b").unwrap().listen = "127.0.0.1:8444".parse().unwrap();
        tunnels.check().unwrap();
        tunnels.process.admin = Some("127.0.0.1:8444".parse().unwrap());
        assert!(tunnels.check().unwrap_err().to_string().contains("[process] admin"));
        // Of these there are as many as one likes.
        tunnels.process.admin = Some("127.0.0.1:0".parse().unwrap());
        for section in tunnels.server.values_mut() {
            section.listen = ":0".parse().unwrap();
        }
        tunnels.check().unwrap();
    }
}
