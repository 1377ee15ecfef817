//! SIGHUP reloads all files, or none.

use std::fs;

use super::world::{HOME, UDM, VISITED, World, udm};
use crate::program::{P256, replace_by_pipe};

const AM_DATA: &str = "/nudm-sdm/v2/imsi-999700000000001/am-data";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_takes_all_of_the_files_or_none() {
    let world = World::new();
    let [home, visited] = world.start(udm().await);
    let works = || {
        let answer = world.request(&world.visited, "GET", UDM, AM_DATA);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    };
    works();

    // A key of another certificate, invalid TOML, and a peer with an unknown anchor: the old configuration stays.
    let certificate = world.visited.pki.path("sepp.pem");
    let kept = fs::read(&certificate).unwrap();
    fs::copy(world.visited.pki.path("server.pem"), &certificate).unwrap();
    visited.signal("-HUP");
    let told = visited.says("not reloaded");
    assert!(told["message"].as_str().unwrap().contains("sepp."), "{told}");
    works();
    fs::write(&certificate, kept).unwrap();
    let good = world.text(&world.visited, &world.home, "");
    let file = world.write(&world.visited, "[local\n");
    visited.signal("-HUP");
    assert!(visited.says("not reloaded")["message"].as_str().unwrap().contains("visited.toml:1: "));
    works();
    world.write(&world.visited, &good.replace("anchor = \"home\"", "anchor = \"absent\""));
    visited.signal("-HUP");
    let told = visited.says("not reloaded");
    assert!(
        told["message"].as_str().unwrap().contains("[peer.home] anchor: no [trust.absent]"),
        "{told}"
    );
    assert_eq!(told["file"], file);
    works();
    let metrics = world.ask(&world.visited, "GET", "/metrics");
    assert!(metrics.contains("sepp_reload_total{result=\"failed\"} 3\n"), "{metrics}");

    // Another certificate of the same name, and settings that need a restart.
    world.visited.pki.issue("sepp", &format!("subjectAltName=DNS:{VISITED}"), P256);
    world.write(&world.visited, &good.replace("threads = 2", "threads = 3"));
    visited.signal("-HUP");
    let told = visited.says("waits for a restart");
    assert!(told["message"].as_str().unwrap().starts_with("[process] threads "), "{told}");
    assert_eq!(visited.says("reloaded")["peers_changed"], HOME);
    works();
    let metrics = world.ask(&world.visited, "GET", "/metrics");
    assert!(metrics.contains("sepp_reload_total{result=\"ok\"} 1\n"), "{metrics}");

    // A peer removed from the configuration is unknown.
    let without = good.split("[trust.home]").next().unwrap();
    world.write(&world.visited, without);
    visited.signal("-HUP");
    visited.says("reloaded");
    let answer = world.request(&world.visited, "GET", UDM, AM_DATA);
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert_eq!(visited.end().code(), Some(0));
    assert_eq!(home.end().code(), Some(0));
}

/// Opening a pipe blocks until its other end is opened: a pipe in place of a file would block this reload and all later
/// ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipe_in_the_place_of_a_file_fails_one_reload_and_no_later_one() {
    let world = World::new();
    let [home, visited] = world.start(udm().await);
    // A SEQUENCE; nothing reads more of a response before a handshake.
    let staple = world.files.write("staple", "0\0");
    let good = world.text(&world.visited, &world.home, "");
    let with_staple = good.replace("[trust.", &format!("ocsp = \"{staple}\"\n[trust."));
    let file = world.write(&world.visited, &with_staple);
    let (own, roots) = (world.visited.pki.path("sepp.pem"), world.home.pki.path("root.pem"));
    for path in [&own, &roots, &staple, &file] {
        let kept = fs::read(path).unwrap();
        replace_by_pipe(path);
        visited.signal("-HUP");
        let told = visited.says("not reloaded");
        assert_eq!((told["level"].as_str(), told["file"].as_str()), (Some("ERROR"), Some(&**path)));
        assert!(told["message"].as_str().unwrap().contains("this is a pipe"), "{told}");
        fs::remove_file(path).unwrap();
        fs::write(path, kept).unwrap();
    }
    let metrics = world.ask(&world.visited, "GET", "/metrics");
    assert!(metrics.contains("sepp_reload_total{result=\"failed\"} 4\n"), "{metrics}");

    world.write(&world.visited, &good);
    visited.signal("-HUP");
    visited.says("reloaded");
    for running in [home, visited] {
        assert_eq!(running.end().code(), Some(0));
    }
}
