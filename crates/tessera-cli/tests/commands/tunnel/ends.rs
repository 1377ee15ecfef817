//! Tunnels from a program to its backend.

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;

use crate::program::tessera;
use crate::running::{
    PATIENCE, ProgramConnection, RunningTunnel, Stage, ask, backend, keys_asked_for,
};

#[test]
fn two_tunnels_of_a_file_carry_each_its_own() {
    let stage = Stage::new();
    let (one, two) = (backend("one: "), backend("two: "));
    let sections = [stage.server("a", one, ""), stage.server("b", two, "send-proxy = false")];
    let servers = RunningTunnel::start(&stage.write("servers", &[&sections[0], &sections[1]]));
    let [a, b] = servers.addresses();
    let sections = [stage.client("a", a, ""), stage.client("b", b, "early = \"never\"")];
    let clients = RunningTunnel::start(&stage.write("clients", &[&sections[0], &sections[1]]));
    let [a, b] = clients.addresses();
    for round in 0..3 {
        let line = format!("round {round}");
        assert_eq!(ask(a, &line).unwrap(), format!("one: {line}"));
        assert_eq!(ask(b, &line).unwrap(), format!("two: {line}"));
    }
    // The first connection brings the tickets that the others use.
    let metrics = stage.ask("servers", "/metrics");
    let accepted = |tunnel: &str, count: u32| {
        let name = "tessera_tunnel_early_data_total";
        format!("{name}{{tunnel=\"{tunnel}\",role=\"server\",verdict=\"accepted\"}} {count}\n")
    };
    assert!(metrics.contains(&accepted("a", 2)), "{metrics}");
    assert!(metrics.contains(&accepted("b", 0)), "{metrics}");
    // Both ends take key pairs that are made ahead, as far as there are any.
    for kind in ["x25519", "one_time_x25519_ml_kem_768"] {
        assert!(keys_asked_for(&metrics, kind) > 0, "{kind} in\n{metrics}");
    }
    let metrics = stage.ask("clients", "/metrics");
    assert!(keys_asked_for(&metrics, "ml_kem_768") > 0, "{metrics}");
    for (name, process) in [("servers", servers), ("clients", clients)] {
        assert!(stage.ask(name, "/readyz").starts_with("HTTP/1.1 200"));
        assert_eq!(process.end().code(), Some(0));
    }
}

#[test]
fn options_are_a_tunnel_too() {
    let stage = Stage::new();
    let path = |name: &str| stage.pki.path(name);
    let backend = backend("here: ").to_string();
    let ca = path("root.pem");
    let shared = ["--ca", ca.as_str(), "--log", "json", "--listen", "127.0.0.1:0"];
    let mut server = tessera();
    server.args(["tunnel", "server", "--forward", &backend, "--names", "client.example"]);
    server.args(shared).args(["--certificate", &path("server.pem"), "--key", &path("server.key")]);
    let server = RunningTunnel::spawn(&mut server);
    let [address] = server.addresses();
    let mut client = tessera();
    client.args(["tunnel", "client", "--connect", &address.to_string()]).args(shared);
    client.args(["--server-name", "localhost", "--certificate", &path("client.pem")]);
    let client = RunningTunnel::spawn(client.args(["--key", &path("client.key")]));
    let [entrance] = client.addresses();
    assert_eq!(ask(entrance, "hello").unwrap(), "here: hello");
    assert_eq!(client.end().code(), Some(0));
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_connection_that_fails_is_a_warning_with_what_to_check() {
    let stage = Stage::new();
    let [plain, down] = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [at_plain, at_down] = [&plain, &down].map(|it| it.local_addr().unwrap());
    drop(down);
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut socket in plain.incoming().map_while(Result::ok) {
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            kept.push(socket);
        }
    });
    let server = RunningTunnel::start(&stage.write("server", &[&stage.server("a", at_down, "")]));
    let [address] = server.addresses();
    let other_name = stage.client("c", address, "").replace("\"localhost\"", "\"other.example\"");
    let sections = [stage.client("a", address, ""), stage.client("b", at_plain, ""), other_name];
    let client =
        RunningTunnel::start(&stage.write("client", &[&sections[0], &sections[1], &sections[2]]));
    let [a, b, c] = client.addresses();
    for (entrance, outcome, words) in [
        (a, "peer_failed", "is its backend down?"),
        (b, "handshake_failed", "nothing at this address speaks TLS"),
        (c, "handshake_failed", "set `server-name`"),
    ] {
        assert!(ask(entrance, "hello").is_err());
        let told = client.says("the server failed");
        assert_eq!((&told["level"], &told["outcome"]), (&"WARN".into(), &outcome.into()), "{told}");
        assert!(told["what_to_do"].as_str().unwrap().contains(words), "{told}");
    }
}

#[test]
fn a_process_that_ends_lets_connections_end_and_cuts_the_rest() {
    let stage = Stage::new();
    let server =
        RunningTunnel::start(&stage.write("server", &[&stage.server("a", backend(""), "")]));
    let [address] = server.addresses();
    let client = RunningTunnel::start(&stage.write("client", &[&stage.client("a", address, "")]));
    let [entrance] = client.addresses();
    let mut talk = ProgramConnection::begin(entrance).unwrap();
    assert_eq!(talk.ask("before").unwrap(), "before");
    client.signal("-TERM");
    client.says("asked to end");
    // The connection has a second to end.
    assert_eq!(talk.ask("meanwhile").unwrap(), "meanwhile");
    client.says("ended");
    assert!(talk.ask("afterwards").is_err());
    assert_eq!(client.end().code(), Some(0));
}

#[test]
fn a_supervisor_is_notified_when_a_process_is_ready_reloads_and_ends() {
    let stage = Stage::new();
    let path = stage.files.path("notify");
    let supervisor = UnixDatagram::bind(&path).unwrap();
    supervisor.set_read_timeout(Some(PATIENCE)).unwrap();
    let hears = |wanted: &str| {
        let mut buffer = [0; 1024];
        loop {
            let count = supervisor.recv(&mut buffer).unwrap();
            let told = String::from_utf8_lossy(&buffer[..count]).into_owned();
            if told.lines().any(|line| line == wanted) {
                return told;
            }
        }
    };
    let file = stage.write("server", &[&stage.server("a", backend(""), "")]);
    let mut command = tessera();
    let server =
        RunningTunnel::spawn(command.args(["tunnel", "run", &file]).env("NOTIFY_SOCKET", &path));
    assert!(hears("READY=1").contains("STATUS=1 tunnel"));
    for _ in 0..2 {
        server.signal("-HUP");
        assert!(hears("RELOADING=1").contains("MONOTONIC_USEC="));
        hears("READY=1");
        // A failed reload ends with READY=1 too.
        std::fs::write(&file, "").unwrap();
    }
    server.signal("-TERM");
    hears("STOPPING=1");
    assert_eq!(server.end().code(), Some(0));
}
