//! The numbers that the paper prints (Lastre et al., Sensors 2025, 25(19), 6144).

use tessera_reports::Letter;

/// Table 5, in microseconds: sending, receiving, total; and the factor of 0-RTT.
pub(super) fn latency(option: Letter) -> Option<[f64; 4]> {
    match option {
        Letter::A => Some([734.0, 669.0, 1403.0, 8.40]),
        Letter::B => Some([112.0, 112.0, 224.0, 1.34]),
        Letter::C => Some([144.0, 144.0, 288.0, 1.72]),
        Letter::D => Some([15.0, 152.0, 167.0, 1.00]),
        Letter::DSingleUse => None,
        Letter::E => Some([52.0, 143.0, 195.0, 1.17]),
    }
}

/// Returns the numbers for Fig. 10 in its section 5.7, in KB per connection: a new one, and a resumed one. Values that
/// are only in the figure are not included.
pub(super) fn memory(option: Letter) -> [Option<f64>; 2] {
    match option {
        Letter::A => [Some(9.2), Some(6.0)],
        Letter::B => [Some(2.1), Some(2.8)],
        Letter::C => [Some(2.9), None],
        Letter::D => [Some(4.2), None],
        Letter::DSingleUse => [None, None],
        Letter::E => [Some(6.2), Some(7.5)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The copied numbers add up as in the paper.
    #[test]
    fn the_papers_totals_are_its_sums() {
        for option in Letter::ALL {
            let Some([send, receive, total, factor]) = latency(option) else { continue };
            assert_eq!(send + receive, total);
            assert!((total / 167.0 - factor).abs() < 0.006, "{option:?}");
        }
    }
}
