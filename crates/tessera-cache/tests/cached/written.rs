//! Caches that survive their process.

use tessera::Destination;
use tessera_cache::{ClientCache, ClientLimits, ImportError, ServerCache, ServerLimits};
use tessera_harness::{Mode, at, to};

use crate::Ends;

/// Simulates a restart: both ends with empty caches.
fn later(ends: &mut Ends) -> Ends {
    ends.restart_server();
    ends.another_client(&[b'c'; 800])
}

#[test]
fn exported_entries_are_known_after_an_import() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.connect();
    for _ in 0..4 {
        let (client, server) = (ends.client.export(), ends.server.export());
        ends = later(&mut ends);
        ends.client.import(&client).expect("what it exported");
        ends.server.import(&server).expect("what it exported");
        assert_eq!(ends.hits(), (true, true));
        let entries = (ends.client.metrics().entries, ends.server.metrics().entries);
        assert_eq!(entries, (1, 1));
    }
    assert_eq!(ends.hits(), (true, true), "without another process between");
}

/// The spare of an earlier handshake is still there.
#[test]
fn an_import_has_all_tickets_in_their_order() {
    let mut ends = Ends::new(Mode::Mutual);
    (0..3).for_each(|_| drop(ends.connect()));
    let server = ends.server.export();
    // The server doesn't get the end of the last one.
    ends.connect();
    let client = ends.client.export();
    ends = later(&mut ends);
    ends.client.import(&client).expect("what it exported");
    ends.server.import(&server).expect("what it exported");
    assert_eq!(ends.hits(), (true, true));
}

#[test]
fn an_export_without_tickets_knows_the_server_alone() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.connect();
    let (client, server) = (ends.client.export_without_tickets(), ends.server.export());
    ends = later(&mut ends);
    ends.client.import(&client).expect("what it exported");
    ends.server.import(&server).expect("what it exported");
    assert_eq!(ends.hits(), (true, false));
}

#[test]
fn an_import_keeps_to_the_limits() {
    let ends = Ends::new(Mode::Mutual);
    for leaf in [b'k', b'l', b'm'] {
        ends.another_client(&[leaf; 800]).connect();
    }
    let mut limits = ServerLimits::default();
    limits.clients = 2;
    let smaller = ServerCache::new(&ends.scene.server.provider).expect("a cache");
    let smaller = smaller.with_limits(limits);
    assert_eq!(smaller.limits().clients, 2);
    smaller.import(&ends.server.export()).expect("what it exported");
    assert_eq!(smaller.metrics().entries, 2);
}

#[test]
fn evictions_by_an_import_are_counted() {
    let ends = Ends::new(Mode::Full);
    for name in ["one.example", "two.example", "three.example"] {
        let to = Destination { server_name: name.into(), ..to(None) };
        let mut pair = ends.scene.start_to(to, at(0));
        pair.run();
    }
    let mut limits = ClientLimits::default();
    limits.servers = 1;
    let smaller = ClientCache::new(&ends.scene.client.provider).expect("a cache");
    let smaller = smaller.with_limits(limits);
    for evicted in [2, 4] {
        smaller.import(&ends.client.export()).expect("what it exported");
        assert_eq!((smaller.metrics().entries, smaller.metrics().evicted), (1, evicted));
    }
}

/// Tickets came and went in the cache that was exported, not in the one that imports.
#[test]
fn a_client_cache_counts_its_bytes_as_one_that_imports_them() {
    let ends = Ends::new(Mode::Mutual);
    (0..3).for_each(|_| drop(ends.connect()));
    // One ticket is sent, and no new one comes back.
    drop(ends.start());
    let bytes = ends.client.metrics().bytes;
    for (limit, entries) in [(bytes + 1, 1), (bytes, 1), (bytes - 1, 0)] {
        let mut limits = ClientLimits::default();
        limits.bytes = limit as usize;
        let other = ClientCache::new(&ends.scene.client.provider).expect("a cache");
        let other = other.with_limits(limits);
        other.import(&ends.client.export()).expect("what it exported");
        let metrics = other.metrics();
        assert_eq!((metrics.entries, metrics.bytes), (entries, entries * bytes), "{limit}");
    }
}

#[test]
fn a_client_cache_has_as_many_servers_and_bytes_as_it_may() {
    let ends = Ends::new(Mode::Full);
    for name in ["one.example", "two.example"] {
        ends.scene.start_to(Destination { server_name: name.into(), ..to(None) }, at(0)).run();
    }
    let bytes = ends.client.metrics().bytes as usize;
    for (servers, bytes, entries) in
        [(2, bytes, 2), (2, bytes - 1, 1), (1, bytes, 1), (0, bytes, 0)]
    {
        let mut limits = ClientLimits::default();
        (limits.servers, limits.bytes) = (servers, bytes);
        let other = ClientCache::new(&ends.scene.client.provider).expect("a cache");
        let other = other.with_limits(limits);
        other.import(&ends.client.export()).expect("what it exported");
        assert_eq!(other.metrics().entries, entries, "{servers} servers, {bytes} bytes");
    }
}

/// Exports both caches after a handshake, and returns functions that import them into caches with content.
fn exports(ends: &Ends) -> [(Vec<u8>, Import<'_>); 2] {
    ends.connect();
    let client: Import<'_> = Box::new(|bytes| ends.client.import(bytes));
    let server: Import<'_> = Box::new(|bytes| ends.server.import(bytes));
    [(ends.client.export(), client), (ends.server.export(), server)]
}

type Import<'a> = Box<dyn Fn(&[u8]) -> Result<(), ImportError> + 'a>;

#[test]
fn a_truncated_or_changed_export_is_refused_as_a_whole() {
    let ends = Ends::new(Mode::Mutual);
    for (exported, import) in exports(&ends) {
        for len in 0..exported.len() {
            assert_eq!(import(&exported[..len]), Err(ImportError::Damaged), "{len}");
        }
        for place in (0..exported.len()).filter(|place| *place != VERSION) {
            let mut changed = exported.clone();
            changed[place] ^= 1;
            assert_eq!(import(&changed), Err(ImportError::Damaged), "{place}");
        }
        let mut newer = exported.clone();
        newer[VERSION] += 1;
        let version = newer[VERSION];
        assert_eq!(import(&newer), Err(ImportError::Newer { version }));
        newer[VERSION] = 0;
        assert_eq!(import(&newer), Err(ImportError::Damaged));
    }
    let [(client, _), (server, _)] = exports(&ends);
    assert_eq!(ends.client.import(&server), Err(ImportError::Damaged), "a server's");
    assert_eq!(ends.server.import(&client), Err(ImportError::Damaged), "a client's");
    assert_eq!(ends.hits(), (true, true), "refused, they change nothing");
}

/// Offset, after the name.
const VERSION: usize = 15;

/// An attacker that can write the file can write a valid checksum: no content may break a cache.
#[test]
fn whatever_has_a_right_checksum_breaks_nothing() {
    let ends = Ends::new(Mode::Mutual);
    let sha256 = ends.scene.server.provider.suites[0].hash;
    assert_eq!(sha256.len(), 32);
    for (exported, import) in exports(&ends) {
        let sealed = exported.len() - 32;
        let mut refused = 0;
        for place in VERSION + 1..sealed {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = exported[..sealed].to_vec();
                changed[place] = value;
                let checksum = sha256.hash(&changed);
                changed.extend_from_slice(checksum.as_ref());
                refused += usize::from(import(&changed).is_err());
            }
        }
        assert!(refused > 0);
        assert_eq!(import(&exported), Ok(()));
    }
    ends.connect();
}

#[test]
fn an_empty_cache_is_exported_and_imported() {
    let provider = tessera_aws_lc::provider();
    let client = ClientCache::new(&provider).expect("a cache");
    assert_eq!(client.import(&client.export()), Ok(()));
    let server = ServerCache::new(&provider).expect("a cache");
    assert_eq!(server.import(&server.export()), Ok(()));
}
