//! Which packets are lost: independently, or in bursts.

use crate::parameters::LinkParameters;

/// The losses of one direction.
///
/// Bursts follow Gilbert's model ("Capacity of a burst-noise channel", 1960) with a bad state that loses every packet:
/// a packet's fate depends only on that of the one before. Where `b` is the mean length of a burst and `p` the share of
/// packets that are lost,
///
/// ```text
///   P(lost | the one before was lost)     = 1 - 1/b
///   P(lost | the one before was not lost) = p / (b (1 - p))
/// ```
///
/// so that the share stays `p` for any `b`. The first packet is lost with probability `p`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    after_none: f64,
    after_delivered: f64,
    after_lost: f64,
    before: Option<bool>,
}

impl Loss {
    /// Expects validated parameters.
    pub(super) fn new(parameters: &LinkParameters) -> Self {
        let (share, burst) = (parameters.loss, parameters.loss_burst);
        let (after_delivered, after_lost) = if parameters.loses_in_bursts() {
            (share / (burst * (1.0 - share)), 1.0 - 1.0 / burst)
        } else {
            (share, share)
        };
        Self { after_none: share, after_delivered, after_lost, before: None }
    }

    /// Whether the next packet is lost, by a random number in [0, 1).
    pub(super) fn decide(&mut self, draw: f64) -> bool {
        let probability = match self.before {
            None => self.after_none,
            Some(false) => self.after_delivered,
            Some(true) => self.after_lost,
        };
        let lost = draw < probability;
        self.before = Some(lost);
        lost
    }
}
