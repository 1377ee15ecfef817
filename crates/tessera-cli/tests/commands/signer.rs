//! `tessera signer`, and an edge proxy whose key is there.

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tessera_proxy::demo::{Authority, Files};
use tessera_test_peers::{Directory, free_port, openssl};

use crate::program::{run, stderr, tessera};
use crate::running::RunningTunnel;

/// Starts `tessera KIND run FILE`, and waits until it listens.
fn start(kind: &str, files: &Files, file: &str) -> RunningTunnel {
    let process = RunningTunnel::spawn(tessera().args([kind, "run"]).arg(files.path(file)));
    process.says("listening");
    process
}

/// Has OpenSSL connect to the proxy; returns whether the handshake was completed, and its output.
fn connect(address: SocketAddr, ca: &str) -> (bool, String) {
    let arguments = ["-CAfile", ca, "-verify_return_error", "-verify_hostname", "www.example"];
    let mut client = openssl::s_client(address, &arguments);
    client.end_input();
    (client.ends(), client.output())
}

#[test]
fn a_proxy_serves_with_a_key_that_it_never_has_while_the_signer_allows_it() {
    let files = Files::make().unwrap();
    let signers = Authority::make(&files, "signers.pem", "signers").unwrap();
    signers.certify(&files, "signer.pem", "localhost").unwrap();
    signers.certify(&files, "edge.pem", "edge-a.internal").unwrap();
    let origin = Authority::make(&files, "origin.pem", "origin").unwrap();
    origin.certify(&files, "www.pem", "www.example").unwrap();
    files.write("pool.key", &"07".repeat(32)).unwrap();
    // What the proxy has of it.
    let both = std::fs::read_to_string(files.path("www.pem")).unwrap();
    let (certificate, _) = both.split_once("-----BEGIN PRIVATE KEY").unwrap();
    files.write("www-certificate.pem", certificate).unwrap();
    let [signer, clients, peers] = [(); 3].map(|()| free_port().unwrap());
    let of_signer = |allow: &str| {
        let text = format!(
            "[signer]\nlisten = \"127.0.0.1:{signer}\"\ncertificate = \"signer.pem\"\nca = \"signers.pem\"\n\
             [key.www]\ncertificate = \"www.pem\"\nallow = [\"{allow}\"]\nrate = 1000\n"
        );
        std::fs::write(files.path("signer.toml"), text).unwrap();
    };
    of_signer("edge-a.internal");
    let text = format!(
        "[pool]\nfile = \"store\"\nkey = \"pool.key\"\n\
         [proxy]\nname = \"a\"\nlisten = \"127.0.0.1:{clients}\"\nannounce = \"a.example:443\"\n\
         certificate = \"www-certificate.pem\"\n\
         signer = {{ servers = [\"localhost:{signer}\"], name = \"www\", ca = \"signers.pem\", certificate = \"edge.pem\" }}\n\
         [peers]\nlisten = \"127.0.0.1:{peers}\"\naddress = \"edge-a.internal:{peers}\"\ncertificate = \"edge.pem\"\n\
         ca = \"signers.pem\"\n[service.web]\ninstances = [\"127.0.0.1:1\"]\n"
    );
    files.write("edge.toml", &text).unwrap();
    let check = |kind: &str| {
        let file = files.path(&format!("{kind}.toml"));
        let output = run(tessera().args([kind, "check"]).arg(file), "");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(check("signer").contains("edge-a.internal"));
    assert!(check("edge").contains(&format!("`www` of the signers at localhost:{signer}")));

    // Peers can't read what only this user can.
    let readable = Directory::new();
    let ca = readable.write("ca.pem", std::fs::read(files.path("origin.pem")).unwrap());
    let address = SocketAddr::from(([127, 0, 0, 1], clients));
    let proxy = start("edge", &files, "edge.toml");
    let is_signed = || connect(address, &ca).0;
    let is_refused = || {
        let (is_complete, output) = connect(address, &ca);
        !is_complete && output.contains("alert internal error")
    };
    assert!(is_refused(), "there is no signer yet");
    let signing = start("signer", &files, "signer.toml");
    // The proxy connects again after a pause.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_signed() {
        assert!(Instant::now() < deadline, "{}", connect(address, &ca).1);
        sleep(Duration::from_millis(100));
    }

    // The proxy's connections are open.
    of_signer("edge-b.internal");
    signing.signal("-HUP");
    signing.says("reloaded");
    assert!(is_refused());
    proxy.says("refused: no name of the client's certificate is allowed");
    signing.says("no name of the client's certificate is allowed for this key");

    // It is gone.
    drop(signing);
    assert!(is_refused());
}

#[test]
fn a_wrong_key_is_named_with_its_line() {
    let files = Files::make().unwrap();
    let text = include_str!("../../../../packaging/signer.toml").replace("rate = 200", "rate = 0");
    files.write("signer.toml", &text).unwrap();
    let output = run(tessera().args(["signer", "check"]).arg(files.path("signer.toml")), "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("signer.toml:18: "), "{}", stderr(&output));
}
