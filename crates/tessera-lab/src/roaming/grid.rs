//! The cells of the experiment.

use std::time::Duration;

use tessera_link::{Congestion, LinkParameters};
use tessera_reports::roaming::{CellName, LinkName, Setup};
use tessera_reports::{Store, Suite, Variant};

use crate::sepp_pair::SeppOption;
use crate::topology::{ROAMING, Stretch};
use crate::variants;

/// The links by name, with their round-trip times in milliseconds: none, those of the paper's mesh, and its latencies
/// from 50 to 371 ms (sections 6.3 and 7), here used as round-trip times.
const LINKS: [(&str, f64); 7] = [
    ("none", 0.0),
    of_mesh(ROAMING[0]),
    of_mesh(ROAMING[1]),
    of_mesh(ROAMING[2]),
    ("50ms", 50.0),
    ("200ms", 200.0),
    ("371ms", 371.0),
];

const fn of_mesh(stretch: Stretch) -> (&'static str, f64) {
    (stretch.name, stretch.rtt_ms as f64)
}

/// Losses on each of them: the share, and how many packets in a row, in the mean.
const LOSSES: [(f64, f64); 4] = [(0.001, 1.0), (0.001, 3.0), (0.01, 1.0), (0.01, 3.0)];

/// The mean of the delay by congestion, as shares of the round-trip time.
const CONGESTIONS: [f64; 2] = [0.05, 0.2];

/// Returns all cells, in the order in which they run: in memory; over each link without loss and congestion; over links
/// with one of both; through two SEPPs. Loss and congestion are measured with the paper's suite and keys in memory: the
/// other suite and store change nothing on the link. Through two SEPPs there is one variant of each option, the closest
/// to what they support, and one with keys in etcd; an option that they lack is reported as such.
pub(super) fn cells() -> Vec<CellName> {
    let variants = variants::all();
    let plain = LINKS.map(|(name, rtt_ms)| link(name, rtt_ms));
    let of_the_paper = |variant: &&Variant| is_of_the_paper(variant);
    let cell = |through, link: &LinkName, variant: &Variant| CellName {
        variant: *variant,
        through,
        link: link.clone(),
    };
    let in_memory = variants.iter().map(|it| cell(Setup::Engine, &plain[0], it));
    let over_links = plain
        .iter()
        .flat_map(|link| variants.iter().map(move |it| cell(Setup::Endpoints, link, it)));
    let disturbed: Vec<_> = plain.iter().flat_map(disturbed).collect();
    let over_disturbed = disturbed.iter().flat_map(|link| {
        let variants = variants.iter().filter(of_the_paper);
        variants.map(move |it| cell(Setup::Endpoints, link, it))
    });
    let through_proxies = plain.iter().flat_map(|link| {
        let variants = variants.iter().filter(|variant| SeppOption::is_nearest(variant));
        variants.map(move |it| cell(Setup::Sepp, link, it))
    });
    in_memory.chain(over_links).chain(over_disturbed).chain(through_proxies).collect()
}

fn is_of_the_paper(variant: &Variant) -> bool {
    variant.suite == Suite::Aes256GcmSha384 && variant.store == Store::Memory
}

fn link(name: &str, rtt_ms: f64) -> LinkName {
    LinkName { name: name.to_owned(), rtt_ms, loss: 0.0, loss_burst: 1.0, congestion: 0.0 }
}

/// Returns a link with each of the losses, and with each of the congestions, which are shares of the round-trip time
/// and so need one.
fn disturbed(plain: &LinkName) -> Vec<LinkName> {
    let losses = LOSSES.map(|(loss, loss_burst)| LinkName { loss, loss_burst, ..plain.clone() });
    let congestions = CONGESTIONS.map(|congestion| LinkName { congestion, ..plain.clone() });
    let congestions = congestions.into_iter().filter(|it| it.rtt_ms > 0.0);
    losses.into_iter().chain(congestions).collect()
}

/// Returns a link's parameters; random numbers start at this seed.
pub(super) fn parameters(link: &LinkName, seed: u64) -> LinkParameters {
    let LinkName { rtt_ms, loss, loss_burst, congestion, .. } = *link;
    LinkParameters {
        rtt: Duration::from_secs_f64(rtt_ms / 1e3),
        loss,
        loss_burst,
        congestion: match congestion {
            0.0 => Congestion::None,
            share => Congestion::Share(share),
        },
        seed,
        ..LinkParameters::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tessera_link::{Link, LinkError, LinkKind};

    use super::*;

    #[test]
    fn every_cell_occurs_in_the_grid_once() {
        let cells = cells();
        let keys: HashSet<_> = cells.iter().map(CellName::key).collect();
        assert_eq!(keys.len(), cells.len());
        let count = |through| cells.iter().filter(|it| it.through == through).count();
        let (variants, of_the_paper) = (42, 15);
        assert_eq!(count(Setup::Engine), variants);
        assert_eq!(count(Setup::Endpoints), 7 * variants + (7 * 4 + 6 * 2) * of_the_paper);
        // (a) to (d'), and (e) in memory and in etcd.
        assert_eq!(count(Setup::Sepp), 7 * 7);
    }

    #[test]
    fn every_link_of_the_grid_can_be_made() {
        for cell in cells() {
            let parameters = parameters(&cell.link, 1);
            match Link::open(LinkKind::Loopback, &parameters) {
                Ok(_) => assert!(!cell.link.needs_emulation(), "{}", cell.link),
                Err(LinkError::NoEmulation { .. }) => {
                    assert!(cell.link.needs_emulation(), "{}", cell.link);
                }
                Err(error) => panic!("{}: {error}", cell.link),
            }
        }
    }
}
