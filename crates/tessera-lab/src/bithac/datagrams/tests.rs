use std::collections::HashMap;

use super::*;
use crate::bithac::report::Part;
use crate::bithac::way::CertificateWay;
use crate::certificates::Certificates;
use crate::wired::LinkName;

fn name(way: CertificateWay, mtu: u16, loss: f64) -> CellName {
    let link = LinkName { rtt_ms: 50.0, rate_bps: Some(1_000_000), mtu, loss };
    CellName { part: Part::Datagrams, way, certificates: Certificates::Rsa2048, link }
}

fn cell(name: &CellName, parties: &Parties, samples: usize, seed: u64) -> DatagramCell {
    measure(name, parties, samples, seed, || ())
        .unwrap_or_else(|error| panic!("{}: {error}", name.key()))
}

fn shown() -> impl Iterator<Item = CertificateWay> {
    let is_here = |way: &CertificateWay| way.is_over_links(Certificates::Rsa2048);
    CertificateWay::ALL.into_iter().filter(is_here)
}

#[test]
fn every_way_completes_over_each_link_and_cached_chains_take_fewer_packets() {
    let parties = Parties::new(Certificates::Rsa2048, 2).unwrap();
    let mut packets = HashMap::new();
    for way in shown() {
        for mtu in [576, 127] {
            for (loss, samples) in [(0.0, 1), (0.01, 1), (0.05, 1)] {
                let name = name(way, mtu, loss);
                let cell = cell(&name, &parties, samples, 1);
                assert_eq!(cell.samples.len(), samples, "{}", name.key());
                if loss == 0.0 {
                    assert_eq!(cell.samples.resent().collect::<Vec<_>>(), [0.0], "{}", name.key());
                    packets.insert((way, mtu), cell.samples.packets().next().unwrap());
                }
            }
        }
    }
    let of = |way| packets[&(way, 127)];
    use CertificateWay::{Cached, Full, PskDhe, Rfc7924};
    assert!(of(Cached) < 0.5 * of(Full) && of(Cached) < of(Rfc7924), "{packets:?}");
    assert!(of(PskDhe) < of(Cached), "{packets:?}");
}

#[test]
fn a_seed_repeats_each_loss_and_each_moment() {
    let parties = Parties::new(Certificates::Rsa2048, 2).unwrap();
    for way in [CertificateWay::Cached, CertificateWay::ZeroRttFs] {
        let name = name(way, 127, 0.05);
        let once = cell(&name, &parties, 4, 7);
        assert_eq!(once.samples, cell(&name, &parties, 4, 7).samples, "{way}");
        assert_ne!(once.samples, cell(&name, &parties, 4, 8).samples, "{way}");
    }
}

#[test]
fn what_is_counted_without_losses_is_what_the_link_carried() {
    let parties = Parties::new(Certificates::P256, 2).unwrap();
    for way in shown() {
        for mtu in [576, 127] {
            let name = name(way, mtu, 0.0);
            let mut stage = Stage::new(&name, &parties).unwrap();
            stage.prepare(1).unwrap();
            let made = stage.handshake(&name.link.parameters(1)).unwrap();
            for (side, link) in [&made.client, &made.server].into_iter().zip(made.link) {
                let sent = (side.sent.count, side.sent.bytes);
                assert_eq!(sent, (link.offered_packets, link.offered_bytes), "{way}, {mtu}");
                assert_eq!(sent, (link.delivered_packets, link.delivered_bytes), "{way}, {mtu}");
                assert_eq!(side.resent, 0, "{way}, {mtu}");
            }
            // In a datagram after the ClientHello's last they come after the answer, which counts none (docs/0rtt-fs.md,
            // section 16).
            let early = if way == CertificateWay::ZeroRttFs && mtu == 576 { 16 } else { 0 };
            assert_eq!(made.early_data.len(), early, "{way}, {mtu}");
            // A server asks each client for a cookie, unless a ticket vouches for it.
            let trips = if way.resumes() { 1 } else { 2 };
            let least = std::time::Duration::from_millis(50 * trips);
            assert!(made.client.complete >= least, "{way}, {mtu}: {:?}", made.client.complete);
        }
    }
}

/// Both directions lose packets: what isn't acknowledged is sent again, and counted.
#[test]
fn losses_make_ends_send_again_and_take_time() {
    let parties = Parties::new(Certificates::Rsa2048, 2).unwrap();
    let of = |loss, samples| {
        let cell = cell(&name(CertificateWay::Full, 127, loss), &parties, samples, 1);
        let sum = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        (sum(cell.samples.resent().collect()), sum(cell.samples.complete_ms().collect()))
    };
    let ((resent, ms), (resent_without, ms_without)) = (of(0.05, 5), of(0.0, 1));
    assert!(resent_without == 0.0 && resent > 100.0, "{resent} bytes");
    assert!(ms > ms_without, "{ms} ms, and {ms_without} ms without losses");
}
