//! The ends of a tunnel, by any of the programs: plain mutual TLS 1.3 between them.

use std::fmt::Write;
use std::net::SocketAddr;

use tessera_test_peers::{Process, haproxy, stunnel};

use crate::tessera::{Tunnels, client_section, server_section};
use crate::{CLIENT_NAME, Pki, SERVER_NAME, free_address};

/// A program that can be an end of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// stunnel.
    Stunnel,
    /// HAProxy.
    HaProxy,
    /// `tessera tunnel run`, by the path of the program under test.
    Tessera(&'static str),
}

/// A running end with an address for each service.
pub struct RunningEnd {
    /// The address of each service, in the given order.
    pub addresses: Vec<SocketAddr>,
    running: EndProcess,
}

enum EndProcess {
    Peer(Process),
    Tessera(Tunnels),
}

impl RunningEnd {
    /// Returns its tunnels, if it is `tessera tunnel run`.
    pub fn tunnels(&self) -> Option<&Tunnels> {
        match &self.running {
            EndProcess::Peer(_) => None,
            EndProcess::Tessera(tunnels) => Some(tunnels),
        }
    }

    /// Its process.
    pub fn process(&self) -> &Process {
        match &self.running {
            EndProcess::Peer(process) => process,
            EndProcess::Tessera(tunnels) => tunnels.process(),
        }
    }
}

/// Starts the end that accepts plain connections, and forwards each service to the other end's addresses.
#[track_caller]
pub fn client_end(program: Program, pki: &Pki, to: &[SocketAddr]) -> RunningEnd {
    start(program, Role::Client, pki, to)
}

/// Starts the end that accepts TLS, and forwards each service to its backend.
#[track_caller]
pub fn server_end(program: Program, pki: &Pki, to: &[SocketAddr]) -> RunningEnd {
    start(program, Role::Server, pki, to)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// One service: where it listens, and where it forwards to.
struct Way {
    listen: SocketAddr,
    to: SocketAddr,
}

fn start(program: Program, role: Role, pki: &Pki, to: &[SocketAddr]) -> RunningEnd {
    let ways: Vec<_> = to.iter().map(|to| Way { listen: free_address(), to: *to }).collect();
    let ports: Vec<_> = ways.iter().map(|way| way.listen.port()).collect();
    let running = match program {
        Program::Stunnel => EndProcess::Peer(start_stunnel(role, pki, &ways, &ports)),
        Program::HaProxy => EndProcess::Peer(start_haproxy(role, pki, &ways, &ports)),
        Program::Tessera(program) => {
            let section = match role {
                Role::Client => client_section,
                Role::Server => server_section,
            };
            let sections = ways.iter().enumerate().map(|(number, Way { listen, to })| {
                section(pki, &format!("way{number}"), &listen.to_string(), *to, "")
            });
            EndProcess::Tessera(Tunnels::run(program, &sections.collect::<String>()))
        }
    };
    RunningEnd { addresses: ways.iter().map(|way| way.listen).collect(), running }
}

fn start_stunnel(role: Role, pki: &Pki, ways: &[Way], ports: &[u16]) -> Process {
    let (own, peer) = match role {
        Role::Client => (&pki.client, SERVER_NAME),
        Role::Server => (&pki.server, CLIENT_NAME),
    };
    let options = format!(
        "debug = notice\nsslVersionMin = TLSv1.3\ncert = {}\nkey = {}\nCAfile = {}\nverifyChain = yes\n\
         socket = l:TCP_NODELAY=1\nsocket = r:TCP_NODELAY=1\n",
        own.certificate, own.key, pki.ca
    );
    let mut services = String::new();
    for (number, Way { listen, to }) in ways.iter().enumerate() {
        let _ = writeln!(services, "[way{number}]\naccept = {listen}\nconnect = {to}");
        let _ = writeln!(services, "checkHost = {peer}");
        if role == Role::Client {
            let _ = writeln!(services, "client = yes\nsni = {SERVER_NAME}");
        }
    }
    stunnel::start(&options, &services, ports)
}

fn start_haproxy(role: Role, pki: &Pki, ways: &[Way], ports: &[u16]) -> Process {
    let mut settings = String::from(
        "global\n  nbthread 1\n  maxconn 4000\ndefaults\n  mode tcp\n  timeout connect 5s\n  \
         timeout client 60s\n  timeout server 60s\n",
    );
    let tls = |both: &str| {
        format!("ssl crt {both} ca-file {} verify required ssl-min-ver TLSv1.3", pki.ca)
    };
    let (listen_by, dial_by) = match role {
        Role::Client => {
            let name = format!("verifyhost {SERVER_NAME} sni str({SERVER_NAME})");
            (String::new(), format!("{} {name}", tls(&pki.client.both)))
        }
        Role::Server => (tls(&pki.server.both), String::new()),
    };
    for (number, Way { listen, to }) in ways.iter().enumerate() {
        let _ = write!(
            settings,
            "listen way{number}\n  bind {listen} {listen_by}\n  server s {to} {dial_by}\n"
        );
        if role == Role::Server {
            let named = format!("{{ ssl_c_s_dn(cn) {CLIENT_NAME} }}");
            let _ = writeln!(settings, "  tcp-request session reject unless {named}");
        }
    }
    haproxy::start(&settings, ports)
}
