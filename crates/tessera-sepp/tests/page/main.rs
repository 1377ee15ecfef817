//! `docs/sepp.md` has every key, rule, cause, metric and event, and no other.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

mod keys;

use std::collections::BTreeSet;
use std::time::Duration;

use http::StatusCode;
use tessera::Facts;
use tessera_proxy::admin;
use tessera_proxy::certificates::CertificateEnd;
use tessera_proxy::stores::{EtcdSection, Fleet, SiteSection, SitesSection};
use tessera_sepp::config::{
    Configuration, Guard, Limits, Listen, Local, Nrf, Peer, PeerGuard, Process, Rate, Reconnection,
    Sbi, Tickets, TrustAnchor,
};
use tessera_sepp::guard::Rule;
use tessera_sepp::metrics::{Direction, Metrics, Result, Role};
use tessera_sepp::n32c::association as n32c;

use crate::keys::keys_of;

const PAGE: &str = include_str!("../../../../docs/sepp.md");

/// Returns the text under a heading, up to the next one of its level.
fn section(heading: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("\n{heading}\n")).unwrap();
    let rank = heading.split(' ').next().unwrap();
    let rest = rest.split(&format!("\n{rank} ")).next().unwrap();
    if rank == "###" { rest.split("\n## ").next().unwrap() } else { rest }
}

/// Returns the names in the first column of the tables there.
fn first_column(heading: &str) -> BTreeSet<&'static str> {
    let rows = section(heading).lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split("` |").next());
    cells.flat_map(|cell| cell.split("`, `")).collect()
}

#[test]
fn every_key_of_the_configuration_is_documented_and_no_other() {
    for (heading, keys) in [
        ("### `[process]`", keys_of::<Process>()),
        ("### `[local]`", keys_of::<Local>()),
        ("### `[listen]`", keys_of::<Listen>()),
        ("### `[sbi]`", keys_of::<Sbi>()),
        ("### `[nrf]`", keys_of::<Nrf>()),
        ("### `[trust.NAME]`", keys_of::<TrustAnchor>()),
        ("### `[peer.NAME]`", keys_of::<Peer>()),
        ("### `[peer.NAME.reconnection]`", keys_of::<Reconnection>()),
        ("### `[peer.NAME.guard]`", keys_of::<PeerGuard>()),
        ("### `[guard]`", keys_of::<Guard>()),
        ("### `[limits]`", keys_of::<Limits>()),
        ("### `[tickets]`", keys_of::<Tickets>()),
        ("### `[tickets.fleet]`", keys_of::<Fleet>()),
    ] {
        // These have their own tables.
        let tables = ["reconnection", "guard", "fleet"];
        let keys: BTreeSet<_> = keys.into_iter().filter(|key| !tables.contains(key)).collect();
        assert_eq!(first_column(heading), keys, "{heading}");
    }
    for (heading, keys) in [
        ("### `[peer.NAME.guard]`", keys_of::<Rate>()),
        ("### `[tickets.fleet]`", keys_of::<EtcdSection>()),
        ("### `[tickets.fleet]`", keys_of::<SitesSection>()),
        ("### `[tickets.fleet]`", keys_of::<SiteSection>()),
    ] {
        for key in keys {
            assert!(section(heading).contains(key), "{key} in {heading}");
        }
    }
    for table in keys_of::<Configuration>() {
        assert!(PAGE.contains(&format!("### `[{table}")), "{table}");
    }
    for service in PeerGuard::ROAMING {
        assert!(section("### `[peer.NAME.guard]`").contains(&format!("`{service}`")), "{service}");
    }
}

#[test]
fn every_rule_is_documented_with_its_answer() {
    let rules: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(first_column("## Rules"), rules);
    for rule in Rule::ALL {
        let row = format!("| `{rule}` | {} `{}` |", rule.status().as_u16(), rule.cause());
        assert!(PAGE.contains(&row), "{row}");
    }
    for rule in n32c::Rule::ALL {
        assert!(section("## Rules").contains(&format!("`{rule}`")), "{rule}");
        let cause = rule.cause().map(|cause| format!(" `{}`", cause.as_str())).unwrap_or_default();
        let row = format!("| `{rule}` | {}{cause} |", rule.status().as_u16());
        assert!(section("## Statuses and causes").contains(&row), "{row}");
    }
}

#[test]
fn every_cause_and_every_event_is_documented() {
    let causes = include_str!("../../src/sbi/errors.rs").split("#[cfg(test)]").next().unwrap();
    let causes = [causes, include_str!("../../src/sepp/failure.rs")].map(|text| text.split('"'));
    let is_cause = |text: &&str| {
        text.len() > 5 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let causes: BTreeSet<_> = causes.into_iter().flatten().filter(is_cause).collect();
    assert!(causes.len() > 15, "{causes:?}");
    for cause in &causes {
        assert!(section("## Statuses and causes").contains(&format!("`{cause}`")), "{cause}");
    }
    // And none without a use.
    let of_n32c = include_str!("../../src/n32c/messages/problem.rs");
    for cause in section("## Statuses and causes").split('`').filter(is_cause) {
        assert!(causes.contains(cause) || of_n32c.contains(cause), "{cause}");
    }
    let events = include_str!("../../src/events/mod.rs").split("event = \"").skip(1);
    let events: BTreeSet<_> = events.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(first_column("## Security events"), events);
}

#[test]
fn every_metric_is_documented() {
    let page = first_column("## Metrics and alarms");
    let source = include_str!("../../src/metrics/mod.rs");
    let rows = source.lines().filter_map(|line| line.strip_prefix("/// | `sepp_"));
    let described: BTreeSet<_> = rows.map(|row| row.split('`').next().unwrap()).collect();
    let on_page: BTreeSet<_> = page.iter().filter_map(|name| name.strip_prefix("sepp_")).collect();
    assert_eq!(on_page, described);
    // The exposed metrics have no other names.
    let registry = admin::Metrics::new();
    let metrics = Metrics::register(&registry);
    let peer = metrics.peer(&"sepp.example.org".parse().unwrap());
    peer.n32c_handshake(Role::Initiator, Result::Ok, "");
    peer.association_state(1);
    peer.handshake(&Facts::default(), Duration::from_millis(3));
    peer.request(Direction::Outgoing, "nudm-sdm", StatusCode::OK, Duration::from_secs(1));
    peer.refused("plmn-in-json");
    peer.logged("plmn-in-json");
    peer.rate_limited();
    let series = vec![vec![("peer", String::new()), ("cert", "own".to_owned())]];
    metrics.certificates(&[CertificateEnd { whose: "it".to_owned(), expires_at: 1, series }]);
    metrics.reload(Result::Ok);
    metrics.watch("n32f", &tessera_proxy::gate::Gate::new(Default::default()));
    let text = registry.text();
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let families: Vec<_> = families.filter(|(name, _)| name.starts_with("sepp_")).collect();
    assert!(families.len() > 15, "{families:?}");
    for (name, kind) in families {
        let name = if kind == "counter" { format!("{name}_total") } else { name.to_owned() };
        assert!(page.contains(name.as_str()), "{name}");
    }
}
