//! A figure: one strip a row, on one axis for all.

use std::fmt::Write;

use super::axis::Axis;
use super::strip::{self, Drawn};
use super::words::{self, escaped};
use crate::report::{Row, Sample, Sides};
use crate::statistics::Median;

/// One of the lines of a strip.
pub(super) struct Lane {
    pub(super) name: &'static str,
    pub(super) value: fn(&Sample) -> f64,
}

/// What is drawn for a row.
pub(super) enum Mark {
    /// Every sample as a dot, the median and its confidence interval.
    Samples,
    /// A bar as long as a median that the row has already, for the client and the server.
    Median(fn(&Row) -> &Sides<u64>),
}

/// A figure about some rows.
pub(super) struct Figure<'a> {
    pub(super) title: String,
    pub(super) unit: &'static str,
    pub(super) note: &'static str,
    pub(super) mark: Mark,
    pub(super) lanes: &'a [Lane],
}

impl Figure<'_> {
    pub(super) fn render(&self, rows: &[Row]) -> String {
        let drawn: Vec<Vec<Drawn>> = rows.iter().map(|row| self.drawn(row)).collect();
        let axis = Axis::up_to(drawn.iter().flatten().map(Drawn::extent).fold(0.0, f64::max));
        let mut strips = String::new();
        for (row, lanes) in rows.iter().zip(&drawn) {
            // Writing to a string does not fail.
            let _ = writeln!(
                strips,
                "<div class=\"row\" data-way=\"{}\"><div class=\"way\">{}</div>{}{}</div>",
                words::key(&row.way()),
                words::way(&row.way()),
                strip::svg(&self.spoken(row, lanes), lanes, &axis),
                medians(lanes),
            );
        }
        format!(
            "<figure>\n<figcaption><h3>{}</h3>\n{}<p class=\"note\">{} {}</p></figcaption>\n\
             {strips}{}</figure>\n",
            escaped(&self.title),
            self.legend(),
            escaped(self.note),
            self.explanation(&drawn),
            self.scale(&axis),
        )
    }

    fn drawn(&self, row: &Row) -> Vec<Drawn> {
        match self.mark {
            Mark::Samples => self
                .lanes
                .iter()
                .map(|lane| Drawn::of(row.samples.iter().map(lane.value).collect()))
                .collect(),
            Mark::Median(sides) => {
                let Sides { client, server } = *sides(row);
                [client, server].map(|value| Drawn::Bar(value as f64)).into()
            }
        }
    }

    /// Which lane is which: by name, by colour, and by their order.
    fn legend(&self) -> String {
        let lanes = self.lanes.iter().enumerate().map(|(index, lane)| {
            format!("<li class=\"lane{index}\"><span>{}</span></li>", lane.name)
        });
        format!("<ul class=\"legend\">{}</ul>\n", lanes.collect::<String>())
    }

    fn explanation(&self, drawn: &[Vec<Drawn>]) -> String {
        if matches!(self.mark, Mark::Median(_)) {
            return "Medians.".to_owned();
        }
        let mut text = "Dots are samples, from top to bottom in the order of the legend; lines \
                        are medians, bars their 95 % confidence intervals."
            .to_owned();
        if drawn.iter().flatten().any(Drawn::has_outliers) {
            text.push_str(" Samples far beyond the others are at the right end.");
        }
        if drawn.iter().flatten().any(Drawn::is_thinned) {
            let _ = write!(text, " Only {} samples a line are drawn.", strip::MOST_DOTS);
        }
        text
    }

    /// What the strip says to whoever cannot see it.
    fn spoken(&self, row: &Row, lanes: &[Drawn]) -> String {
        let lanes: Vec<_> = self
            .lanes
            .iter()
            .zip(lanes)
            .map(|(lane, drawn)| format!("{} {}", lane.name, drawn.spoken()))
            .collect();
        format!("{}: {}; {}", words::spoken_way(&row.way()), lanes.join(", "), self.unit)
    }

    fn scale(&self, axis: &Axis) -> String {
        let ticks: String = axis
            .ticks()
            .map(|tick| {
                let place = axis.place(tick) * 100.0;
                format!("<span style=\"left:{place:.2}%\">{}</span>", words::plain(tick))
            })
            .collect();
        format!(
            "<div class=\"row scale\" aria-hidden=\"true\"><div class=\"way\"></div>\
             <div class=\"ticks\">{ticks}</div><div class=\"medians\"></div></div>\n\
             <p class=\"unit\">{}</p>\n",
            self.unit
        )
    }
}

/// The medians beside a strip, one a lane.
fn medians(lanes: &[Drawn]) -> String {
    let lanes = lanes.iter().enumerate().map(|(index, drawn)| {
        let text = match drawn {
            Drawn::Samples { median: Some(median), .. } => spread(median),
            Drawn::Samples { median: None, .. } => String::new(),
            Drawn::Bar(value) => words::plain(*value),
        };
        format!("<span class=\"lane{index}\">{text}</span>")
    });
    format!("<div class=\"medians\" aria-hidden=\"true\">{}</div>", lanes.collect::<String>())
}

fn spread(median: &Median) -> String {
    crate::table::spread(median).replace('±', " <small>±") + "</small>"
}
