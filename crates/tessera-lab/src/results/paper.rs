//! The numbers that the paper prints (Lastre et al., Sensors 2025, 25(19), 6144).

use crate::variants::PaperOption;

/// Table 5, in microseconds: sending, receiving, total; and the factor of 0-RTT.
pub(super) fn latency(option: PaperOption) -> Option<[f64; 4]> {
    match option {
        PaperOption::Full => Some([734.0, 669.0, 1403.0, 8.40]),
        PaperOption::PskOnly => Some([112.0, 112.0, 224.0, 1.34]),
        PaperOption::PskDhe => Some([144.0, 144.0, 288.0, 1.72]),
        PaperOption::ZeroRtt => Some([15.0, 152.0, 167.0, 1.00]),
        PaperOption::ZeroRttOnce => None,
        PaperOption::ZeroRttFs => Some([52.0, 143.0, 195.0, 1.17]),
    }
}

/// Returns the numbers for Fig. 10 in its section 5.7, in KB per connection: a new one, and a resumed one. Values that
/// are only in the figure are not included.
pub(super) fn memory(option: PaperOption) -> [Option<f64>; 2] {
    match option {
        PaperOption::Full => [Some(9.2), Some(6.0)],
        PaperOption::PskOnly => [Some(2.1), Some(2.8)],
        PaperOption::PskDhe => [Some(2.9), None],
        PaperOption::ZeroRtt => [Some(4.2), None],
        PaperOption::ZeroRttOnce => [None, None],
        PaperOption::ZeroRttFs => [Some(6.2), Some(7.5)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The copied numbers add up as in the paper.
    #[test]
    fn the_papers_totals_are_its_sums() {
        for option in PaperOption::ALL {
            let Some([send, receive, total, factor]) = latency(option) else { continue };
            assert_eq!(send + receive, total);
            assert!((total / 167.0 - factor).abs() < 0.006, "{option:?}");
        }
    }
}
