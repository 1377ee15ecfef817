//! A figure: one strip a row, on one axis for all. Figures that are compared have one axis together.

use std::fmt::Write;

use super::axis::Axis;
use super::strip::{self, LaneData};
use crate::numbers::{self, NOTHING, plain};
use crate::statistics::Median;
use crate::table::Name;
use crate::table::html::{self, escaped};

/// A row of a figure.
#[derive(Clone)]
pub(crate) struct Strip {
    pub(crate) name: Name,
    /// The lanes to draw.
    pub(crate) lanes: Vec<LaneData>,
}

/// A figure of some rows.
pub(crate) struct Figure<'a> {
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    pub(crate) note: &'static str,
    /// The names of the lanes that each strip has.
    pub(crate) lanes: &'a [&'static str],
    pub(crate) strips: Vec<Strip>,
}

impl Figure<'_> {
    /// Formats it on an axis of its own.
    pub(crate) fn render(&self) -> String {
        self.render_on(&Axis::up_to(self.extent()))
    }

    /// Returns how far its axis should reach.
    pub(crate) fn extent(&self) -> f64 {
        self.drawn().map(LaneData::extent).fold(0.0, f64::max)
    }

    /// Formats it; without strips there is nothing to show.
    fn render_on(&self, axis: &Axis) -> String {
        if self.strips.is_empty() {
            return String::new();
        }
        let mut content = String::new();
        for row in &self.strips {
            // Writing to a string does not fail.
            let _ = writeln!(
                content,
                "<div class=\"row\" data-way=\"{}\"><div class=\"way\">{}</div>{}{}</div>",
                row.name.key,
                html::name(&self.distinct(&row.name)),
                strip::svg(&self.description(row), &row.lanes, axis),
                medians(&row.lanes),
            );
        }
        let _ = writeln!(
            content,
            "<div class=\"row scale\" aria-hidden=\"true\"><div class=\"way\"></div>\
             {}<div class=\"medians\"></div></div>\n<p class=\"unit\">{}</p>",
            ticks(axis),
            self.unit
        );
        let note = format!("{} {}", self.note, self.explanation(axis));
        frame(&self.title, self.lanes, note.trim_end(), &content)
    }

    /// Returns a name without the details that all strips have.
    fn distinct(&self, name: &Name) -> Name {
        let is_common = |detail: &(&str, String)| {
            self.strips.len() > 1 && self.strips.iter().all(|it| it.name.details.contains(detail))
        };
        let mut name = name.clone();
        name.details.retain(|detail| !is_common(detail));
        name
    }

    fn drawn(&self) -> impl Iterator<Item = &LaneData> {
        self.strips.iter().flat_map(|strip| &strip.lanes)
    }

    fn explanation(&self, axis: &Axis) -> String {
        if self.drawn().any(|drawn| matches!(drawn, LaneData::Bar(_))) {
            // Medians, means, shares: the caller explains which.
            return String::new();
        }
        let mut text = "Dots are samples, from top to bottom in the order of the legend; lines \
                        are medians, bars their 95 % confidence intervals."
            .to_owned();
        if self.drawn().any(|drawn| drawn.is_beyond(axis)) {
            text.push_str(" Samples far beyond the others are at the right end.");
        }
        if self.drawn().any(LaneData::is_thinned) {
            let _ = write!(text, " Only {} samples a line are drawn.", strip::MOST_DOTS);
        }
        text
    }

    /// Returns the text of a strip for readers who cannot see it.
    fn description(&self, strip: &Strip) -> String {
        let lanes = self.lanes.iter().zip(&strip.lanes);
        let lanes: Vec<_> =
            lanes.map(|(name, drawn)| format!("{name} {}", drawn.description())).collect();
        format!("{}: {}; {}", strip.name.words(), lanes.join(", "), self.unit)
    }
}

/// Formats figures that are compared, each on the same axis.
pub(crate) fn on_one_axis(figures: &[Figure<'_>]) -> Vec<String> {
    let axis = Axis::up_to(figures.iter().map(Figure::extent).fold(0.0, f64::max));
    figures.iter().map(|figure| figure.render_on(&axis)).collect()
}

/// Formats a figure around its content: title, which lane is which (by name, by colour, and by their order), and a
/// note.
pub(crate) fn frame(title: &str, lanes: &[&str], note: &str, content: &str) -> String {
    let lanes = lanes
        .iter()
        .enumerate()
        .map(|(index, name)| format!("<li class=\"lane{index}\"><span>{name}</span></li>"));
    format!(
        "<figure>\n<figcaption><h3>{}</h3>\n<ul class=\"legend\">{}</ul>\n\
         <p class=\"note\">{}</p></figcaption>\n{content}</figure>\n",
        escaped(title),
        lanes.collect::<String>(),
        escaped(note),
    )
}

/// Formats the numbers below a horizontal axis.
pub(crate) fn ticks(axis: &Axis) -> String {
    let ticks = axis.ticks().map(|tick| {
        let place = axis.place(tick) * 100.0;
        format!("<span style=\"left:{place:.2}%\">{}</span>", plain(tick))
    });
    format!("<div class=\"ticks\">{}</div>", ticks.collect::<String>())
}

/// Formats the medians next to a strip, one per lane.
fn medians(lanes: &[LaneData]) -> String {
    let lanes = lanes.iter().enumerate().map(|(index, drawn)| {
        let text = match drawn {
            LaneData::Samples { median: Some(median), .. } => spread(median),
            LaneData::Samples { median: None, .. } => NOTHING.to_owned(),
            LaneData::Bar(value) => plain(*value),
        };
        format!("<span class=\"lane{index}\">{text}</span>")
    });
    format!("<div class=\"medians\" aria-hidden=\"true\">{}</div>", lanes.collect::<String>())
}

fn spread(median: &Median) -> String {
    numbers::spread(median).replace('±', " <small>±") + "</small>"
}
