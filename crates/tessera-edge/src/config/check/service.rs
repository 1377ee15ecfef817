//! Contradictory keys of services.

use std::collections::BTreeMap;

use tessera_kit::ProgramError;
use tessera_proxy::config::{Contradiction, find_impossible_name, find_zero_time, wrong};

use crate::config::{ClientsSection, EdgeConfig, NamedBy, ServiceSection};
use crate::paths::{CanonicalPath, is_plain_path};

impl EdgeConfig {
    pub(super) fn check_services(&self) -> Result<(), ProgramError> {
        if self.service.is_empty() {
            return wrong("proxy", "name", "no service is configured: add a [service.NAME]");
        }
        let mut places: BTreeMap<(&str, CanonicalPath), &str> = BTreeMap::new();
        for (name, section) in &self.service {
            let label = format!("service.{name}");
            if let Some((key, what)) = section.find_contradiction(&self.clients) {
                return wrong(label, key, what);
            }
            let hosts = section.hosts.iter().map(String::as_str);
            for host in hosts.chain(section.hosts.is_empty().then_some("")) {
                if let Some(other) = places.insert((host, CanonicalPath::of(&section.path)), name) {
                    let what = format!(
                        "[service.{other}] has this host and path already: change one of them"
                    );
                    return wrong(label, "path", what);
                }
            }
        }
        Ok(())
    }
}

impl ServiceSection {
    fn find_contradiction(&self, clients: &ClientsSection) -> Contradiction {
        if self.instances.is_empty() {
            return Some(("instances", "names no address at which the service runs"));
        }
        if !self.path.starts_with('/') || !is_plain_path(&self.path) {
            return Some(("path", "must begin with / and have no segment `.` or `..`"));
        }
        let is_host = |host: &String| {
            !host.is_empty()
                && host
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
        };
        if !self.hosts.iter().all(is_host) {
            return Some(("hosts", "must be names in lower case, without a port"));
        }
        let is_method = |method: &String| {
            !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-')
        };
        if !self.methods.iter().all(is_method) {
            return Some(("methods", "must be methods as HTTP writes them: \"GET\""));
        }
        if self.methods.iter().any(|method| method == "CONNECT" || method == "TRACE") {
            return Some(("methods", "CONNECT and TRACE don't pass this proxy: remove them"));
        }
        if !self.admit.is_empty() && clients.named_by != NamedBy::Certificate {
            return Some((
                "admit",
                "needs clients named by their certificates: see [clients] named-by",
            ));
        }
        let impossible = find_impossible_name("admit", &self.admit);
        if impossible.is_some() {
            return impossible;
        }
        if let Some(state) = &self.state {
            if !state.starts_with('/') || !is_plain_path(state) || state.contains(['?', '#']) {
                return Some(("state", "must be a path that begins with /"));
            }
            let [own, private] =
                [&self.path, state].map(|path| CanonicalPath::of(path).in_any_case());
            if own.is_below(&private) {
                return Some((
                    "state",
                    "must be a path of its own: clients reach nothing below it, and so not this service",
                ));
            }
            let rank = self.instances.first().map(|first| first.rank);
            if self.instances.iter().any(|it| Some(it.rank) != rank) {
                return Some((
                    "state",
                    "needs instances of one rank, which share it: those of another have none, or that of another proxy",
                ));
            }
            if clients.named_by == NamedBy::Nothing {
                return Some(("state", "needs clients that have names: see [clients] named-by"));
            }
        }
        if self.server_name.is_some() && self.ca.is_none() {
            return Some((
                "server-name",
                "has no effect without `ca`: remove the key, or set `ca`",
            ));
        }
        if self.http2 && self.ca.is_some() {
            return Some(("http2", "with TLS the version is chosen by ALPN: remove the key"));
        }
        find_zero_time(&[("connect", self.connect)])
    }
}
