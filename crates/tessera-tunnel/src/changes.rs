//! What of a new configuration has to wait for the next start.

use std::collections::BTreeMap;

use crate::config::{ClientSection, Process, ServerSection, Tunnels};

/// Puts what can't change while the process runs back to what it is, and returns the keys of that as an operator
/// would write them: `[server.postgres] listen`.
pub(crate) fn keep(running: &Tunnels, wanted: &mut Tunnels) -> Vec<String> {
    let mut kept = Kept { table: "process".to_owned(), keys: Vec::new() };
    of_process(&mut kept, &running.process, &mut wanted.process);
    of_sections(&mut kept, "server", &running.server, &mut wanted.server, of_server);
    of_sections(&mut kept, "client", &running.client, &mut wanted.client, of_client);
    kept.keys
}

struct Kept {
    table: String,
    keys: Vec<String>,
}

impl Kept {
    fn key<T: Clone + PartialEq>(&mut self, key: &str, running: &T, wanted: &mut T) {
        if running != wanted {
            self.keys.push(format!("[{}] {key}", self.table));
            wanted.clone_from(running);
        }
    }
}

fn of_sections<S: Clone>(
    kept: &mut Kept,
    role: &str,
    running: &BTreeMap<String, S>,
    wanted: &mut BTreeMap<String, S>,
    compare: fn(&mut Kept, &S, &mut S),
) {
    wanted.retain(|name, _| {
        let runs = running.contains_key(name);
        if !runs {
            kept.keys.push(format!("[{role}.{name}], which is new,"));
        }
        runs
    });
    for (name, section) in running {
        match wanted.get_mut(name) {
            Some(other) => {
                kept.table = format!("{role}.{name}");
                compare(kept, section, other);
            }
            None => {
                kept.keys.push(format!("[{role}.{name}], which is gone,"));
                wanted.insert(name.clone(), section.clone());
            }
        }
    }
}

fn of_process(kept: &mut Kept, running: &Process, wanted: &mut Process) {
    kept.key("admin", &running.admin, &mut wanted.admin);
    kept.key("log", &running.log, &mut wanted.log);
    kept.key("drain", &running.drain, &mut wanted.drain);
}

fn of_server(kept: &mut Kept, running: &ServerSection, wanted: &mut ServerSection) {
    kept.key("listen", &running.listen, &mut wanted.listen);
    // The process may connect to no other port.
    kept.key("forward", &running.forward, &mut wanted.forward);
    kept.key("state", &running.state, &mut wanted.state);
    kept.key("state-key", &running.state_key, &mut wanted.state_key);
    kept.key("state-witness", &running.state_witness, &mut wanted.state_witness);
    kept.key("tcp-fast-open", &running.tcp_fast_open, &mut wanted.tcp_fast_open);
    kept.key("limits", &running.limits, &mut wanted.limits);
    kept.key("fleet", &running.fleet, &mut wanted.fleet);
}

fn of_client(kept: &mut Kept, running: &ClientSection, wanted: &mut ClientSection) {
    kept.key("listen", &running.listen, &mut wanted.listen);
    kept.key("connect", &running.connect, &mut wanted.connect);
    kept.key("server-name", &running.server_name, &mut wanted.server_name);
    kept.key("sessions", &running.sessions, &mut wanted.sessions);
    kept.key("sessions-key", &running.sessions_key, &mut wanted.sessions_key);
    kept.key("spare", &running.spare, &mut wanted.spare);
    kept.key("tcp-fast-open", &running.tcp_fast_open, &mut wanted.tcp_fast_open);
    kept.key("limits", &running.limits, &mut wanted.limits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DialAddress, ListenAddress};

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
    fn what_has_to_wait_is_named_and_stays_as_it_is() {
        let old = tunnels(":1");
        assert!(keep(&old, &mut old.clone()).is_empty());
        let mut new = tunnels(":2");
        let server = new.server.get_mut("a").unwrap();
        // What a reload changes.
        server.certificate = Some("c.pem".into());
        server.limits.connections = 1;
        let added = new.client.get("a").unwrap().clone();
        new.client.insert("b".to_owned(), added);
        let again = new.clone();
        let waiting = keep(&old, &mut new);
        assert_eq!(
            waiting,
            [
                "[server.a] listen",
                "[server.a] limits",
                "[client.b], which is new,",
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
        assert_eq!(waiting.last().unwrap(), "[client.b], which is gone,");
        assert!(gone.client.contains_key("b"));
    }
}
