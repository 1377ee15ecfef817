//! What sections write to: each has a directory of its own.

use std::collections::BTreeMap;

use tessera_kit::ProgramError;

use super::Tunnels;
use super::check::wrong;

impl Tunnels {
    /// Finds directories that two sections would write to.
    pub(super) fn check_directories(&self) -> Result<(), ProgramError> {
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
    use crate::config::{ClientSection, ServerSection};

    fn tunnels(states: [&str; 2], client: &str) -> Tunnels {
        let mut tunnels = Tunnels::default();
        for (name, state) in ["a", "b"].into_iter().zip(states) {
            let (listen, forward) = (":8443".parse().unwrap(), "db:5432".parse().unwrap());
            let mut section = ServerSection::new(listen, forward);
            section.state = Some(state.into());
            tunnels.server.insert(name.to_owned(), section);
        }
        let (listen, connect) = (":5432".parse().unwrap(), "db:8443".parse().unwrap());
        let mut section = ClientSection::new(listen, connect);
        section.sessions = Some("/sessions".into());
        tunnels.client.insert(client.to_owned(), section);
        tunnels
    }

    #[test]
    fn each_section_writes_to_a_directory_of_its_own() {
        tunnels(["/one", "/two"], "c.d").check_directories().unwrap();
        let error = tunnels(["/one", "/one"], "c").check_directories().unwrap_err();
        let told = "[server.b] state: [server.a] has the same directory: each needs its own";
        assert_eq!((error.exit_code(), &*error.to_string()), (2, told));
        for name in ["", "..", "../c", "/c"] {
            let error = tunnels(["/one", "/two"], name).check_directories().unwrap_err();
            assert!(error.to_string().starts_with(&format!("[client.{name}] sessions: ")));
        }
    }
}
