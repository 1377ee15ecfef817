//! Programs unrelated to Tessera as network functions, and another SEPP.

use tessera_sepp_tests::{Function, HOME, VISITED, Words, World};
use tessera_test_peers::http::{curl, h2load};
use tessera_test_peers::{Network, Process, free_port};

use crate::SEPP;

const TARGET: &str = "3gpp-sbi-target-apiroot: http://udm.5gc.mnc070.mcc999.3gppnetwork.org:8000";

#[test]
fn curl_asks_as_a_network_function() {
    let world = World::start(SEPP, Words::default());
    let sbi = format!("http://{}/nudm-sdm/v2/imsi-999700000000001", world.visited.places.sbi);
    for version in ["--http2-prior-knowledge", "--http1.1"] {
        let ask = |more: &[&str], end: &str| {
            let url = format!("{sbi}/{end}");
            curl(&[&[version, "-H", TARGET, "-w", "\n%{http_code}"], more, &[&url]].concat())
        };
        assert_eq!(ask(&[], "am-data"), format!("{}\n200", Function::AM_DATA), "{version}");
        let json = ["-H", "content-type: application/json", "-d", r#"{"priority":1}"#];
        assert_eq!(ask(&json, "created"), "{\"priority\":1}\n201", "{version}");
        assert_eq!(ask(&["-X", "DELETE"], "nothing"), "\n204", "{version}");
        assert!(ask(&[], "missing").ends_with("\n404"), "{version}");
        // A function with an unreachable target gets an error.
        let nowhere = "3gpp-sbi-target-apiroot: http://udm.5gc.mnc009.mcc262.3gppnetwork.org";
        let said =
            curl(&[version, "-H", nowhere, "-w", "\n%{http_code}", &format!("{sbi}/am-data")]);
        assert!(said.contains("\"cause\"") && !said.ends_with("200"), "{version}: {said}");
    }
}

#[test]
fn h2load_is_answered_whole() {
    let world = World::start(SEPP, Words::EARLY);
    let url =
        format!("http://{}/nudm-sdm/v2/imsi-999700000000001/am-data", world.visited.places.sbi);
    let before = world.udm.asked().len();
    let report = h2load(&["-n", "600", "-c", "3", "-m", "20", "-H", TARGET, &url]);
    assert!(report.contains("600 succeeded, 0 failed, 0 errored, 0 timeout"), "{report}");
    assert!(report.contains("600 2xx"), "{report}");
    assert_eq!(world.udm.asked().len() - before, 600);
    let relayed = [r#"direction="incoming""#, r#"code="200""#];
    assert_eq!(world.home().metric("sepp_n32f_requests_total", &relayed), 600);
}

/// Envoy replaces the visited network's SEPP, once N32-c was agreed: another TLS library, which resumes.
#[test]
#[ignore = "needs ENVOY, the program: `make sepp`"]
fn envoy_asks_over_n32f() {
    let program = std::env::var("ENVOY").expect("ENVOY names the program");
    let world = World::start(SEPP, Words::default());
    let listen = free_port().unwrap();
    let text = include_str!("envoy.yaml")
        .replace("LISTEN", &listen.to_string())
        .replace("N32F", &world.home().places.n32f.port().to_string())
        .replace("HOME", HOME)
        .replace("CERTIFICATE", &world.files.path("visited.pem"))
        .replace("AUTHORITY", &world.files.path("home-ca.pem"));
    world.files.write("envoy.yaml", text);
    let config = world.files.path("envoy.yaml");
    let words = ["-c", &config, "--disable-hot-restart", "--concurrency", "1", "-l", "warn"];
    let mut envoy = Process::start_compiled("envoy", &program, Network::Loopback, words);
    envoy.listens_on(listen);
    let (full, resumed) = (world.home().handshakes("a"), world.home().handshakes("c"));
    let url = format!("http://127.0.0.1:{listen}/nudm-sdm/v2/imsi-999700000000001/am-data");
    let ask =
        |more: &[&str]| curl(&[&["-H", TARGET, "-w", "\n%{http_code}"], more, &[&url]].concat());
    for _ in 0..5 {
        assert_eq!(ask(&[]), format!("{}\n200", Function::AM_DATA));
    }
    let (full, resumed) =
        (world.home().handshakes("a") - full, world.home().handshakes("c") - resumed);
    println!("envoy made {full} full handshakes and came back {resumed} times");
    assert!(full >= 1 && resumed >= 1, "{full}, {resumed}\n{}", world.output());
    // A false claim is refused.
    let said = ask(&["-H", "3gpp-sbi-originating-network-id: 310-410"]);
    assert!(said.ends_with("\n403"), "{said}");
    envoy.kill();
}

/// N32-c with another product, which `OPEN5GS_SEPP` starts as the visited network's SEPP: see the README.
#[test]
fn open5gs_agrees_on_n32() {
    let Some(program) = std::env::var("OPEN5GS_SEPP").ok() else {
        println!("not run: OPEN5GS_SEPP names no program");
        return;
    };
    let mut world = World::new(SEPP, Words::default());
    world.home.iter_mut().for_each(|sepp| sepp.start());
    let (home, visited) = (world.home().places, world.visited.places);
    let words = [
        world.files.path(""),
        home.n32c.to_string(),
        visited.n32c.to_string(),
        visited.n32f.to_string(),
        visited.sbi.to_string(),
    ];
    let mut open5gs = Process::start_compiled("open5gs", &program, Network::Loopback, words);
    world.home().becomes(VISITED, "established");
    // It learns that the SEPP shuts down, and starts again when it is back.
    assert!(world.home[0].end().success());
    world.home[0].start();
    world.home().becomes(VISITED, "established");
    open5gs.kill();
}
