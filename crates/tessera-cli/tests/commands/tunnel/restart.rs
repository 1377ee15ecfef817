//! A server end is replaced while programs use it.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::running::{RunningTunnel, Stage, ask, backend};

/// The shell moves the socket to its descriptor, and becomes the server.
const HAND_OVER: &str =
    r#"exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ LISTEN_FDNAMES=a exec "$@""#;

fn start(socket: &TcpListener, file: &str) -> RunningTunnel {
    let mut command = Command::new("sh");
    command.args(["-c", HAND_OVER, "sh", env!("CARGO_BIN_EXE_tessera"), "tunnel", "run", file]);
    RunningTunnel::spawn(command.stdin(Stdio::from(OwnedFd::from(socket.try_clone().unwrap()))))
}

#[test]
fn a_clean_restart_with_an_inherited_socket_costs_no_program_anything() {
    let stage = Stage::new();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let key = stage.files.write("state.key", "5e".repeat(32));
    assert!(Command::new("chmod").args(["600", &key]).status().unwrap().success());
    let state = format!("state = \"{}\"\nstate-key = \"{key}\"", stage.files.path("state"));
    let section = stage.server("a", backend(""), &state).replace("127.0.0.1:0", "systemd:a");
    let file = stage.write("server", &[&section]);
    let mut server = start(&socket, &file);
    let [address] = server.addresses();
    assert_eq!(address, socket.local_addr().unwrap());
    let client = RunningTunnel::start(&stage.write("client", &[&stage.client("a", address, "")]));
    let [entrance] = client.addresses();

    let (over, done) = <(Arc<AtomicBool>, Arc<AtomicUsize>)>::default();
    let programs: Vec<_> = (0..4)
        .map(|number| {
            let (over, done) = (over.clone(), done.clone());
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let line = format!("{number}");
                    assert_eq!(ask(entrance, &line).expect("no program sees an error"), line);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let wait_for = |count: usize| {
        while done.load(Ordering::Relaxed) < count && programs.iter().all(|it| !it.is_finished()) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    for restart in 1..=3 {
        wait_for(50 * restart);
        assert_eq!(server.end().code(), Some(0));
        server = start(&socket, &file);
        let told = server.says("state in ");
        assert!(told["message"].as_str().unwrap().contains("restored"), "{told}");
        server.says("listening");
    }
    wait_for(250);
    over.store(true, Ordering::Relaxed);
    for program in programs {
        program.join().unwrap();
    }
    // No failure went unseen.
    let metrics = stage.ask("client", "/metrics");
    let reset = "outcome=\"reset_by_verdict\"} 0\n";
    assert!(metrics.contains(reset), "{metrics}");
    assert_eq!(client.end().code(), Some(0));
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_state_survives_a_start_that_failed() {
    let stage = Stage::new();
    let key = stage.files.write("state.key", "5e".repeat(32));
    assert!(Command::new("chmod").args(["600", &key]).status().unwrap().success());
    let state = format!("state = \"{}\"\nstate-key = \"{key}\"", stage.files.path("state"));
    let section = stage.server("a", backend(""), &state);
    let good = stage.write("server", &[&section]);
    let server = RunningTunnel::start(&good);
    let [address] = server.addresses();
    let client = RunningTunnel::start(&stage.write("client", &[&stage.client("a", address, "")]));
    let [entrance] = client.addresses();
    assert_eq!(ask(entrance, "one").unwrap(), "one");
    assert_eq!(server.end().code(), Some(0));

    // A tunnel that can't listen, and one whose certificate is broken.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = section.replace("127.0.0.1:0", &taken.local_addr().unwrap().to_string());
    let garbage = stage.files.write("garbage.pem", "garbage\n");
    let broken = section.replace(&stage.pki.path("server.pem"), &garbage);
    for (section, code) in [(busy, 1), (broken, 2)] {
        let mut failed = RunningTunnel::start(&stage.write("failing", &[&section]));
        assert_eq!(failed.child.wait().unwrap().code(), Some(code));
    }

    // All earlier tunnels are back.
    let moved = section.replace("127.0.0.1:0", &address.to_string());
    let server = RunningTunnel::start(&stage.write("server", &[&moved]));
    let told = server.says("state in ");
    assert!(told["message"].as_str().unwrap().contains("restored"), "{told}");
    server.says("listening");
    assert_eq!(ask(entrance, "two").unwrap(), "two");
    let accepted =
        "tessera_tunnel_early_data_total{tunnel=\"a\",role=\"server\",verdict=\"accepted\"} 1\n";
    let metrics = stage.ask("server", "/metrics");
    assert!(metrics.contains(accepted), "{metrics}");
    assert_eq!(server.end().code(), Some(0));
}
