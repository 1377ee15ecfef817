//! No network may be claimed twice: by this SEPP and a peer or anchor, by two peers, or by two trust anchors.

use std::collections::BTreeMap;

use tessera_kit::ProgramError;
use tessera_proxy::config::wrong;

use crate::config::Configuration;
use crate::names::{Fqdn, NetworkDomain, PlmnId, PlmnSet};

pub(super) fn check(configuration: &Configuration) -> Result<(), ProgramError> {
    of_anchors(configuration)?;
    of_peers(configuration)?;
    own_names(configuration)
}

fn of_anchors(configuration: &Configuration) -> Result<(), ProgramError> {
    let mut anchors = Owners::default();
    for (name, anchor) in &configuration.trust {
        let table = format!("trust.{name}");
        if let Some(own) = anchor.plmns.iter().find(|id| configuration.local.plmns.contains(id)) {
            let what = format!(
                "{own} is this SEPP's own network, which these roots could then certify: remove it"
            );
            return wrong(table, "plmns", what);
        }
        anchors.take(&table, &anchor.plmns, "a network must have a single trust anchor")?;
    }
    Ok(())
}

fn of_peers(configuration: &Configuration) -> Result<(), ProgramError> {
    let local = &configuration.local;
    let mut networks = Owners::default();
    networks.take("local", &local.plmns, "list it once")?;
    let mut names: BTreeMap<&Fqdn, String> = [(&local.fqdn, "local".to_owned())].into();
    for (name, peer) in &configuration.peer {
        let table = format!("peer.{name}");
        let Some(anchor) = configuration.trust.get(&peer.anchor) else {
            let known: Vec<_> = configuration.trust.keys().map(String::as_str).collect();
            let known = match known.as_slice() {
                [] => {
                    "none is configured: add a [trust.NAME] with its networks and roots".to_owned()
                }
                known => format!("configured: {}", known.join(", ")),
            };
            return wrong(table, "anchor", format!("no [trust.{}]: {known}", peer.anchor));
        };
        if let Some(outside) = peer.plmns.iter().find(|id| !anchor.plmns.contains(id)) {
            let what = format!(
                "{outside} is not in [trust.{}], whose networks are {}: no certificate of this anchor proves it",
                peer.anchor, anchor.plmns
            );
            return wrong(table, "plmns", what);
        }
        networks.take(
            &table,
            &peer.plmns,
            "requests are routed by network, so only one peer may have it",
        )?;
        if let Some(before) = names.insert(&peer.fqdn, table.clone()) {
            let what = format!("[{before}] has the same name: each SEPP needs its own");
            return wrong(table, "fqdn", what);
        }
        is_of(&peer.fqdn, &peer.plmns, &table)?;
    }
    Ok(())
}

/// Checks that this SEPP's name, the allowed targets and its functions are not in another network.
fn own_names(configuration: &Configuration) -> Result<(), ProgramError> {
    let local = &configuration.local;
    is_of(&local.fqdn, &local.plmns, "local")?;
    let is_foreign = |name: &Fqdn| {
        let domain = NetworkDomain::of_name(name.as_str());
        domain.is_some_and(|domain| !local.plmns.iter().any(|id| domain.is_of(&id)))
    };
    if let Some(name) = configuration.sbi.hosts.keys().find(|name| is_foreign(name)) {
        let what = format!(
            "{name} is in another network, whose functions only its SEPP reaches: remove it, or add the network to \
             `[local] plmns`"
        );
        return wrong("sbi", "hosts", what);
    }
    for target in configuration.sbi.allowed_targets.iter().flatten() {
        if is_foreign(&target.name) {
            let what = format!(
                "{target} is in another network: foreign requests may reach only own functions (TS 33.501 §5.9.3.2)"
            );
            return wrong("sbi", "allowed-targets", what);
        }
    }
    Ok(())
}

fn is_of(name: &Fqdn, plmns: &PlmnSet, table: &str) -> Result<(), ProgramError> {
    match NetworkDomain::of_name(name.as_str()) {
        Some(domain) if !plmns.iter().any(|id| domain.is_of(&id)) => wrong(
            table,
            "fqdn",
            format!(
                "{name} is in {domain}, which is not the domain of a network in `plmns` \
                 ({plmns})"
            ),
        ),
        _ => Ok(()),
    }
}

/// The owner of each network, by its domain: 70 and 070 share one, so a name can't distinguish them.
#[derive(Default)]
struct Owners(BTreeMap<String, (PlmnId, String)>);

impl Owners {
    fn take(&mut self, table: &str, plmns: &PlmnSet, why: &str) -> Result<(), ProgramError> {
        for id in plmns.iter() {
            let domain = NetworkDomain::from(id).to_string();
            let Some((other, before)) = self.0.insert(domain.clone(), (id, table.to_owned()))
            else {
                continue;
            };
            let what = if other == id {
                format!("{id} is also in [{before}]: {why}")
            } else {
                format!(
                    "{id} and {other} in [{before}] share the domain {domain}: names can't distinguish them, so \
                     remove one"
                )
            };
            return wrong(table, "plmns", what);
        }
        Ok(())
    }
}
