//! Certificates that expire soon: in the log once, and as a metric.

use std::fs;
use std::time::{Duration, SystemTime};

use tessera_tunnel_tests::tessera::{Tunnels, server_section};
use tessera_tunnel_tests::{Pki, free_address};

use crate::TESSERA;

#[test]
fn a_certificate_that_ends_soon_is_a_warning_and_a_metric_until_a_reload_renews_it() {
    let pki = Pki::new();
    let soon = pki.server_for_days("soon", 3);
    let section = server_section(&pki, "db", &free_address().to_string(), free_address(), "");
    let section = section
        .replace(&pki.server.certificate, &soon.certificate)
        .replace(&pki.server.key, &soon.key);
    let tunnels = Tunnels::run(TESSERA, &section);
    let ends = |cert: &str| {
        let cert = format!("cert=\"{cert}\"");
        let labels = [r#"tunnel="db""#, r#"role="server""#, &cert];
        Duration::from_secs(tunnels.metric("tessera_tunnel_cert_not_after_seconds", &labels))
    };
    let day = Duration::from_secs(86_400);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let own = ends("own");
    assert!(own > now + 2 * day && own <= now + 3 * day, "{own:?} at {now:?}");
    assert!(ends("root") > now + 300 * day);
    let warning = format!("[server.db] certificate ({}) expires within 3 days", soon.certificate);
    tunnels.process().says(&warning);

    let renewed = pki.server_for_days("renewed", 40);
    fs::copy(&renewed.key, &soon.key).unwrap();
    fs::copy(&renewed.certificate, &soon.certificate).unwrap();
    for reloads in 1..=2 {
        tunnels.process().hang_up();
        tunnels.counts("tessera_tunnel_reloads_total", &[r#"result="reloaded""#], reloads);
        tunnels.process().says_times("\"reloaded\"", reloads as usize);
    }
    assert!(ends("own") > now + 39 * day);
    let output = tunnels.process().stderr();
    assert_eq!(output.matches("expires within").count(), 1, "{output}");
}
