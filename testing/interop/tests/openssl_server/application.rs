//! Beyond the handshake: protocols, key updates, closing, sizes of records.

use std::num::NonZeroU16;

use tessera::{Error, Padding};
use tessera_interop::{Client, KeyKind, SERVER_NAME, client, to};

use crate::{World, talk, talk_and_close};

#[test]
fn s_server_and_client_agree_on_an_application_protocol() {
    let world = World::new();
    let (mut server, address) = world.server(&["-alpn", "h3,h2"]);
    let mut config = client(&world.pki);
    config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut end = Client::start(&config, to(None), address);
    talk_and_close(&mut end, &mut server);
    assert_eq!(end.facts().protocol.as_deref(), Some(&b"h2"[..]));
    server.says("ALPN protocols selected: h2");
}

#[test]
fn s_server_without_alpn_leaves_the_protocol_open() {
    let world = World::new();
    let (mut server, address) = world.server(&[]);
    let mut config = client(&world.pki);
    config.protocols = vec![b"h2".to_vec()];
    let mut end = Client::start(&config, to(None), address);
    talk_and_close(&mut end, &mut server);
    assert_eq!(end.facts().protocol, None);
}

#[test]
fn s_server_receives_the_server_name() {
    let world = World::new();
    let same = ["-cert2", &world.identity.certificate_file, "-key2", &world.identity.key_file];
    let arguments = [&["-servername", SERVER_NAME, "-servername_fatal"][..], &same].concat();
    let (mut server, address) = world.server(&arguments);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    talk_and_close(&mut end, &mut server);
    server.says(&format!("Hostname in TLS extension: \"{SERVER_NAME}\""));
}

#[test]
fn s_server_follows_key_updates_of_the_client() {
    let world = World::new();
    let (mut server, address) = world.server(&["-trace"]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake();
    for request in [false, true] {
        end.update_keys(request);
        end.send(format!("after an update ({request})\n").as_bytes());
        server.says(&format!("after an update ({request})"));
        server.tell(&format!("an answer ({request})\n"));
        end.hear(&format!("an answer ({request})"));
    }
    end.close();
    // Two of the client's, and the server's answer to the second.
    server.says("DONE").says_times("KeyUpdate, Length=1", 3);
}

#[test]
fn the_client_follows_key_updates_of_s_server() {
    let world = World::new();
    let (mut server, address) = world.server(&["-trace"]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake();
    for command in ["k", "K"] {
        server.tell(&format!("{command}\n"));
        // When it has read this, it has read the command.
        end.send(format!("after command {command}\n").as_bytes());
        server.says(&format!("after command {command}"));
        server.tell(&format!("an answer after {command}\n"));
        end.hear(&format!("an answer after {command}"));
        // The requested KeyUpdate goes out with the next data.
        talk(&mut end, &mut server);
    }
    end.close();
    // Two of the server's, and the client's answer to the second.
    server.says("DONE").says_times("KeyUpdate, Length=1", 3);
}

/// A server that closes first: with `-www` it sends one page, and then close_notify.
#[test]
fn the_client_ends_in_peace_when_s_server_closes() {
    let world = World::new();
    let (_server, address) = world.server(&["-www"]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake().send(b"GET / HTTP/1.0\r\n\r\n").closed();
    assert!(end.told.heard("</HTML>") || end.told.heard("</html>"), "{:?}", end.told);
    assert_eq!(end.told.error, None);
}

/// A server that disappears without close_notify: data may be missing.
#[test]
fn the_client_reports_truncation_when_s_server_vanishes() {
    let world = World::new();
    let (mut server, address) = world.server(&[]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake();
    talk(&mut end, &mut server);
    drop(server);
    assert_eq!(end.failure(), Error::Truncated);
}

#[test]
fn the_client_reads_small_records_of_s_server() {
    let world = World::new();
    let (mut server, address) = world.server(&["-max_send_frag", "512"]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake();
    talk(&mut end, &mut server);
    let line = "s".repeat(8_000);
    server.tell(&format!("{line}\n"));
    end.hear(&line);
    end.close().closed();
}

#[test]
fn the_client_reads_padded_records_of_s_server() {
    let world = World::new();
    let (mut server, address) = world.server(&["-record_padding", "1024"]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    talk_and_close(&mut end, &mut server);
}

/// Which OpenSSL knows, unlike record_size_limit: a chain, tickets and data in small records, both ways.
#[test]
fn s_server_agrees_on_a_max_fragment_length() {
    let world = World::new();
    let client_key = world.pki.client(KeyKind::P256);
    let (mut server, address) = world.server(&["-Verify", "1", "-CAfile", &world.pki.ca_file]);
    for (limit, length) in [(513, 512), (2_000, 1_024), (16_384, 4_096)] {
        let mut config = client(&world.pki);
        config.credentials = vec![client_key.credential()];
        config.record_size_limit = Some(limit);
        let mut end = Client::start(&config, to(None), address);
        end.handshake();
        talk(&mut end, &mut server);
        let line = format!("{limit}: {}", "l".repeat(8_000));
        server.tell(&format!("{line}\n"));
        end.hear(&line);
        assert_eq!(end.told.longest_record, length);
        // OpenSSL refuses longer records than it agreed on.
        end.send(format!("{line}\n").as_bytes());
        server.says(&line);
        end.close().closed();
    }
}

/// OpenSSL 3.0 doesn't support record_size_limit, so its records are of any size (RFC 8449 §4).
#[test]
fn s_server_ignores_a_record_size_limit_that_it_does_not_know() {
    let world = World::new();
    let (mut server, address) = world.server(&[]);
    let mut config = client(&world.pki);
    config.record_size_limit = Some(128);
    let mut end = Client::start(&config, to(None), address);
    end.handshake();
    let line = "l".repeat(2_000);
    server.tell(&format!("{line}\n"));
    end.hear(&line);
}

/// More than sockets buffer.
#[test]
fn s_server_reads_a_mebibyte_from_the_client() {
    let world = World::new();
    let (server, address) = world.server(&[]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake();
    let mut data = vec![b'm'; 1 << 20];
    data.extend_from_slice(b"\nthe end\n");
    end.send(&data);
    server.says("the end");
    assert_eq!(server.output().matches('m').count() >> 20, 1);
}

/// Every record of the client's is as long as can be.
#[test]
fn s_server_reads_the_clients_records_at_full_padding() {
    let world = World::new();
    let (mut server, address) = world.server(&[]);
    let mut config = client(&world.pki);
    config.padding = Padding::MultipleOf(NonZeroU16::MAX);
    let mut end = Client::start(&config, to(None), address);
    talk_and_close(&mut end, &mut server);
}
