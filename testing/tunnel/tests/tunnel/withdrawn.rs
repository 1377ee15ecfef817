//! A client that a reload of the server end no longer allows.

use tessera_test_peers::PATIENCE;
use tessera_tunnel_tests::CLIENT_NAME;
use tessera_tunnel_tests::tessera::server_section;

use crate::stage::{Persistence, Stage};

#[test]
fn a_withdrawn_client_learns_that_it_is_and_that_its_flight_was_not_executed() {
    let stage = Stage::start(Persistence::Nothing);
    stage.warm_up();
    let listen = stage.server_address.to_string();
    let section = server_section(&stage.pki, "backend", &listen, stage.backend.address(), "");
    stage.server.rewrite(&section.replace(CLIENT_NAME, "other.example"));
    stage.server.process().hang_up();
    stage.server.counts("tessera_tunnel_reloads_total", &[r#"result="reloaded""#], 1);
    let (burned, unknown) = (stage.early("burned"), stage.early("unknown"));
    let (name, answer) = stage.ask();
    answer.unwrap_err();
    let client = stage.client.process();
    let line = client.wait_for("to report the refusal", PATIENCE, || {
        let output = client.stderr();
        let line = output.lines().find(|line| line.contains("the server refuses this end"))?;
        Some(line.to_owned())
    });
    assert!(line.contains(r#""outcome":"peer_failed""#), "{line}");
    assert!(line.contains(r#""verdict":"burned""#), "{line}");
    assert_eq!((stage.early("burned"), stage.early("unknown")), (burned + 1, unknown));
    assert_eq!(stage.ended("reset_by_verdict"), 0);
    assert_eq!(stage.backend.executions_of(&name, 0), 0);
}
