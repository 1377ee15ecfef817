//! Settings that are allowed but probably a mistake.

use tessera_kit::SettingFile;
use tessera_proxy::config::{nearest, warnings};

use super::{ApiRule, Configuration, Peer};
use crate::names::{NetworkDomain, SERVICES};

impl Configuration {
    /// Returns warnings about a valid configuration: risks by their names, and settings without effect.
    pub fn warnings(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.peer.is_empty() {
            found.push("no [peer.NAME] is configured: this SEPP has no peers".to_owned());
        }
        for (name, peer) in &self.peer {
            let warn = |what: &str| found.push(format!("[peer.{name}] {what}"));
            of_peer(peer).into_iter().for_each(warn);
            found.extend(self.own_address(name, peer));
            found.extend(peer.guard.apis.iter().filter_map(|rule| unknown_service(name, rule)));
        }
        for (name, anchor) in &self.trust {
            if !self.peer.values().any(|peer| peer.anchor == *name) {
                found.push(format!("[trust.{name}] no peer uses this anchor"));
            }
            if anchor.crl.is_empty() {
                found.push(format!("[trust.{name}] crl: not set: revocation is not checked"));
            }
        }
        for rule in &self.guard.log_only {
            found.push(format!("[guard] log-only: {rule} only logs: messages that break it pass, with the exceptions in docs/sepp.md"));
        }
        let hides = self.peer.values().any(|peer| peer.guard.hide_topology);
        if hides && self.guard.hidden_names_key.is_none() {
            found.push(
                "[guard] hidden-names-key: not set: hidden names become invalid when the process ends, and other \
                 instances don't know them"
                    .to_owned(),
            );
        }
        if self.sbi.certificate.is_none() && self.listen.sbi.is_open() {
            found.push(format!(
                "[sbi] certificate: not set: a program that reaches {} can send requests to peers, and an observer \
                 can read them",
                self.listen.sbi
            ));
        }
        if NetworkDomain::of_name(self.local.fqdn.as_str()).is_none() {
            found.push(
                "[local] fqdn: not a name of a 5G core (5gc.mncNNN.mccNNN.3gppnetwork.org): other SEPPs may refuse it"
                    .to_owned(),
            );
        }
        found.extend(self.of_files());
        found
    }

    fn own_address(&self, name: &str, peer: &Peer) -> Option<String> {
        let own = self.listen.n32c.to_string();
        let own = peer.address.iter().find(|address| address.to_string() == own)?;
        Some(format!("[peer.{name}] address: {own} is this SEPP's own: see [listen] n32c"))
    }

    fn of_files(&self) -> impl Iterator<Item = String> {
        let admin = self.process.admin.as_ref();
        let admin = admin.and_then(|admin| warnings::open_admin("[process] admin", admin));
        let local = self.local.key.as_ref().unwrap_or(&self.local.certificate);
        let sbi = self.sbi.key.as_ref().or(self.sbi.certificate.as_ref());
        let keys = [("[local] key", Some(local)), ("[sbi] key", sbi)].into_iter();
        let keys = keys.filter_map(|(setting, path)| {
            warnings::readable_secret(SettingFile { setting, path: path? })
        });
        let roots = self.trust.iter().filter_map(|(name, anchor)| {
            let setting = &format!("[trust.{name}] roots");
            warnings::leaf_as_root(SettingFile { setting, path: &anchor.roots }, "")
        });
        let fleet = self.tickets.fleet.iter().flat_map(|fleet| fleet.readable_keys("tickets"));
        admin.into_iter().chain(keys).chain(roots).chain(fleet)
    }
}

fn of_peer(peer: &Peer) -> Vec<&'static str> {
    let reconnection = &peer.reconnection;
    let risks = [
        (
            reconnection.risky_psk_ke,
            "reconnection.risky-psk-ke: an attacker who gets a ticket key can read recorded resumed connections",
        ),
        (
            reconnection.risky_replayable_early_data,
            "reconnection.risky-replayable-early-data: a copy of a first flight may be processed again elsewhere",
        ),
        (peer.risky_without_sni, "risky-without-sni: violates TS 33.501 §13.1.2"),
        (
            !peer.guard.hide_topology,
            "guard.hide-topology: off: peers see internal names and addresses",
        ),
        (peer.guard.apis.is_empty(), "guard.apis: empty: every request of the peer is refused"),
    ];
    risks.into_iter().filter(|(is_there, _)| *is_there).map(|(_, what)| what).collect()
}

fn unknown_service(peer: &str, rule: &ApiRule) -> Option<String> {
    let ApiRule { service, .. } = rule;
    let near = nearest(service, &SERVICES).filter(|near| near != service);
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    (!SERVICES.contains(&service.as_str())).then(|| {
        format!(
            "[peer.{peer}] guard.apis: {service} is not a service of roaming: the rules don't know its members, and \
             metrics count it as `other`{near}"
        )
    })
}
