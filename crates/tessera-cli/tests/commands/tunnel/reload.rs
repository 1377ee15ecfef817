//! SIGHUP reloads all files, or none.

use std::fs;

use crate::program::{P256, replace_by_pipe};
use crate::running::{RunningTunnel, Stage, ask, backend};

#[test]
fn a_reload_takes_all_of_the_files_or_none() {
    let stage = Stage::new();
    let good = [stage.server("a", backend(""), ""), stage.server("b", backend(""), "")];
    let file = stage.write("server", &[&good[0], &good[1]]);
    let server = RunningTunnel::start(&file);
    let [a, b] = server.addresses();
    let sections = [stage.client("a", a, ""), stage.client("b", b, "")];
    let client = RunningTunnel::start(&stage.write("client", &[&sections[0], &sections[1]]));
    let [entrance, _] = client.addresses();
    assert_eq!(ask(entrance, "one").unwrap(), "one");

    // Only the second tunnel's file is broken; the first one's has changed.
    let (certificate, key) = (stage.pki.path("server.pem"), stage.pki.path("server.key"));
    let kept = fs::read(&certificate).unwrap();
    stage.pki.issue("other", "subjectAltName=DNS:localhost", P256);
    let other = good[0].replace(&key, &stage.pki.path("other.key"));
    let other = other.replace(&certificate, &stage.pki.path("other.pem"));
    let broken = stage.files.write("broken.pem", "garbage\n");
    stage.write("server", &[&other, &good[1].replace(&certificate, &broken)]);
    server.signal("-HUP");
    let told = server.says("not reloaded");
    assert_eq!(told["level"], "ERROR");
    assert!(told["message"].as_str().unwrap().contains("broken.pem"), "{told}");
    assert_eq!(ask(entrance, "two").unwrap(), "two");
    let failed = "tessera_tunnel_reloads_total{tunnel=\"b\",role=\"server\",result=\"failed\"} 1\n";
    let metrics = stage.ask("server", "/metrics");
    assert!(metrics.contains(failed), "{metrics}");

    // A file that is no configuration at all.
    fs::write(&file, "[server.a\n").unwrap();
    server.signal("-HUP");
    let told = server.says("not reloaded");
    assert!(told["message"].as_str().unwrap().contains("server:1: "), "{told}");
    assert_eq!(told["file"], file);
    assert_eq!(ask(entrance, "three").unwrap(), "three");

    // All valid; settings that can't change are reported, and stay.
    let moved = other.replace("127.0.0.1:0", "127.0.0.1:1");
    stage.write("server", &[&moved, &good[1]]);
    server.signal("-HUP");
    let told = server.says("waits for a restart");
    assert!(told["message"].as_str().unwrap().starts_with("[server.a] listen"), "{told}");
    let told = server.says("reloaded");
    assert_eq!(
        (told["tunnel"].as_str(), told["certificate_changed"].as_bool()),
        (Some("a"), Some(true))
    );
    assert_eq!(ask(entrance, "four").unwrap(), "four");
    assert_eq!(fs::read(&certificate).unwrap(), kept);
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_client_that_is_not_named_any_more_is_refused_after_a_reload() {
    let stage = Stage::new();
    let section = stage.server("a", backend(""), "");
    let server = RunningTunnel::start(&stage.write("server", &[&section]));
    let [address] = server.addresses();
    let client = RunningTunnel::start(&stage.write("client", &[&stage.client("a", address, "")]));
    let [entrance] = client.addresses();
    assert_eq!(ask(entrance, "one").unwrap(), "one");
    stage.write("server", &[&section.replace("client.example", "another.example")]);
    server.signal("-HUP");
    assert_eq!(server.says("reloaded")["ended_sessions_of_certificates"], true);
    assert!(ask(entrance, "two").is_err());
    stage.write("server", &[&section]);
    server.signal("-HUP");
    server.says("reloaded");
    assert_eq!(ask(entrance, "three").unwrap(), "three");
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_server_that_is_not_named_any_more_is_refused_after_a_reload() {
    let stage = Stage::new();
    let server =
        RunningTunnel::start(&stage.write("server", &[&stage.server("a", backend(""), "")]));
    let [address] = server.addresses();
    let section = stage.client("a", address, "");
    let client = RunningTunnel::start(&stage.write("client", &[&section]));
    let [entrance] = client.addresses();
    assert_eq!(ask(entrance, "one").unwrap(), "one");
    stage.write("client", &[&section, "names = [\"another.example\"]\n"]);
    client.signal("-HUP");
    assert_eq!(client.says("reloaded")["role"], "client");
    assert!(ask(entrance, "two").is_err());
    let told = client.says("handshake with the server failed");
    assert_eq!(
        (told["level"].as_str(), told["outcome"].as_str()),
        (Some("WARN"), Some("handshake_failed"))
    );
    stage.write("client", &[&section]);
    client.signal("-HUP");
    client.says("reloaded");
    assert_eq!(ask(entrance, "three").unwrap(), "three");
    assert_eq!(client.end().code(), Some(0));
}

/// Opening a pipe blocks until its other end is opened: a pipe in place of a file would block this reload and all later
/// ones.
#[test]
fn a_pipe_in_the_place_of_a_file_fails_one_reload_and_no_later_one() {
    let stage = Stage::new();
    let section = stage.server("a", backend(""), "");
    let file = stage.write("server", &[&section]);
    let server = RunningTunnel::start(&file);
    let [address] = server.addresses();
    let client = RunningTunnel::start(&stage.write("client", &[&stage.client("a", address, "")]));
    let [entrance] = client.addresses();
    for path in ["server.pem", "server.key", "root.pem"].map(|name| stage.pki.path(name)) {
        let kept = fs::read(&path).unwrap();
        replace_by_pipe(&path);
        server.signal("-HUP");
        let told = server.says("not reloaded");
        assert_eq!((told["level"].as_str(), told["file"].as_str()), (Some("ERROR"), Some(&*path)));
        assert!(told["message"].as_str().unwrap().contains("this is a pipe"), "{told}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, kept).unwrap();
    }
    replace_by_pipe(&file);
    server.signal("-HUP");
    assert_eq!(server.says("not reloaded")["file"], file);
    let failed = "tessera_tunnel_reloads_total{tunnel=\"a\",role=\"server\",result=\"failed\"} 4\n";
    let metrics = stage.ask("server", "/metrics");
    assert!(metrics.contains(failed), "{metrics}");

    fs::remove_file(&file).unwrap();
    stage.write("server", &[&section.replace("client.example", "another.example")]);
    server.signal("-HUP");
    server.says("reloaded");
    assert!(ask(entrance, "the client is not named any more").is_err());
    assert_eq!(server.end().code(), Some(0));
}
