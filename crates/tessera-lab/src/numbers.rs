//! Numbers, as tables and pages write them: a few significant digits, and separators from a thousand on.

use crate::statistics::Median;

/// In place of a missing number.
pub(crate) const NOTHING: &str = "–";

/// Three or four significant digits, or all before the point.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        ..10.0 => fixed(value, 3),
        10.0..100.0 => fixed(value, 2),
        100.0..1000.0 => fixed(value, 1),
        _ => fixed(value, 0),
    }
}

/// This many decimals.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    separated(&format!("{value:.decimals$}"))
}

/// At most three decimals, none of them superfluous.
pub(crate) fn plain(value: f64) -> String {
    fixed(value, 3).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A whole number.
pub(crate) fn count(value: impl ToString) -> String {
    separated(&value.to_string())
}

/// A share in percent, with a space at which no line ends.
pub(crate) fn percent(share: f64) -> String {
    format!("{}\u{a0}%", plain((share * 1e3).round() / 10.0))
}

/// A median with its uncertainty.
pub(crate) fn spread(median: &Median) -> String {
    let value = number(median.value);
    match median.uncertainty() {
        // No more digits than the median has, and fewer if they carry no information.
        Some(uncertainty) if uncertainty >= 10.0 => format!("{value}±{}", fixed(uncertainty, 0)),
        Some(uncertainty) if median.value < 10.0 => format!("{value}±{uncertainty:.3}"),
        Some(uncertainty) => format!("{value}±{uncertainty:.2}"),
        None => value,
    }
}

/// How much sooner or later one time in milliseconds is than another, if their samples show it. The difference is less
/// certain than both.
pub(crate) fn difference(one: &Median, other: &Median) -> Option<String> {
    let difference = (one.value - other.value).abs();
    let ms = fixed(difference, if difference < 1.0 { 2 } else { 1 });
    let sooner = one.is_below(other).then(|| format!("{ms} ms sooner"));
    sooner.or_else(|| other.is_below(one).then(|| format!("{ms} ms later")))
}

/// The same in words, where the other is called so.
pub(crate) fn compared(one: &Median, other: &Median, name: &str) -> String {
    difference(one, other).map_or_else(
        || format!("as soon as {name}, as far as these samples show"),
        |difference| format!("{difference} than {name}"),
    )
}

/// A rate, in the unit that makes it short.
pub(crate) fn rate(bits: u64) -> String {
    match bits {
        ..1_000 => format!("{bits} bit/s"),
        1_000..1_000_000 => format!("{} kbit/s", plain(bits as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} Mbit/s", plain(bits as f64 / 1e6)),
        _ => format!("{} Gbit/s", plain(bits as f64 / 1e9)),
    }
}

fn separated(text: &str) -> String {
    let begin = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let end = text.find('.').unwrap_or(text.len());
    let mut made = text[..begin].to_owned();
    for (place, digit) in text[begin..end].char_indices() {
        if place > 0 && (end - begin - place).is_multiple_of(3) {
            made.push(',');
        }
        made.push(digit);
    }
    made + &text[end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_superfluous_digits_and_separators_from_a_thousand_on() {
        assert_eq!(plain(20.0), "20");
        assert_eq!(plain(0.5), "0.5");
        assert_eq!(plain(0.0), "0");
        assert_eq!(plain(6_000.0), "6,000");
        assert_eq!(number(5.0), "5.000");
        assert_eq!(number(5_104.3), "5,104");
        assert_eq!(number(-1_234_567.0), "-1,234,567");
        assert_eq!(
            [count(999), count(1_000), count(i64::MIN)],
            ["999", "1,000", "-9,223,372,036,854,775,808"]
        );
        assert_eq!(percent(0.0615), "6.2\u{a0}%");
        assert_eq!(rate(2_500_000), "2.5 Mbit/s");
    }

    #[test]
    fn measured_values_are_printed_with_significant_digits_only() {
        let median = |value, around| Median { value, interval: Some((value - around, value)) };
        assert_eq!(spread(&median(0.4129, 0.0111)), "0.413±0.011");
        assert_eq!(spread(&median(82.614, 0.07)), "82.61±0.07");
        assert_eq!(spread(&median(302.5, 784.59)), "302.5±785");
        assert_eq!(spread(&Median { value: 1.0, interval: None }), "1.000");
    }
}
