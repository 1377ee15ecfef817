//! A SEPP from start to end.

use std::io::{Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::world::{HOME, UDM, VISITED, World, answer_to, udm};
use crate::program::tessera;
use crate::running::{PATIENCE, RunningTunnel, keys_asked_for};

const AM_DATA: &str = "/nudm-sdm/v2/imsi-999700000000001/am-data";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_agree_relay_report_and_part() {
    let world = World::new();
    let [home, visited] = world.start(udm().await);
    let answer = world.request(&world.visited, "GET", UDM, AM_DATA);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with(&answer_to("GET", AM_DATA)), "{answer}");

    // Rejected at home: the API is not one for roaming. One line, with no more of the subscriber than the network.
    let answer = world.request(&world.visited, "GET", UDM, "/nudr-dr/v1/imsi-999700000000001");
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    let told = home.says("a message was refused");
    assert_eq!(
        (&told["target"], &told["rule"], &told["peer"], &told["direction"]),
        (&"tessera::security".into(), &"api".into(), &VISITED.into(), &"incoming".into())
    );
    assert!(!told.to_string().contains("imsi-999700000000001"), "{told}");

    // Nothing listens there. The reason is in the log, but not in the answer to the peer.
    let nobody = "amf.5gc.mnc070.mcc999.3gppnetwork.org";
    let answer = world.request(&world.visited, "GET", nobody, AM_DATA);
    assert!(answer.contains("TARGET_NF_NOT_REACHABLE") && !answer.contains("detail"), "{answer}");
    let told = home.says("a request got no answer");
    assert_eq!(
        (&told["peer"], &told["direction"], &told["service"], &told["cause"]),
        (
            &VISITED.into(),
            &"incoming".into(),
            &"nudm-sdm".into(),
            &"TARGET_NF_NOT_REACHABLE".into()
        )
    );

    let metrics = world.ask(&world.home, "GET", "/metrics");
    for series in [
        format!("sepp_n32_association_state{{peer=\"{VISITED}\"}} 1\n"),
        format!(
            "sepp_n32f_requests_total{{peer=\"{VISITED}\",direction=\"incoming\",code=\"200\",service=\"nudm-sdm\"}} 1\n"
        ),
        format!("sepp_policy_rejects_total{{peer=\"{VISITED}\",rule=\"api\"}} 1\n"),
        format!("sepp_tls_handshakes_total{{peer=\"{VISITED}\",mode=\"a\",result=\"ok\"}} "),
        "sepp_cert_not_after_seconds{peer=\"\",cert=\"own\"} ".to_owned(),
    ] {
        assert!(metrics.contains(&series), "{series} in\n{metrics}");
    }
    assert!(keys_asked_for(&metrics, "x25519") > 0, "{metrics}");
    assert!(world.ask(&world.home, "GET", "/healthz").ends_with("ok\n"));
    assert!(world.ask(&world.home, "GET", "/readyz").ends_with("ready\n"));
    let peers = world.ask(&world.visited, "GET", "/peers");
    let body = peers.split_once("\r\n\r\n").unwrap().1;
    let peers: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(peers[0]["fqdn"], HOME);
    assert_eq!(peers[0]["association"]["plmns"], serde_json::json!(["999-70"]));

    // An operator ends N32 with a peer, and starts it again.
    let path = format!("/peers/{HOME}");
    assert!(world.ask(&world.visited, "GET", &path).contains("\"state\": \"established\""));
    assert!(world.ask(&world.visited, "POST", &format!("{path}/drain")).contains(" 202 "));
    visited.says("the association is terminated");
    home.says("the association is terminated");
    let answer = world.request(&world.visited, "GET", UDM, AM_DATA);
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    assert!(world.ask(&world.visited, "GET", "/readyz").contains("association: none"));
    assert!(world.ask(&world.visited, "POST", &format!("{path}/reestablish")).contains(" 202 "));
    visited.says("the association is established");
    home.says("the association is established");
    assert!(world.request(&world.visited, "GET", UDM, AM_DATA).contains(" 200 OK"));
    assert!(world.ask(&world.visited, "POST", "/peers/x.example.org/drain").contains(" 404 "));

    // A SEPP that shuts down ends N32 first.
    assert_eq!(visited.end().code(), Some(0));
    home.says("the association is terminated");
    assert_eq!(home.end().code(), Some(0));
}

/// The socket itself has a longer limit.
#[test]
fn an_http2_connection_without_requests_is_counted_as_timed_out() {
    let world = World::new();
    let limits = "[limits]\nidle = \"1s\"\n";
    let file = world.write(&world.home, &world.text(&world.home, &world.visited, limits));
    let running = RunningTunnel::spawn(tessera().args(["sepp", "run", &file]));
    running.says("listening");
    let mut socket = world.connect(&world.home);
    // RFC 9113 §3.4: the preface, and an empty SETTINGS.
    socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    socket.read_to_end(&mut Vec::new()).unwrap();
    let series = "sepp_timed_out_connections_total{listener=\"sbi\",limit=\"idle\"} 1\n";
    // It is counted when its task ends, just after the socket.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let metrics = world.ask(&world.home, "GET", "/metrics");
        if metrics.contains(series) {
            return;
        }
        assert!(Instant::now() < deadline, "{metrics}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_file_that_can_run_is_summed_up() {
    let world = World::new();
    let text = world.text(
        &world.home,
        &world.visited,
        "reconnection = { risky-psk-ke = true }\n[sbi]\ntarget-prefixes = [\"/core1\"]\n",
    );
    let file = world.write(&world.home, &text);
    let output = tessera().args(["sepp", "check", &file]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        format!("{file} can run."),
        format!("{HOME} for 999-70"),
        format!("[peer.visited] {VISITED}"),
        "(b) psk_ke: a risk".to_owned(),
        "/core1".to_owned(),
        "[peer.visited] reconnection.risky-psk-ke: an attacker who gets".to_owned(),
        "this SEPP's certificate expires within 2 days".to_owned(),
    ] {
        assert!(told.contains(&line), "{line} in\n{told}");
    }
}
