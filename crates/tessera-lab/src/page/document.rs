//! Shared by all pages: the document, the setting, every sample.

use serde::Serialize;
use tessera_reports::{LinkReport, Machine};

use crate::numbers::{count, plain, rate};
use crate::table::html::{self, escaped};

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page makes no requests, and the browser enforces that.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// A page, before it is HTML.
pub(crate) struct Page {
    pub(crate) title: &'static str,
    /// The answer as HTML: see [`answer`].
    pub(crate) answer: String,
    /// What was measured and how, as HTML.
    pub(crate) introduction: String,
    pub(crate) sections: Vec<Section>,
    /// The terms in its tables.
    pub(crate) legend: &'static str,
}

/// A section, with its content as HTML.
pub(crate) struct Section {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) content: String,
}

impl Section {
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>, content: String) -> Self {
        Self { id: id.into(), title: title.into(), content }
    }
}

impl Page {
    /// Returns the page of an experiment, with its report.
    pub(crate) fn with_report(
        mut self,
        experiment: &str,
        report: &impl Serialize,
    ) -> serde_json::Result<String> {
        self.sections.push(Section::new("terms", "Terms", html::legend(self.legend)));
        self.sections.push(Section::new("samples", "Every sample", samples(experiment, report)?));
        let script = format!("<script>\n{SCRIPT}</script>\n");
        Ok(self.render(&format!("Tessera lab: {experiment}"), &script))
    }

    /// Returns the page with this name, which may have a script.
    pub(crate) fn render(&self, name: &str, script: &str) -> String {
        let Self { title, answer, introduction, sections, .. } = self;
        // A page is long on a phone.
        let links = sections
            .iter()
            .map(|Section { id, title, .. }| format!("<a href=\"#{id}\">{}</a>\n", escaped(title)));
        let contents = sections.iter().map(|Section { id, title, content }| {
            let title = escaped(title);
            format!("<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n{content}</section>\n")
        });
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <title>{}</title>\n<style>\n{CSS}</style>\n</head>\n\
             <body>\n<main>\n<h1>{title}</h1>\n{answer}{introduction}\
             <nav aria-label=\"Sections\">\n{}</nav>\n{}</main>\n{script}</body>\n</html>\n",
            escaped(name),
            links.collect::<String>(),
            contents.collect::<String>(),
        )
    }
}

/// Formats an answer: the sentence that matters, and what belongs to it.
pub(crate) fn answer(sentence: &str, rest: &str) -> String {
    // No line ends between a number and its unit.
    let [sentence, rest] = [sentence, rest].map(|text| text.replace(" ms", "\u{a0}ms"));
    format!("<p class=\"answer\"><strong>{}</strong> {}</p>\n", escaped(&sentence), escaped(&rest))
}

/// The setting of the measurement.
pub(crate) struct Setting<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) link: &'a LinkReport,
    pub(crate) seed: u64,
    /// How many connections of each row were measured.
    pub(crate) repetitions: usize,
}

/// Lists what is needed to repeat the experiment; `more` is specific to this one.
pub(crate) fn facts(setting: &Setting<'_>, more: Vec<(&str, String)>) -> String {
    let Setting { machine, link, seed, repetitions } = setting;
    let rate = link.rate_bps.map_or_else(|| "unlimited".to_owned(), rate);
    let mut facts = vec![
        ("Machine", machine.to_string()),
        ("Link", link.kind.clone()),
        ("Loss", loss(link)),
        ("Congestion", congestion(link)),
        ("Jitter", format!("{} ms", plain(link.jitter_ms))),
        ("Rate", rate),
        ("MTU", format!("{} bytes", count(link.mtu))),
    ];
    facts.extend(more);
    facts.extend([
        ("Seed", seed.to_string()),
        ("Connections a row", count(repetitions)),
        ("Tessera", env!("CARGO_PKG_VERSION").to_owned()),
    ]);
    description_list(&facts)
}

/// Formats names and their values as a list.
pub(crate) fn description_list(facts: &[(&str, String)]) -> String {
    let facts = facts
        .iter()
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escaped(value)));
    format!("<dl class=\"facts\">\n{}</dl>\n", facts.collect::<String>())
}

fn loss(link: &LinkReport) -> String {
    let share = format!("{} %", plain(link.loss * 100.0));
    match link.loss_burst {
        1.0 => share,
        packets => format!("{share}, in bursts of {} packets", plain(packets)),
    }
}

fn congestion(link: &LinkReport) -> String {
    match (link.congestion, link.congestion_ms) {
        (Some(share), _) => format!("{} % of the RTT", plain(share * 100.0)),
        (None, Some(mean)) => format!("{} ms", plain(mean)),
        (None, None) => "none".to_owned(),
    }
}

/// Returns the JSON report, and a button that saves it.
fn samples(experiment: &str, report: &impl Serialize) -> serde_json::Result<String> {
    // Its text must not end the element that contains it.
    let json = serde_json::to_string(report)?.replace('<', "\\u003c");
    Ok(format!(
        "<p>This page holds the whole report as JSON, the same \
         as <code>--json</code> writes.</p>\n\
         <p><button id=\"save\" type=\"button\" hidden>Save {experiment}.json</button></p>\n\
         <noscript><p>Without scripts: it is in this page's source, in the element \
         <code>report</code>.</p></noscript>\n\
         <script type=\"application/json\" id=\"report\">{json}</script>\n"
    ))
}

#[cfg(test)]
mod tests {
    use tessera_link::{Congestion, LinkKind, LinkParameters};

    use super::*;
    use crate::experiment::link_report;

    #[test]
    fn a_page_states_what_the_link_did_to_packets() {
        let said = |parameters| {
            let link = link_report(LinkKind::Tun, &parameters);
            [loss(&link), congestion(&link)]
        };
        assert_eq!(said(LinkParameters::default()), ["0 %", "none"]);
        let congestion = Congestion::Share(0.05);
        let bursts = LinkParameters {
            loss: 0.001,
            loss_burst: 3.0,
            congestion,
            ..LinkParameters::default()
        };
        assert_eq!(said(bursts), ["0.1 %, in bursts of 3 packets", "5 % of the RTT"]);
        let congestion = Congestion::Mean(std::time::Duration::from_micros(2500));
        let mean = LinkParameters { loss: 0.5, congestion, ..LinkParameters::default() };
        assert_eq!(said(mean), ["50 %", "2.5 ms"]);
    }
}
