//! Up to which distance of the sites early data at the wrong one is cheaper than none.

use crate::numbers::{difference, fixed, plain};
use crate::sites::path::Path;
use crate::sites::report::Row;
use crate::statistics::Median;

/// When the first byte of the request was at the server's application, at one distance of the
/// sites, in milliseconds.
pub(super) struct Distance {
    /// The round-trip time between the sites, in milliseconds.
    pub(super) ms: f64,
    pub(super) home: Median,
    pub(super) away: Median,
    /// Without early data, at the other site.
    pub(super) without: Median,
}

impl Distance {
    /// Returns the distances of some rows at one link, the nearest first.
    pub(super) fn all(rows: &[Row]) -> Vec<Self> {
        let mut all: Vec<_> = rows
            .chunk_by(|a, b| a.site_rtt_ms == b.site_rtt_ms)
            .filter_map(|rows| {
                let first_byte = |path| {
                    let row = rows.iter().find(|row| row.path == path)?;
                    let samples = row.samples.iter().filter_map(|sample| sample.first_byte_us);
                    Median::of(samples.map(|us| us / 1e3))
                };
                Some(Self {
                    ms: rows.first()?.site_rtt_ms,
                    home: first_byte(Path::Home)?,
                    away: first_byte(Path::Away)?,
                    without: first_byte(Path::AwayPskDhe)?,
                })
            })
            .collect();
        all.sort_by(|a, b| a.ms.total_cmp(&b.ms));
        all
    }

    /// Returns how much later the first byte arrives with early data at the wrong site than without any, in
    /// milliseconds; negative if earlier.
    pub(super) fn later(&self) -> f64 {
        self.away.value - self.without.value
    }

    fn is_cheaper(&self) -> bool {
        self.away.is_below(&self.without)
    }

    /// Returns the share of connections that must come home for early data to pay on average, if those gain and the
    /// others lose. `None` if none gain.
    pub(super) fn share_at_home(&self) -> Option<f64> {
        let gain = self.without.value - self.home.value;
        let loss = self.later().max(0.0);
        self.home.is_below(&self.without).then(|| loss / (loss + gain))
    }

    fn difference(&self) -> String {
        let same = "neither sooner nor later, as far as these samples show".to_owned();
        let difference = difference(&self.away, &self.without).unwrap_or(same);
        format!("{difference}, with {} ms between the sites", plain(self.ms))
    }

    fn pays(&self) -> String {
        let with = format!("with {} ms", plain(self.ms));
        match self.share_at_home() {
            None => format!("never {with}, where even at home these samples show no gain"),
            Some(0.0) => format!("wherever its connections come, {with}"),
            Some(share) => format!("if {} of its connections come home, {with}", at_least(share)),
        }
    }
}

/// Formats a share that is needed, with a space that no line ends at.
pub(super) fn at_least(share: f64) -> String {
    match (share * 100.0).ceil() {
        100.0.. => "more than 99\u{a0}%".to_owned(),
        percent => format!("at least {percent}\u{a0}%"),
    }
}

/// Returns the answer, from the medians; the distances begin with the nearest.
pub(super) fn answer(distances: &[Distance]) -> String {
    let (Some(nearest), Some(farthest)) = (distances.first(), distances.last()) else {
        return "Nothing was measured that shows it.".to_owned();
    };
    let ends = || [nearest, farthest].into_iter().take(distances.len());
    let differences: Vec<_> = ends().map(Distance::difference).collect();
    let shares: Vec<_> = ends().map(Distance::pays).collect();
    format!(
        "<strong>{}</strong> Compared with no early data, the first byte of the request was there \
         {}. For a client that cannot choose its site early data pays on average, counted in \
         medians, {}.",
        up_to(distances),
        differences.join("; and "),
        shares.join("; and "),
    )
}

fn up_to(distances: &[Distance]) -> String {
    let cheaper = distances.iter().take_while(|distance| distance.is_cheaper()).count();
    let (near, far) = distances.split_at(cheaper);
    match (near.last(), far.first()) {
        _ if far.iter().any(Distance::is_cheaper) => {
            "Cheaper at some distances and dearer at nearer ones: these samples give no limit."
                .to_owned()
        }
        (None, _) => "At none of the distances measured was early data at the wrong site cheaper \
                      than no early data."
            .to_owned(),
        (Some(last), None) => format!(
            "At every distance measured, up to {} ms between the sites, early data at the wrong \
             site was cheaper than no early data.",
            plain(last.ms)
        ),
        (Some(last), Some(next)) => format!(
            "Up to about {} ms between the sites early data at the wrong site is cheaper than no \
             early data.",
            fixed(crossing(last, next), 1)
        ),
    }
}

/// Returns where the line through two distances crosses zero; the nearer one if it does not.
fn crossing(near: &Distance, far: &Distance) -> f64 {
    let (before, after) = (near.later(), far.later());
    if after <= 0.0 {
        return near.ms;
    }
    near.ms + (far.ms - near.ms) * before / (before - after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(ms: f64, home: f64, away: f64, without: f64) -> Distance {
        let median = |value| Median { value, interval: Some((value - 0.5, value + 0.5)) };
        let (home, away, without) = (median(home), median(away), median(without));
        Distance { ms, home, away, without }
    }

    #[test]
    fn early_data_that_costs_more_at_every_distance_is_reported_so() {
        let answer = answer(&[
            distance(5.0, 50.0, 88.0, 83.0),
            distance(20.0, 50.0, 103.0, 83.0),
            distance(77.0, 50.0, 160.0, 83.0),
        ]);
        assert!(answer.starts_with("<strong>At none of the distances measured"), "{answer}");
        assert!(answer.contains("there 5.0 ms later, with 5 ms between the sites"), "{answer}");
        assert!(answer.contains("and 77.0 ms later, with 77 ms"), "{answer}");
        // 5 of 38, 77 of 110.
        assert!(
            answer.contains("if at least 14\u{a0}% of its connections come home, with 5 ms; and"),
            "{answer}"
        );
        assert!(
            answer.ends_with("if at least 70\u{a0}% of its connections come home, with 77 ms.")
        );
    }

    #[test]
    fn early_data_that_pays_up_to_a_distance_is_reported_so() {
        let (near, far) = (distance(10.0, 50.0, 80.0, 90.0), distance(40.0, 50.0, 110.0, 90.0));
        let both = answer(&[near, far]);
        assert!(both.starts_with("<strong>Up to about 20.0 ms between"), "{both}");
        assert!(both.contains("10.0 ms sooner, with 10 ms between the sites"), "{both}");
        assert!(
            both.contains("wherever its connections come, with 10 ms; and if at least 34\u{a0}%"),
            "{both}"
        );
        let one = answer(&[distance(10.0, 50.0, 80.0, 90.0)]);
        assert!(one.starts_with("<strong>At every distance measured, up to 10 ms"), "{one}");
    }

    #[test]
    fn a_difference_within_the_samples_uncertainty_is_no_answer() {
        let near = answer(&[distance(0.0, 50.0, 82.9, 83.0)]);
        assert!(near.starts_with("<strong>At none"), "{near}");
        assert!(near.contains("neither sooner nor later, as far as these samples show"), "{near}");
        let mixed = answer(&[distance(1.0, 50.0, 90.0, 83.0), distance(9.0, 50.0, 70.0, 83.0)]);
        assert!(mixed.contains("give no limit"), "{mixed}");
        let slow_home = answer(&[distance(1.0, 84.0, 90.0, 83.0)]);
        assert!(slow_home.contains("never with 1 ms"), "{slow_home}");
        let far = answer(&[distance(9_000.0, 50.0, 9_083.0, 83.0)]);
        assert!(far.contains("if more than 99\u{a0}% of"), "{far}");
        assert!(answer(&[]).starts_with("Nothing was measured"));
    }
}
