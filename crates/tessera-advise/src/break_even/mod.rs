//! From how many reconnections an hour, and from which round-trip time, does an option pay off?
//!
//! N32-f is long-lived: an option saves something when a connection comes back, and between two such moments staying
//! ready may cost something. Two options are compared, a *candidate* and a *baseline*, for one connection.
//!
//! **A reconnection.** With the round-trip time `R`, each of the `w` requests that wait for the connection waits
//! `T(R)`, from before connect() to the first byte of its response. The processors of both ends work for `C(R)`,
//! including the issuing of one ticket for the next time. A second of processor time is worth `p` seconds of one
//! request's waiting ([`Conditions::processor_price`]). So a reconnection gains
//!
//! ```text
//! g(R) = w · (T_baseline(R) - T_candidate(R)) - p · (C_candidate(R) - C_baseline(R))
//! ```
//!
//! microseconds of waiting: [`gain_us`]. In a storm, where all connections come back at once, only this counts.
//!
//! **An hour.** Connections break independently, `r` times an hour (a Poisson process), and a ticket lives `L` hours,
//! after which it is worthless. [`Renewal`] decides what happens then:
//!
//! - `Never`: a share `e^(-rL)` of the reconnections comes too late and uses the baseline; the ticket was issued for
//!   nothing, which costs `x = i_candidate - i_baseline` more than the baseline. (The baseline's own tickets are
//!   assumed to live long enough.) The hour gains `r · ((1 - e^(-rL)) · g - e^(-rL) · p · x)`.
//! - `WheneverExpired`: the server issues another ticket whenever one expires, `r · e^(-rL) / (1 - e^(-rL))` times an
//!   hour on average (`1/L` if no connection ever breaks), at the price `x = i_candidate` each. The hour gains `r · g -
//!   r · e^(-rL) / (1 - e^(-rL)) · p · x`.
//!
//! `i` is the processor time of both ends for one ticket. An option *pays* from the smallest `r` at which the hour
//! gains. In both cases that is `r = ln(1 + p · x / g) / L`: [`reconnections_per_hour`]. It pays *always* if `x ≤ 0`
//! and `g > 0`, and *never* if `g ≤ 0`.
//!
//! **Several servers.** If each server has separate one-time keys, a share `h` of the reconnections comes home
//! ([`Conditions::at_home`]), and the others use the baseline with a ticket that was issued for nothing. With `q = 1 -
//! e^(-rL)` the hour of `Never` gains `r · (q · h · g - (1 - q · h) · p · x)`: the option pays from `r = -ln(1 - p · x
//! / (h · (g + p · x))) / L` on, and never if `p · x ≥ h · (g + p · x)`.
//!
//! It pays from the smallest `R` beyond which `g(R) > 0`: [`round_trip_ms`]. Between measured round-trip times `T` and
//! `C` are interpolated linearly. Beyond them `T` changes by whole round trips ([`ResponseCurve`]), and `C` stays as at
//! the nearest one ([`Curve`]).
//!
//! Bytes and memory have no price here; [`hour`] returns them.

mod curves;

use serde::Serialize;

use self::curves::US_OF_A_MS;
pub use self::curves::{Curve, ResponseCurve};

/// The cost of an option.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// From before connect() to the first byte of the response, in microseconds: `T`.
    pub waiting_us: ResponseCurve,
    /// Processor time of both ends together, in microseconds, including the issuing of one ticket: `C`.
    pub processor_us: Curve,
    /// TCP payload of both ends for a reconnection, in bytes, including one ticket.
    pub bytes: f64,
    /// The cost of one ticket; zeros for an option without tickets.
    pub ticket: Ticket,
}

/// The cost of one ticket.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ticket {
    /// Processor time of both ends together to issue and accept it, in microseconds: `i`.
    pub processor_us: f64,
    /// Its bytes on the wire.
    pub bytes: f64,
    /// The server's memory for it until it is used or expires, in bytes.
    pub held_bytes: f64,
}

/// The deployment of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// The round-trip time in milliseconds: `R`.
    pub round_trip_ms: f64,
    /// How many requests wait for a connection that comes back: `w`.
    pub waiting_requests: f64,
    /// How many seconds of one request's waiting a second of processor time is worth: `p`. With 1 both count the same.
    pub processor_price: f64,
    /// How long a ticket lives, in hours: `L`.
    pub ticket_lifetime_hours: f64,
    /// What happens to tickets that expire.
    pub renewal: Renewal,
    /// The share of the reconnections that reach the server with the ticket's one-time key, more than 0 and up to 1:
    /// `h`.
    pub at_home: f64,
}

/// What happens to a ticket that expires while its connection lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Nothing: later reconnections use the baseline.
    Never,
    /// The server issues another one.
    WheneverExpired,
}

/// Where an option begins to pay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakEven {
    /// At any.
    Always,
    /// From this value on.
    From(f64),
    /// At none.
    Never,
}

impl BreakEven {
    /// Whether it pays at this value.
    #[must_use]
    pub fn at(self, value: f64) -> bool {
        match self {
            Self::Always => true,
            Self::From(least) => value >= least,
            Self::Never => false,
        }
    }
}

/// Returns the gain of a reconnection, in microseconds of waiting: `g(R)`.
///
/// Negative if the candidate costs more.
#[must_use]
pub fn gain_us(candidate: &Costs, baseline: &Costs, conditions: &Conditions) -> f64 {
    conditions.at_home * gain_at(candidate, baseline, conditions, conditions.round_trip_ms)
}

fn gain_at(candidate: &Costs, baseline: &Costs, conditions: &Conditions, rtt_ms: f64) -> f64 {
    let sooner = baseline.waiting_us.at(rtt_ms) - candidate.waiting_us.at(rtt_ms);
    let work = candidate.processor_us.at(rtt_ms) - baseline.processor_us.at(rtt_ms);
    conditions.waiting_requests * sooner - conditions.processor_price * work
}

/// Returns from how many reconnections an hour the candidate pays.
#[must_use]
pub fn reconnections_per_hour(
    candidate: &Costs,
    baseline: &Costs,
    conditions: &Conditions,
) -> BreakEven {
    let gain = gain_at(candidate, baseline, conditions, conditions.round_trip_ms);
    let standing = conditions.processor_price * standing_us(candidate, baseline, conditions);
    if gain <= 0.0 {
        return BreakEven::Never;
    } else if standing <= 0.0 {
        return BreakEven::Always;
    }
    // The share of the tickets that must be used, among those in time.
    let used = standing / (conditions.at_home * (gain + standing));
    match used < 1.0 {
        true => BreakEven::From(-(-used).ln_1p() / conditions.ticket_lifetime_hours),
        false => BreakEven::Never,
    }
}

/// Returns the cost of an unused ticket: `x`.
fn standing_us(candidate: &Costs, baseline: &Costs, conditions: &Conditions) -> f64 {
    match conditions.renewal {
        Renewal::Never => candidate.ticket.processor_us - baseline.ticket.processor_us,
        Renewal::WheneverExpired => candidate.ticket.processor_us,
    }
}

/// Returns from which round-trip time, in milliseconds, a reconnection by the candidate gains.
#[must_use]
pub fn round_trip_ms(candidate: &Costs, baseline: &Costs, conditions: &Conditions) -> BreakEven {
    let both = [candidate, baseline];
    let waiting = both.iter().flat_map(|costs| costs.waiting_us.measured());
    let work = both.iter().flat_map(|costs| costs.processor_us.measured());
    let mut knots: Vec<f64> = waiting.chain(work).filter(|rtt| *rtt > 0.0).collect();
    knots.push(0.0);
    knots.sort_by(f64::total_cmp);
    knots.dedup();
    let last = knots.last().copied().unwrap_or_default();
    let gain = |rtt| gain_at(candidate, baseline, conditions, rtt);
    // Beyond the last one only whole round trips count.
    let saved = baseline.waiting_us.round_trips() - candidate.waiting_us.round_trips();
    let slope = conditions.waiting_requests * US_OF_A_MS * saved;
    if slope < 0.0 || (gain(last) <= 0.0 && slope == 0.0) {
        // Far enough away it loses, or it never begins to gain.
        return BreakEven::Never;
    }
    if gain(last) <= 0.0 {
        return BreakEven::From(last - gain(last) / slope);
    }
    for pair in knots.windows(2).rev() {
        if let [from, to] = *pair
            && gain(from) <= 0.0
        {
            return BreakEven::From(from + (to - from) * gain(from) / (gain(from) - gain(to)));
        }
    }
    BreakEven::Always
}

/// One hour of one connection with the candidate, as the difference to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hour {
    /// The share of the reconnections with a live ticket, 0 to 1.
    pub in_time: f64,
    /// The reduction of waiting, in microseconds.
    pub waiting_saved_us: f64,
    /// The additional processor time, in microseconds.
    pub processor_us: f64,
    /// The additional bytes on the link.
    pub bytes: f64,
    /// The additional bytes in the server's memory.
    pub held_bytes: f64,
    /// The gain, in microseconds of waiting, with processor time at its price.
    pub gain_us: f64,
}

/// Returns the differences in an hour with this many reconnections.
#[must_use]
pub fn hour(
    candidate: &Costs,
    baseline: &Costs,
    conditions: &Conditions,
    reconnections: f64,
) -> Hour {
    let rtt = conditions.round_trip_ms;
    // For few reconnections 1 - e^(-rL) would lose most digits.
    let exponent = reconnections * conditions.ticket_lifetime_hours;
    let (late, in_time) = ((-exponent).exp(), -(-exponent).exp_m1());
    let (in_time, unused) = match conditions.renewal {
        Renewal::Never => (in_time, reconnections * late),
        Renewal::WheneverExpired if reconnections > 0.0 => (1.0, reconnections * late / in_time),
        Renewal::WheneverExpired => (1.0, conditions.ticket_lifetime_hours.recip()),
    };
    let elsewhere = reconnections * in_time * (1.0 - conditions.at_home);
    let (used, unused) = (reconnections * in_time * conditions.at_home, unused + elsewhere);
    let sooner = baseline.waiting_us.at(rtt) - candidate.waiting_us.at(rtt);
    let work = candidate.processor_us.at(rtt) - baseline.processor_us.at(rtt);
    let waiting_saved_us = used * conditions.waiting_requests * sooner;
    let processor_us = used * work + unused * standing_us(candidate, baseline, conditions);
    let unused_bytes = match conditions.renewal {
        Renewal::Never => candidate.ticket.bytes - baseline.ticket.bytes,
        Renewal::WheneverExpired => candidate.ticket.bytes,
    };
    Hour {
        in_time,
        waiting_saved_us,
        processor_us,
        bytes: used * (candidate.bytes - baseline.bytes) + unused * unused_bytes,
        held_bytes: candidate.ticket.held_bytes - baseline.ticket.held_bytes,
        gain_us: waiting_saved_us - conditions.processor_price * processor_us,
    }
}

#[cfg(test)]
mod tests;
