//! `tessera sepp demo`.

use serde_json::Value;

use crate::program::{run, stderr, tessera};

#[test]
fn the_demonstration_ends_by_itself_and_reports_what_happened() {
    let output = run(tessera().args(["sepp", "demo"]), "");
    let told = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}{}", stderr(&output));
    for text in [
        "Nnrf_NFManagement_NFRegister",
        "exchange-capability with 999-70: TLS chosen",
        "exchange-capability with 001-01: TLS chosen",
        " 1 Nnrf_NFDiscovery_Request ",
        " 2 Nausf_UEAuthentication_Authenticate ",
        "13 Nudm_UECM_Update ",
        "N32-f: (a) full handshake",
        "N32-f: (c) resumed by psk_dhe_ke",
        "N32-f: (e) resumed with 0-RTT FS",
        "TLS no round trip before the request",
        "sends the recorded first flight again",
        "N32-f without an association: 403, refused by the rule `association`",
        "refused by the rule `sender`",
        "refused by the rule `plmn-in-header`",
        "refused by the rule `plmn-in-json`",
        "refused by the rule `target`",
        "the association with 001-01 is terminated",
        "Nnrf_NFManagement_NFDeregister: deregistered at its NRF",
        "13 transactions of the registration; 16 requests made, 16 executed; handshakes a, c, a, e.",
        "nothing was executed again.",
        "9 of 9 attempts were refused.",
    ] {
        assert!(told.contains(text), "{text:?} is not in\n{told}");
    }
}

#[test]
fn the_demonstration_is_objects_for_programs() {
    let output = run(tessera().args(["sepp", "demo", "--json"]), "");
    let text = String::from_utf8(output.stdout).unwrap();
    let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(told.iter().all(|fact| fact["facts"] == 1), "{text}");
    let of = |event: &str| told.iter().filter(|fact| fact["event"] == event).count();
    assert_eq!((of("transaction"), of("connection"), of("attempt"), of("demo")), (16, 4, 9, 1));
    let end = told.last().unwrap();
    assert_eq!(end["executed_again"], 0, "{end}");
    assert_eq!(end["was_early"], true, "{end}");
    assert_eq!((&end["asked"], &end["executed"]), (&16.into(), &16.into()), "{end}");
    // Each byte takes 20 ms: a flight and its answer 40, with the handshake before them 80.
    assert!(end["full_micros"].as_u64() >= Some(80_000), "{end}");
    assert!(end["early_micros"].as_u64() >= Some(40_000), "{end}");
}
