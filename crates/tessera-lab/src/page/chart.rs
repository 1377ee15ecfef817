//! A chart: medians, as lines over a quantity that was varied.

use std::fmt::Write;

use super::axis::Axis;
use super::figure;
use crate::numbers::{number, plain};
use crate::statistics::Median;
use crate::table::html::escaped;

/// The size of the drawing, in its own units; it is stretched to the available room.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 320.0;

/// The least distance of two names next to the chart, as a share of its height.
const NAME: f64 = 0.05;

/// One line.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    /// The varied quantity, and the median there.
    pub(crate) points: Vec<(f64, Median)>,
}

/// Some lines on the same axes, both of which begin at zero.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// The measured quantity, and its unit.
    pub(crate) value: &'static str,
    /// The varied quantity, and its unit.
    pub(crate) varied: &'static str,
    pub(crate) note: &'static str,
    pub(crate) lines: Vec<Line>,
}

impl Chart {
    pub(crate) fn render(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let across = Axis::up_to(points().map(|point| point.0).fold(0.0, f64::max));
        let up = Axis::up_to(points().map(|point| highest(&point.1)).fold(0.0, f64::max));
        let content = format!(
            "<p class=\"unit\">{}</p>\n<div class=\"chart\">{}{}{}{}</div>\n\
             <p class=\"unit\">{}</p>\n",
            self.value,
            heights(&up),
            self.svg(&across, &up),
            self.names(&up),
            figure::ticks(&across),
            self.varied,
        );
        let names: Vec<_> = self.lines.iter().map(|line| line.name).collect();
        let note = format!("{} Dots are medians, bars their 95 % confidence intervals.", self.note);
        figure::frame(&self.title, &names, &note, &content)
    }

    fn svg(&self, across: &Axis, up: &Axis) -> String {
        let x = |value: f64| across.place(value) * WIDTH;
        let y = |value: f64| HEIGHT - up.place(value) * HEIGHT;
        let mut grid = String::new();
        // Writing to a string does not fail.
        for tick in across.ticks() {
            let _ = write!(grid, "M{:.1} 0V{HEIGHT}", x(tick));
        }
        for tick in up.ticks() {
            let _ = write!(grid, "M0 {:.1}H{WIDTH}", y(tick));
        }
        let mut shapes = format!("<path class=\"grid\" d=\"{grid}\"/>");
        for (index, line) in self.lines.iter().enumerate() {
            let (mut path, mut dots, mut intervals) = (String::new(), String::new(), String::new());
            for (varied, median) in &line.points {
                let (x, value) = (x(*varied), y(median.value));
                let _ =
                    write!(path, "{}{x:.1} {value:.1}", if path.is_empty() { 'M' } else { 'L' });
                // A line of zero length with round caps is a dot.
                let _ = write!(dots, "M{x:.1} {value:.1}h0");
                if let Some((low, high)) = median.interval {
                    let _ = write!(intervals, "M{x:.1} {:.1}V{:.1}", y(low), y(high));
                }
            }
            let _ = write!(
                shapes,
                "<g class=\"lane{index}\"><path class=\"line\" d=\"{path}\"/>\
                 <path class=\"interval\" d=\"{intervals}\"/><path class=\"point\" d=\"{dots}\"/></g>"
            );
        }
        format!(
            "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" height=\"{HEIGHT}\" \
             preserveAspectRatio=\"none\"><title>{}</title>{shapes}</svg>",
            escaped(&self.description())
        )
    }

    /// Returns the text of the chart for readers who cannot see it.
    fn description(&self) -> String {
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|line| {
                let points = line.points.iter().map(|(varied, median)| {
                    format!("{} at {}", number(median.value), plain(*varied))
                });
                format!("{}: {}", line.name, points.collect::<Vec<_>>().join(", "))
            })
            .collect();
        format!("{}; {}, by {}", lines.join("; "), self.value, self.varied)
    }

    /// Draws the name of each line at its end, moving up those that would overlap.
    fn names(&self, up: &Axis) -> String {
        let mut names: Vec<_> = self
            .lines
            .iter()
            .enumerate()
            .filter_map(|(index, line)| {
                Some((up.place(line.points.last()?.1.value), index, line.name))
            })
            .collect();
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = 0.0;
        let names = names.into_iter().map(|(place, index, name)| {
            let place = f64::max(place, free);
            free = place + NAME;
            let bottom = place * 100.0;
            format!("<span class=\"lane{index}\" style=\"bottom:{bottom:.1}%\">{name}</span>")
        });
        format!("<div class=\"names\" aria-hidden=\"true\">{}</div>", names.collect::<String>())
    }
}

fn highest(median: &Median) -> f64 {
    median.interval.map_or(median.value, |(_, high)| high)
}

/// Draws the numbers of a vertical axis.
fn heights(axis: &Axis) -> String {
    let ticks = axis.ticks().map(|tick| {
        let place = axis.place(tick) * 100.0;
        format!("<span style=\"bottom:{place:.2}%\">{}</span>", plain(tick))
    });
    format!("<div class=\"heights\" aria-hidden=\"true\">{}</div>", ticks.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_lines_in_a_chart_do_not_overlap() {
        let line =
            |name, value| Line { name, points: vec![(1.0, Median { value, interval: None })] };
        let lines = vec![line("high", 100.0), line("low", 10.0), line("near", 11.0)];
        let chart = Chart { title: String::new(), value: "", varied: "", note: "", lines };
        let names = chart.names(&Axis::up_to(100.0));
        for (name, bottom) in [("low", "10.0"), ("near", "15.0"), ("high", "100.0")] {
            assert!(names.contains(&format!("bottom:{bottom}%\">{name}<")), "{names}");
        }
    }
}
