//! The places between which roaming is measured.

/// A link between two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Both places, as cells of a grid name it.
    pub(crate) name: &'static str,
    /// The round-trip time between the two, in milliseconds.
    pub(crate) rtt_ms: u64,
}

/// The links of the roaming paper's mesh (Lastre et al., Sensors 2025, 25, 6144, section 5.3 and Fig. 11), each of
/// which is measured separately. The paper has 33 ms and, for Los Angeles, 134 ms; the one between Tokyo and Los
/// Angeles is our choice: it makes a path from Seoul via Tokyo a little longer than the direct one.
pub(crate) const ROAMING: [Stretch; 3] = [
    Stretch { name: "seoul-tokyo", rtt_ms: 33 },
    Stretch { name: "tokyo-los-angeles", rtt_ms: 105 },
    Stretch { name: "seoul-los-angeles", rtt_ms: 134 },
];
