//! A strip: the samples of one row, drawn.

use std::fmt::Write;

use super::axis::Axis;
use crate::numbers::{number, plain};
use crate::statistics::Median;
use crate::table::html::escaped;

/// The most dots in a lane: more would hide each other, and make the page large.
pub(crate) const MOST_DOTS: usize = 400;

/// How high a lane is, in pixels.
const LANE: usize = 16;

/// The width of the drawing, in its own units; it is stretched to the available room, while strokes keep their width,
/// and dots their shape.
const WIDTH: f64 = 1000.0;

/// The data of one lane.
#[derive(Clone)]
pub(crate) enum LaneData {
    Samples { samples: Vec<f64>, median: Option<Median>, extent: f64 },
    Bar(f64),
}

impl LaneData {
    /// Samples with their median.
    pub(crate) fn of(samples: impl IntoIterator<Item = f64>) -> Self {
        let samples: Vec<_> = samples.into_iter().collect();
        let median = Median::of(samples.iter().copied());
        let extent = extent(&samples, median.as_ref());
        Self::Samples { samples, median, extent }
    }

    /// Returns how far the axis should reach.
    pub(crate) fn extent(&self) -> f64 {
        match self {
            Self::Samples { extent, .. } => *extent,
            Self::Bar(value) => *value,
        }
    }

    /// Whether samples are beyond an axis.
    pub(crate) fn is_beyond(&self, axis: &Axis) -> bool {
        matches!(self, Self::Samples { samples, .. }
            if samples.iter().any(|sample| !axis.holds(*sample)))
    }

    /// Whether there are more samples than are drawn.
    pub(crate) fn is_thinned(&self) -> bool {
        matches!(self, Self::Samples { samples, .. } if samples.len() > MOST_DOTS)
    }

    /// Describes the data in words.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Samples { median: Some(Median { value, interval }), .. } => {
                let interval = interval.map_or_else(String::new, |(low, high)| {
                    format!(" ({} to {})", number(low), number(high))
                });
                format!("{}{interval}", number(*value))
            }
            Self::Samples { median: None, .. } => "none".to_owned(),
            Self::Bar(value) => plain(*value),
        }
    }
}

/// Returns the extent of all samples, unless some are so far away that the others would become one line, as with packet
/// loss: then it ends near the median.
fn extent(samples: &[f64], median: Option<&Median>) -> f64 {
    const NEAR: f64 = 1.6;
    let largest = samples.iter().copied().fold(0.0, f64::max);
    let Some(Median { value, interval }) = median else { return largest };
    let surely = interval.map_or(*value, |(_, high)| high);
    largest.min(surely * NEAR)
}

/// Returns the drawing. `description` is the text for readers who cannot see it.
pub(crate) fn svg(description: &str, lanes: &[LaneData], axis: &Axis) -> String {
    let height = LANE * lanes.len();
    let mut shapes = String::new();
    for tick in axis.ticks() {
        let x = axis.place(tick) * WIDTH;
        // Writing to a string does not fail.
        let _ = write!(shapes, "M{x:.1} 0V{height}");
    }
    let mut shapes = format!("<path class=\"grid\" d=\"{shapes}\"/>");
    for (index, drawn) in lanes.iter().enumerate() {
        let middle = LANE * index + LANE / 2;
        let _ = write!(shapes, "<g class=\"lane{index}\">{}</g>", lane(drawn, axis, middle));
    }
    format!(
        "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {height}\" height=\"{height}\" \
         preserveAspectRatio=\"none\"><title>{}</title>{shapes}</svg>",
        escaped(description)
    )
}

fn lane(drawn: &LaneData, axis: &Axis, middle: usize) -> String {
    let x = |value: f64| axis.place(value) * WIDTH;
    match drawn {
        LaneData::Bar(value) => {
            format!("<path class=\"bar\" d=\"M0 {middle}H{:.1}\"/>", x(*value))
        }
        LaneData::Samples { samples, median, .. } => {
            let mut dots = String::new();
            let every = samples.len().div_ceil(MOST_DOTS).max(1);
            for (index, sample) in samples.iter().step_by(every).enumerate() {
                // Spread over the lane's height, so that equal samples show as several.
                let y = middle + index * 3 % 5 - 2;
                // A line of zero length with round caps is a dot.
                let _ = write!(dots, "M{:.1} {y}h0", x(*sample));
            }
            let mut shapes = format!("<path class=\"dots\" d=\"{dots}\"/>");
            let Some(Median { value, interval }) = median else { return shapes };
            if let Some((low, high)) = interval {
                let (low, high) = (x(*low), x(*high));
                let _ =
                    write!(shapes, "<path class=\"interval\" d=\"M{low:.1} {middle}H{high:.1}\"/>");
            }
            let (top, bottom) = (middle - 6, middle + 6);
            let value = x(*value);
            let _ = write!(shapes, "<path class=\"median\" d=\"M{value:.1} {top}V{bottom}\"/>");
            shapes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_outliers_do_not_stretch_the_axis_of_a_strip() {
        let mut samples: Vec<_> = (0..30).map(|n| 100.0 + f64::from(n)).collect();
        let drawn = LaneData::of(samples.clone());
        assert_eq!(drawn.extent(), 129.0);
        assert!(!drawn.is_beyond(&Axis::up_to(drawn.extent())));
        samples.push(9_000.0);
        let drawn = LaneData::of(samples);
        assert!((150.0..200.0).contains(&drawn.extent()), "{}", drawn.extent());
        assert!(drawn.is_beyond(&Axis::up_to(drawn.extent())));
        // Another strip of the figure may need an axis that they are on.
        assert!(!drawn.is_beyond(&Axis::up_to(9_000.0)));
    }

    #[test]
    fn a_strip_of_many_samples_is_thinned() {
        let drawn = LaneData::of((0..10_000).map(f64::from));
        assert!(drawn.is_thinned());
        let svg = svg("many", &[drawn], &Axis::up_to(10_000.0));
        let dots = svg.matches("h0").count();
        assert!((MOST_DOTS / 2..=MOST_DOTS).contains(&dots), "{dots}");
    }

    #[test]
    fn without_samples_there_is_still_a_strip() {
        let svg = svg("<none>", &[LaneData::of(Vec::new())], &Axis::up_to(0.0));
        assert!(svg.contains("&lt;none&gt;") && !svg.contains("median"), "{svg}");
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
