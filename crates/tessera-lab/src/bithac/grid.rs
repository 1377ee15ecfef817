//! The cells of the experiment that need a link.

use super::report::{CellName, Part};
use super::way::CertificateWay;
use crate::certificates::Certificates;
use crate::wired::LinkName;

/// The selection of cells.
#[derive(Clone, Copy)]
pub(super) struct CellSelection<'a> {
    pub(super) parts: &'a [Part],
    pub(super) ways: &'a [CertificateWay],
    pub(super) certificates: &'a [Certificates],
    pub(super) mtus: &'a [u16],
    pub(super) losses: &'a [f64],
}

/// Returns all selected cells, in the order in which they run.
pub(super) fn cells(asked: &CellSelection<'_>) -> Vec<CellName> {
    let is_asked = |part| asked.parts.contains(&part);
    let mut cells = Vec::new();
    if is_asked(Part::Bytes) {
        cells.extend(asked.over(Part::Bytes, plain));
    }
    if is_asked(Part::Losses) {
        for loss in asked.losses {
            cells.extend(asked.over(Part::Losses, |mtu| LinkName { loss: *loss, mtu, ..LOSING }));
        }
    }
    if is_asked(Part::Times) {
        let chosen = |cell: &CellName| {
            asked.ways.contains(&cell.way) && asked.certificates.contains(&cell.certificates)
        };
        cells.extend(times().into_iter().filter(chosen));
    }
    cells
}

/// Returns the selected cells of handshakes over datagrams: without losses, and over links that lose packets.
pub(super) fn datagrams(asked: &CellSelection<'_>) -> Vec<CellName> {
    if !asked.parts.contains(&Part::Datagrams) {
        return Vec::new();
    }
    // Over a larger one the length of datagrams isn't the link's.
    let shorter = asked.mtus.iter().copied().filter(|mtu| usize::from(*mtu) < LONGEST_PACKET);
    let mtus: Vec<_> = shorter.collect();
    let asked = CellSelection { mtus: &mtus, ..*asked };
    let losses = [0.0].into_iter().chain(asked.losses.iter().copied().filter(|loss| *loss > 0.0));
    let link = |mtu, loss| LinkName { loss, mtu, ..LOSING };
    losses.flat_map(|loss| asked.over(Part::Datagrams, move |mtu| link(mtu, loss))).collect()
}

/// The length of a packet with the longest datagram that both ends send by default.
const LONGEST_PACKET: usize = 1200 + 28;

impl CellSelection<'_> {
    /// Returns each way with each kind of certificates over a link of each MTU.
    fn over(
        &self,
        part: Part,
        link: impl Fn(u16) -> LinkName + Copy,
    ) -> impl Iterator<Item = CellName> {
        self.mtus.iter().flat_map(move |mtu| {
            self.certificates.iter().flat_map(move |certificates| {
                let is_here = |way: &&CertificateWay| way.is_over_links(*certificates);
                let shown = self.ways.iter().filter(is_here);
                shown.map(move |way| {
                    let (way, certificates, link) = (*way, *certificates, link(*mtu));
                    CellName { part, way, certificates, link }
                })
            })
        })
    }
}

/// Returns a link that only carries packets, up to this size.
fn plain(mtu: u16) -> LinkName {
    LinkName { rtt_ms: 0.0, rate_bps: None, mtu, loss: 0.0 }
}

/// The link for losses, in between those of the times.
const LOSING: LinkName = LinkName { rtt_ms: 50.0, rate_bps: Some(1_000_000), mtu: 1500, loss: 0.0 };

const fn link(rate_bps: u64, rtt_ms: f64, mtu: u16, loss: f64) -> LinkName {
    LinkName { rtt_ms, rate_bps: Some(rate_bps), mtu, loss }
}

/// Returns the cells whose times are measured: from 20 kbit/s to 100 Mbit/s, near and far, with and without loss.
fn times() -> Vec<CellName> {
    use CertificateWay::{Cached, Full, KnownKey, PskDhe, RawKeys, ServerOnly};
    use Certificates::{MlDsa65, MlDsa87, MlKem768, P256, Rsa2048};
    let both = [Full, Cached];
    let all = [Full, ServerOnly, Cached, RawKeys, PskDhe];
    let kem = [Full, ServerOnly, Cached, RawKeys, KnownKey];
    let of: [(LinkName, Certificates, &[CertificateWay]); 12] = [
        (link(20_000, 200.0, 1500, 0.0), P256, &both),
        (link(20_000, 200.0, 1500, 0.0), MlDsa65, &both),
        (link(100_000, 100.0, 1500, 0.0), Rsa2048, &both),
        (link(100_000, 100.0, 1500, 0.0), P256, &both),
        (link(100_000, 100.0, 1500, 0.0), MlDsa65, &both),
        (link(100_000, 100.0, 1500, 0.01), MlDsa65, &both),
        (link(250_000, 20.0, 127, 0.01), P256, &both),
        (link(1_000_000, 50.0, 1500, 0.0), MlDsa65, &all),
        (link(1_000_000, 50.0, 1500, 0.0), MlKem768, &kem),
        (link(1_000_000, 50.0, 1500, 0.05), MlDsa65, &both),
        (link(100_000_000, 10.0, 1500, 0.0), Rsa2048, &both),
        (link(100_000_000, 10.0, 1500, 0.0), MlDsa87, &both),
    ];
    let cells = of.into_iter().flat_map(|(link, certificates, ways)| {
        ways.iter().map(move |way| CellName {
            part: Part::Times,
            way: *way,
            certificates,
            link: link.clone(),
        })
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn all(parts: &[Part]) -> Vec<CellName> {
        cells(&CellSelection {
            parts,
            ways: &CertificateWay::ALL,
            certificates: &Certificates::ALL,
            mtus: &[1500, 576, 127],
            losses: &[0.01, 0.05],
        })
    }

    /// How many ways there are over links, of all certificates.
    fn shown() -> usize {
        // `known` looks like `full` there, and `server-only` has times alone.
        let shown = CertificateWay::ALL.len() - 2;
        // Keys that sign can't be known.
        shown * Certificates::ALL.len() - (Certificates::ALL.len() - 1)
    }

    /// The cells whose times are measured.
    const TIMES: usize = 30;

    #[test]
    fn every_cell_occurs_in_the_grid_once() {
        let grid = shown() * 3;
        let losing = 2 * grid;
        assert_eq!(all(&[Part::Bytes]).len(), grid);
        assert_eq!(all(&[Part::Losses]).len(), losing);
        assert_eq!(all(&[Part::Times]).len(), TIMES);
        let cells = all(&Part::ALL);
        let keys: HashSet<_> = cells.iter().map(CellName::key).collect();
        let together = grid + losing + TIMES;
        assert_eq!((keys.len(), cells.len()), (together, together));
    }

    #[test]
    fn datagrams_are_sent_with_and_without_losses_where_the_link_limits_their_length() {
        let names = datagrams(&CellSelection {
            parts: &Part::ALL,
            ways: &CertificateWay::ALL,
            certificates: &Certificates::ALL,
            mtus: &[1500, 576, 127],
            losses: &[0.01, 0.05],
        });
        assert_eq!(names.len(), shown() * 2 * 3);
        let keys: HashSet<_> = names.iter().map(CellName::key).collect();
        assert_eq!(keys.len(), names.len());
        assert!(names.iter().all(|name| name.link.mtu < 1500));
    }

    #[test]
    fn only_the_requested_times_are_in_the_grid() {
        let cells = cells(&CellSelection {
            parts: &[Part::Times],
            ways: &[CertificateWay::Full],
            certificates: &[Certificates::P256],
            mtus: &[],
            losses: &[],
        });
        assert_eq!(cells.len(), 3);
    }
}
