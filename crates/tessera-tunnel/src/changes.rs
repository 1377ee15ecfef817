//! Settings of a new configuration that take effect only after a restart.

use tessera_proxy::changes::PendingChanges;

use crate::config::Tunnels;

/// Resets settings that can't change while the process runs to their current values, and returns them.
pub(crate) fn keep(running: &Tunnels, wanted: &mut Tunnels) -> PendingChanges {
    let mut waiting = PendingChanges::default();
    waiting.keep_in("process", &running.process, &mut wanted.process);
    waiting.keep_all("server", &running.server, &mut wanted.server);
    waiting.keep_all("client", &running.client, &mut wanted.client);
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ClientSection, DialAddress, ListenAddress, Process, ServerSection};

    fn tunnels(listen: &str) -> Tunnels {
        let (listen, to): (ListenAddress, DialAddress) =
            (listen.parse().unwrap(), "b:1".parse().unwrap());
        let server = ServerSection::new(listen.clone(), to.clone());
        let client = ClientSection::new(listen, to);
        Tunnels {
            process: Process::default(),
            server: [("a".to_owned(), server)].into(),
            client: [("a".to_owned(), client)].into(),
        }
    }

    #[test]
    fn settings_that_need_a_restart_are_named_and_stay_unchanged() {
        let old = tunnels(":1");
        assert!(keep(&old, &mut old.clone()).0.is_empty());
        let mut new = tunnels(":2");
        let server = new.server.get_mut("a").unwrap();
        // A reload changes these.
        server.certificate = Some("c.pem".into());
        server.limits.connections = 1;
        let added = new.client.get("a").unwrap().clone();
        new.client.insert("b".to_owned(), added);
        let again = new.clone();
        let waiting = keep(&old, &mut new);
        assert_eq!(
            waiting.0,
            [
                "[server.a] listen",
                "[server.a] limits",
                "[client.b] (new section)",
                "[client.a] listen"
            ]
        );
        let server = new.server.get("a").unwrap();
        assert_eq!(server.listen.to_string(), ":1");
        assert_eq!(server.certificate, Some("c.pem".into()));
        assert_eq!(server.limits, old.server.get("a").unwrap().limits);
        assert!(!new.client.contains_key("b"));

        let mut gone = old.clone();
        let waiting = keep(&again, &mut gone);
        assert_eq!(waiting.0.last().unwrap(), "[client.b] (removed section)");
        assert!(gone.client.contains_key("b"));
    }
}
