//! A figure of bars, each of which is a sum of parts.

use std::fmt::Write;

use super::axis::Axis;
use super::figure;
use crate::numbers::{fixed, plain};
use crate::table::Name;
use crate::table::html::{self, escaped};

/// The size of a drawing, in its own units; it is stretched to the available room.
const WIDTH: f64 = 1000.0;
const HEIGHT: usize = 16;

/// A figure of some rows, all on one axis.
pub(crate) struct Stacked<'a> {
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    pub(crate) note: &'static str,
    /// The names of the parts, at most as many as there are colours.
    pub(crate) parts: &'a [&'static str],
    pub(crate) bars: Vec<Bar>,
}

/// A row of a figure.
pub(crate) struct Bar {
    pub(crate) name: Name,
    /// Of each part, in their order.
    pub(crate) values: Vec<f64>,
    /// The most that the sum is to be, which is marked.
    pub(crate) most: Option<f64>,
}

impl Stacked<'_> {
    pub(crate) fn render(&self) -> String {
        let longest = |bar: &Bar| bar.sum().max(bar.most.unwrap_or(0.0));
        let axis = Axis::up_to(self.bars.iter().map(longest).fold(0.0, f64::max));
        let mut content = String::new();
        for bar in &self.bars {
            // Writing to a string does not fail.
            let _ = writeln!(
                content,
                "<div class=\"row\" data-way=\"{}\"><div class=\"way\">{}</div>{}<div class=\"medians\" \
                 aria-hidden=\"true\"><span>{}</span></div></div>",
                escaped(&bar.name.key),
                html::name(&bar.name),
                self.svg(bar, &axis),
                fixed(bar.sum(), 1),
            );
        }
        let _ = writeln!(
            content,
            "<div class=\"row scale\" aria-hidden=\"true\"><div class=\"way\"></div>{}<div class=\"medians\"></div></div>\n\
             <p class=\"unit\">{}</p>",
            figure::ticks(&axis),
            self.unit
        );
        figure::frame(&self.title, self.parts, self.note, &content)
    }

    fn svg(&self, bar: &Bar, axis: &Axis) -> String {
        let x = |value: f64| axis.place(value) * WIDTH;
        let mut shapes = "<path class=\"grid\" d=\"".to_owned();
        for tick in axis.ticks() {
            let _ = write!(shapes, "M{:.1} 0V{HEIGHT}", x(tick));
        }
        shapes.push_str("\"/>");
        let (middle, mut reached) = (HEIGHT / 2, 0.0);
        for (index, value) in bar.values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let (begin, end) = (x(reached), x(reached + value));
            reached += value;
            let _ = write!(
                shapes,
                "<path class=\"bar lane{index}\" d=\"M{begin:.1} {middle}H{end:.1}\"/>"
            );
        }
        if let Some(most) = bar.most {
            let _ = write!(shapes, "<path class=\"most\" d=\"M{:.1} 0V{HEIGHT}\"/>", x(most));
        }
        format!(
            "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" height=\"{HEIGHT}\" preserveAspectRatio=\"none\">\
             <title>{}</title>{shapes}</svg>",
            escaped(&self.description(bar))
        )
    }

    /// Returns the text of a bar for readers who cannot see it.
    fn description(&self, bar: &Bar) -> String {
        let parts = self.parts.iter().zip(&bar.values).filter(|(_, value)| **value > 0.0);
        let parts: Vec<_> =
            parts.map(|(name, value)| format!("{name} {}", fixed(*value, 1))).collect();
        let most = bar.most.map(|most| format!(", to be at most {}", plain(most)));
        let (parts, most) = (parts.join(", "), most.unwrap_or_default());
        format!("{}: {parts}{most}; {}", bar.name.words(), self.unit)
    }
}

impl Bar {
    fn sum(&self) -> f64 {
        self.values.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_bar_follow_each_other_and_its_bound_is_marked() {
        let bar = Bar { name: "<psk>".into(), values: vec![10.0, 0.0, 30.04], most: Some(50.0) };
        let figure = Stacked {
            title: String::new(),
            unit: "KB",
            note: "",
            parts: &["engine", "nothing", "rest"],
            bars: vec![bar],
        };
        let page = figure.render();
        for part in [
            "<path class=\"bar lane0\" d=\"M0.0 8H200.0\"/>",
            "<path class=\"bar lane2\" d=\"M200.0 8H800.8\"/>",
            "<path class=\"most\" d=\"M1000.0 0V16\"/>",
            "&lt;psk&gt;: engine 10.0, rest 30.0, to be at most 50; KB",
            "<span>40.0</span>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("<psk>") && !page.contains("lane1\" d"), "{page}");
    }
}
