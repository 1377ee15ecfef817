//! Names and numbers, as the page writes them.

/// In place of a missing number.
pub(crate) const NOTHING: &str = "–";

/// Text as HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Formats a name as HTML that may wrap after each of its words.
pub(crate) fn breakable(name: &str) -> String {
    name.replace('_', "_<wbr>")
}

/// Formats a number without trailing zeros.
pub(crate) fn plain(number: f64) -> String {
    let text = format!("{number:.3}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Three or four significant digits.
pub(crate) fn short(number: f64) -> String {
    match number {
        ..10.0 => format!("{number:.3}"),
        10.0..100.0 => format!("{number:.2}"),
        100.0..1000.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

/// Formats a rate, in the unit that makes it short.
pub(crate) fn rate(bits: u64) -> String {
    match bits {
        ..1_000 => format!("{bits} bit/s"),
        1_000..1_000_000 => format!("{} kbit/s", plain(bits as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} Mbit/s", plain(bits as f64 / 1e6)),
        _ => format!("{} Gbit/s", plain(bits as f64 / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_a_page_have_no_superfluous_digits() {
        assert_eq!(plain(20.0), "20");
        assert_eq!(plain(0.5), "0.5");
        assert_eq!(plain(0.0), "0");
        assert_eq!(short(5.0), "5.000");
        assert_eq!(short(5_104.3), "5104");
        assert_eq!(rate(2_500_000), "2.5 Mbit/s");
    }

    #[test]
    fn text_on_a_page_is_escaped() {
        assert_eq!(escaped("<a href=\"&\">"), "&lt;a href=&quot;&amp;&quot;&gt;");
    }
}
