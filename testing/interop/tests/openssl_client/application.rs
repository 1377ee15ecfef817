//! Beyond the handshake: protocols, key updates, closing, sizes of records.

use std::num::NonZeroU16;

use tessera::handshake::ClientAuthentication;
use tessera::{Error, Padding};
use tessera_interop::KeyKind;

use crate::{World, talk_and_close};

#[test]
fn s_client_and_server_agree_on_the_servers_favourite_protocol() {
    let world = World::new();
    let mut config = world.config();
    config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let (mut client, mut server) = world.client(&config, &["-alpn", "http/1.1,h2"]);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().protocol.as_deref(), Some(&b"h2"[..]));
    client.says("ALPN protocol: h2");
}

#[test]
fn the_server_follows_key_updates_of_s_client() {
    let world = World::new();
    let (mut client, mut server) = world.client(&world.config(), &["-trace"]);
    server.handshake();
    for (times, command) in [(1, "k"), (2, "K")] {
        client.tell(&format!("{command}\n"));
        // Anything in one piece with the command would be lost with it.
        client.says_times("KEYUPDATE", times);
        server.send(format!("after command {command}\n").as_bytes());
        client.says(&format!("after command {command}"));
        client.tell(&format!("an answer after {command}\n"));
        server.hear(&format!("an answer after {command}"));
        // The requested KeyUpdate goes out with the next data.
        server.send(format!("more after {command}\n").as_bytes());
        client.says(&format!("more after {command}"));
    }
    client.tell("Q\n");
    server.closed();
    // Two of the client's, and the server's answer to the second.
    client.says_times("KeyUpdate, Length=1", 3);
}

#[test]
fn s_client_follows_key_updates_of_the_server() {
    let world = World::new();
    let (mut client, mut server) = world.client(&world.config(), &["-trace"]);
    server.handshake();
    for request in [false, true] {
        server.update_keys(request);
        server.send(format!("after an update ({request})\n").as_bytes());
        client.says(&format!("after an update ({request})"));
        client.tell(&format!("an answer ({request})\n"));
        server.hear(&format!("an answer ({request})"));
    }
    client.tell("Q\n");
    server.closed();
    // Two of the server's, and the client's answer to the second.
    client.says_times("KeyUpdate, Length=1", 3);
}

/// s_client exits without an error when the server sends close_notify.
#[test]
fn s_client_ends_in_peace_when_the_server_closes() {
    let world = World::new();
    let (mut client, mut server) = world.client(&world.config(), &[]);
    server.handshake().send(b"goodbye\n").close();
    client.says("goodbye");
    assert!(client.ends(), "{}", client.output());
    server.closed();
}

#[test]
fn the_server_reports_truncation_when_s_client_vanishes() {
    let world = World::new();
    let (client, mut server) = world.client(&world.config(), &[]);
    server.handshake();
    drop(client);
    assert_eq!(server.failure(), Error::Truncated);
}

#[test]
fn the_server_reads_small_and_padded_records_of_s_client() {
    let world = World::new();
    let arguments = ["-max_send_frag", "512", "-record_padding", "256"];
    let (mut client, mut server) = world.client(&world.config(), &arguments);
    server.handshake();
    let line = "s".repeat(4_000);
    client.tell(&format!("{line}\n"));
    server.hear(&line);
    talk_and_close(&mut client, &mut server);
}

/// Which OpenSSL knows, unlike record_size_limit: chains, tickets and data in small records, both ways.
#[test]
fn the_server_agrees_on_a_max_fragment_length_of_s_client() {
    let world = World::new();
    let mut config = world.config();
    config.client_authentication = ClientAuthentication::Required(world.pki.verifier());
    let identity = world.pki.client(KeyKind::P256);
    for length in [512, 1_024, 2_048, 4_096] {
        let name = length.to_string();
        let more = [&identity.arguments()[..], &["-maxfraglen", &name]].concat();
        let (mut client, mut server) = world.client(&config, &more);
        server.handshake();
        let line = format!("{length}: {}", "l".repeat(8_000));
        client.tell(&format!("{line}\n"));
        server.hear(&line);
        assert_eq!(server.told.longest_record, length);
        // s_client refuses longer records than it offered.
        server.send(format!("{line}\n").as_bytes());
        client.says(&line);
        talk_and_close(&mut client, &mut server);
    }
}

/// OpenSSL 3.0 doesn't support record_size_limit, so its records are of any size (RFC 8449 §4).
#[test]
fn s_client_ignores_a_record_size_limit_that_it_does_not_know() {
    let world = World::new();
    let mut config = world.config();
    config.record_size_limit = Some(64);
    let (mut client, mut server) = world.client(&config, &[]);
    server.handshake();
    let line = "l".repeat(2_000);
    client.tell(&format!("{line}\n"));
    server.hear(&line);
    talk_and_close(&mut client, &mut server);
}

/// More than sockets buffer.
#[test]
fn s_client_reads_a_mebibyte_from_the_server() {
    let world = World::new();
    let (client, mut server) = world.client(&world.config(), &[]);
    let mut data = vec![b'~'; 1 << 20];
    data.extend_from_slice(b"\nthe end\n");
    server.handshake().send(&data);
    client.says("the end");
    assert_eq!(client.output().matches('~').count(), 1 << 20);
}

/// The server sends before it has received the client's Finished.
#[test]
fn s_client_reads_what_the_server_sends_before_the_clients_finished() {
    let world = World::new();
    let (mut client, mut server) = world.client(&world.config(), &[]);
    server.send_first(b"a greeting\n");
    client.says("a greeting");
    talk_and_close(&mut client, &mut server);
}

/// Every record of the server's is as long as can be.
#[test]
fn s_client_reads_the_servers_records_at_full_padding() {
    let world = World::new();
    let mut config = world.config();
    config.padding = Padding::MultipleOf(NonZeroU16::MAX);
    let (mut client, mut server) = world.client(&config, &[]);
    talk_and_close(&mut client, &mut server);
}
