//! Clients with a valid certificate, and with another one: T1, T2, T3, T6, T8 and T12 as curl and OpenSSL see them,
//! including resumed connections.

use tessera_sepp_tests::{Function, HOME, THIRD, VISITED, Words, World};
use tessera_test_peers::{PATIENCE, openssl};

use crate::SEPP;

const AM_DATA: &str = "/nudm-sdm/v2/imsi-999700000000001/am-data";
const EXCHANGE: &str = "/n32c-handshake/v1/exchange-capability";
const TERMINATE: &str = "/n32c-handshake/v1/n32f-terminate";

fn target(root: &str) -> String {
    format!("3gpp-sbi-target-apiroot: {root}")
}

/// Returns curl's status; `000` without HTTP.
fn status(said: &str) -> &str {
    said.rsplit('\n').next().unwrap()
}

#[test]
fn nothing_passes_without_an_association_and_nothing_leads_elsewhere() {
    let world = World::start(SEPP, Words::default());
    let n32f = world.home().places.n32f.port();
    let udm = target(Function::API_ROOT);
    let said = world.curl_as("third.pem", n32f, &["-H", &udm], AM_DATA);
    assert_eq!(status(&said), "403", "{said}\n{}", world.output());
    assert!(said.contains("CONTEXT_NOT_FOUND"), "{said}");
    let inside = world.udm.address.to_string();
    for (target_root, is_status) in [
        (format!("http://{inside}"), "400"),
        ("http://[::1]:8000".to_owned(), "400"),
        (
            format!("http://udm.5gc.mnc410.mcc310.3gppnetwork.org:{}", world.udm.address.port()),
            "403",
        ),
        ("http://localhost".to_owned(), "403"),
    ] {
        let said = world.curl_as("visited.pem", n32f, &["-H", &target(&target_root)], AM_DATA);
        assert_eq!(status(&said), is_status, "{target_root}: {said}");
    }
    assert!(world.udm.asked().is_empty(), "{:?}", world.udm.asked());
    // A permitted client.
    let said = world.curl_as("visited.pem", n32f, &["-H", &udm], AM_DATA);
    assert_eq!(status(&said), "200", "{said}");
    // It claims another identity: T4.
    let spoofed = "3gpp-sbi-originating-network-id: 262-01; src: SEPP-sepp2";
    let said = world.curl_as("visited.pem", n32f, &["-H", &udm, "-H", spoofed], AM_DATA);
    assert_eq!(status(&said), "403", "{said}");
    assert_eq!(world.udm.asked().len(), 1);
    assert!(world.home().metric("sepp_policy_rejects_total", &[]) > 0);
}

#[test]
fn a_third_operator_ends_nobodys_association() {
    let world = World::start(SEPP, Words::default());
    let n32c = world.home().places.n32c.port();
    let say = |certificate: &str, sender: &str, what: &str| {
        let body = format!(
            "{{\"sender\":\"{sender}\",\"supportedSecCapabilityList\":[\"{what}\"],\
             \"plmnIdList\":[{{\"mcc\":\"001\",\"mnc\":\"01\"}}]}}"
        );
        let words = ["-H", "content-type: application/json", "-d", &body];
        world.curl_as(certificate, n32c, &words, EXCHANGE)
    };
    for what in ["NONE", "TLS"] {
        let said = say("third.pem", VISITED, what);
        assert_eq!(status(&said), "403", "{what}: {said}");
        assert!(world.home().is(VISITED, "established"), "{what}");
    }
    let context = ["-H", "content-type: application/json", "-d", r#"{"n32fContextId":"0"}"#];
    let said = world.curl_as("third.pem", n32c, &context, TERMINATE);
    assert!(status(&said).starts_with('4'), "{said}");
    world.get_over_new_connection();
    assert!(world.home().is(VISITED, "established"));
    // Its own one it may.
    let plmn = r#"[{"mcc":"310","mnc":"410"}]"#;
    let own = format!(
        "{{\"sender\":\"{THIRD}\",\"supportedSecCapabilityList\":[\"TLS\"],\"plmnIdList\":{plmn}}}"
    );
    let words = ["-H", "content-type: application/json", "-d", &own];
    let said = world.curl_as("third.pem", n32c, &words, EXCHANGE);
    assert_eq!(status(&said), "200", "{said}");
    assert!(world.home().is(THIRD, "established"));
    // GET is no message of N32-c.
    assert_eq!(status(&world.curl_as("third.pem", n32c, &[], EXCHANGE)), "405");
}

#[test]
fn certificates_with_a_fault_come_nowhere() {
    let world = World::start(SEPP, Words::default());
    let udm = target(Function::API_ROOT);
    for (name, pem) in [
        ("expired.pem", world.visited_ca.issue_expired(VISITED).both_pem()),
        ("wrong-anchor.pem", world.third_ca.issue(VISITED).both_pem()),
        ("spanning.pem", world.visited_ca.issue_with(&[VISITED, THIRD], |_| ()).both_pem()),
        (
            "stranger.pem",
            world.visited_ca.issue("sepp9.5gc.mnc009.mcc001.3gppnetwork.org").both_pem(),
        ),
    ] {
        world.files.write(name, pem);
        for port in [world.home().places.n32c.port(), world.home().places.n32f.port()] {
            let said = world.curl_as(name, port, &["-H", &udm], AM_DATA);
            assert_eq!(status(&said), "000", "{name}: {said}");
        }
    }
    assert!(world.udm.asked().is_empty());
    // A certificate is revoked while in use: its connections end, and its tickets become worthless.
    world.get();
    world.home().directory.write("visited.crl", world.visited_ca.revoking(&[7]));
    world.home().reload();
    let asked = tessera_sepp_tests::request(http::Method::GET, AM_DATA, &world.name());
    world.cut();
    let reply = world.amf.ask(asked.body(bytes::Bytes::new()).unwrap());
    assert!(!reply.status.is_success(), "{reply:?}\n{}", world.output());
    let said =
        world.curl_as("visited.pem", world.home().places.n32f.port(), &["-H", &udm], AM_DATA);
    assert_eq!(status(&said), "000", "{said}");
    assert_eq!(world.udm.asked().len(), 1);
}

/// Runs `openssl s_client` as the visited network's SEPP against a listener, until it prints this or the server ends
/// the connection; returns all output.
#[track_caller]
fn s_client(world: &World, port: u16, until: &str, more: &[&str]) -> String {
    let [certificate, ca] = ["visited.pem", "home-ca.pem"].map(|name| world.files.path(name));
    let words = ["-cert", &certificate, "-key", &certificate, "-CAfile", &ca, "-alpn", "h2"];
    let words = [&words, ["-tls1_3", "-verify_return_error"].as_slice(), more].concat();
    let mut client = openssl::s_client(([127, 0, 0, 1], port).into(), &words);
    client.wait_for("to be connected, or refused", PATIENCE, || {
        (client.output().contains(until) || !client.is_alive()).then_some(())
    });
    client.end_input();
    client.ends();
    client.output()
}

const TICKET: &str = "Post-Handshake New Session Ticket arrived";
const CONNECTED: &str = "Verify return code";

#[test]
fn openssl_comes_back_with_a_key_exchange_and_only_where_its_ticket_counts() {
    let mut world = World::start(SEPP, Words::default());
    let places = world.home().places;
    let session = world.files.path("session.pem");
    let (n32c, n32f) = (places.n32c.port(), places.n32f.port());
    let named = ["-servername", HOME];
    let keep = [named.as_slice(), &["-sess_out", &session]].concat();
    let back = [named.as_slice(), &["-sess_in", &session]].concat();
    let said = s_client(&world, n32f, TICKET, &keep);
    assert!(said.contains("New, TLSv1.3") && said.contains("Verify return code: 0"), "{said}");
    let full = world.home().handshakes("a");
    let said = s_client(&world, n32f, CONNECTED, &back);
    assert!(said.contains("Reused, TLSv1.3"), "{said}");
    assert!(said.contains("Temp Key"), "psk_dhe_ke: {said}");
    world.home().counts("sepp_tls_handshakes_total", &[r#"mode="c""#], 1);
    assert_eq!(world.home().handshakes("a"), full);
    // psk_ke, and early data, without an option that accepts the risk.
    let said = s_client(
        &world,
        n32f,
        CONNECTED,
        &[back.as_slice(), &["-allow_no_dhe_kex", "-groups", "X25519"]].concat(),
    );
    assert!(said.contains("Temp Key"), "{said}");
    let early = world.files.write("early", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let said =
        s_client(&world, n32f, CONNECTED, &[back.as_slice(), &["-early_data", &early]].concat());
    assert!(!said.contains("Early data was accepted"), "{said}");
    assert_eq!(world.home().accepted_early(), 0);
    // Not on N32-c.
    let said = s_client(&world, n32c, CONNECTED, &back);
    assert!(said.contains("New, TLSv1.3"), "{said}");
    // Without a name, the server can't be the intended one.
    let said = s_client(&world, n32f, "alert", &["-noservername"]);
    assert!(said.contains("alert"), "{said}");
    let said = s_client(&world, n32f, "alert", &["-servername", VISITED]);
    assert!(said.contains("alert"), "{said}");
    // It is invalid in the other direction: at the listener of the network that got it.
    let said = s_client(&world, world.visited.places.n32f.port(), CONNECTED, &back);
    assert!(!said.contains("Reused"), "{said}");
    // It is still valid in the right place.
    let said = s_client(&world, n32f, CONNECTED, &back);
    assert!(said.contains("Reused, TLSv1.3"), "{said}");
    // After a termination it is worthless.
    assert!(world.visited.end().success());
    world.home().becomes(VISITED, "terminated");
    let said = s_client(&world, n32f, CONNECTED, &back);
    assert!(said.contains("New, TLSv1.3"), "{said}");
    // The peer is back: another association, and the ticket of the earlier one stays worthless.
    world.visited.start();
    world.associated();
    let said = s_client(&world, n32f, CONNECTED, &back);
    assert!(said.contains("New, TLSv1.3"), "{said}\n{}", world.output());
    world.get();
}
