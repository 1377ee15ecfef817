//! Runs the readers of the carrier paper on mutations of valid input: none panics, and what is read is within
//! bounds and keeps its meaning.

use std::sync::Arc;
use std::vec::Vec;

use tessera::auth::{CertificateContents, Role};
use tessera::wire::CertificateType;
use tessera_harness::Trace;

use super::super::offered::{OfferedChain, asked_of};
use super::wire::{
    CachedInfo, CachedInfoAnswer, Hello, read_certificate, read_request, read_selected_ticket,
};
use super::{NO_ID, expand};
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::mutated::Mutator;
use crate::wire::Content;

/// Corrects the lengths half of the time: otherwise most of the data behind them isn't read.
fn list(mutator: &mut Mutator, round: usize, of: &[u8]) -> Vec<u8> {
    let changed = mutator.mutate(of);
    match round % 2 {
        0 => changed,
        _ => [&(changed.len() as u16).to_be_bytes()[..], &changed].concat(),
    }
}

fn read_extensions(mutator: &mut Mutator, round: usize, read: &mut [usize; 4]) {
    let (hash, ticket) = ([7; 32], [[1, 8].as_slice(), &[9; 8]].concat());
    let objects = [[1, 32].as_slice(), &hash, &[2, 32], &hash, &[200, 1, 1]].concat();
    let info = list(mutator, round, &objects.repeat(1 + round % 12));
    if let Ok(info) = CachedInfo::read(&info) {
        read[0] += 1;
        assert!(info.certificates.len() <= 8 && info.requests.len() <= 8);
        if let Some(again) = info.write() {
            assert_eq!(CachedInfo::read(&again), Ok(info));
        }
    }
    let other = [[1, 8].as_slice(), &[round as u8; 8], &[3, 1, 5]].concat();
    let tickets = list(mutator, round, &[ticket, other].concat());
    if let Ok(Hello::Tickets(shown)) = Hello::read(&tickets) {
        read[1] += 1;
        assert!(shown.len() <= 8 && shown.is_sorted_by_key(|(place, _)| *place));
        let last = shown.last().map_or(0, |(place, _)| usize::from(*place));
        assert!(3 * last < tickets.len(), "no entry has less than three bytes");
    }
    let offered = CachedInfo { certificates: [ChainHash(hash)].to_vec(), requests: Vec::new() };
    if let Ok(selected) = CachedInfoAnswer::read(&list(mutator, round, &[1]), &offered) {
        read[2] += 1;
        assert!(selected.certificate && !selected.request);
    }
    let answer = list(mutator, round, &[1, 0, (round % 4) as u8]);
    if let Ok(Some(place)) = read_selected_ticket(&answer, 2) {
        read[3] += 1;
        assert!(place < 2);
    }
}

fn read_messages(mutator: &mut Mutator, chain: &Chain, content: &[u8], read: &mut [usize; 2]) {
    let sha256 = tessera_aws_lc::provider().sha256().expect("SHA-256");
    let asked = asked_of(Role::Client, None, tessera_harness::at(0));
    let form = Form::Whole(chain.clone());
    let offered = OfferedChain::new(NO_ID, (), &form, None, asked).expect("a chain");
    let expected = chain.hash(sha256);
    let said = mutator.mutate(&[&[32], content].concat());
    let _ = read_request(&said);
    let Ok(said) = read_certificate(&said) else { return };
    read[0] += 1;
    let (decoded, len) = expand(&offered, expected, said).expect("well-formed");
    let CertificateContents::Body(body) = decoded.contents else { panic!("it is whole") };
    assert!(len <= chain.body_len(0) + said.len());
    let is_it = Chain::of_body(CertificateType::X509, &body).as_ref() == Some(chain);
    assert!(is_it, "whatever was received, the expected chain is judged");
    if decoded.is_what_was_sent {
        read[1] += 1;
        assert_eq!(Content::write(&expected, &body).as_deref(), Some(said));
    } else {
        assert_eq!(chain.body_with(&[]), Some(body));
    }
}

fn attack(rounds: usize) {
    let vectors = Trace::read(include_str!("../../../../../docs/cached-handshakes-vectors.txt"));
    let section = "server chain with staples";
    let body = &vectors.get(section, "Certificate")[4..];
    let chain = Arc::new(Chain::of_body(CertificateType::X509, body).expect("a chain"));
    let content = vectors.get(section, "content");
    let (mut mutator, mut extensions, mut messages) = (Mutator(3), [0; 4], [0; 2]);
    for round in 0..rounds {
        read_extensions(&mut mutator, round, &mut extensions);
        read_messages(&mut mutator, &chain, content, &mut messages);
    }
    let read = [&extensions[..], &messages].concat();
    assert!(read.iter().all(|read| *read > rounds / 200), "{read:?}");
}

#[test]
fn any_message_of_a_peer_on_paper_is_read_or_refused() {
    attack(10_000);
}

#[test]
#[ignore = "takes minutes"]
fn millions_of_mutations_on_paper_are_read_or_refused() {
    attack(3_000_000);
}
