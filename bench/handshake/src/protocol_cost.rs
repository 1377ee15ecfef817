//! Runs handshakes on the null provider, for callgrind to count: only protocol code is left.
//!
//! `protocol-cost MODE COUNT`, MODE one of full, psk-dhe, psk-only, 0rtt-fs, 0rtt-fs-psk-ke. Collect the functions
//! `client_side` and `server_side`; see README.md.

use std::env;
use std::process::ExitCode;
use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::{Checked, Facts};
use tessera::resume::{ClientSession, Continuation, OneTimeKeyGuard};
use tessera::wire::NamedGroup;
use tessera::{
    ClientConfig, ClientConnection, Destination, Event, Output, ReadEvent, ServerConfig,
    ServerConnection,
};
use tessera_harness::{OneVault, UnsealedTickets, at};
use tessera_null_provider::{NullSigner, NullVerifier, provider};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let mode = arguments.next().unwrap_or_else(|| "psk-dhe".into());
    let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(100);
    let Some((client, server)) = configurations(&mode) else {
        eprintln!(
            "protocol-cost: no mode {mode}; full, psk-dhe, psk-only, 0rtt-fs, 0rtt-fs-psk-ke"
        );
        return ExitCode::from(2);
    };
    for _ in 0..count {
        let session =
            if mode == "full" { None } else { handshake(&client, &server, None, false).1 };
        let (facts, _) = handshake(&client, &server, session, true);
        assert_eq!(facts.psk.is_none(), mode == "full", "the handshake is of the mode");
    }
    ExitCode::SUCCESS
}

fn configurations(mode: &str) -> Option<(Checked<ClientConfig>, Checked<ServerConfig>)> {
    let credential =
        Credential::new(vec![vec![0x30; 600]], PrivateKey::Signs(Arc::new(NullSigner)));
    let mut client = ClientConfig::new(provider(), Arc::new(NullVerifier));
    let mut server = ServerConfig::new(provider(), vec![credential]);
    server.tickets = Some(Arc::new(UnsealedTickets));
    client.groups = vec![NamedGroup::X25519];
    client.policy.tickets.new_session_count = 1;
    match mode {
        "full" | "psk-dhe" => (),
        "psk-only" => {
            client.policy.psk_only_without_forward_secrecy = true;
            server.policy.psk_only_without_forward_secrecy = true;
        }
        "0rtt-fs" | "0rtt-fs-psk-ke" => {
            let continuation = match mode {
                "0rtt-fs" => Continuation::PskDheKe,
                _ => Continuation::PskKe,
            };
            client.policy.early_data.forward_secret = Some(continuation);
            let mut guard = OneTimeKeyGuard::new(Arc::new(OneVault::default()));
            guard.kinds = vec![NamedGroup::X25519];
            guard.continuation = continuation;
            server.policy.early_data.forward_secret = Some(guard);
        }
        _ => return None,
    }
    Some((client.checked().expect("works"), server.checked().expect("works")))
}

/// One handshake; counted in `client_side` and `server_side`, or in functions that are not collected.
fn handshake(
    client: &Checked<ClientConfig>,
    server: &Checked<ServerConfig>,
    session: Option<ClientSession>,
    counted: bool,
) -> (Facts, Option<ClientSession>) {
    let destination = Destination {
        server_name: "server.example".into(),
        session: session.map(Box::new),
        ..Destination::default()
    };
    let (mut to_server, mut to_client) = (Output::new(), Output::new());
    let mut client = match counted {
        true => client_start(client, destination, &mut to_server),
        false => ClientConnection::start(client.clone(), destination, at(0), &mut to_server)
            .expect("starts"),
    };
    let mut server = ServerConnection::start(server.clone(), at(0));
    if client.early_data_room() > 0 {
        client.write_early_data(b"early", &mut to_server).expect("takes early data");
    }
    let mut sessions = Vec::new();
    while !to_server.is_empty() || !to_client.is_empty() {
        let mut input = to_server.as_slice().to_vec();
        to_server.consume(input.len());
        match counted {
            true => server_side(&mut server, &mut input, &mut to_client),
            false => server_reads(&mut server, &mut input, &mut to_client),
        }
        let mut input = to_client.as_slice().to_vec();
        to_client.consume(input.len());
        match counted {
            true => client_side(&mut client, &mut input, &mut to_server, &mut sessions),
            false => client_reads(&mut client, &mut input, &mut to_server, &mut sessions),
        }
    }
    assert!(client.facts().handshake_complete && server.facts().handshake_complete);
    (client.facts().clone(), sessions.pop())
}

#[inline(never)]
fn client_start(
    config: &Checked<ClientConfig>,
    destination: Destination,
    output: &mut Output,
) -> ClientConnection {
    ClientConnection::start(config.clone(), destination, at(0), output).expect("starts")
}

#[inline(never)]
fn client_side(
    client: &mut ClientConnection,
    input: &mut [u8],
    output: &mut Output,
    sessions: &mut Vec<ClientSession>,
) {
    client_reads(client, input, output, sessions);
}

#[inline(never)]
fn server_side(server: &mut ServerConnection, input: &mut [u8], output: &mut Output) {
    server_reads(server, input, output);
}

#[inline(always)]
fn client_reads(
    client: &mut ClientConnection,
    input: &mut [u8],
    output: &mut Output,
    sessions: &mut Vec<ClientSession>,
) {
    let mut consumed = 0;
    loop {
        let progress = client.read(at(0), &mut input[consumed..], output).expect("reads");
        consumed += progress.consumed;
        match progress.event {
            ReadEvent::NeedInput => break,
            ReadEvent::Handshake(Event::NewSession(session)) => sessions.push(*session),
            _ => (),
        }
    }
}

#[inline(always)]
fn server_reads(server: &mut ServerConnection, input: &mut [u8], output: &mut Output) {
    let mut consumed = 0;
    loop {
        let progress = server.read(at(0), &mut input[consumed..], output).expect("reads");
        consumed += progress.consumed;
        if let ReadEvent::NeedInput = progress.event {
            break;
        }
    }
}
