//! An end is replaced while programs keep connecting: a service manager holds the listening socket, and no program sees
//! an error.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tessera_test_peers::wait_until;
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::counting::{Client, CountingBackend, ask_once};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{SOCKET, Tunnels, client_section, server_section};

use crate::TESSERA;

const STATE_KEY: &str = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184";

/// Runs `change` while programs keep sending requests, none of which may fail; returns how many there were.
#[track_caller]
fn under_load(client: SocketAddr, backend: &CountingBackend, change: impl FnOnce(&AtomicUsize)) {
    let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let errors: Vec<String> = thread::scope(|scope| {
        let (over, answered) = (&over, &answered);
        let programs: Vec<_> = (0..3)
            .map(|program| {
                scope.spawn(move || {
                    let mut errors = Vec::new();
                    for number in 0.. {
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                        let name = format!("program-{program}-{number}");
                        match ask_once(client, &name) {
                            Ok(()) => drop(answered.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => errors.push(format!("{name}: {error}")),
                        }
                        thread::sleep(Duration::from_millis(2));
                    }
                    errors
                })
            })
            .collect();
        change(answered);
        over.store(true, Ordering::Relaxed);
        programs.into_iter().flat_map(|program| program.join().unwrap()).collect()
    });
    assert_eq!(errors, [""; 0], "of {} requests", answered.load(Ordering::Relaxed));
    assert_eq!(backend.executions(), answered.load(Ordering::Relaxed));
    backend.executed_nothing_twice();
}

/// Waits for this many more answers.
#[track_caller]
fn more(answered: &AtomicUsize, count: usize) {
    let enough = answered.load(Ordering::Relaxed) + count;
    wait_until("programs get answers", || {
        (answered.load(Ordering::Relaxed) >= enough).then_some(())
    });
}

#[test]
fn an_end_that_is_replaced_under_load_costs_no_error() {
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    let (server_socket, client_socket) = (listener(), listener());
    let key = pki.directory.write_private("state.key", STATE_KEY);
    let keeps = format!("state = \"state\"\nstate-key = \"{key}\"\n");
    let section = server_section(&pki, "backend", SOCKET, backend.address(), &keeps);
    let mut server = Tunnels::new(TESSERA, &section);
    server.start_with_socket(&server_socket);
    let keeps = format!("sessions = \"sessions\"\nsessions-key = \"{key}\"\n");
    let to = server_socket.local_addr().unwrap();
    let mut client = Tunnels::new(TESSERA, &client_section(&pki, "app", SOCKET, to, &keeps));
    client.start_with_socket(&client_socket);
    under_load(client_socket.local_addr().unwrap(), &backend, |answered| {
        for _ in 0..2 {
            more(answered, 30);
            assert!(server.end().success(), "{}", server.process().output());
            server.start_with_socket(&server_socket);
            more(answered, 30);
            assert!(client.end().success(), "{}", client.process().output());
            client.start_with_socket(&client_socket);
        }
        more(answered, 30);
    });
    let accepted = [r#"role="client""#, r#"verdict="accepted""#];
    assert!(client.metric("tessera_tunnel_early_data_total", &accepted) > 0);
}

#[test]
fn a_reload_under_load_costs_no_error_and_no_connection() {
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    let (server_address, client_address) = (free_address(), free_address());
    let (listen, to) = (server_address.to_string(), backend.address());
    let server = Tunnels::run(TESSERA, &server_section(&pki, "backend", &listen, to, ""));
    let listen = client_address.to_string();
    let client = Tunnels::run(TESSERA, &client_section(&pki, "app", &listen, server_address, ""));
    let mut long = Client::connect(client_address, "long").unwrap();
    long.ask(0).unwrap();
    let reloaded = |tunnels: &Tunnels, times| {
        tunnels.counts("tessera_tunnel_reloads_total", &[r#"result="reloaded""#], times);
    };
    let only_long = backend.executions();
    assert_eq!(only_long, 1);
    let is_over = AtomicBool::new(false);
    let errors = thread::scope(|scope| {
        let over = &is_over;
        let load = scope.spawn(move || {
            let mut errors = Vec::new();
            for number in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                errors.extend(ask_once(client_address, &format!("short-{number}")).err());
            }
            errors
        });
        for times in 1..=3 {
            server.process().hang_up();
            reloaded(&server, times);
            client.process().hang_up();
            reloaded(&client, times);
            long.ask(times as usize).unwrap();
        }
        over.store(true, Ordering::Relaxed);
        load.join().unwrap()
    });
    assert!(errors.is_empty(), "{errors:?}");
    backend.executed_nothing_twice();
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}
