//! The messages of `docs/cached-handshakes-vectors.txt`, which another implementation computed.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

use tessera_rustls_cached::{Chain, abbreviate, restore};

const VECTORS: &str = include_str!("../../../docs/cached-handshakes-vectors.txt");

#[test]
fn the_hash_of_rfc_7924s_certificate_is_the_one_in_its_appendix() {
    let chain = Chain::new([&value("rfc 7924", "certificate")[..]]).unwrap();
    assert_eq!(chain.hash()[..], value("rfc 7924", "H"));
}

#[test]
fn a_chain_has_the_public_id_of_the_vectors() {
    assert_eq!(chain().hash()[..], value("chain of two", "H"));
    assert_eq!(chain().id().to_be_bytes()[..], value("server chain", "public id"));
}

#[test]
fn a_message_is_abbreviated_and_restored_as_in_the_vectors() {
    for section in ["server chain", "server chain with staples"] {
        let body = body(section);
        let abbreviated = abbreviate(&body).unwrap();
        assert_eq!(abbreviated.content, value(section, "content"), "{section}");
        assert_eq!(abbreviated.hash, *chain().hash(), "{section}");
        let mut restored = vec![0; body.len()];
        assert_eq!(restore(&abbreviated.content, &chain(), &mut restored), Some(()));
        assert_eq!(restored, body, "{section}");
    }
}

#[test]
fn contents_that_are_refused_in_the_vectors_are_refused() {
    let prefix = "bad_certificate: content: ";
    let refused = section("refused").filter(|(name, _)| name.starts_with(prefix));
    let mut times = 0;
    for (name, content) in refused {
        for section in ["server chain", "server chain with staples"] {
            let mut room = vec![0; body(section).len()];
            assert_eq!(restore(&hex(content), &chain(), &mut room), None, "{name}");
        }
        times += 1;
    }
    assert!(times >= 6, "{times}");
}

#[test]
fn a_content_of_another_chain_or_length_is_refused() {
    let content = value("server chain", "content");
    let room = body("server chain").len();
    let other = Chain::new([&value("rfc 7924", "certificate")[..]]).unwrap();
    assert_eq!(restore(&content, &other, &mut vec![0; room]), None);
    for len in [0, 3, room - 1, room + 1, 2 * room] {
        assert_eq!(restore(&content, &chain(), &mut vec![0; len]), None, "{len}");
    }
}

#[test]
fn anything_but_a_handshakes_certificate_message_is_not_abbreviated() {
    let body = body("server chain");
    assert!(abbreviate(&body).is_some());
    for len in 0..body.len() {
        assert_eq!(abbreviate(&body[..len]), None, "cut to {len}");
    }
    assert_eq!(abbreviate(&[&body[..], &[0]].concat()), None, "a byte more");
    // A request's context, which only authentication after the handshake has.
    assert_eq!(abbreviate(&[&[1, 7], &body[1..]].concat()), None, "a context");
    assert_eq!(abbreviate(&[0; 4]), None, "no certificate");
}

fn chain() -> Chain {
    let [end_entity, issuer] =
        ["end entity", "intermediate"].map(|name| value("chain of two", name));
    Chain::new([&end_entity[..], &issuer]).unwrap()
}

/// Returns the body of the Certificate message.
fn body(section: &str) -> Vec<u8> {
    value(section, "Certificate").split_off(4)
}

fn section(name: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let heading = format!("[{name}]");
    let lines = VECTORS.lines().skip_while(move |line| *line != heading).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines
        .filter_map(|line| line.rsplit_once(" = ").or_else(|| Some((line.strip_suffix(" =")?, ""))))
}

#[track_caller]
fn value(of: &str, name: &str) -> Vec<u8> {
    let found = section(of).find(|(it, _)| *it == name);
    hex(found.unwrap_or_else(|| panic!("the vectors have no {name} in [{of}]")).1)
}

fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}
